//! The one writer of a partition: its lock, the order of commits, and what is on the way to the store.
//!
//! A write runs outside the lock against a view. Under the lock it is checked that nothing of its logical partition was
//! submitted since (otherwise it runs again there), the draft gets its LSN, and the batch is handed to the store,
//! which takes batches in call order. The answer is awaited without the lock.
//!
//! Every batch depends on the head that it was built on. If a commit fails, everything built on it fails too; then
//! the state here is thrown away and read again from the store ([`Partition::recover`]).
//!
//! Hot path: no await, no disk beyond reads that a stale run repeats, no logging under the lock.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use model::Lsn;
use query::index::IndexPolicy;
use store::{Batch, Commit, Direction, Snapshot};

use crate::index::PathDictionary;
use crate::keys::{Family, Keys, LogicalPrefix, place_of};
use crate::near_full::NearFull;
use crate::partition::Partition;
use crate::reader::{Liveness, Purges};
use crate::record::{Head, decode_lsn};
use crate::relocate::ChangeCapture;
use crate::statistics::UsageCounters;
use crate::transaction::{
    Done, Draft, Overlay, Pending, Refusal, Sealed, Step, TransactionContext, View, run,
};
use crate::{Error, Result};

// Limit: logical partitions whose last commit is remembered; beyond it all are forgotten and runs that began before
// are repeated under the lock.
const RECENT_MAX: usize = 10_000;

// Limit: how often a write is tried again after a commit before it failed.
const ATTEMPTS_MAX: usize = 5;

#[derive(Debug)]
pub(crate) struct Writer {
    /// As of the last submitted commit.
    pub(crate) head: Head,
    head_bytes: Bytes,
    overlay: Overlay,
    in_flight: VecDeque<InFlight>,
    next_ticket: u64,
    recent: Recent,
    /// Purges as of the last submitted commit.
    pub(crate) purges: Purges,
    /// The index as of the last submitted commit.
    pub(crate) dictionary: PathDictionary,
    /// Grows each time the state is read again from the store.
    generation: u64,
    is_broken: bool,
    /// Present while the partition is the source of a relocation.
    pub(crate) capture: Option<ChangeCapture>,
    pub(crate) near_full: NearFull,
    /// Shows `head` to those without the lock.
    pub(crate) usage: Arc<UsageCounters>,
}

/// A batch that the store has not answered.
#[derive(Debug)]
struct InFlight {
    ticket: u64,
    lsn: Lsn,
    keys: Vec<Bytes>,
    purges: Option<Purges>,
}

/// The last submitted commit of each logical partition since `floor`.
#[derive(Debug)]
struct Recent {
    floor: Lsn,
    last: HashMap<Bytes, Lsn>,
}

/// A batch on its way, and what must be done when it arrives.
#[derive(Debug)]
pub(crate) struct Sent {
    commit: Commit,
    ticket: u64,
    generation: u64,
}

/// What a commit of marks edits.
#[derive(Debug)]
pub(crate) struct Marks<'v> {
    /// The state before.
    pub(crate) view: &'v View,
    pub(crate) keys: Keys,
    pub(crate) head: Head,
    pub(crate) dictionary: PathDictionary,
    pub(crate) purges: Purges,
    pub(crate) batch: Batch,
}

/// A transaction that took effect, or only read.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) results: Vec<Done>,
    pub(crate) sealed: Option<Sealed>,
    pub(crate) lsn: Lsn,
}

enum Submitted {
    Sent(Sent, Sealed, Vec<Done>),
    /// Refused by what was submitted up to `relies_on`.
    Refused {
        refusal: Refusal,
        relies_on: Lsn,
        generation: u64,
    },
    Broken {
        generation: u64,
    },
}

