//! What tests append, and short forms of calls.

use bytes::Bytes;
use journal::{
    Append, Engine, Entry, Epoch, FORMAT, JournalId, Open, Opened, Outcome, Position, ReadEntries,
    SessionId,
};

pub(crate) const JOURNAL: JournalId = JournalId::new(7);
pub(crate) const ME: SessionId = SessionId::new(1);
pub(crate) const OTHER: SessionId = SessionId::new(2);

/// The bytes of an entry or chunk with this text.
pub(crate) fn bytes(text: &str) -> Bytes {
    Bytes::from([&[FORMAT], text.as_bytes()].concat())
}

/// Opens whatever the epoch is.
pub(crate) async fn open(engine: &dyn Engine, journal: JournalId, holder: SessionId) -> Opened {
    let row = engine.row(journal).await.unwrap().expect("the journal is there");
    let open = Open { journal, seen: row.epoch, holder };
    engine.open(open).await.unwrap().expect("nobody was faster")
}

/// Makes a journal and opens it.
pub(crate) async fn begin(engine: &dyn Engine, journal: JournalId) -> Opened {
    engine.create(journal).await.unwrap();
    open(engine, journal, ME).await
}

pub(crate) fn entry(journal: JournalId, epoch: Epoch, after: Position, text: &str) -> Append {
    Append { journal, epoch, after, bytes: bytes(text) }
}

/// Appends these texts one after the other; returns where the last one is.
pub(crate) async fn append_all(
    engine: &dyn Engine,
    journal: JournalId,
    opened: Opened,
    texts: &[&str],
) -> Position {
    let mut position = opened.last.position;
    for text in texts {
        let append = entry(journal, opened.epoch, position, text);
        position = append.position();
        assert_eq!(engine.append(append).await, Outcome::Appended);
    }
    position
}

pub(crate) async fn read(engine: &dyn Engine, journal: JournalId, from: u64) -> Vec<Entry> {
    match engine.read(journal, from, usize::MAX).await.unwrap() {
        ReadEntries::Entries(entries) => entries,
        ReadEntries::Trimmed => panic!("{from} is trimmed"),
    }
}

pub(crate) fn is_doubt(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::InDoubt(_))
}
