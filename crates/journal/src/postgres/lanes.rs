//! Group append: entries of several journals that wait together become one statement.
//!
//! A lane is a connection and a task that takes what waits, sends it, and answers it. There are a few, so that one sync of
//! the engine does not hold up the next, and one more for large entries, behind which nobody should wait. No connection has
//! two statements under way: a warning or a lost connection belongs to one statement.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::connection::{Connection, Failed, Parameter};
use super::pool::{Connector, Slot, not_sent};
use super::signed;
use crate::{Append, Outcome};

/// Larger entries go over a lane of their own.
const LARGE_BYTES: usize = 1 << 20;
// Limit: entries of one statement.
const GROUP_ENTRIES_MAX: usize = 256;
// Limit: bytes of the entries of one statement, unless it has only one.
const GROUP_BYTES_MAX: usize = 2 << 20;
// Limit: entries that wait; each journal has one at the most.
const WAITING_MAX: usize = 65_536;

/// The statement of one entry. The row of the journal is locked against opens, and against nothing else. What the entry
/// continues must be there: a connection may lead to an engine that has gone back since the caller last looked.
const APPEND_NEXT: &str = "
INSERT INTO orrery.entry (journal, number, epoch, chain, bytes)
SELECT j.id, $3::bigint, j.epoch, $5::bigint, $6::bytea
FROM (SELECT id, epoch FROM orrery.journal WHERE id = $1::bigint AND epoch = $2::bigint FOR SHARE) j
WHERE (SELECT p.chain FROM orrery.entry p WHERE p.journal = $1 AND p.number = $3 - 1) = $4::bigint
ON CONFLICT DO NOTHING RETURNING journal, number, epoch, chain";

/// The first entry of a journal continues nothing: there must be none. A statement of its own, because a condition on a
/// parameter would make the planner plan every run.
const APPEND_FIRST: &str = "
INSERT INTO orrery.entry (journal, number, epoch, chain, bytes)
SELECT j.id, $3::bigint, j.epoch, $5::bigint, $6::bytea
FROM (SELECT id, epoch FROM orrery.journal WHERE id = $1::bigint AND epoch = $2::bigint FOR SHARE) j
WHERE (SELECT p.number FROM orrery.entry p WHERE p.journal = $1 LIMIT 1) IS NULL
  AND $4::bigint IS NOT NULL
ON CONFLICT DO NOTHING RETURNING journal, number, epoch, chain";

/// The same for several journals, whose rows are locked in the order of their ids. Scalar subqueries, because a planner may
/// turn EXISTS into a hash of the whole table.
const APPEND_GROUP: &str = "
INSERT INTO orrery.entry (journal, number, epoch, chain, bytes)
SELECT j.id, e.number, j.epoch, e.chain, e.bytes
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[])
  AS e(journal, epoch, number, before, chain, bytes)
JOIN (SELECT id, epoch FROM orrery.journal WHERE id = ANY($1) ORDER BY id FOR SHARE) j
  ON j.id = e.journal AND j.epoch = e.epoch
WHERE CASE WHEN e.number = 1
  THEN (SELECT p.number FROM orrery.entry p WHERE p.journal = e.journal LIMIT 1) IS NULL
  ELSE (SELECT p.chain FROM orrery.entry p WHERE p.journal = e.journal AND p.number = e.number - 1)
    = e.before END
ON CONFLICT DO NOTHING RETURNING journal, number, epoch, chain";

/// An entry that waits for its statement.
struct Waiting {
    append: Append,
    answer: oneshot::Sender<Outcome>,
}

/// What waits for one kind of lane.
#[derive(Default)]
struct Queue {
    waiting: Mutex<VecDeque<Waiting>>,
    has_more: Notify,
}

/// Journal, number, epoch and chain: two entries that compete for a number may come in one statement.
type Key = [i64; 4];

fn key(append: &Append) -> Key {
    let position = append.position();
    [append.journal.get(), position.number, append.epoch.get(), position.chain.get()].map(signed)
}

