//! Session tokens: how far into each range a client has seen.
//!
//! Grammar: `range ":" version "#" lsn ( "#" region "=" lsn )*`, entries parted by commas. We write
//! `0:-1#15,1:-1#8` (one region, so version −1 until a merge and no region list). The simple form `0:15` is
//! read from everybody and written only for clients so old that they know no other: newer ones fail on it.
//!
//! Reading is lenient: an entry whose range we do not know (the master's `M`) is skipped by the
//! caller or here, since tokens outlive splits and containers.

#![deny(clippy::indexing_slicing)]

use std::fmt;

use crate::{Failure, Lsn, RangeId, Status};

/// Limit: entries of one token. A request header holds far fewer; more is an attack.
const ENTRIES_MAX: usize = 65_536;

/// What a client has seen of one range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionEntry {
    /// The range, as it was named when the token was issued.
    pub range: RangeId,
    /// The topology epoch: −1 at first, bumped by merges, not by splits. The simple form names none.
    pub version: Option<i64>,
    /// The last commit seen.
    pub lsn: Lsn,
}

impl SessionEntry {
    /// The version of a range that nothing has happened to. Wire: a single region has one epoch.
    pub const FIRST_VERSION: i64 = -1;

    /// Orders by what was seen: a higher version supersedes, then the lsn counts.
    fn progress(&self) -> (i64, Lsn) {
        (self.version.unwrap_or(Self::FIRST_VERSION), self.lsn)
    }

    /// Says whether this client has seen more than a range at `version` and `lsn` has.
    pub fn is_ahead_of(&self, version: i64, lsn: Lsn) -> bool {
        self.progress() > (version, lsn)
    }
}

/// A session token: at most one entry per range. Wire: `x-ms-session-token`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionToken {
    entries: Vec<SessionEntry>,
}

/// A text that is not a session token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The session token provided '{text}' is invalid.")]
pub struct SessionTokenError {
    /// The text, cut to a length fit for a message.
    text: String,
}

impl Failure for SessionTokenError {
    fn status(&self) -> Status {
        Status::BAD_REQUEST
    }
}

impl SessionToken {
    /// Parses the header value. An empty text is a token without entries.
    pub fn parse(text: &str) -> Result<SessionToken, SessionTokenError> {
        let invalid = || SessionTokenError { text: text.chars().take(128).collect() };
        let mut entries = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if entries.len() == ENTRIES_MAX {
                return Err(invalid());
            }
            match parse_entry(part).ok_or_else(invalid)? {
                Parsed::Entry(entry) => entries.push(entry),
                Parsed::OtherPartition => {}
            }
        }
        Ok(SessionToken { entries: merge(entries) })
    }

    /// Adds what was seen of another range; for a range already present the later one stays.
    pub fn push(&mut self, entry: SessionEntry) {
        match self.entries.iter_mut().find(|known| known.range == entry.range) {
            Some(known) if known.progress() < entry.progress() => *known = entry,
            Some(_) => {}
            None => self.entries.push(entry),
        }
    }

    /// Returns the entries in the order they were written.
    pub fn entries(&self) -> &[SessionEntry] {
        &self.entries
    }

    /// Returns what the client has seen of `range`, or, if it knows only ancestors of it, the
    /// furthest it has seen of one of those.
    ///
    /// A token issued before a split stays useful: both children start at or above the parent's lsn.
    pub fn lsn_for(&self, range: RangeId, parents: &[RangeId]) -> Option<SessionEntry> {
        let own = self.entries.iter().find(|entry| entry.range == range);
        let inherited = || {
            let ancestors = self.entries.iter().filter(|entry| parents.contains(&entry.range));
            ancestors.max_by_key(|entry| entry.progress())
        };
        own.or_else(inherited).copied()
    }
}

impl From<SessionEntry> for SessionToken {
    fn from(entry: SessionEntry) -> SessionToken {
        SessionToken { entries: vec![entry] }
    }
}

impl fmt::Display for SessionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{entry}")?;
        }
        Ok(())
    }
}

impl fmt::Display for SessionEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionEntry { range, version, lsn } = self;
        match version {
            Some(version) => write!(f, "{range}:{version}#{lsn}"),
            None => write!(f, "{range}:{lsn}"),
        }
    }
}

enum Parsed {
    Entry(SessionEntry),
    /// A partition that has no range, such as the master's `M`.
    OtherPartition,
}

fn parse_entry(text: &str) -> Option<Parsed> {
    let (range, vector) = text.split_once(':')?;
    let (version, lsn) = match vector.split_once('#') {
        Some((version, rest)) => {
            let mut parts = rest.split('#');
            let lsn = parts.next()?;
            parts.all(is_region).then_some(())?;
            (Some(version.parse().ok()?), lsn)
        }
        None => (None, vector),
    };
    // Some SDKs start with a negative lsn for "nothing seen".
    let lsn = Lsn(u64::try_from(lsn.parse::<i128>().ok()?.max(0)).ok()?);
    let range = range.trim();
    if range.is_empty() {
        return None;
    }
    match RangeId::parse(range) {
        Some(range) => Some(Parsed::Entry(SessionEntry { range, version, lsn })),
        None if range.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Some(Parsed::OtherPartition)
        }
        None => None,
    }
}

