//! What the store had when it last looked, as a file of its own beside those of the engine.
//!
//! The engine takes a missing file for a store that never was, and cleans up the rest. So the store writes down what must be
//! there and compares it before the engine opens anything (`files.rs`, `log_repair.rs`).
//!
//! ```text
//! orrery manifest 1
//! keyspace 1 version 57                         its list of tables is v57 or a later one
//! log 4 from 1200 reached 5031 version 56       its batches have numbers from 1200 on; one of 5031 or more was synced, and
//!                                               no list up to v56 has it
//! checksum 1f0a…                                xxh3 of the lines before
//! ```
//!
//! Invariant: every line is a lower bound. Whatever the engine does by itself keeps it true, so the file may be older than
//! the data and a crash never makes it wrong.

use std::fmt::Write as _;

use xxhash_rust::xxh3::xxh3_64;

/// The name of the file.
pub(super) const MANIFEST: &str = "MANIFEST";

const HEAD: &str = "orrery manifest 1";

/// What was there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) keyspaces: Vec<KeyspaceNote>,
    /// Oldest first.
    pub(super) logs: Vec<LogNote>,
}

/// The list of tables that a keyspace had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyspaceNote {
    pub(super) id: u64,
    pub(super) version: u64,
}

/// A log and what it held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LogNote {
    pub(super) id: u64,
    /// No batch in it has a lower number.
    pub(super) from: u64,
    /// A batch with this number or a higher one was synced to it; 0 if none is known.
    pub(super) reached: u64,
    /// The list of tables before that batch was written: it is in no table of it.
    pub(super) version: u64,
}

impl Manifest {
    pub(super) fn version_of(&self, keyspace: u64) -> Option<u64> {
        self.keyspaces.iter().find(|note| note.id == keyspace).map(|note| note.version)
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        // Writing to a string does not fail.
        for KeyspaceNote { id, version } in &self.keyspaces {
            let _ = writeln!(text, "keyspace {id} version {version}");
        }
        for LogNote { id, from, reached, version } in &self.logs {
            let _ = writeln!(text, "log {id} from {from} reached {reached} version {version}");
        }
        let checksum = xxh3_64(text.as_bytes());
        let _ = writeln!(text, "checksum {checksum:016x}");
        text
    }

    /// Reads what [`Manifest::to_text`] wrote; `None` if it is anything else.
    pub(super) fn parse(text: &str) -> Option<Manifest> {
        let (lines, checksum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
        let lines_with_end = text.get(..=lines.len())?;
        if checksum != format!("checksum {:016x}", xxh3_64(lines_with_end.as_bytes())) {
            return None;
        }
        let mut lines = lines.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let mut manifest = Manifest::default();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match *words {
                ["keyspace", id, "version", version] => manifest
                    .keyspaces
                    .push(KeyspaceNote { id: id.parse().ok()?, version: version.parse().ok()? }),
                ["log", id, "from", from, "reached", reached, "version", version] => {
                    manifest.logs.push(LogNote {
                        id: id.parse().ok()?,
                        from: from.parse().ok()?,
                        reached: reached.parse().ok()?,
                        version: version.parse().ok()?,
                    });
                }
                _ => return None,
            }
        }
        Some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            keyspaces: vec![
                KeyspaceNote { id: 0, version: 2 },
                KeyspaceNote { id: 1, version: 57 },
            ],
            logs: vec![
                LogNote { id: 4, from: 1200, reached: 5031, version: 56 },
                LogNote { id: 5, from: 5032, reached: 0, version: 0 },
            ],
        }
    }

    #[test]
    fn it_reads_what_it_wrote_and_nothing_else() {
        let text = manifest().to_text();
        assert_eq!(Manifest::parse(&text), Some(manifest()));
        assert_eq!(Manifest::parse(&Manifest::default().to_text()), Some(Manifest::default()));
        for end in 0..text.len() {
            assert_eq!(Manifest::parse(&text[..end]), None, "cut at {end}");
        }
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let flipped = String::from_utf8(bytes).unwrap();
            assert_eq!(Manifest::parse(&flipped), None, "flipped at {at}");
        }
    }
}
