//! A bounds-checked position in a binary body. Every read fails rather than pass the end.

use super::BinaryError;

#[derive(Clone)]
pub(super) struct Cursor<'a> {
    body: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(body: &'a [u8]) -> Cursor<'a> {
        Cursor { body, position: 0 }
    }

    /// A second cursor over the same body, for a reference to an earlier string.
    pub(super) fn at(&self, position: usize) -> Cursor<'a> {
        Cursor { body: self.body, position }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.position == self.body.len()
    }

    pub(super) fn byte(&mut self) -> Result<u8, BinaryError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], BinaryError> {
        self.bytes(N)?.try_into().map_err(|_| BinaryError::Truncated)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], BinaryError> {
        let end = self.end_of(count)?;
        let bytes = self.body.get(self.position..end).ok_or(BinaryError::Truncated)?;
        self.position = end;
        Ok(bytes)
    }

    /// A little-endian unsigned integer of 1 to 4 bytes.
    pub(super) fn length(&mut self, width: usize) -> Result<usize, BinaryError> {
        let bytes = self.bytes(width)?;
        Ok(bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | usize::from(*byte)))
    }

    /// Where the next `count` bytes end; fails when the body is shorter.
    pub(super) fn end_of(&self, count: usize) -> Result<usize, BinaryError> {
        match self.position.checked_add(count) {
            Some(end) if end <= self.body.len() => Ok(end),
            _ => Err(BinaryError::Truncated),
        }
    }
}
