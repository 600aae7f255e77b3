//! Sessions of server processes, and what is true of the whole cluster.

use crate::SessionId;

/// A server process that wants to take part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMember {
    /// Its session.
    pub session: SessionId,
    /// Its name. No two sessions that have not ended have the same.
    pub name: String,
    /// Where others reach it, in a form that only members read.
    pub addresses: String,
    /// The newest level of formats that it can read and write.
    pub level_max: u32,
}

/// A session as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// What it said of itself.
    pub member: NewMember,
    /// How often it has beaten.
    pub beat: u64,
    /// True if it is over, for good. A session that has no row any more is over, too.
    pub ended: bool,
}

/// What came of an attempt to take part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// The session is there.
    Yes,
    /// A session of that name has not ended.
    NameInUse(Member),
}

/// The answer to a beat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// How often the session has beaten; none if it has ended.
    pub beat: Option<u64>,
    /// The cluster at that moment.
    pub cluster: ClusterFacts,
}

/// What is true of the whole cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterFacts {
    /// A UUID, made with the schema.
    pub id: String,
    /// The version of the schema.
    pub schema: u32,
    /// The newest level of formats that may be written.
    pub level: u32,
    /// Why nobody serves: the engine has gone back.
    pub halted: Option<String>,
}
