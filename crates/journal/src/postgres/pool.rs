//! Connections that are made when they are needed, checked each time, and not tried again at once when that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::Env;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_postgres::Config;

use super::connection::{Connection, Failed, described};
use super::schema;
use super::tls::Tls;
use crate::{Error, Result};

/// The pause after the first failed attempt; it doubles, with some chance in it, so that members do not come back as a storm.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How connections are made.
pub(super) struct Connector {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) timeout: Duration,
    pub(super) env: Env,
    /// The cluster that every engine must have.
    pub(super) cluster: String,
    pub(super) reconnects: AtomicU64,
    pub(super) warnings: Mutex<schema::Warnings>,
}

impl Connector {
    async fn open(&self) -> Result<Connection> {
        let mut connection = open_first(&self.config, &self.tls, self.timeout).await?;
        let warnings = schema::check_fitness(&mut connection).await?;
        let id = schema::cluster_id(&mut connection).await?;
        if id != self.cluster {
            return Err(Error::Unfit(format!(
                "it has cluster {id}, and this server belongs to {}",
                self.cluster
            )));
        }
        self.reconnects.fetch_add(1, Ordering::AcqRel);
        *self.warnings.lock() = warnings;
        Ok(connection)
    }
}

/// Connects, without any check.
pub(super) async fn open_first(
    config: &Config,
    tls: &Tls,
    timeout: Duration,
) -> Result<Connection> {
    let opening = Connection::open(config, tls, timeout);
    match tokio::time::timeout(timeout, opening).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(Error::Unavailable(described(&error))),
        Err(_) => Err(Error::Unavailable("no connection in time".into())),
    }
}

/// A place for one connection.
#[derive(Default)]
pub(super) struct Slot {
    connection: Option<Connection>,
    failures: u32,
    not_before: Duration,
    why: Option<Error>,
}

impl Slot {
    /// Returns the connection, made anew if need be; why there is none otherwise.
    pub(super) async fn get(&mut self, connector: &Connector) -> Result<&mut Connection> {
        if !self.connection.as_ref().is_some_and(Connection::is_usable) {
            self.connection = None;
            if let Some(why) =
                self.why.as_ref().filter(|_| connector.env.monotonic() < self.not_before)
            {
                return Err(why.clone());
            }
            match connector.open().await {
                Ok(connection) => {
                    self.connection = Some(connection);
                    self.failures = 0;
                    self.why = None;
                }
                Err(error) => {
                    self.not_before = connector.env.monotonic() + self.pause(&connector.env);
                    self.why = Some(error.clone());
                    return Err(error);
                }
            }
        }
        self.connection.as_mut().ok_or_else(|| Error::Unavailable("no connection".into()))
    }

    fn pause(&mut self, env: &Env) -> Duration {
        let pause = PAUSE_MAX.min(PAUSE_MIN * 2_u32.pow(self.failures.min(10)));
        self.failures += 1;
        // Half of it by chance.
        let micros = u64::try_from(pause.as_micros() / 2).unwrap_or(0).max(1);
        pause / 2 + Duration::from_micros(env.random_u64() % micros)
    }
}

/// A few slots that calls share.
pub(super) struct Pool {
    idle: Mutex<Vec<Slot>>,
    permits: Semaphore,
}

impl Pool {
    pub(super) fn new(slots: usize) -> Pool {
        let idle = (0..slots).map(|_| Slot::default()).collect();
        Pool { idle: Mutex::new(idle), permits: Semaphore::new(slots) }
    }

    /// Waits for a slot and takes it; it comes back when the guard is dropped.
    pub(super) async fn take(self: &Arc<Self>) -> Taken {
        // The semaphore is never closed; without a permit there would be a slot more, no harm.
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
        let slot = self.idle.lock().pop().unwrap_or_default();
        Taken { slot: Some(slot), pool: Arc::clone(self) }
    }
}

/// A slot that a call has taken.
pub(super) struct Taken {
    slot: Option<Slot>,
    pool: Arc<Pool>,
}

impl Taken {
    pub(super) async fn get(&mut self, connector: &Connector) -> Result<&mut Connection> {
        self.slot.get_or_insert_default().get(connector).await
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.pool.idle.lock().push(slot);
        }
        self.pool.permits.add_permits(1);
    }
}

/// An error of a connection that could not be made: nothing was sent.
pub(super) fn not_sent(error: &Error) -> Failed {
    Failed::NotDone(error.to_string())
}