impl Writer {
    /// Reads the state of a partition that nobody is writing to.
    pub(crate) fn load(
        snapshot: &dyn Snapshot,
        keys: Keys,
        policy: &IndexPolicy,
    ) -> Result<Writer> {
        let head_bytes = snapshot.get(&keys.head())?.ok_or(Error::Forgotten)?;
        let head = Head::decode(&head_bytes)?;
        let mut purges = Purges::new();
        for entry in snapshot.scan(keys.family(Family::Purge), Direction::Forward) {
            let (key, value) = entry?;
            purges.insert(place_of(&key).into_bytes(), decode_lsn(&value)?);
        }
        let recent = Recent { floor: head.lsn, last: HashMap::new() };
        let mut dictionary = PathDictionary::load(snapshot, keys, head.n_items)?;
        dictionary.adopt(policy, head.n_items);
        let usage = Arc::new(UsageCounters::default());
        usage.set(&head);
        Ok(Writer {
            head,
            head_bytes,
            overlay: Overlay::new(),
            in_flight: VecDeque::new(),
            next_ticket: 0,
            recent,
            purges,
            dictionary,
            generation: 0,
            is_broken: false,
            capture: None,
            near_full: NearFull::default(),
            usage,
        })
    }

    fn is_unchanged_since(&self, view: &View, place: &LogicalPrefix) -> bool {
        view.generation == self.generation
            && view.dictionary.version == self.dictionary.version()
            && view.base >= self.recent.floor
            && self.recent.last.get(place.as_bytes()).is_none_or(|last| *last <= view.base)
    }

    /// Refuses a write behind the fence of a relocation.
    fn check_fence(&self) -> Result<()> {
        match &self.capture {
            Some(capture) if capture.is_fenced() => Err(Error::Relocating),
            Some(_) | None => Ok(()),
        }
    }

    fn note(&mut self, place: &LogicalPrefix) {
        if self.recent.last.len() >= RECENT_MAX {
            self.recent.last.clear();
            self.recent.floor = self.head.lsn;
        }
        self.recent.last.insert(place.clone().into_bytes(), self.head.lsn);
    }

