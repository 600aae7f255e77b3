//! Reads fixed-width fields from the front of a value.

use super::FORMAT;
use crate::{Error, Result};

pub(super) struct Fields<'a> {
    left: &'a [u8],
    what: &'static str,
}

impl<'a> Fields<'a> {
    /// Checks the version byte; `what` names the record in an error.
    pub(super) fn open(bytes: &'a [u8], what: &'static str) -> Result<Fields<'a>> {
        match bytes.split_first() {
            Some((&FORMAT, left)) => Ok(Fields { left, what }),
            _ => Err(Error::Corrupt(what)),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((field, left)) = self.left.split_first_chunk::<N>() else {
            return Err(Error::Corrupt(self.what));
        };
        self.left = left;
        Ok(*field)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn take(&mut self, n_bytes: usize) -> Result<&'a [u8]> {
        let Some((field, left)) = self.left.split_at_checked(n_bytes) else {
            return Err(Error::Corrupt(self.what));
        };
        self.left = left;
        Ok(field)
    }

    pub(super) fn len(&self) -> usize {
        self.left.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.left
    }

    /// Checks that nothing is left over.
    pub(super) fn close(self) -> Result<()> {
        if self.left.is_empty() { Ok(()) } else { Err(Error::Corrupt(self.what)) }
    }
}
