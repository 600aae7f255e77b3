//! The writer of one journal: fencing by epoch, and the resolution of unknown outcomes.
//!
//! A state machine over the engine, without clocks: each call makes one attempt, and the caller decides how long to go on.
//! While an outcome is unknown nothing more is sent, and nobody may be answered.
//!
//! Invariant: what is reported as written is in every later state of the engine; what is reported as not written never
//! comes.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    Append, Engine, Epoch, JournalId, Last, Open, Outcome, Position, ProvenLook, Result, SessionId,
};

/// The right to append to one journal, until somebody else takes it.
#[derive(Debug)]
pub struct Primary {
    engine: Arc<dyn Engine>,
    journal: JournalId,
    me: SessionId,
    epoch: Epoch,
    position: Position,
    /// The entry whose outcome is unknown.
    in_doubt: Option<Append>,
    is_deposed: bool,
}

/// What became of an entry whose outcome was unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It is in. Go on.
    Written,
    /// It is not in, and never will be. Go on: it may be sent again.
    NotWritten,
    /// Somebody else has the journal. Whether the entry is in, if that can be known.
    Deposed(Option<bool>),
    /// The journal ends neither with the entry nor before it: the engine has gone back. Nobody may be answered.
    Diverged(Last),
    /// Still unknown: try again.
    Again(String),
}

impl Primary {
    /// Opens a journal, if its epoch is still the one that was seen. `None`: somebody was faster, or it is sealed.
    ///
    /// In doubt nothing is lost: read the row and try again.
    pub async fn open(
        engine: Arc<dyn Engine>,
        journal: JournalId,
        seen: Epoch,
        me: SessionId,
    ) -> Result<Option<Primary>> {
        let opened = engine.open(Open { journal, seen, holder: me }).await?;
        Ok(opened.map(|opened| Primary {
            engine,
            journal,
            me,
            epoch: opened.epoch,
            position: opened.last.position,
            in_doubt: None,
            is_deposed: false,
        }))
    }

    /// Where the journal ends, as far as it is acknowledged.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The epoch that is held, or was.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// True if an outcome is unknown: call [`Primary::settle`] before anything else.
    pub fn is_in_doubt(&self) -> bool {
        self.in_doubt.is_some()
    }

    /// True if somebody else has the journal.
    pub fn is_deposed(&self) -> bool {
        self.is_deposed
    }

    /// Makes one attempt to append. While an earlier outcome is unknown, or after the journal was lost, nothing is sent.
    pub async fn append(&mut self, bytes: Bytes) -> Outcome {
        if self.is_in_doubt() || self.is_deposed {
            return Outcome::NotAppended("this server does not hold the journal for sure".into());
        }
        let append =
            Append { journal: self.journal, epoch: self.epoch, after: self.position, bytes };
        let outcome = self.engine.append(append.clone()).await;
        match &outcome {
            Outcome::Appended => self.position = append.position(),
            Outcome::NotAppended(_) => {}
            Outcome::InDoubt(_) => self.in_doubt = Some(append),
        }
        outcome
    }

    /// Makes one attempt to learn what became of the entry in doubt.
    pub async fn settle(&mut self) -> Settled {
        let Some(append) = self.in_doubt.clone() else { return Settled::Written };
        let row = match self.engine.row(self.journal).await {
            Ok(Some(row)) => row,
            // Removed, or not to be seen: only a proven look may say so.
            Ok(None) => return self.look(&append).await,
            Err(error) => return Settled::Again(error.to_string()),
        };
        // An own open whose answer was lost has left this server as the holder.
        if row.sealed != 0 || row.epoch != self.epoch && row.holder != self.me {
            return self.look(&append).await;
        }
        let open = Open { journal: self.journal, seen: row.epoch, holder: self.me };
        match self.engine.open(open).await {
            Err(error) => Settled::Again(error.to_string()),
            Ok(None) => Settled::Again("somebody else has opened the journal".into()),
            Ok(Some(opened)) => {
                self.epoch = opened.epoch;
                self.settle_by(&append, opened.last)
            }
        }
    }

    /// The epoch is new and acknowledged: everything that was sent before is fenced, so the last entry tells.
    fn settle_by(&mut self, append: &Append, last: Last) -> Settled {
        if last.position == append.position() {
            self.position = last.position;
            self.in_doubt = None;
            Settled::Written
        } else if last.position == append.after {
            self.in_doubt = None;
            Settled::NotWritten
        } else {
            Settled::Diverged(last)
        }
    }

    /// Somebody else has opened or sealed the journal, which fences this server as well, once that is acknowledged.
    async fn look(&mut self, append: &Append) -> Settled {
        let position = append.position();
        match self.engine.prove(self.journal, position.number, self.me).await {
            Err(error) => Settled::Again(error.to_string()),
            // Without a session nothing can be proven any more.
            Ok(None) => self.depose(None),
            Ok(Some(look)) if look.row.epoch == self.epoch => {
                Settled::Again("the other's open has vanished".into())
            }
            Ok(Some(look)) => self.depose(was_written(&look, position)),
        }
    }

    fn depose(&mut self, was_written: Option<bool>) -> Settled {
        self.is_deposed = true;
        self.in_doubt = None;
        Settled::Deposed(was_written)
    }
}

fn was_written(look: &ProvenLook, position: Position) -> Option<bool> {
    match look.chain {
        Some(chain) => Some(chain == position.chain),
        // Trimmed since: it may have been there.
        None if look.last.position.number >= position.number => None,
        None => Some(false),
    }
}
