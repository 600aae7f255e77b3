//! The own session: a heartbeat task, its lease, and a failure detector for the others.
//!
//! One lease per process, not per partition: ten thousand idle partitions cost one beat a second. A beat is sent only while
//! the server is fit to serve; one that is not lets its lease run out, and others take over.
//!
//! Invariant: a beat counts only when the engine has acknowledged its commit; an unknown outcome renews nothing.

use std::fmt;
use std::sync::Arc;

use journal::lease::{BEAT_INTERVAL, Lease, LeaseClock, Observer};
use journal::{Beat, ClusterFacts, Engine, Member, NewMember, Registered, SessionId};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// Says whether this server is fit to serve: its listener answers where it said, its disk takes writes, its catalog is young.
pub type Health = Arc<dyn Fn() -> bool + Send + Sync>;

/// The cluster as this member saw it after its last acknowledged beat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// All sessions, ended ones too.
    pub members: Vec<Member>,
    /// The cluster's row.
    pub cluster: ClusterFacts,
    /// True if the own session has been ended: nothing more may be done under it.
    pub is_over: bool,
}

impl View {
    /// The sessions that have not ended.
    pub fn living(&self) -> impl Iterator<Item = &NewMember> {
        self.members.iter().filter(|it| !it.ended).map(|it| &it.member)
    }

    /// True if others may open what this session holds. A session without a row is over, too.
    pub fn has_ended(&self, session: SessionId) -> bool {
        !self.living().any(|it| it.session == session)
    }
}

/// Why a server cannot take part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinError {
    /// Another living session has the name.
    NameInUse(Box<Member>),
    /// The cluster writes formats that this program does not know.
    LevelTooNew {
        /// What is written.
        level: u32,
        /// The newest that this program knows.
        level_max: u32,
    },
    /// The engine did not do its part.
    Engine(journal::Error),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameInUse(other) => write!(
                f,
                "a member named {} is already there, at {}: give this one another name, or wait some seconds if that one has just died",
                other.member.name, other.member.addresses
            ),
            Self::LevelTooNew { level, level_max } => write!(
                f,
                "the cluster writes formats of level {level}, and this program knows {level_max}: use a newer one"
            ),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<journal::Error> for JoinError {
    fn from(error: journal::Error) -> JoinError {
        JoinError::Engine(error)
    }
}

/// The lease of the own session, to be asked before every answer from memory. Clones share it.
#[derive(Debug, Clone)]
pub struct LeaseHandle {
    lease: Arc<Mutex<Lease>>,
    clock: Arc<dyn LeaseClock>,
}

impl LeaseHandle {
    /// True if what was read from memory before this call may be answered now.
    pub fn is_held(&self) -> bool {
        // The lease first: a clock that is read later can only end it.
        let lease = *self.lease.lock();
        lease.is_held(self.clock.read())
    }
}

/// A server's part in the cluster. Dropping it stops the beats, and so, some seconds later, everything it held.
#[derive(Debug)]
pub struct Membership {
    engine: Arc<dyn Engine>,
    session: SessionId,
    lease: LeaseHandle,
    view: watch::Receiver<View>,
    task: JoinHandle<()>,
}

