//! The headers of a request, gathered in one pass, and their typed readers.
//!
//! Hot path: one pass over what was sent, an array slot per used header, no hashing, no allocation.

pub(crate) mod response;
mod table;
pub(crate) mod values;
pub(crate) mod writer;

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue};

pub(crate) use self::table::Name;
pub use self::table::{HeaderFact, Treatment, header_table};
use self::table::{REFUSED, USED};
use crate::error::Error;

/// The used headers of one request. Invariant: at most one value each, none of them refused.
#[derive(Debug)]
pub(crate) struct RequestHeaders<'a> {
    values: [Option<&'a HeaderValue>; Name::COUNT],
}

/// Longest header name we know.
const NAME_BYTES_MAX: usize = 64;

#[derive(Debug, Clone, Copy)]
enum HeaderEntry {
    Used(Name),
    Refused(&'static HeaderFact),
}

/// Known names by length: a few per length, so a lookup is a few comparisons.
static BY_LENGTH: LazyLock<Vec<Vec<(&'static str, HeaderEntry)>>> = LazyLock::new(|| {
    let used = USED.iter().map(|name| (name.text(), HeaderEntry::Used(*name)));
    let refused = REFUSED.iter().map(|fact| (fact.name, HeaderEntry::Refused(fact)));
    let mut by_length = vec![Vec::new(); NAME_BYTES_MAX + 1];
    for (name, entry) in used.chain(refused) {
        if let Some(bucket) = by_length.get_mut(name.len()) {
            bucket.push((name, entry));
        }
    }
    by_length
});

impl<'a> RequestHeaders<'a> {
    /// Gathers the used headers; refuses those that we know and do not support.
    pub(crate) fn collect(map: &'a HeaderMap) -> Result<RequestHeaders<'a>, Error> {
        let by_length = &*BY_LENGTH;
        let mut headers = RequestHeaders { values: [None; Name::COUNT] };
        for (name, value) in map {
            let name = name.as_str();
            let bucket = by_length.get(name.len()).map_or(&[][..], Vec::as_slice);
            match bucket.iter().find(|(known, _)| *known == name) {
                Some((_, HeaderEntry::Used(name))) => headers.set(*name, value)?,
                Some((_, HeaderEntry::Refused(fact))) => refuse(fact, value)?,
                None => {}
            }
        }
        Ok(headers)
    }

    fn set(&mut self, name: Name, value: &'a HeaderValue) -> Result<(), Error> {
        let Some(slot) = self.values.get_mut(name as usize) else { return Ok(()) };
        match slot {
            None => *slot = Some(value),
            // HTTP lets lists be sent in parts; for us a part of the list is enough.
            Some(_) if name.is_list() => {}
            // Two values of one setting: whichever we chose could be the wrong one.
            Some(_) => return Err(Error::HeaderRepeated { name: name.text() }),
        }
        Ok(())
    }

    /// The text of a header; an empty value counts as absent.
    pub(crate) fn get(&self, name: Name) -> Result<Option<&'a str>, Error> {
        Ok(self.get_or_empty(name)?.filter(|text| !text.is_empty()))
    }

    /// The text of a header for which an empty value has a meaning.
    pub(crate) fn get_or_empty(&self, name: Name) -> Result<Option<&'a str>, Error> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        std::str::from_utf8(value.as_bytes())
            .map(Some)
            .map_err(|_| Error::HeaderNotText { name: name.text() })
    }

    /// Wire: either header or the content type makes a POST a query, unless it says that it is a document.
    pub(crate) fn is_query(&self) -> Result<bool, Error> {
        let is_told = self.is_on(Name::IsQuery)? || self.is_on(Name::Query)?;
        Ok(is_told && !self.has_content_type("application/json")?
            || self.has_content_type("application/query+json")?
            || self.has_content_type("application/sql")?)
    }

    pub(crate) fn has_content_type(&self, expected: &str) -> Result<bool, Error> {
        Ok(self.content_type()?.eq_ignore_ascii_case(expected))
    }

    /// The content type without its parameters; empty when there is none.
    pub(crate) fn content_type(&self) -> Result<&'a str, Error> {
        let text = self.get(Name::ContentType)?.unwrap_or_default();
        Ok(text.split(';').next().unwrap_or_default().trim())
    }

    /// The value of a header as sent.
    pub(crate) fn raw(&self, name: Name) -> Option<&'a HeaderValue> {
        self.values.get(name as usize).copied().flatten()
    }
}

/// A switch that is off asks for nothing.
fn refuse(fact: &HeaderFact, value: &HeaderValue) -> Result<(), Error> {
    if value.is_empty() || value.as_bytes().eq_ignore_ascii_case(b"false") {
        return Ok(());
    }
    Err(Error::HeaderRefused { name: fact.name, why: fact.about })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        map
    }

    #[test]
    fn used_headers_are_found_and_others_left_alone() {
        let map = map(&[("x-ms-date", "d"), ("x-unknown", "1"), ("x-ms-session-token", "")]);
        let headers = RequestHeaders::collect(&map).unwrap();
        assert_eq!(headers.get(Name::Date).unwrap(), Some("d"));
        assert_eq!(headers.get(Name::SessionToken).unwrap(), None);
        assert_eq!(headers.get_or_empty(Name::SessionToken).unwrap(), Some(""));
        assert_eq!(headers.get(Name::Authorization).unwrap(), None);
    }

    #[test]
    fn every_used_name_finds_its_own_slot() {
        for name in USED {
            let map = map(&[(name.text(), "v")]);
            let headers = RequestHeaders::collect(&map).unwrap();
            assert_eq!(headers.get(*name).unwrap(), Some("v"), "{name:?}");
            let others = USED.iter().filter(|other| *other != name);
            assert!(others.into_iter().all(|other| headers.raw(*other).is_none()), "{name:?}");
        }
    }

    #[test]
    fn every_refused_header_is_refused_unless_switched_off() {
        for fact in REFUSED {
            let result = RequestHeaders::collect(&map(&[(fact.name, "true")])).map(|_| ());
            assert!(matches!(result, Err(Error::HeaderRefused { .. })), "{}", fact.name);
            assert!(RequestHeaders::collect(&map(&[(fact.name, "False")])).is_ok());
        }
    }

    #[test]
    fn a_setting_sent_twice_is_refused() {
        let twice = map(&[("x-ms-date", "a"), ("x-ms-date", "b")]);
        let result = RequestHeaders::collect(&twice).map(|_| ());
        assert!(matches!(result, Err(Error::HeaderRepeated { name: "x-ms-date" })));
        let list = map(&[("accept-encoding", "gzip"), ("accept-encoding", "br")]);
        assert!(RequestHeaders::collect(&list).is_ok());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_when_read() {
        let mut map = HeaderMap::new();
        map.insert("x-ms-date", HeaderValue::from_bytes(b"\xff").unwrap());
        let headers = RequestHeaders::collect(&map).unwrap();
        assert!(matches!(headers.get(Name::Date), Err(Error::HeaderNotText { .. })));
    }
}
