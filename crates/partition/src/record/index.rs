//! The records of the index: its state, and one per path.

use bytes::Bytes;

use super::FORMAT;
use super::fields::Fields;
use crate::{Error, Result};

/// What holds for the index as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexRecord {
    pub(crate) epoch: u32,
    pub(crate) n_paths: u16,
    pub(crate) progress: u64,
    /// The policy in force, then those that it has not wholly replaced, as `IndexPolicy::text`.
    pub(crate) policies: Vec<String>,
}

impl IndexRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let mut bytes = vec![FORMAT];
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.extend_from_slice(&self.n_paths.to_be_bytes());
        bytes.extend_from_slice(&self.progress.to_be_bytes());
        for policy in &self.policies {
            let n_bytes = u32::try_from(policy.len()).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&n_bytes.to_be_bytes());
            bytes.extend_from_slice(policy.as_bytes());
        }
        bytes.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<IndexRecord> {
        const WHAT: &str = "the index record";
        let mut fields = Fields::open(bytes, WHAT)?;
        let (epoch, n_paths, progress) = (fields.u32()?, fields.u16()?, fields.u64()?);
        let mut policies = Vec::new();
        while !fields.is_empty() {
            let n_bytes = fields.u32()? as usize;
            let text = std::str::from_utf8(fields.take(n_bytes)?);
            policies.push(text.map_err(|_| Error::Corrupt(WHAT))?.to_owned());
        }
        Ok(IndexRecord { epoch, n_paths, progress, policies })
    }
}

/// The number of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathRecord {
    pub(crate) number: u16,
    /// The epoch of the list.
    pub(crate) epoch: u32,
    /// The items without a value at the path, ascending; `None` when they are not listed.
    pub(crate) absent: Option<Vec<u64>>,
}

impl PathRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let mut bytes = vec![FORMAT];
        bytes.extend_from_slice(&self.number.to_be_bytes());
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.push(u8::from(self.absent.is_some()));
        for number in self.absent.iter().flatten() {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<PathRecord> {
        let mut fields = Fields::open(bytes, "a path record")?;
        let (number, epoch) = (fields.u16()?, fields.u32()?);
        let has_list = fields.u8()? != 0;
        let mut absent = Vec::new();
        while !fields.is_empty() {
            absent.push(fields.u64()?);
        }
        Ok(PathRecord { number, epoch, absent: has_list.then_some(absent) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_their_bytes_and_torn_ones_do_not() {
        let state = IndexRecord {
            epoch: 3,
            n_paths: 300,
            progress: 1 << 41,
            policies: vec!["+/*".into(), "none".into()],
        };
        let bytes = state.encode();
        assert_eq!(IndexRecord::decode(&bytes).unwrap(), state);
        for length in [0, 1, 5, 14, bytes.len() - 1] {
            assert!(IndexRecord::decode(&bytes[..length]).is_err(), "{length}");
        }
        for absent in [None, Some(vec![]), Some(vec![1, u64::MAX])] {
            let path = PathRecord { number: 7, epoch: 1, absent };
            assert_eq!(PathRecord::decode(&path.encode()).unwrap(), path);
        }
    }
}