    /// Hands a batch built on the current head to the store. `self.head` is already the new head.
    fn send(
        &mut self,
        store: &dyn store::Store,
        keys: Keys,
        mut batch: Batch,
        visible: Vec<(Bytes, Option<Bytes>)>,
        purges: Option<Purges>,
    ) -> Sent {
        debug_assert!(!self.is_broken, "nothing is built on a chain of heads that broke");
        debug_assert!(
            Head::decode(&self.head_bytes).is_ok_and(|before| self.head.follows(&before)),
            "a head follows the one that it was built on"
        );
        debug_assert!(
            self.in_flight.back().is_none_or(|last| last.lsn <= self.head.lsn),
            "commits are submitted in the order of their LSNs"
        );
        if let Some(capture) = &mut self.capture {
            debug_assert!(!capture.is_fenced(), "nothing is written behind a fence");
            capture.note(&batch);
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let head_key = Bytes::from(keys.head());
        let head_bytes = self.head.encode();
        self.usage.set(&self.head);
        let built_on = std::mem::replace(&mut self.head_bytes, head_bytes.clone());
        batch.expect(head_key.clone(), Some(built_on));
        batch.put(head_key, head_bytes);
        let mut touched = Vec::with_capacity(visible.len());
        for (key, value) in visible {
            touched.push(key.clone());
            self.overlay.insert(key, Pending { ticket, value });
        }
        if let Some(purges) = &purges {
            self.purges = purges.clone();
        }
        self.in_flight.push_back(InFlight { ticket, lsn: self.head.lsn, keys: touched, purges });
        Sent { commit: store.commit(batch), ticket, generation: self.generation }
    }

    /// Drops from the overlay what the store has acknowledged. Commits are acknowledged in order, so one answer
    /// settles all that were submitted before, also those whose caller went away.
    fn settle(&mut self, ticket: u64) -> (Option<Lsn>, Option<Purges>) {
        let (mut lsn, mut purges) = (None, None);
        while self.in_flight.front().is_some_and(|front| front.ticket <= ticket) {
            let Some(front) = self.in_flight.pop_front() else { break };
            for key in &front.keys {
                if self.overlay.get(key).is_some_and(|pending| pending.ticket == front.ticket) {
                    self.overlay.remove(key);
                }
            }
            debug_assert!(lsn.is_none_or(|before| before <= front.lsn), "LSNs settle in order");
            lsn = Some(front.lsn);
            purges = front.purges.or(purges);
        }
        debug_assert!(
            !self.in_flight.is_empty() || self.overlay.is_empty(),
            "what is durable has left the overlay"
        );
        (lsn, purges)
    }
}

impl Partition {
    /// Runs the steps as one transaction and waits until it is durable.
    pub(crate) async fn transact(
        &self,
        context: &TransactionContext,
        steps: &[Step],
    ) -> Result<Committed, Refusal> {
        let first = |error: Error| Refusal::new(0, error);
        if steps.iter().all(Step::is_read) {
            return self.only_read(context, steps);
        }
        for _ in 0..ATTEMPTS_MAX {
            match self.submit(context, steps) {
                Submitted::Sent(sent, sealed, results) => {
                    let generation = sent.generation;
                    match self.arrive(sent).await {
                        Ok(()) => {
                            let lsn = sealed.lsn;
                            return Ok(Committed { results, sealed: Some(sealed), lsn });
                        }
                        Err(store::Error::Conflict) => {
                            self.recover(generation).await.map_err(first)?;
                        }
                        Err(error) => return Err(first(error.into())),
                    }
                }
                Submitted::Refused { refusal, relies_on, generation } => {
                    if self.is_durable(relies_on).await.map_err(first)? {
                        return Err(refusal);
                    }
                    // What it relied on was lost, and perhaps its caller went away without a word.
                    self.recover(generation).await.map_err(first)?;
                }
                Submitted::Broken { generation } => {
                    self.recover(generation).await.map_err(first)?;
                }
            }
        }
        Err(first(Error::Fenced))
    }

    fn only_read(
        &self,
        context: &TransactionContext,
        steps: &[Step],
    ) -> Result<Committed, Refusal> {
        let lsn = self.lsn();
        let reader = self.reader();
        let (dictionary, attachments) = {
            let writer = self.inner().writer.lock();
            (writer.dictionary.view(), writer.head.attachments)
        };
        let view = View {
            overlay: Overlay::new(),
            snapshot: reader.snapshot,
            liveness: reader.liveness,
            base: lsn,
            generation: 0,
            dictionary,
            attachments,
        };
        let draft = run(context, &view, steps)?;
        Ok(Committed { results: draft.results, sealed: None, lsn })
    }

    fn submit(&self, context: &TransactionContext, steps: &[Step]) -> Submitted {
        let inner = self.inner();
        let view = self.view(&inner.writer.lock());
        let early = run(context, &view, steps);
        let mut writer = inner.writer.lock();
        if let Err(error) = writer.check_fence() {
            let refusal = Refusal::new(0, error);
            let generation = writer.generation;
            return Submitted::Refused { refusal, relies_on: Lsn::ZERO, generation };
        }
        if writer.is_broken {
            return Submitted::Broken { generation: writer.generation };
        }
        let draft = if writer.is_unchanged_since(&view, &context.place) {
            early
        } else {
            run(context, &self.view(&writer), steps)
        };
        match draft {
            Ok(draft) => {
                let (sent, sealed, results) = self.seal(&mut writer, context, draft);
                Submitted::Sent(sent, sealed, results)
            }
            Err(refusal) => {
                let last = writer.recent.last.get(context.place.as_bytes()).copied();
                let relies_on = last.unwrap_or(Lsn::ZERO);
                Submitted::Refused { refusal, relies_on, generation: writer.generation }
            }
        }
    }

