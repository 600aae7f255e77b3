//! How a run can fail, and the status of each way.
//!
//! Wire: the texts are the service's as far as clients look for them (`docs/errors.md`).

use model::{Failure, Status};

use crate::host::HostError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "Encountered exception while compiling Javascript. Exception = {text}\r\nStack trace: {stack}"
    )]
    Uncompilable { text: String, stack: String },
    /// The script threw, aborted or left a rejected promise behind.
    #[error(
        "Encountered exception while executing Javascript. Exception = {text}\r\nStack trace: {stack}"
    )]
    Threw { status: Status, text: String, stack: String },
    #[error("The script with id '{id}' did not complete within the time limit of {limit_ms} ms")]
    TimedOut { id: String, limit_ms: u64 },
    #[error(
        "The script with id '{id}' is blocked for execution because it has violated its allowed \
         resource limit several times."
    )]
    Blocked { id: String },
    /// Wire: of functions the service speaks of `resources`.
    #[error(
        "The script with id '{id}' is blocked for execution because it has violated its allowed \
         resources limit several times."
    )]
    FunctionBlocked { id: String },
    #[error(
        "The arguments of a stored procedure must be a JSON array, or an object that is like one"
    )]
    ArgumentsInvalid,
    #[error("The script response is too large: the limit is {limit} characters")]
    ResponseTooLarge { limit: usize },
    /// The host failed; the script had no say.
    #[error("{}", .0.message)]
    Host(HostError),
    #[error("Request rate is large: all script threads are busy. Please retry this request later.")]
    Busy,
    #[error("scripts are shutting down")]
    Closed,
    /// The engine could not be set up, or something of ours panicked.
    #[error("the script engine failed: {0}")]
    Engine(String),
}

impl Failure for Error {
    fn status(&self) -> Status {
        match self {
            Self::Uncompilable { .. } => Status::SCRIPT_COMPILE,
            Self::Threw { status, .. } => *status,
            Self::TimedOut { .. } => Status::REQUEST_TIMEOUT,
            Self::Blocked { .. } | Self::FunctionBlocked { .. } => Status::FORBIDDEN,
            Self::ArgumentsInvalid => Status::BAD_REQUEST,
            Self::ResponseTooLarge { .. } => Status::TOO_LARGE,
            Self::Host(error) => error.status,
            Self::Busy => Status::TOO_MANY_REQUESTS,
            Self::Closed => Status::UNAVAILABLE,
            Self::Engine(_) => Status::INTERNAL,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            // Long enough for a typical run to end.
            Self::Busy => Some(50),
            _ => None,
        }
    }

    fn is_our_fault(&self) -> bool {
        match self {
            Self::Host(error) => error.is_fatal,
            Self::Engine(_) => true,
            _ => false,
        }
    }
}

/// A run that failed, and what it logged before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    pub error: Error,
    /// Percent-encoded, if logging was asked for.
    pub log: Option<String>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, log: None }
    }
}