impl Membership {
    /// Begins a session and keeps it alive.
    ///
    /// `before` is the session that this data folder had last: with the folder locked by us, its process is gone, and it is
    /// ended at once instead of after a lease.
    pub async fn join(
        engine: Arc<dyn Engine>,
        clock: Arc<dyn LeaseClock>,
        member: NewMember,
        before: Option<SessionId>,
        health: Health,
    ) -> Result<Membership, JoinError> {
        if let Some(before) = before {
            end_now(&*engine, before).await?;
        }
        let (session, level_max) = (member.session, member.level_max);
        if let Registered::NameInUse(other) = engine.register(member).await? {
            return Err(JoinError::NameInUse(Box::new(other)));
        }
        let sent = clock.read();
        let Beat { beat, cluster } = engine.beat(session).await?;
        if cluster.level > level_max {
            end_now(&*engine, session).await?;
            return Err(JoinError::LevelTooNew { level: cluster.level, level_max });
        }
        let mut lease = Lease::new();
        let is_over = beat.is_none();
        if is_over {
            lease.end();
        } else {
            lease.acknowledge(sent, clock.read());
        }
        let members = engine.members().await?;
        let (publish, view) = watch::channel(View { members, cluster, is_over });
        let lease = LeaseHandle { lease: Arc::new(Mutex::new(lease)), clock };
        let heart = Heart {
            engine: Arc::clone(&engine),
            session,
            lease: lease.clone(),
            observer: Observer::new(session),
            health,
            publish,
        };
        let task = tokio::spawn(heart.run());
        Ok(Membership { engine, session, lease, view, task })
    }

    /// The own session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The own lease.
    pub fn lease(&self) -> LeaseHandle {
        self.lease.clone()
    }

    /// The cluster as it was seen last; its changes can be awaited.
    pub fn view(&self) -> watch::Receiver<View> {
        self.view.clone()
    }

    /// Ends the session in an orderly way, after everything it held was handed over.
    pub async fn leave(self) -> journal::Result<()> {
        self.task.abort();
        self.lease.lease.lock().end();
        end_now(&*self.engine, self.session).await
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ends a session whose process does nothing more, whatever its beat; a last one may still be under way.
async fn end_now(engine: &dyn Engine, session: SessionId) -> journal::Result<()> {
    loop {
        let members = engine.members().await?;
        let living = |it: &&Member| it.member.session == session && !it.ended;
        let Some(member) = members.iter().find(living) else { return Ok(()) };
        if engine.end(session, member.beat).await? {
            return Ok(());
        }
    }
}

/// The task behind a membership.
struct Heart {
    engine: Arc<dyn Engine>,
    session: SessionId,
    lease: LeaseHandle,
    observer: Observer,
    health: Health,
    publish: watch::Sender<View>,
}

impl Heart {
    async fn run(mut self) {
        let mut ticks = tokio::time::interval(BEAT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if !(self.health)() {
                tracing::warn!("this server is not fit to serve: no beat");
                continue;
            }
            let sent = self.lease.clock.read();
            match self.engine.beat(self.session).await {
                Ok(Beat { beat: Some(_), cluster }) => {
                    let now = self.lease.clock.read();
                    self.lease.lease.lock().acknowledge(sent, now);
                    self.observer.own_beat(now);
                    self.look(cluster).await;
                }
                Ok(Beat { beat: None, cluster }) => {
                    tracing::error!("this session has been ended by another member");
                    self.lease.lease.lock().end();
                    self.publish.send_modify(|view| {
                        view.cluster = cluster;
                        view.is_over = true;
                    });
                    return;
                }
                Err(error) => tracing::warn!("no beat: {error}"),
            }
        }
    }

    /// Looks at the others, and ends those that have not beaten for too long.
    async fn look(&mut self, cluster: ClusterFacts) {
        let asked = self.lease.clock.read();
        let members = match self.engine.members().await {
            Ok(members) => members,
            Err(error) => return tracing::warn!("the members cannot be read: {error}"),
        };
        let now = self.lease.clock.read();
        self.observer.observe(asked, now, &members);
        let mut view = View { members, cluster, is_over: false };
        for (session, beat) in self.observer.overdue(now) {
            // In doubt: the next look tells.
            if self.engine.end(session, beat).await == Ok(true) {
                tracing::warn!(%session, "ended: it has not beaten for a lease");
                let ended = view.members.iter_mut().find(|it| it.member.session == session);
                if let Some(member) = ended {
                    member.ended = true;
                }
            }
        }
        self.publish.send_if_modified(|before| {
            let is_changed = *before != view;
            *before = view;
            is_changed
        });
    }
}
