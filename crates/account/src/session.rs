//! Session tokens and consistency: what a reader may insist on.
//!
//! Wire: Every read is served from the latest state, so any weaker level is honoured too.

use model::{Lsn, RangeId, SessionEntry};

use crate::container::Container;
use crate::error::{Error, Result};
use crate::operation::{Consistency, Options};
use crate::range_map::Range;

/// Wire: before this API version tokens have no version, and clients read no other form.
const VERSIONED_SINCE: &str = "2018-06-18";

pub(crate) fn consistency_name(consistency: Consistency) -> &'static str {
    match consistency {
        Consistency::Strong => "Strong",
        Consistency::BoundedStaleness => "BoundedStaleness",
        Consistency::Session => "Session",
        Consistency::ConsistentPrefix => "ConsistentPrefix",
        Consistency::Eventual => "Eventual",
    }
}

/// A request may weaken the account's consistency, never strengthen it.
pub(crate) fn check_consistency(options: &Options, default: Consistency) -> Result<()> {
    match options.consistency {
        // Strongest first in the order of the enum.
        Some(requested) if requested < default => Err(Error::ConsistencyTooStrong {
            requested: consistency_name(requested),
            default: consistency_name(default),
        }),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a read whose token is ahead of the range: those writes are not here.
pub(crate) fn check_read(
    options: &Options,
    default: Consistency,
    container: &Container,
    range: &Range,
) -> Result<()> {
    let level = options.consistency.unwrap_or(default);
    let Some(token) = options.session.as_ref().filter(|_| level <= Consistency::Session) else {
        return Ok(());
    };
    let Some(entry) = token.lsn_for(range.id(), container.parents(range.id())) else {
        return Ok(());
    };
    let is_ahead = entry.is_ahead_of(SessionEntry::FIRST_VERSION, range.partition.lsn());
    if is_ahead { Err(Error::SessionUnavailable) } else { Ok(()) }
}

/// What an answer tells the client to have seen of the one range that served it, in the form that the client knows.
pub(crate) fn entry(options: &Options, range: RangeId, lsn: Lsn) -> SessionEntry {
    let version = (!options.is_before(VERSIONED_SINCE)).then_some(SessionEntry::FIRST_VERSION);
    SessionEntry { range, version, lsn }
}
