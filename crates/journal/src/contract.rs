//! The traits that every engine implements, and that the replicated store is written against.
//!
//! Every call begins when it is made, not when its answer is first polled, and goes on when the answer is dropped. Calls
//! that change nothing may be repeated at will; the text at each other call says what to do when its outcome is unknown.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

use crate::{
    Append, Base, BaseDigest, BaseId, Beat, Chain, ClusterFacts, Epoch, JournalId, JournalRow,
    Last, Member, NewMember, Open, Opened, Outcome, ProvenLook, ReadEntries, Registered, Result,
    SessionId,
};

/// The answer to a call that is under way already.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Makes an answer that is there already.
pub fn ready<T: Send + 'static>(answer: T) -> Answer<T> {
    Box::pin(std::future::ready(answer))
}

/// The numbered entries of journals, and who may append them.
pub trait Journal: Debug + Send + Sync + 'static {
    /// Makes a journal without entries, of epoch 0, held by nobody. Does nothing if it is there.
    fn create(&self, journal: JournalId) -> Answer<Result<()>>;

    /// Removes a journal with its entries and bases, for good. Does nothing if it is not there; repeat it until it answers.
    fn remove(&self, journal: JournalId) -> Answer<Result<()>>;

    /// Raises the epoch and names the holder, if the epoch is still the one that was seen and the journal is not sealed;
    /// then looks at the last entry. `None`: it was not so, read the row again.
    ///
    /// In doubt: read the row and open again with the epoch that it has, if nobody else holds it.
    fn open(&self, open: Open) -> Answer<Result<Option<Opened>>>;

    /// Appends one entry under an epoch that the caller has opened.
    ///
    /// One at a time per journal: the next is sent when this one is [`Outcome::Appended`]. Entries of several journals
    /// that wait together become one statement underneath. In doubt the caller sends nothing more under this epoch, opens
    /// the journal again, and finds the entry as the last one or sends it again under the new epoch.
    fn append(&self, append: Append) -> Answer<Outcome>;

    /// Reads entries from this number on, up to about so many bytes, at least one if there is one.
    ///
    /// What is read may be of a commit that is not acknowledged and vanishes in a failover: it counts once it was named by
    /// its primary, a later entry follows, or [`Journal::prove`] shows its chain.
    fn read(&self, journal: JournalId, from: u64, bytes_max: usize) -> Answer<Result<ReadEntries>>;

    /// Looks at the last entry, with the same care as [`Journal::read`]. `None`: there is no such journal.
    fn last(&self, journal: JournalId) -> Answer<Result<Option<Last>>>;

    /// Looks at the row, the last entry and the chain at a number, in one transaction with a beat of this session: when it is
    /// acknowledged, so is everything that it shows. `None`: the session has ended, or there is no such journal.
    ///
    /// A look and a beat after each other would not do: between them the connection may have come to another engine, whose
    /// acknowledgement says nothing about what the first one showed.
    fn prove(
        &self,
        journal: JournalId,
        number: u64,
        session: SessionId,
    ) -> Answer<Result<Option<ProvenLook>>>;

    /// Returns the chain after this entry; `None` if it is trimmed or not there yet. Of number 0 it is the start.
    fn chain_at(&self, journal: JournalId, number: u64) -> Answer<Result<Option<Chain>>>;

    /// Deletes the entries that neither of the two newest confirmed bases needs, in slices, and the bases before these. The
    /// last entry always stays. Returns how many entries went. For the holder; repeating it is harmless.
    fn trim(&self, journal: JournalId) -> Answer<Result<u64>>;

    /// Like an open that leaves nobody as holder and the journal sealed with this name (not 0), by the holder of this epoch.
    /// No appends, no opens until it is unsealed.
    ///
    /// In doubt: read the row. Sealed with this name by an acknowledged beat later: it is done.
    fn seal(&self, journal: JournalId, epoch: Epoch, name: u64) -> Answer<Result<Option<Opened>>>;

    /// Lifts the seal of this name; false if it has no such seal. In doubt: again.
    fn unseal(&self, journal: JournalId, name: u64) -> Answer<Result<bool>>;

    /// Returns the rows of journals after this id, in ascending order, at most so many.
    fn rows(&self, after: JournalId, rows_max: usize) -> Answer<Result<Vec<JournalRow>>>;

    /// Returns the row of one journal.
    fn row(&self, journal: JournalId) -> Answer<Result<Option<JournalRow>>>;
}

/// The states that journals begin with when their first entries are trimmed.
pub trait Bases: Debug + Send + Sync + 'static {
    /// Writes a chunk of a base that is being made; the first byte is the format. Again: the same bytes, no harm.
    fn put_chunk(&self, base: BaseId, chunk: u32, bytes: Bytes) -> Answer<Result<()>>;

    /// Makes the base whole, after all of its chunks are acknowledged. False: a chunk is missing; begin anew with another id.
    fn publish(&self, base: Base) -> Answer<Result<bool>>;

    /// Counts one more replica that has the same digest at that place. False: no such base, or another digest.
    fn confirm(&self, base: BaseId, digest: BaseDigest) -> Answer<Result<bool>>;

    /// Removes a base that was not confirmed, or the chunks of one that was never made whole.
    fn discard(&self, base: BaseId) -> Answer<Result<()>>;

    /// Returns the bases of a journal, newest first, confirmed or not.
    fn bases(&self, journal: JournalId) -> Answer<Result<Vec<Base>>>;

    /// Reads a chunk; `None` if it is not there (any more).
    fn chunk(&self, base: BaseId, chunk: u32) -> Answer<Result<Option<Bytes>>>;

    /// Returns the ids of chunks without a base, each with how many there are. Whoever finds the same twice, long enough
    /// apart, discards them: their maker is gone.
    fn unfinished(&self) -> Answer<Result<Vec<(BaseId, u32)>>>;
}

/// The server processes of the cluster, and what is true of all of it.
pub trait Sessions: Debug + Send + Sync + 'static {
    /// Begins a session. Again with the same session: no harm.
    fn register(&self, member: NewMember) -> Answer<Result<Registered>>;

    /// Counts a beat of the own session and reads the cluster's row. Over a connection of its own.
    fn beat(&self, session: SessionId) -> Answer<Result<Beat>>;

    /// Ends a session for good, if it has not beaten since `seen`. In doubt: look at the members again.
    fn end(&self, session: SessionId, seen: u64) -> Answer<Result<bool>>;

    /// Removes the row of an ended session that holds no journal. False: it holds some, is not ended or not there.
    fn forget(&self, session: SessionId) -> Answer<Result<bool>>;

    /// Returns all sessions.
    fn members(&self) -> Answer<Result<Vec<Member>>>;

    /// Returns the cluster's row.
    fn cluster(&self) -> Answer<Result<ClusterFacts>>;

    /// Stops the cluster with this message, unless it is stopped already. Every beat sees it.
    fn halt(&self, message: String) -> Answer<Result<()>>;

    /// Ends the stop of this message; false if it is another, or none.
    fn resume(&self, message: String) -> Answer<Result<bool>>;

    /// Raises the level from the one that was seen; false if it is another by now.
    fn raise_level(&self, seen: u32, to: u32) -> Answer<Result<bool>>;

    /// How often connections to the engine were made. When it has grown, the engine may be another, older one: every replica
    /// compares its number and chain.
    fn reconnects(&self) -> u64;
}

/// All of an engine.
pub trait Engine: Journal + Bases + Sessions {}

impl<T: Journal + Bases + Sessions> Engine for T {}