/// All lanes of an engine. Dropping it ends their tasks when they have answered what waits.
pub(super) struct Lanes {
    small: Arc<Queue>,
    large: Arc<Queue>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Lanes {
    pub(super) fn start(connector: &Arc<Connector>, lanes: usize) -> Lanes {
        let (small, large) = (Arc::new(Queue::default()), Arc::new(Queue::default()));
        let queues = std::iter::repeat_n(&small, lanes.max(1)).chain([&large]);
        let tasks =
            queues.map(|queue| tokio::spawn(serve(Arc::clone(queue), Arc::clone(connector))));
        Lanes { tasks: tasks.collect(), small, large }
    }

    /// Takes a place in the queue at once.
    pub(super) fn append(&self, append: Append) -> oneshot::Receiver<Outcome> {
        let (answer, outcome) = oneshot::channel();
        let queue = if append.bytes.len() > LARGE_BYTES { &self.large } else { &self.small };
        let mut waiting = queue.waiting.lock();
        if waiting.len() < WAITING_MAX {
            waiting.push_back(Waiting { append, answer });
            drop(waiting);
            queue.has_more.notify_one();
        } else {
            let _ = answer.send(Outcome::NotAppended("too many entries wait".into()));
        }
        outcome
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // A statement that is under way may be carried out all the same: its caller is told that it is in doubt.
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

impl Queue {
    async fn take(&self) -> Vec<Waiting> {
        loop {
            let group = self.take_waiting();
            if !group.is_empty() {
                return group;
            }
            self.has_more.notified().await;
        }
    }

    /// Takes from the front what fits one statement.
    fn take_waiting(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock();
        let mut n_bytes = 0;
        let fits = |next: &Waiting, n_taken: usize, n_bytes: &mut usize| {
            *n_bytes += next.append.bytes.len();
            n_taken == 0 || n_taken < GROUP_ENTRIES_MAX && *n_bytes <= GROUP_BYTES_MAX
        };
        let mut group = Vec::new();
        while waiting.front().is_some_and(|next| fits(next, group.len(), &mut n_bytes)) {
            group.extend(waiting.pop_front());
        }
        if !waiting.is_empty() {
            // Another lane may be idle.
            self.has_more.notify_one();
        }
        group
    }
}

async fn serve(queue: Arc<Queue>, connector: Arc<Connector>) {
    let mut slot = Slot::default();
    loop {
        let group = queue.take().await;
        let answers = match slot.get(&connector).await {
            Ok(connection) => send(connection, &group).await,
            Err(error) => Err(not_sent(&error)),
        };
        answer(group, &answers);
    }
}

/// Sends a group. Returns which entries are in.
async fn send(connection: &mut Connection, group: &[Waiting]) -> Result<Vec<Key>, Failed> {
    let column = |of: fn(&Append) -> u64| -> Vec<i64> {
        group.iter().map(|waiting| signed(of(&waiting.append))).collect()
    };
    let journals = column(|it| it.journal.get());
    let epochs = column(|it| it.epoch.get());
    let numbers = column(|it| it.after.number + 1);
    let befores = column(|it| it.after.chain.get());
    let chains = column(|it| it.position().chain.get());
    let bytes: Vec<&[u8]> = group.iter().map(|waiting| as_slice(&waiting.append.bytes)).collect();
    let rows = if let [bytes] = bytes.as_slice() {
        let parameters: [Parameter<'_>; 6] =
            [&journals[0], &epochs[0], &numbers[0], &befores[0], &chains[0], bytes];
        let text = if numbers[0] == 1 { APPEND_FIRST } else { APPEND_NEXT };
        connection.run(text, &parameters).await?
    } else {
        let parameters: [Parameter<'_>; 6] =
            [&journals, &epochs, &numbers, &befores, &chains, &bytes];
        connection.run(APPEND_GROUP, &parameters).await?
    };
    rows.iter()
        .map(|row| Ok([row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?]))
        .collect::<Result<_, _>>()
        .map_err(|error: tokio_postgres::Error| Failed::InDoubt(error.to_string()))
}

fn as_slice(bytes: &Bytes) -> &[u8] {
    bytes
}

fn answer(group: Vec<Waiting>, answers: &Result<Vec<Key>, Failed>) {
    for waiting in group {
        let entry = key(&waiting.append);
        let outcome = match answers {
            Ok(entries) if entries.contains(&entry) => Outcome::Appended,
            Ok(_) => Outcome::InDoubt("another epoch, or another history".into()),
            Err(Failed::NotDone(why)) => Outcome::NotAppended(why.clone()),
            Err(Failed::InDoubt(why)) => Outcome::InDoubt(why.clone()),
        };
        // A caller that is gone does not take its entry back.
        let _ = waiting.answer.send(outcome);
    }
}
