//! How many files and sockets the process may have open, and who gets them.
//!
//! A store that cannot open a file cannot write. So the soft limit is raised to the hard one at start, a part of it is
//! kept for the store and for everything else that is not a connection, and connections get what is left.

/// Limit: descriptors that are kept for the store: tables that it keeps open, journals, files of copies under way.
const STORE_RESERVE: u64 = 1_200;

/// Limit: what the store gets at least where the limit is low; half of all is the rest.
const STORE_RESERVE_PART: u64 = 2;

/// Limit: descriptors of the runtime, the listener, the log, files that are read once.
const OTHERS_RESERVE: u64 = 64;

/// Limit: connections that are served even if that leaves less for the store.
const CONNECTIONS_MIN: u64 = 16;

/// What is assumed where the limit cannot be read.
const LIMIT_UNKNOWN: u64 = 1_024;

/// Raises the soft limit to the hard one, and returns what it is now.
pub(crate) fn raise_limit() -> u64 {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if limit.current != limit.maximum
            && let Err(error) = setrlimit(Resource::Nofile, raised)
        {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
        // None is without limit.
        getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
    }
    #[cfg(not(target_os = "linux"))]
    LIMIT_UNKNOWN
}

/// How many connections may be open when the process may have `limit` descriptors.
pub(crate) fn connections_max(limit: u64) -> usize {
    let limit = if limit == 0 { LIMIT_UNKNOWN } else { limit };
    let reserve = STORE_RESERVE.min(limit / STORE_RESERVE_PART) + OTHERS_RESERVE;
    usize::try_from(limit.saturating_sub(reserve).max(CONNECTIONS_MIN)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_keeps_its_share() {
        for (limit, expected) in
            [(20_000, 18_736), (4_096, 2_832), (1_024, 448), (256, 64), (64, 16), (0, 448)]
        {
            assert_eq!(connections_max(limit), expected, "{limit}");
        }
        assert!(connections_max(u64::MAX) > 1_000_000_000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        use rustix::process::{Resource, getrlimit};
        let limit = raise_limit();
        assert_eq!(getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX), limit);
    }
}
