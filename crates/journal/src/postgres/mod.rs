//! The engine of servers: journals in PostgreSQL.
//!
//! Statements are prepared, each a transaction of its own; where two are needed they come as one message. Nothing is kept in a
//! session of the engine, so a pooler that lends connections by the transaction may stand between. A statement that is not
//! answered in time is in doubt, and its connection is never used again.
//!
//! Invariant: one statement at a time per connection, so that every warning and every loss belongs to one.

mod bases;
mod connection;
mod entries;
mod lanes;
mod options;
mod pool;
mod schema;
mod sessions;
mod tls;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use model::Env;
use parking_lot::Mutex;

pub use options::PostgresOptions;

use crate::contract::{Answer, Bases, Journal, Sessions, ready};
use crate::{
    Append, Base, BaseDigest, BaseId, Beat, Chain, ClusterFacts, Epoch, Error, JournalId,
    JournalRow, Last, Member, NewMember, Open, Opened, Outcome, ProvenLook, ReadEntries,
    Registered, Result, SessionId,
};
use lanes::Lanes;
use pool::{Connector, Pool, Slot};

/// An engine on PostgreSQL. Clones are the same engine.
#[derive(Clone)]
pub struct PostgresEngine(Arc<Shared>);

struct Shared {
    connector: Arc<Connector>,
    lanes: Lanes,
    calls: Arc<Pool>,
    beats: Arc<tokio::sync::Mutex<Slot>>,
    runtime: tokio::runtime::Handle,
}

impl PostgresEngine {
    /// Connects, makes or migrates the tables, and refuses an engine that cannot keep what it acknowledges.
    ///
    /// Runs on the tokio runtime that it is called on, from then on too.
    pub async fn start(options: &PostgresOptions, env: &Env) -> Result<PostgresEngine> {
        let (config, tls) = options.parse()?;
        let mut first = pool::open_first(&config, &tls, options.timeout).await?;
        schema::check_fitness(&mut first).await?;
        let cluster = schema::prepare(&mut first, env).await?;
        let connector = Arc::new(Connector {
            config,
            tls,
            timeout: options.timeout,
            env: env.clone(),
            cluster,
            reconnects: AtomicU64::new(0),
            warnings: Mutex::default(),
        });
        let shared = Shared {
            lanes: Lanes::start(&connector, options.lanes),
            calls: Arc::new(Pool::new(options.calls.max(1))),
            beats: Arc::default(),
            runtime: tokio::runtime::Handle::current(),
            connector,
        };
        let engine = PostgresEngine(Arc::new(shared));
        engine.cluster().await?;
        for warning in engine.warnings() {
            tracing::warn!("{warning}");
        }
        Ok(engine)
    }

    /// What about the engine is no reason to refuse it, as of the last connection.
    pub fn warnings(&self) -> Vec<String> {
        self.0.connector.warnings.lock().clone()
    }

    /// Starts a call, which goes on when its answer is dropped.
    fn start_call<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Answer<Result<T>> {
        let task = self.0.runtime.spawn(call);
        Box::pin(async move {
            task.await.unwrap_or_else(|_| Err(Error::InDoubt("the server is stopping".into())))
        })
    }
}

/// Runs statements on one of the connections that calls share.
macro_rules! call {
    ($engine:expr, |$connection:ident| $statements:expr) => {{
        let (pool, connector) = (Arc::clone(&$engine.0.calls), Arc::clone(&$engine.0.connector));
        $engine.start_call(async move {
            let mut taken = pool.take().await;
            let $connection = taken.get(&connector).await?;
            $statements.await
        })
    }};
}

impl Journal for PostgresEngine {
    fn create(&self, journal: JournalId) -> Answer<Result<()>> {
        call!(self, |connection| entries::create(connection, journal))
    }

    fn remove(&self, journal: JournalId) -> Answer<Result<()>> {
        call!(self, |connection| entries::remove(connection, journal))
    }

    fn open(&self, open: Open) -> Answer<Result<Option<Opened>>> {
        call!(self, |connection| entries::open(connection, open))
    }

    fn append(&self, append: Append) -> Answer<Outcome> {
        if let Err(error) = append.check() {
            return ready(Outcome::NotAppended(error.to_string()));
        }
        let outcome = self.0.lanes.append(append);
        Box::pin(async move {
            outcome.await.unwrap_or_else(|_| Outcome::InDoubt("the server is stopping".into()))
        })
    }

    fn read(&self, journal: JournalId, from: u64, bytes_max: usize) -> Answer<Result<ReadEntries>> {
        call!(self, |connection| entries::read(connection, journal, from, bytes_max))
    }

    fn last(&self, journal: JournalId) -> Answer<Result<Option<Last>>> {
        call!(self, |connection| entries::last(connection, journal))
    }

