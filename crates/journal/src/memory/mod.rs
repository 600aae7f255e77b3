//! An engine in memory for tests and simulation: fault injection over persistent states.
//!
//! Every call is carried out when it is made and answered at once, so one thread and a seed decide everything. Each commit
//! leaves the whole state behind as a value: a standby is "some state since the last acknowledged one", a backup is a state
//! that somebody kept, and a statement that is stuck is a function that waits for its turn.
//!
//! Invariant: what was acknowledged is in every state that [`MemoryEngine::promote`] can choose.

mod faults;
mod state;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use model::Env;

pub use faults::{CallKind, Fault, FaultRates, ScriptedFault};

use crate::contract::{Answer, Bases, Journal, Sessions, ready};
use crate::{
    Append, Base, BaseDigest, BaseId, Beat, Chain, ClusterFacts, Epoch, Error, JournalId,
    JournalRow, Last, Member, NewMember, Open, Opened, Outcome, ProvenLook, ReadEntries,
    Registered, Result, SessionId,
};
use faults::FaultPlan;
use state::State;

/// Unacknowledged commits that a promotion can still take back; older ones have reached the standby.
// Limit: states that one engine of a test remembers.
const UNPROVEN_MAX: usize = 256;

/// An engine in memory. Clones are the same engine.
#[derive(Clone)]
pub struct MemoryEngine(Arc<Mutex<Inner>>);

/// A backup of an engine.
#[derive(Debug, Clone)]
pub struct Backup(State);

struct Inner {
    /// What is visible.
    state: State,
    /// The states that the standby may have: the one of the last acknowledged commit first.
    standby: VecDeque<State>,
    plan: FaultPlan,
    /// Statements that are stuck, each with the call before which it arrives.
    late: Vec<(u64, Change)>,
    calls: u64,
    away_until: u64,
    is_away: bool,
    reconnects: u64,
}

type Change = Box<dyn FnOnce(&mut State) + Send>;

