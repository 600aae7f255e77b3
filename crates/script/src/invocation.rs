//! What to run, and what came of it.

use std::sync::Arc;

/// One version of a script.
#[derive(Debug, Clone)]
pub struct Script {
    /// Its id, for messages.
    pub id: Arc<str>,
    /// Changes with every change of the body, and no two scripts share one: rid and etag, say.
    pub version: Arc<str>,
    pub body: Arc<str>,
}

/// What a trigger runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Create,
    Replace,
    Upsert,
    Delete,
}

impl Operation {
    /// Wire: the answer of `getOperationType`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "Create",
            Operation::Replace => "Replace",
            Operation::Upsert => "Upsert",
            Operation::Delete => "Delete",
        }
    }
}

/// The part that a script plays. Bodies are JSON texts.
#[derive(Debug, Clone)]
pub enum Role {
    Procedure {
        /// A JSON array; `None` for no arguments.
        arguments: Option<String>,
    },
    /// Its answer is the item to write.
    PreTrigger { operation: Operation, request: Option<String> },
    /// Its answer is the answer of the request.
    PostTrigger { operation: Operation, request: Option<String>, response: Option<String> },
}

/// One run of one script.
#[derive(Debug, Clone)]
pub struct Invocation {
    pub script: Script,
    pub role: Role,
    /// User-defined functions that the queries of the run may call.
    pub functions: Arc<[Script]>,
    pub wants_log: bool,
}

/// What a run left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// JSON text; `None` when no body was set.
    pub body: Option<String>,
    /// Percent-encoded, if logging was asked for.
    pub log: Option<String>,
}

/// How an inline run ended.
#[derive(Debug)]
pub enum InlineOutcome {
    Ended(Answer),
    /// It did something to the host, and it does not count.
    Failed,
    /// There was none: the script is not known to be short, or this is no thread for it.
    NotBegun,
}
