//! What can go wrong in a store, as kinds that tell the caller what to do next.

use model::{Failure, Status};

/// The result of a store call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A store failure. The kind says what to do; the text says what happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A condition of the batch did not hold, and nothing was written: read again and retry.
    #[error("a condition of the batch no longer holds")]
    Conflict,
    /// The store cannot serve now, and nothing was written: retry later.
    #[error("store is unavailable: {0}")]
    Unavailable(String),
    /// Disk space or descriptors ran out, and nothing was written. The store goes on by itself when there are some again.
    #[error("store has run out of resources: {0}")]
    Exhausted(String),
    /// A replicated store could not learn in time whether the batch was written: it is there whole, or never will be.
    #[error("whether the write was made is not known: {0}")]
    InDoubt(String),
    /// Bytes break the rules of the store, and retrying cannot help: stop and look.
    #[error("store is corrupt: {0}")]
    Corrupt(String),
    /// A write or sync failed, so what the disk holds is unknown until it is read back: restart.
    #[error("store is poisoned: {0}")]
    Poisoned(String),
}

impl Failure for Error {
    fn status(&self) -> Status {
        match self {
            Self::Conflict => Status::RETRY_WITH,
            Self::Unavailable(_) | Self::Exhausted(_) | Self::Poisoned(_) => Status::UNAVAILABLE,
            Self::InDoubt(_) => Status::REQUEST_TIMEOUT,
            Self::Corrupt(_) => Status::INTERNAL,
        }
    }

    fn is_our_fault(&self) -> bool {
        match self {
            Self::Conflict | Self::Unavailable(_) | Self::Exhausted(_) | Self::InDoubt(_) => false,
            Self::Corrupt(_) | Self::Poisoned(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_the_status_that_tells_a_client_what_to_do() {
        #[rustfmt::skip]
        let table = [
            (Error::Conflict,                   449, false),
            (Error::Unavailable("x".into()),    503, false),
            (Error::Exhausted("x".into()),      503, false),
            (Error::InDoubt("x".into()),        408, false),
            (Error::Corrupt("x".into()),        500, true),
            (Error::Poisoned("x".into()),       503, true),
        ];
        for (error, code, is_our_fault) in table {
            assert_eq!(error.status().code, code, "{error}");
            assert_eq!(error.is_our_fault(), is_our_fault, "{error}");
        }
    }
}
