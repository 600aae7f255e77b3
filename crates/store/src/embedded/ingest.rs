//! Loads and discards: work on the engine's tables that the committer does not do.
//!
//! A load has a thread, because writing tables takes processor time and syncs, and because the engine
//! lends a load only to one thread. Its end passes the committer, which publishes a snapshot at a
//! moment when nothing in the engine waits for a sync.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

use super::committer::Shared;
use super::engine::{Engine, Feed};
use crate::ingest::Order;
use crate::{Acknowledge, Batch, Commit, Error, Ingest, KeyRange, Result, Write, lower_priority};

/// A load that stays below this is one ordinary commit: a table of its own would cost more.
// Limit: held in memory until it is known to be more.
const ONE_COMMIT_BYTES: usize = 512 << 10;

/// Batches between the caller and the thread.
// Limit: one that is written, one that waits; a caller that does not wait for answers is refused.
const AHEAD_MAX: usize = 2;

/// A load into the tables of an engine.
#[derive(Debug)]
pub(super) struct TableIngest {
    shared: Arc<Shared>,
    engine: Arc<dyn Engine>,
    order: Order,
    stage: LoadStage,
}

#[derive(Debug)]
enum LoadStage {
    /// Few entries so far.
    Held(Batch),
    Running(SyncSender<Message>, JoinHandle<()>),
}

#[derive(Debug)]
enum Message {
    Entries(Vec<Write>, Acknowledge),
    Finish(Acknowledge),
}

impl TableIngest {
    pub(super) fn new(shared: Arc<Shared>, engine: Arc<dyn Engine>) -> TableIngest {
        TableIngest {
            shared,
            engine,
            order: Order::default(),
            stage: LoadStage::Held(Batch::new()),
        }
    }

    fn take(&mut self, batch: Batch) -> Result<Commit> {
        self.order.follow(&batch)?;
        let writes = match &mut self.stage {
            LoadStage::Running(..) => batch.into_writes(),
            LoadStage::Held(held) => {
                held.append(batch);
                if held.bytes() <= ONE_COMMIT_BYTES {
                    return Ok(Commit::ready(Ok(())));
                }
                let held = std::mem::take(held);
                let (sender, thread) = start(&self.shared, &self.engine)?;
                self.stage = LoadStage::Running(sender, thread);
                held.into_writes()
            }
        };
        let (commit, acknowledge) = Commit::pending();
        self.send(Message::Entries(writes, acknowledge))?;
        Ok(commit)
    }

    fn send(&self, message: Message) -> Result<()> {
        let LoadStage::Running(sender, _) = &self.stage else { return Ok(()) };
        let refusal = |message: Message, why: &str| {
            let error = Error::Unavailable(why.into());
            message.answer(Err(error.clone()));
            Err(error)
        };
        match sender.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(message)) => {
                refusal(message, "a load goes on before it was answered")
            }
            Err(TrySendError::Disconnected(message)) => refusal(message, "the load has ended"),
        }
    }
}

impl Ingest for TableIngest {
    fn write(&mut self, batch: Batch) -> Commit {
        self.take(batch).unwrap_or_else(|error| Commit::ready(Err(error)))
    }

    fn finish(mut self: Box<Self>) -> Commit {
        if let LoadStage::Held(held) = &mut self.stage {
            let held = std::mem::take(held);
            return self.shared.queue.push(held, self.shared.env.monotonic());
        }
        let (commit, acknowledge) = Commit::pending();
        match self.send(Message::Finish(acknowledge)) {
            Ok(()) => {
                // The thread goes on by itself.
                self.stage = LoadStage::Held(Batch::new());
                commit
            }
            Err(error) => Commit::ready(Err(error)),
        }
    }
}

impl Drop for TableIngest {
    /// Waits until an unfinished load is given up, so that whoever reclaims its keys finds them all.
    fn drop(&mut self) {
        let stage = std::mem::replace(&mut self.stage, LoadStage::Held(Batch::new()));
        if let LoadStage::Running(sender, thread) = stage {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!("a load ended by a panic");
            }
        }
    }
}

impl Message {
    fn answer(self, answer: Result<()>) {
        match self {
            Message::Entries(_, acknowledge) | Message::Finish(acknowledge) => {
                acknowledge.answer(answer);
            }
        }
    }
}

/// Starts the thread of a load.
fn start(
    shared: &Arc<Shared>,
    engine: &Arc<dyn Engine>,
) -> Result<(SyncSender<Message>, JoinHandle<()>)> {
    let (sender, receiver) = mpsc::sync_channel(AHEAD_MAX);
    let (shared, engine) = (Arc::clone(shared), Arc::clone(engine));
    let thread = spawn("orrery-ingest", move || {
        lower_priority();
        run(&shared, engine, &receiver);
    })?;
    Ok((sender, thread))
}

fn run(shared: &Shared, engine: Arc<dyn Engine>, messages: &Receiver<Message>) {
    let mut finish = None;
    let ended = engine.ingest(&mut || match messages.recv() {
        Ok(Message::Entries(writes, acknowledge)) => {
            acknowledge.answer(Ok(()));
            Feed::Entries(writes)
        }
        Ok(Message::Finish(acknowledge)) => {
            finish = Some(acknowledge);
            Feed::Finish
        }
        Err(_) => Feed::GiveUp,
    });
    // Who has the answer may close the store, and the engine must be gone then.
    drop(engine);
    match (finish, ended) {
        (Some(finish), Ok(())) => finish.answer(publish(shared)),
        (Some(finish), Err(error)) => {
            // The engine was about to change what it says its tables are.
            let error = shared.poisoned("load", &error);
            shared.queue.poison(&error);
            finish.answer(Err(error));
        }
        (None, Ok(())) => {}
        (None, Err(error)) => {
            tracing::warn!(%error, "a load failed");
            for message in messages {
                message.answer(Err(error.clone()));
            }
        }
    }
}

/// Frees what it can of a range, on a thread of its own: the engine first ends what it is doing to its tables.
pub(super) fn discard(shared: Arc<Shared>, engine: Arc<dyn Engine>, range: KeyRange) -> Commit {
    let (commit, acknowledge) = Commit::pending();
    let started = spawn("orrery-discard", move || {
        let done = engine.discard(&range);
        drop(engine);
        acknowledge.answer(done.and_then(|()| publish(&shared)));
    });
    match started {
        Ok(_detached) => commit,
        Err(error) => Commit::ready(Err(error)),
    }
}

/// Moves what is in memory to tables, on a thread of its own.
pub(super) fn flush(engine: Arc<dyn Engine>) -> Commit {
    let (commit, acknowledge) = Commit::pending();
    let started = spawn("orrery-flush", move || {
        let done = engine.flush();
        drop(engine);
        acknowledge.answer(done);
    });
    started.map_or_else(|error| Commit::ready(Err(error)), |_detached| commit)
}

fn publish(shared: &Shared) -> Result<()> {
    shared.queue.push_tables(shared.env.monotonic()).wait()
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let started = thread::Builder::new().name(name.into()).spawn(work);
    started.map_err(|error| Error::Unavailable(format!("cannot start a thread: {error}")))
}
