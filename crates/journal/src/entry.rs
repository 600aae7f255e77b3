//! Entries, how they are appended, and what an engine may say about it.

use bytes::Bytes;

use crate::{Chain, Epoch, Error, JournalId, Position, Result, SessionId};

/// The first byte of every entry and every chunk: how the rest is written.
pub const FORMAT: u8 = 1;

/// The most bytes of one entry: the largest batch of a store, and what is around it.
// Limit: one entry of a journal; engines hold it in memory several times over.
pub const ENTRY_BYTES_MAX: usize = 80 << 20;

/// One entry on its way into a journal.
#[derive(Debug, Clone)]
pub struct Append {
    /// The journal.
    pub journal: JournalId,
    /// The epoch that the caller has opened: with any other it is not appended.
    pub epoch: Epoch,
    /// The last entry that the caller knows: without it, the new one is not appended.
    pub after: Position,
    /// What is written; the first byte is the format.
    pub bytes: Bytes,
}

impl Append {
    /// Returns where the entry will be.
    pub fn position(&self) -> Position {
        self.after.then(&self.bytes)
    }

    /// Refuses what no engine takes.
    pub(crate) fn check(&self) -> Result<()> {
        let n_bytes = self.bytes.len();
        if n_bytes > ENTRY_BYTES_MAX {
            return Err(Error::Corrupt(format!(
                "an entry of {n_bytes} bytes, limit is {ENTRY_BYTES_MAX}"
            )));
        }
        if self.bytes.first() != Some(&FORMAT) {
            return Err(Error::Corrupt("an entry that does not begin with its format".into()));
        }
        Ok(())
    }
}

/// What became of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Acknowledged: it is in every later state of the engine.
    Appended,
    /// Surely not, and it will not come later: send it again.
    NotAppended(String),
    /// In, or out, or still to come, or in but about to vanish: open the journal again and see. Answer nobody before.
    InDoubt(String),
}

/// An entry as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number, and the chain after it.
    pub position: Position,
    /// The epoch under which it was appended.
    pub epoch: Epoch,
    /// What was written.
    pub bytes: Bytes,
}

/// The last entry of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    /// Its number, and the chain after it; the start of the journal if there is no entry.
    pub position: Position,
    /// The epoch under which it was appended; 0 if there is no entry.
    pub epoch: Epoch,
}

impl Last {
    /// What is said of a journal without entries.
    pub fn none(journal: JournalId) -> Last {
        Last { position: Position::start(journal), epoch: Epoch::default() }
    }
}

/// A request to become the one that appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// The journal.
    pub journal: JournalId,
    /// The epoch that the caller has seen: if it is another by now, somebody else was faster.
    pub seen: Epoch,
    /// Who is to hold the journal: the caller, or whom it hands it to.
    pub holder: SessionId,
}

/// What an open has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// The epoch to append under.
    pub epoch: Epoch,
    /// The last entry: final, for every earlier epoch is fenced.
    pub last: Last,
}

/// Who may append to a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalRow {
    /// The journal.
    pub journal: JournalId,
    /// The epoch under which appends are taken.
    pub epoch: Epoch,
    /// Who opened it last.
    pub holder: SessionId,
    /// 0, or the relocation that has sealed it.
    pub sealed: u64,
}

/// A look at a journal that stays true: everything it shows has been acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenLook {
    /// The row.
    pub row: JournalRow,
    /// The last entry.
    pub last: Last,
    /// The chain at the number that was asked for; none if it is trimmed or not there.
    pub chain: Option<Chain>,
}

/// What a read of entries gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadEntries {
    /// Consecutive entries that begin with the number that was asked for; none if it is beyond the end.
    Entries(Vec<Entry>),
    /// The number that was asked for has been trimmed: begin with a base.
    Trimmed,
}