/// What a caller may conclude.
enum Called<T> {
    Done(T),
    Refused(&'static str),
    InDoubt(&'static str),
}

impl MemoryEngine {
    /// Makes an engine with the schema and nothing in it.
    pub fn new(env: &Env) -> MemoryEngine {
        let state = State::new(env.uuid());
        MemoryEngine(Arc::new(Mutex::new(Inner {
            standby: VecDeque::from([state.clone()]),
            state,
            plan: FaultPlan::None,
            late: Vec::new(),
            calls: 0,
            away_until: 0,
            is_away: false,
            reconnects: 1,
        })))
    }

    /// From now on these faults happen, each once, those for one kind of call in this order.
    pub fn script(&self, faults: Vec<ScriptedFault>) {
        self.lock().plan = FaultPlan::Script(faults);
    }

    /// From now on faults happen at random, as the seed of `env` has it.
    pub fn fail_at_random(&self, env: &Env, rates: FaultRates) {
        self.lock().plan = FaultPlan::Seeded(env.clone(), rates);
    }

    /// Ends all faults. What is stuck stays stuck.
    pub fn heal(&self) {
        let mut inner = self.lock();
        inner.plan = FaultPlan::None;
        inner.is_away = false;
        inner.away_until = 0;
    }

    /// Takes the engine away, or brings it back: every call is refused meanwhile.
    pub fn set_away(&self, is_away: bool) {
        self.lock().is_away = is_away;
    }

    /// Carries out everything that is stuck, in the order of the calls.
    pub fn release(&self) {
        self.lock().release(u64::MAX);
    }

    /// How many statements are stuck.
    pub fn n_stuck(&self) -> usize {
        self.lock().late.len()
    }

    /// Makes the standby the engine: unacknowledged commits of the end may be gone, acknowledged ones are not. What is stuck
    /// is lost with its connection.
    pub fn promote(&self, env: &Env) {
        let mut inner = self.lock();
        let n_states = inner.standby.len() as u64;
        let chosen = usize::try_from(env.random_u64() % n_states.max(1)).unwrap_or(0);
        if let Some(state) = inner.standby.get(chosen).cloned() {
            inner.replace(state);
        }
    }

    /// Makes the standby the engine with as little as it may have: everything unacknowledged at the end is gone.
    pub fn promote_oldest(&self) {
        let mut inner = self.lock();
        if let Some(state) = inner.standby.front().cloned() {
            inner.replace(state);
        }
    }

    /// Returns the state as it is now.
    pub fn back_up(&self) -> Backup {
        Backup(self.lock().state.clone())
    }

    /// Replaces the state with an older one: acknowledged commits are lost.
    pub fn restore(&self, backup: &Backup) {
        self.lock().replace(backup.0.clone());
    }

    /// Finds what must never be in a journal: a gap, a broken chain, an epoch that goes back.
    pub fn check(&self) -> Result<()> {
        self.lock().state.check().map_err(Error::Corrupt)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call that changes something.
    fn change<T, F>(&self, kind: CallKind, change: F) -> Called<T>
    where
        F: FnOnce(&mut State) -> T + Send + 'static,
    {
        let mut inner = self.lock();
        match inner.next_fault(kind) {
            None => {
                let done = change(&mut inner.state);
                inner.acknowledge();
                Called::Done(done)
            }
            Some(Fault::Refused) => Called::Refused("serialization failure"),
            Some(Fault::Away(_)) => Called::Refused("the engine is away"),
            Some(Fault::LostBefore) => {
                inner.reconnects += 1;
                Called::InDoubt("connection lost")
            }
            Some(Fault::LostAfter) => {
                let _ = change(&mut inner.state);
                inner.acknowledge();
                inner.reconnects += 1;
                Called::InDoubt("connection lost")
            }
            Some(Fault::Unproven) => {
                let _ = change(&mut inner.state);
                inner.remember();
                Called::InDoubt("the wait for the standby was cancelled")
            }
            Some(Fault::Late(calls)) => {
                let due = inner.calls + u64::from(calls);
                let late = Box::new(move |state: &mut State| drop(change(state)));
                inner.late.push((due, late));
                inner.reconnects += 1;
                Called::InDoubt("no answer in time")
            }
        }
    }

    fn changed<T: Send + 'static, F>(&self, kind: CallKind, change: F) -> Answer<Result<T>>
    where
        F: FnOnce(&mut State) -> T + Send + 'static,
    {
        ready(match self.change(kind, change) {
            Called::Done(done) => Ok(done),
            Called::Refused(why) => Err(Error::Unavailable(why.into())),
            Called::InDoubt(why) => Err(Error::InDoubt(why.into())),
        })
    }

    /// A call that changes nothing: whatever goes wrong, nothing has happened.
    fn look<T: Send + 'static>(&self, read: impl FnOnce(&State) -> T) -> Answer<Result<T>> {
        let mut inner = self.lock();
        ready(match inner.next_fault(CallKind::Read) {
            None => Ok(read(&inner.state)),
            Some(fault) => Err(Error::Unavailable(format!("{fault:?}"))),
        })
    }
}

impl Inner {
    fn next_fault(&mut self, kind: CallKind) -> Option<Fault> {
        self.calls += 1;
        self.release(self.calls);
        if self.is_away || self.calls < self.away_until {
            return Some(Fault::Away(0));
        }
        let fault = self.plan.next(kind);
        if let Some(Fault::Away(calls)) = fault {
            self.away_until = self.calls + 1 + u64::from(calls);
            self.reconnects += 1;
        }
        fault
    }

    /// What is stuck arrives: everything that is due at this call.
    fn release(&mut self, call: u64) {
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.late).into_iter().partition(|(due, _)| *due <= call);
        self.late = later;
        for (_, change) in due {
            change(&mut self.state);
            self.remember();
        }
    }

    /// A commit that nobody has acknowledged: the standby may have it.
    fn remember(&mut self) {
        if self.standby.len() == UNPROVEN_MAX {
            self.standby.pop_front();
        }
        self.standby.push_back(self.state.clone());
    }

    /// A commit that the standby has, and with it all before.
    fn acknowledge(&mut self) {
        self.standby.clear();
        self.standby.push_back(self.state.clone());
    }

    fn replace(&mut self, state: State) {
        self.standby = VecDeque::from([state.clone()]);
        self.state = state;
        self.late.clear();
        self.reconnects += 1;
    }
}

impl fmt::Debug for MemoryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEngine").field("calls", &self.lock().calls).finish_non_exhaustive()
    }
}

impl Journal for MemoryEngine {
    fn create(&self, journal: JournalId) -> Answer<Result<()>> {
        self.changed(CallKind::Change, move |state| state.create(journal))
    }

    fn remove(&self, journal: JournalId) -> Answer<Result<()>> {
        self.changed(CallKind::Change, move |state| state.remove(journal))
    }

    fn open(&self, open: Open) -> Answer<Result<Option<Opened>>> {
        self.changed(CallKind::Open, move |state| state.open(&open))
    }

    fn append(&self, append: Append) -> Answer<Outcome> {
        if let Err(error) = append.check() {
            return ready(Outcome::NotAppended(error.to_string()));
        }
        ready(match self.change(CallKind::Append, move |state| state.append(&append)) {
            Called::Done(Some(())) => Outcome::Appended,
            Called::Done(None) => Outcome::InDoubt("no row".into()),
            Called::Refused(why) => Outcome::NotAppended(why.into()),
            Called::InDoubt(why) => Outcome::InDoubt(why.into()),
        })
    }

