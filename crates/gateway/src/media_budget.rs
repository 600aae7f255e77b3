//! A semaphore over the memory that media takes: uploads and reads hold their share until their last byte is gone.
//!
//! Media is far longer than other bodies, and a body is whole in memory. Without a bound some slow clients could take all
//! of it.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{error::Error, options::Limits};

#[derive(Debug)]
pub(crate) struct MediaBudget {
    mib: Arc<Semaphore>,
    mib_max: u32,
}

/// A share of the budget.
#[derive(Debug)]
pub(crate) struct MediaTurn(OwnedSemaphorePermit);

impl MediaBudget {
    pub(crate) fn new(mib_max: u32) -> MediaBudget {
        let mib = Arc::new(Semaphore::new(usize::try_from(mib_max).unwrap_or(usize::MAX)));
        MediaBudget { mib, mib_max }
    }

    /// Waits for room for so many bytes, or for the longest media if that is not known.
    pub(crate) async fn turn(
        &self,
        declared: Option<u64>,
        limits: &Limits,
    ) -> Result<MediaTurn, Error> {
        let longest = limits.media_bytes_max as u64;
        let mib = to_mib(declared.unwrap_or(longest).min(longest)).min(self.mib_max);
        let permit = Arc::clone(&self.mib).acquire_many_owned(mib);
        match tokio::time::timeout(limits.request_timeout, permit).await {
            Ok(Ok(permit)) => Ok(MediaTurn(permit)),
            Ok(Err(_)) | Err(_) => Err(Error::Timeout),
        }
    }
}

impl MediaBudget {
    /// Bytes that turns hold now, rounded up to whole MiB each.
    pub(crate) fn bytes(&self) -> usize {
        let free = self.mib.available_permits();
        usize::try_from(self.mib_max).unwrap_or(usize::MAX).saturating_sub(free) << 20
    }
}

impl MediaTurn {
    /// Ties the share to the bytes of an answer, and gives back what they do not need.
    pub(crate) fn hold(mut self, bytes: Bytes) -> Bytes {
        let needed = usize::try_from(to_mib(bytes.len() as u64)).unwrap_or(usize::MAX);
        let surplus = self.0.num_permits().saturating_sub(needed);
        drop(self.0.split(surplus));
        Bytes::from_owner(Held { bytes, _turn: self })
    }
}

/// Bytes that are counted until they are dropped.
struct Held {
    bytes: Bytes,
    _turn: MediaTurn,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn to_mib(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 20).max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn media_waits_until_others_are_gone() {
        let limits = Limits { request_timeout: Duration::from_millis(20), ..Limits::default() };
        let budget = MediaBudget::new(3);
        let unknown = budget.turn(None, &limits).await.unwrap();
        assert!(matches!(budget.turn(Some(1), &limits).await, Err(Error::Timeout)));
        let bytes = unknown.hold(Bytes::from(vec![7; (1 << 20) + 1]));
        let one = budget.turn(Some(1), &limits).await.unwrap();
        assert!(matches!(budget.turn(Some(0), &limits).await, Err(Error::Timeout)));
        drop(bytes.slice(5..9));
        assert!(budget.turn(Some(1), &limits).await.is_err(), "the rest of the bytes is there");
        drop((bytes, one));
        assert!(budget.turn(Some(3 << 20), &limits).await.is_ok());
    }
}