    fn prove(
        &self,
        journal: JournalId,
        number: u64,
        session: SessionId,
    ) -> Answer<Result<Option<ProvenLook>>> {
        call!(self, |connection| entries::prove(connection, journal, number, session))
    }

    fn chain_at(&self, journal: JournalId, number: u64) -> Answer<Result<Option<Chain>>> {
        call!(self, |connection| entries::chain_at(connection, journal, number))
    }

    fn trim(&self, journal: JournalId) -> Answer<Result<u64>> {
        call!(self, |connection| entries::trim(connection, journal))
    }

    fn seal(&self, journal: JournalId, epoch: Epoch, name: u64) -> Answer<Result<Option<Opened>>> {
        call!(self, |connection| entries::seal(connection, journal, epoch, name))
    }

    fn unseal(&self, journal: JournalId, name: u64) -> Answer<Result<bool>> {
        call!(self, |connection| entries::unseal(connection, journal, name))
    }

    fn rows(&self, after: JournalId, rows_max: usize) -> Answer<Result<Vec<JournalRow>>> {
        call!(self, |connection| entries::rows(connection, after, rows_max))
    }

    fn row(&self, journal: JournalId) -> Answer<Result<Option<JournalRow>>> {
        call!(self, |connection| entries::row(connection, journal))
    }
}

impl Bases for PostgresEngine {
    fn put_chunk(&self, base: BaseId, chunk: u32, bytes: Bytes) -> Answer<Result<()>> {
        if let Err(error) = crate::base::check_chunk(&bytes) {
            return ready(Err(error));
        }
        call!(self, |connection| bases::put_chunk(connection, base, chunk, &bytes))
    }

    fn publish(&self, base: Base) -> Answer<Result<bool>> {
        call!(self, |connection| bases::publish(connection, &base))
    }

    fn confirm(&self, base: BaseId, digest: BaseDigest) -> Answer<Result<bool>> {
        call!(self, |connection| bases::confirm(connection, base, &digest))
    }

    fn discard(&self, base: BaseId) -> Answer<Result<()>> {
        call!(self, |connection| bases::discard(connection, base))
    }

    fn bases(&self, journal: JournalId) -> Answer<Result<Vec<Base>>> {
        call!(self, |connection| bases::bases(connection, journal))
    }

    fn chunk(&self, base: BaseId, chunk: u32) -> Answer<Result<Option<Bytes>>> {
        call!(self, |connection| bases::chunk(connection, base, chunk))
    }

    fn unfinished(&self) -> Answer<Result<Vec<(BaseId, u32)>>> {
        call!(self, |connection| bases::unfinished(connection))
    }
}

impl Sessions for PostgresEngine {
    fn register(&self, member: NewMember) -> Answer<Result<Registered>> {
        call!(self, |connection| sessions::register(connection, &member))
    }

    fn beat(&self, session: SessionId) -> Answer<Result<Beat>> {
        let (slot, connector) = (Arc::clone(&self.0.beats), Arc::clone(&self.0.connector));
        self.start_call(async move {
            let mut slot = slot.lock().await;
            sessions::beat(slot.get(&connector).await?, session).await
        })
    }

    fn end(&self, session: SessionId, seen: u64) -> Answer<Result<bool>> {
        call!(self, |connection| sessions::end(connection, session, seen))
    }

    fn forget(&self, session: SessionId) -> Answer<Result<bool>> {
        call!(self, |connection| sessions::forget(connection, session))
    }

    fn members(&self) -> Answer<Result<Vec<Member>>> {
        call!(self, |connection| sessions::members(connection))
    }

    fn cluster(&self) -> Answer<Result<ClusterFacts>> {
        call!(self, |connection| sessions::cluster(connection))
    }

    fn halt(&self, message: String) -> Answer<Result<()>> {
        call!(self, |connection| sessions::halt(connection, &message))
    }

    fn resume(&self, message: String) -> Answer<Result<bool>> {
        call!(self, |connection| sessions::resume(connection, &message))
    }

    fn raise_level(&self, seen: u32, to: u32) -> Answer<Result<bool>> {
        call!(self, |connection| sessions::raise_level(connection, seen, to))
    }

    fn reconnects(&self) -> u64 {
        self.0.connector.reconnects.load(Ordering::Acquire)
    }
}

impl fmt::Debug for PostgresEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresEngine")
            .field("cluster", &self.0.connector.cluster)
            .finish_non_exhaustive()
    }
}

/// The engine's integers are signed; bits stay as they are.
fn signed(number: u64) -> i64 {
    number.cast_signed()
}

fn unsigned(number: i64) -> u64 {
    number.cast_unsigned()
}