    fn seal(
        &self,
        writer: &mut Writer,
        context: &TransactionContext,
        draft: Draft,
    ) -> (Sent, Sealed, Vec<Done>) {
        let inner = self.inner();
        let mut batch = Batch::with_capacity(16);
        let mut visible = Vec::with_capacity(8);
        let now = inner.now();
        let limit = context.settings.logical_bytes_max;
        writer.near_full.note(&context.place, draft.bytes_after(), limit);
        let Writer { head, dictionary, .. } = &mut *writer;
        let (sealed, results) =
            draft.seal(context, head, dictionary, now, &mut batch, &mut visible);
        dictionary.save(context.keys, &mut batch);
        writer.note(&context.place);
        let sent = writer.send(&*inner.store, context.keys, batch, visible, None);
        (sent, sealed, results)
    }

    /// Recovers from a commit that failed, if one did. Plain writes do it when they meet it; a script begins with it.
    pub(crate) async fn mend(&self) -> Result<()> {
        let broken = {
            let writer = self.inner().writer.lock();
            writer.is_broken.then_some(writer.generation)
        };
        match broken {
            Some(generation) => self.recover(generation).await,
            None => Ok(()),
        }
    }

    /// What a script's transaction sees, and the last commit of its logical partition that it relies on.
    pub(crate) fn script_view(&self, place: &LogicalPrefix) -> (View, Lsn) {
        let writer = self.inner().writer.lock();
        let relies_on = writer.recent.last.get(place.as_bytes()).copied().unwrap_or(Lsn::ZERO);
        (self.view(&writer), relies_on)
    }

    /// Promises a number to a new item. It is lost, and never used, when the item is not written.
    pub(crate) fn promise_number(&self, view: &View) -> Result<u64> {
        let mut writer = self.inner().writer.lock();
        if writer.is_broken || writer.generation != view.generation {
            return Err(Error::Raced);
        }
        Ok(writer.head.take_number())
    }

    /// Hands a script's draft to the store, if nothing of its logical partition was submitted since its view.
    pub(crate) fn submit_script(
        &self,
        context: &TransactionContext,
        view: &View,
        draft: Draft,
    ) -> Result<(Sent, Sealed, Vec<Done>)> {
        let mut writer = self.inner().writer.lock();
        writer.check_fence()?;
        if writer.is_broken || !writer.is_unchanged_since(view, &context.place) {
            return Err(Error::Raced);
        }
        Ok(self.seal(&mut writer, context, draft))
    }

