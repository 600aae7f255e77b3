//! What can go wrong at an engine, by what the caller may conclude from it.

use model::{Failure, Status};

/// The result of a call to an engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed call. (Appends have an [`Outcome`](crate::Outcome) of their own, with the same kinds.)
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing was changed by this call, and nothing will be: try again.
    #[error("the journal engine is unavailable: {0}")]
    Unavailable(String),
    /// The change was made, or not, or will be, or was made and may vanish: look again, and believe an acknowledged change only.
    #[error("the outcome at the journal engine is unknown: {0}")]
    InDoubt(String),
    /// The engine is not what it must be (another cluster, no durability, too new a schema): a person has to look.
    #[error("the journal engine cannot be used: {0}")]
    Unfit(String),
    /// What was read, or was to be written, breaks the rules: trying again does not help.
    #[error("the journal is corrupt: {0}")]
    Corrupt(String),
}

impl Failure for Error {
    fn status(&self) -> Status {
        match self {
            Self::Unavailable(_) | Self::Unfit(_) => Status::UNAVAILABLE,
            Self::InDoubt(_) => Status::REQUEST_TIMEOUT,
            Self::Corrupt(_) => Status::INTERNAL,
        }
    }

    fn is_our_fault(&self) -> bool {
        matches!(self, Self::Corrupt(_))
    }
}
