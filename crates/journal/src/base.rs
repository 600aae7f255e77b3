//! Bases: the whole state of a journal as of one number, in sorted chunks.

use crate::{BaseId, Error, FORMAT, JournalId, Position, Result};

/// The most bytes of one chunk.
// Limit: one chunk of a base; a reader holds one or a few.
pub const CHUNK_BYTES_MAX: usize = 8 << 20;

/// What the contents of a base hash to. Two replicas that are equal compute the same.
pub type BaseDigest = [u8; 32];

/// A base that is there whole. Its row is written after its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base {
    /// Its name, under which the chunks are.
    pub id: BaseId,
    /// The journal.
    pub journal: JournalId,
    /// The entry after which the state was like this.
    pub position: Position,
    /// How many chunks there are, numbered from 0; at least one.
    pub chunks: u32,
    /// What they hold.
    pub digest: BaseDigest,
    /// How many others have found the same digest.
    pub confirmed: u32,
}

/// Refuses what no engine takes.
pub(crate) fn check_chunk(bytes: &[u8]) -> Result<()> {
    let n_bytes = bytes.len();
    if n_bytes > CHUNK_BYTES_MAX {
        return Err(Error::Corrupt(format!(
            "a chunk of {n_bytes} bytes, limit is {CHUNK_BYTES_MAX}"
        )));
    }
    if bytes.first() != Some(&FORMAT) {
        return Err(Error::Corrupt("a chunk that does not begin with its format".into()));
    }
    Ok(())
}