    /// Waits until a script's commit is durable. A commit built on one that failed lost a race.
    pub(crate) async fn settle_script(&self, sent: Sent) -> Result<()> {
        match self.arrive(sent).await {
            Ok(()) => Ok(()),
            Err(store::Error::Conflict) => Err(Error::Raced),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until what a script only read is durable.
    pub(crate) async fn settle_read(&self, relies_on: Lsn) -> Result<()> {
        if self.is_durable(relies_on).await? { Ok(()) } else { Err(Error::Raced) }
    }

    /// Commits a change of marks and positions: nothing that a transaction reads, but for purges.
    ///
    /// `change` edits the marks under the lock; `false` gives up.
    pub(crate) async fn commit_marks(
        &self,
        place: Option<&LogicalPrefix>,
        mut change: impl FnMut(&mut Marks<'_>) -> Result<bool>,
    ) -> Result<bool> {
        for _ in 0..ATTEMPTS_MAX {
            let sent = {
                let mut writer = self.inner().writer.lock();
                writer.check_fence()?;
                if writer.is_broken {
                    Err(writer.generation)
                } else {
                    let view = self.view(&writer);
                    let mut marks = Marks {
                        view: &view,
                        keys: self.keys(),
                        head: writer.head.clone(),
                        dictionary: writer.dictionary.clone(),
                        purges: writer.purges.clone(),
                        batch: Batch::new(),
                    };
                    if !change(&mut marks)? {
                        return Ok(false);
                    }
                    let Marks { head, mut dictionary, purges, mut batch, .. } = marks;
                    dictionary.save(self.keys(), &mut batch);
                    (writer.head, writer.dictionary) = (head, dictionary);
                    if let Some(place) = place {
                        writer.note(place);
                    }
                    let (store, keys) = (&*self.inner().store, self.keys());
                    Ok(writer.send(store, keys, batch, Vec::new(), Some(purges)))
                }
            };
            let generation = match sent {
                Ok(sent) => {
                    let generation = sent.generation;
                    match self.arrive(sent).await {
                        Ok(()) => return Ok(true),
                        Err(store::Error::Conflict) => generation,
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(generation) => generation,
            };
            self.recover(generation).await?;
        }
        Err(Error::Fenced)
    }

    /// Waits for the store's answer and settles it.
    async fn arrive(&self, sent: Sent) -> store::Result<()> {
        let answer = sent.commit.await;
        let inner = self.inner();
        let mut writer = inner.writer.lock();
        if writer.generation != sent.generation {
            return answer;
        }
        match &answer {
            Ok(()) => {
                let (lsn, purges) = writer.settle(sent.ticket);
                // Still under the lock, so that marks are published in the order of their commits.
                if let Some(purges) = purges {
                    *inner.purges.write() = purges;
                }
                if let Some(lsn) = lsn {
                    self.has_seen(lsn);
                }
            }
            Err(_) => writer.is_broken = true,
        }
        answer
    }

    /// Says whether the commit is in the store, after everything submitted before now has been answered.
    async fn is_durable(&self, lsn: Lsn) -> Result<bool> {
        if lsn <= self.lsn() {
            return Ok(true);
        }
        self.inner().store.commit(Batch::new()).await?;
        Ok(self.reader().head()?.lsn >= lsn)
    }

    /// Reads the writer's state again from the store after a commit failed.
    async fn recover(&self, generation: u64) -> Result<()> {
        let inner = self.inner();
        {
            let mut writer = inner.writer.lock();
            if writer.generation != generation {
                return Ok(());
            }
            writer.is_broken = true;
        }
        // Whatever was submitted on the broken chain has been answered when this is.
        inner.store.commit(Batch::new()).await?;
        let mut writer = inner.writer.lock();
        if writer.generation != generation {
            return Ok(());
        }
        let epoch = writer.head.epoch;
        let policy = inner.settings.read().index_policy.clone();
        let fresh = Writer::load(&*inner.store.snapshot(), self.keys(), &policy)?;
        if fresh.head.epoch != epoch {
            return Err(Error::Fenced);
        }
        debug_assert!(
            fresh.head.lsn <= writer.head.lsn,
            "the store has no commit that was not submitted"
        );
        let next_ticket = writer.next_ticket;
        let capture = writer.capture.take();
        let near_full = std::mem::take(&mut writer.near_full);
        *inner.purges.write() = fresh.purges.clone();
        self.has_seen(fresh.head.lsn);
        let usage = Arc::clone(&writer.usage);
        usage.set(&fresh.head);
        *writer =
            Writer { generation: generation + 1, next_ticket, capture, near_full, usage, ..fresh };
        Ok(())
    }

    /// What a writer sees now. The guard shows that nobody submits meanwhile.
    fn view(&self, writer: &Writer) -> View {
        let inner = self.inner();
        let overlay = writer.overlay.clone();
        let settings = inner.settings.read();
        View {
            overlay,
            snapshot: inner.store.snapshot(),
            liveness: Liveness {
                now: inner.now(),
                default_ttl: settings.default_ttl,
                ttl_path: settings.ttl_path.clone(),
                purges: writer.purges.clone(),
            },
            base: writer.head.lsn,
            generation: writer.generation,
            dictionary: writer.dictionary.view(),
            attachments: writer.head.attachments,
        }
    }
}
