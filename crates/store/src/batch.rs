//! One atomic change: conditions on the state before it, and the writes that follow if they hold.

use bytes::Bytes;

use crate::{Error, Result};

/// The longest key that every local store takes.
// Limit: the embedded engine stores key lengths in 16 bits.
pub const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// The most bytes of keys and values in one batch.
// Limit: a batch is written whole, so it bounds memory and the time that others wait behind it.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

/// One write: the key and its new value, or `None` to delete it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: Bytes,
    /// The new value, or `None` for a delete.
    pub value: Option<Bytes>,
}

/// One condition: the key has exactly this value before the batch, or is absent for `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The key.
    pub key: Bytes,
    /// The value it must have, or `None` if it must be absent.
    pub value: Option<Bytes>,
}

/// Writes that happen together or not at all, and the conditions under which they happen.
///
/// Conditions look at the state before the batch, never at its own writes. Of several writes to
/// one key the last one counts. An empty batch is legal: its answer says that every batch
/// committed before it has been answered.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    writes: Vec<Write>,
    conditions: Vec<Condition>,
    bytes: usize,
    longest_key: usize,
    has_empty_key: bool,
    n_deletes: usize,
    frees_space: bool,
}

impl Batch {
    /// Makes an empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Makes an empty batch with room for `n_writes` writes.
    pub fn with_capacity(n_writes: usize) -> Batch {
        Batch { writes: Vec::with_capacity(n_writes), ..Batch::default() }
    }

    /// Sets `key` to `value`, which may be empty.
    pub fn put(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        let (key, value) = (key.into(), Some(value.into()));
        self.count(&key, value.as_ref());
        self.writes.push(Write { key, value });
    }

    /// Removes `key`; no error if it is absent.
    pub fn delete(&mut self, key: impl Into<Bytes>) {
        let key = key.into();
        self.count(&key, None);
        self.writes.push(Write { key, value: None });
        self.n_deletes += 1;
    }

    /// Makes the batch depend on `key` having exactly `value`, or being absent for `None`.
    pub fn expect(&mut self, key: impl Into<Bytes>, value: Option<Bytes>) {
        let key = key.into();
        self.count(&key, value.as_ref());
        self.conditions.push(Condition { key, value });
    }

    /// Says that the batch is a step towards freeing space, though it does not look like one: it is committed also when the
    /// disk has little left.
    pub fn set_frees_space(&mut self) {
        self.frees_space = true;
    }

    /// Returns true if the batch writes nothing, deletes more keys than it sets, or was said to free space.
    pub fn frees_space(&self) -> bool {
        self.writes.is_empty() || self.frees_space || 2 * self.n_deletes > self.writes.len()
    }

    /// Returns the writes in the order they were added.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Returns the conditions in the order they were added.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Returns the number of writes.
    pub fn n_operations(&self) -> usize {
        self.writes.len()
    }

    /// Returns the bytes of all keys and values, conditions included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true when there is neither a write nor a condition.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.conditions.is_empty()
    }

    /// Checks the limits that every store shares. Stores call it before they take a batch.
    pub fn check(&self) -> Result<()> {
        if self.has_empty_key {
            return Err(Error::Corrupt("batch holds an empty key".into()));
        }
        if self.longest_key > KEY_BYTES_MAX {
            let n_bytes = self.longest_key;
            return Err(Error::Corrupt(format!(
                "key is {n_bytes} bytes, limit is {KEY_BYTES_MAX}"
            )));
        }
        if self.bytes > BATCH_BYTES_MAX {
            let n_bytes = self.bytes;
            return Err(Error::Corrupt(format!(
                "batch is {n_bytes} bytes, limit is {BATCH_BYTES_MAX}"
            )));
        }
        Ok(())
    }

    /// Adds the writes and conditions of another batch after its own.
    pub(crate) fn append(&mut self, mut other: Batch) {
        self.writes.append(&mut other.writes);
        self.conditions.append(&mut other.conditions);
        self.bytes += other.bytes;
        self.n_deletes += other.n_deletes;
        self.frees_space &= other.frees_space;
        self.longest_key = self.longest_key.max(other.longest_key);
        self.has_empty_key |= other.has_empty_key;
    }

    /// Takes the writes out of the batch.
    pub(crate) fn into_writes(self) -> Vec<Write> {
        self.writes
    }

    fn count(&mut self, key: &Bytes, value: Option<&Bytes>) {
        self.bytes += key.len() + value.map_or(0, Bytes::len);
        self.longest_key = self.longest_key.max(key.len());
        self.has_empty_key |= key.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_keys_and_values_and_conditions() {
        let mut batch = Batch::with_capacity(2);
        batch.put("key", "value");
        batch.delete("gone");
        batch.expect("was", Some(Bytes::from_static(b"1")));
        assert_eq!((batch.n_operations(), batch.bytes()), (2, 8 + 4 + 4));
        assert!(!batch.is_empty() && Batch::new().is_empty());
    }

    #[test]
    fn limits_are_checked_before_a_store_sees_the_batch() {
        let check = |key: usize, value: usize| {
            let mut batch = Batch::new();
            batch.put(vec![7; key], vec![7; value]);
            batch.check()
        };
        assert_eq!(check(1, 0), Ok(()));
        assert_eq!(check(KEY_BYTES_MAX, 0), Ok(()));
        assert!(matches!(check(0, 0), Err(Error::Corrupt(_))));
        assert!(matches!(check(KEY_BYTES_MAX + 1, 0), Err(Error::Corrupt(_))));
        assert!(matches!(check(1, BATCH_BYTES_MAX), Err(Error::Corrupt(_))));
    }
}