fn is_region(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(region, lsn)| region.parse::<i64>().is_ok() && lsn.parse::<i128>().is_ok())
}

/// Leaves the furthest entry per range, in first-seen order, without comparing all pairs.
fn merge(entries: Vec<SessionEntry>) -> Vec<SessionEntry> {
    let mut by_range: Vec<(usize, SessionEntry)> = entries.into_iter().enumerate().collect();
    by_range.sort_by_key(|(index, entry)| (entry.range, *index));
    let mut merged: Vec<(usize, SessionEntry)> = Vec::with_capacity(by_range.len());
    for (index, entry) in by_range {
        match merged.last_mut() {
            Some((_, known)) if known.range == entry.range => {
                if known.progress() < entry.progress() {
                    *known = entry;
                }
            }
            Some(_) | None => merged.push((index, entry)),
        }
    }
    merged.sort_by_key(|(index, _)| *index);
    merged.into_iter().map(|(_, entry)| entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(range: u32, version: i64, lsn: u64) -> SessionEntry {
        SessionEntry { range: RangeId(range), version: Some(version), lsn: Lsn(lsn) }
    }

    fn simple(range: u32, lsn: u64) -> SessionEntry {
        SessionEntry { range: RangeId(range), version: None, lsn: Lsn(lsn) }
    }

    #[track_caller]
    fn check(text: &str, expected: &[SessionEntry]) {
        assert_eq!(SessionToken::parse(text).unwrap().entries(), expected, "{text}");
    }

    #[test]
    fn every_form_in_use_is_read() {
        check("0:-1#15", &[entry(0, -1, 15)]);
        check("0:0#15#1=15", &[entry(0, 0, 15)]);
        check("0:-1#15,1:-1#8", &[entry(0, -1, 15), entry(1, -1, 8)]);
        check(" 0:-1#15 , 1:2#8#1=7#2=-1 ", &[entry(0, -1, 15), entry(1, 2, 8)]);
        check("0:15", &[simple(0, 15)]);
        check("0:15,1:-1#8,2:9", &[simple(0, 15), entry(1, -1, 8), simple(2, 9)]);
        check("0:-1#-1", &[entry(0, -1, 0)]);
        check("M:-1#3,2:-1#4", &[entry(2, -1, 4)]);
        check("", &[]);
        check("3:-1#18446744073709551615", &[entry(3, -1, u64::MAX)]);
    }

    #[test]
    fn malformed_tokens_are_refused_with_the_service_words() {
        for bad in
            ["x", "0", "0:", ":1", "0:-1#", "0:a#1", "0:-1#b", "0:-1#1#2", "0:-1#1#a=2", "?:1"]
        {
            let error = SessionToken::parse(bad).unwrap_err();
            assert_eq!(error.status(), Status::BAD_REQUEST, "{bad}");
            assert_eq!(
                error.to_string(),
                format!("The session token provided '{bad}' is invalid.")
            );
        }
        let long = SessionToken::parse(&"é:".repeat(1 << 20)).unwrap_err();
        assert!(long.to_string().len() < 400);
    }

    #[test]
    fn a_range_named_twice_keeps_what_was_seen_last() {
        check("1:-1#5,0:-1#9,1:-1#7,1:-1#6", &[entry(1, -1, 7), entry(0, -1, 9)]);
        check("1:-1#500,1:0#7", &[entry(1, 0, 7)]);
        check("1:5,1:-1#4", &[simple(1, 5)]);
        check("1:4,1:-1#5", &[entry(1, -1, 5)]);
        let mut token = SessionToken::from(entry(1, -1, 5));
        token.push(entry(1, -1, 4));
        token.push(entry(2, -1, 1));
        token.push(entry(1, -1, 6));
        assert_eq!(token.to_string(), "1:-1#6,2:-1#1");
    }

    #[test]
    fn each_form_is_written_as_it_was_read() {
        for text in ["0:12", "0:-1#12", "0:12,1:4", "0:-1#12,1:4"] {
            assert_eq!(SessionToken::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_token_is_ahead_by_version_first_and_the_simple_form_has_the_first() {
        let lsn = Lsn(10);
        for ahead in [simple(0, 11), entry(0, -1, 11), entry(0, 0, 1)] {
            assert!(ahead.is_ahead_of(-1, lsn), "{ahead:?}");
        }
        for behind in [simple(0, 10), entry(0, -1, 10), entry(0, -2, 99)] {
            assert!(!behind.is_ahead_of(-1, lsn), "{behind:?}");
        }
    }

    #[test]
    fn children_inherit_from_any_ancestor() {
        let token = SessionToken::parse("0:-1#15,1:-1#20,9:-1#99").unwrap();
        let parents = [RangeId(0), RangeId(1)];
        assert_eq!(token.lsn_for(RangeId(5), &parents), Some(entry(1, -1, 20)));
        assert_eq!(token.lsn_for(RangeId(0), &parents), Some(entry(0, -1, 15)));
        assert_eq!(token.lsn_for(RangeId(5), &[]), None);
    }

    #[test]
    fn many_duplicate_entries_merge_quickly() {
        let text = "7:-1#1,".repeat(ENTRIES_MAX - 1) + "7:-1#2";
        check(&text, &[entry(7, -1, 2)]);
        assert!(SessionToken::parse(&(text + ",8:-1#1")).is_err());
    }
}