    fn read(&self, journal: JournalId, from: u64, bytes_max: usize) -> Answer<Result<ReadEntries>> {
        self.look(|state| state.read(journal, from, bytes_max))
    }

    fn last(&self, journal: JournalId) -> Answer<Result<Option<Last>>> {
        self.look(|state| state.last(journal))
    }

    fn prove(
        &self,
        journal: JournalId,
        number: u64,
        session: SessionId,
    ) -> Answer<Result<Option<ProvenLook>>> {
        self.changed(CallKind::Beat, move |state| state.prove(journal, number, session))
    }

    fn chain_at(&self, journal: JournalId, number: u64) -> Answer<Result<Option<Chain>>> {
        self.look(|state| state.chain_at(journal, number))
    }

    fn trim(&self, journal: JournalId) -> Answer<Result<u64>> {
        self.changed(CallKind::Change, move |state| state.trim(journal))
    }

    fn seal(&self, journal: JournalId, epoch: Epoch, name: u64) -> Answer<Result<Option<Opened>>> {
        self.changed(CallKind::Open, move |state| state.seal(journal, epoch, name))
    }

    fn unseal(&self, journal: JournalId, name: u64) -> Answer<Result<bool>> {
        self.changed(CallKind::Change, move |state| state.unseal(journal, name))
    }

    fn rows(&self, after: JournalId, rows_max: usize) -> Answer<Result<Vec<JournalRow>>> {
        self.look(|state| state.rows(after, rows_max))
    }

    fn row(&self, journal: JournalId) -> Answer<Result<Option<JournalRow>>> {
        self.look(|state| state.row(journal))
    }
}

impl Bases for MemoryEngine {
    fn put_chunk(&self, base: BaseId, chunk: u32, bytes: Bytes) -> Answer<Result<()>> {
        if let Err(error) = crate::base::check_chunk(&bytes) {
            return ready(Err(error));
        }
        self.changed(CallKind::Change, move |state| state.put_chunk(base, chunk, bytes))
    }

    fn publish(&self, base: Base) -> Answer<Result<bool>> {
        self.changed(CallKind::Change, move |state| state.publish(&base))
    }

    fn confirm(&self, base: BaseId, digest: BaseDigest) -> Answer<Result<bool>> {
        self.changed(CallKind::Change, move |state| state.confirm(base, &digest))
    }

    fn discard(&self, base: BaseId) -> Answer<Result<()>> {
        self.changed(CallKind::Change, move |state| state.discard(base))
    }

    fn bases(&self, journal: JournalId) -> Answer<Result<Vec<Base>>> {
        self.look(|state| state.bases(journal))
    }

    fn chunk(&self, base: BaseId, chunk: u32) -> Answer<Result<Option<Bytes>>> {
        self.look(|state| state.chunk(base, chunk))
    }

    fn unfinished(&self) -> Answer<Result<Vec<(BaseId, u32)>>> {
        self.look(State::unfinished)
    }
}

impl Sessions for MemoryEngine {
    fn register(&self, member: NewMember) -> Answer<Result<Registered>> {
        self.changed(CallKind::Change, move |state| state.register(&member))
    }

    fn beat(&self, session: SessionId) -> Answer<Result<Beat>> {
        self.changed(CallKind::Beat, move |state| state.beat(session))
    }

    fn end(&self, session: SessionId, seen: u64) -> Answer<Result<bool>> {
        self.changed(CallKind::Change, move |state| state.end(session, seen))
    }

    fn forget(&self, session: SessionId) -> Answer<Result<bool>> {
        self.changed(CallKind::Change, move |state| state.forget(session))
    }

    fn members(&self) -> Answer<Result<Vec<Member>>> {
        self.look(State::members)
    }

    fn cluster(&self) -> Answer<Result<ClusterFacts>> {
        self.look(|state| state.cluster.clone())
    }

    fn halt(&self, message: String) -> Answer<Result<()>> {
        self.changed(CallKind::Change, move |state| state.halt(message))
    }

    fn resume(&self, message: String) -> Answer<Result<bool>> {
        self.changed(CallKind::Change, move |state| state.resume(&message))
    }

    fn raise_level(&self, seen: u32, to: u32) -> Answer<Result<bool>> {
        self.changed(CallKind::Change, move |state| state.raise_level(seen, to))
    }

    fn reconnects(&self) -> u64 {
        self.lock().reconnects
    }
}
