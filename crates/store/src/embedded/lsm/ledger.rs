//! Keeps the manifest up to date while the engine works.
//!
//! Written when a log was begun (before a commit in it is acknowledged), when tables came or went beside the log, when
//! nothing is written for a while, and at both ends. That is a few syncs for every 64 MB.

use std::path::PathBuf;
use std::sync::Arc;

use fjall::{AbstractTree as _, Database, Keyspace};
use parking_lot::Mutex;

use super::files;
use super::manifest::{LogNote, MANIFEST, Manifest};
use crate::Result;
use crate::embedded::directory::Directory;

#[derive(Debug)]
pub(super) struct Ledger {
    directory: Arc<Directory>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What is known now.
    now: Manifest,
    /// What the file says.
    written: Option<Manifest>,
    /// The last batch, as long as it is not synced.
    unsynced: Option<Before>,
    /// Writing the file failed.
    is_behind: bool,
}

/// The engine before a batch was written to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    /// The batch has this number or a higher one.
    number: u64,
    /// No list of tables up to this one has it.
    version: u64,
}

impl Before {
    pub(super) fn of(database: &Database, keyspace: &Keyspace) -> Before {
        Before { number: database.seqno(), version: keyspace.tree.current_version().id() }
    }
}

impl Ledger {
    /// Begins with what was found, and writes it down.
    pub(super) fn start(
        directory: Arc<Directory>,
        mut now: Manifest,
        database: &Database,
    ) -> Result<Ledger> {
        // After a start numbers go on from the highest in a table or a log, which may be lower than where they ended.
        if let Some(newest) = now.logs.last_mut()
            && newest.reached == 0
        {
            newest.from = database.seqno();
        }
        directory.replace(MANIFEST, &now.to_text())?;
        let state = State { written: Some(now.clone()), now, unsynced: None, is_behind: false };
        Ok(Ledger { directory, state: Mutex::new(state) })
    }

    /// Takes note of a batch that was written. If the engine has begun a log meanwhile, that is written down at once.
    pub(super) fn wrote(&self, before: Before) {
        let mut state = self.state.lock();
        let has_begun = self.follow_logs(&mut state);
        if !has_begun {
            // Otherwise the batch is in one of two logs; the place of the next one is known again.
            state.unsynced = Some(before);
        }
        if has_begun || state.is_behind {
            self.write(&mut state);
        }
    }

    /// Takes note that everything written was synced.
    pub(super) fn synced(&self) {
        let mut state = self.state.lock();
        if let Some(Before { number, version }) = state.unsynced.take()
            && let Some(newest) = state.now.logs.last_mut()
        {
            (newest.reached, newest.version) = (number, version);
        }
    }

    /// Writes down what is known now, if it is more than the file says.
    pub(super) fn note(&self, keyspace: &Keyspace) {
        let version = keyspace.tree.current_version().id();
        let mut state = self.state.lock();
        let own = state.now.keyspaces.iter_mut().find(|note| note.id == files::DATA);
        if let Some(own) = own {
            own.version = version;
        }
        self.follow_logs(&mut state);
        self.write(&mut state);
    }

    /// Writes down that the newest log may be empty. Returns false if that failed: then it must not be.
    pub(super) fn may_be_empty(&self) -> bool {
        let mut state = self.state.lock();
        self.follow_logs(&mut state);
        if let Some(newest) = state.now.logs.last_mut() {
            newest.reached = 0;
        }
        self.write(&mut state)
    }

    /// Writes down that the newest log is empty: what was in it must not come back.
    pub(super) fn is_empty(&self, keyspace: &Keyspace) {
        let in_tables = keyspace.tree.get_highest_persisted_seqno();
        let mut state = self.state.lock();
        if let Some(newest) = state.now.logs.last_mut() {
            newest.from = in_tables.map_or(0, |number| number + 1);
        }
        self.write(&mut state);
    }

    /// Looks whether the engine has begun another log.
    fn follow_logs(&self, state: &mut State) -> bool {
        let mut has_begun = false;
        while let Some(newest) = state.now.logs.last_mut()
            && self.path_of(newest.id + 1).exists()
        {
            // The engine syncs a log before it begins the next.
            if let Some(Before { number, version }) = state.unsynced.take() {
                (newest.reached, newest.version) = (number, version);
            }
            let from = newest.from.max(newest.reached + 1);
            let next = LogNote { id: newest.id + 1, from, ..LogNote::default() };
            state.now.logs.push(next);
            has_begun = true;
        }
        has_begun
    }

    fn path_of(&self, log: u64) -> PathBuf {
        self.directory.engine_path().join(format!("{log}.jnl"))
    }

    /// A manifest that cannot be written stays as old as it is: it is still true, and commits go on.
    fn write(&self, state: &mut State) -> bool {
        let newest = state.now.logs.last().map(|newest| newest.id);
        state.now.logs.retain(|log| Some(log.id) == newest || self.path_of(log.id).exists());
        if state.written.as_ref() == Some(&state.now) {
            return true;
        }
        let written = self.directory.replace(MANIFEST, &state.now.to_text());
        match &written {
            Ok(()) => state.written = Some(state.now.clone()),
            Err(error) if state.is_behind => tracing::debug!(%error, "cannot write the manifest"),
            Err(error) => {
                tracing::warn!(%error, "cannot write the manifest; the next commits try again");
            }
        }
        state.is_behind = written.is_err();
        written.is_ok()
    }
}
