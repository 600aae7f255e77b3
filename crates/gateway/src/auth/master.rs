//! Signatures made with an account key: HMAC-SHA256 over verb, resource type, link and date.
//!
//! Wire: SDKs disagree in small ways about the link (name or lower-cased rid, decoded or as sent), so
//! a few candidates are tried (the Go SDK signs the encoded form). Each
//! candidate is derived from the path of this request alone and names the resource of this request.
//!
//! Hot path: the first candidate with the primary key matches nearly always; no allocation there.

#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::Mac;
use http::Method;
use model::Rid;

use super::{
    date,
    key::{Access, Key, KeyRing},
};
use crate::{
    error::{Error, excerpt},
    headers::{Name, RequestHeaders},
    paths::Path,
};

/// What the client should have signed.
#[derive(Debug)]
pub(super) struct Signature<'a> {
    verb: Cow<'a, str>,
    path: &'a Path,
    /// The fourth and fifth line, lower-cased.
    dates: Dates,
    date_seconds: u64,
}

#[derive(Debug)]
struct Dates {
    /// `x-ms-date`, or empty.
    first: String,
    /// `date`, or empty.
    second: String,
}

impl<'a> Signature<'a> {
    pub(super) fn of(
        method: &'a Method,
        path: &'a Path,
        headers: &RequestHeaders<'_>,
    ) -> Result<Signature<'a>, Error> {
        let first = headers.get(Name::Date)?.unwrap_or_default();
        let second = headers.get(Name::HttpDate)?.unwrap_or_default();
        let signed = if first.is_empty() { second } else { first };
        let date_seconds = date::parse(signed).ok_or(Error::DateInvalid)?;
        let dates =
            Dates { first: first.to_ascii_lowercase(), second: second.to_ascii_lowercase() };
        Ok(Signature { verb: verb(method), path, dates, date_seconds })
    }

    /// When the client says it signed.
    pub(super) fn date_seconds(&self) -> u64 {
        self.date_seconds
    }

    /// Finds the key that made `signature`.
    pub(super) fn verify(&self, keys: &KeyRing, signature: &str) -> Result<Access, Error> {
        let mismatch = || Error::SignatureMismatch { payload: self.payload() };
        let signature = decode_signature(signature).ok_or_else(mismatch)?;
        let candidates = Candidates { path: self.path, next: 0 };
        for (kind, link) in candidates {
            for key in keys.iter() {
                if self.is_made_by(key, &kind, &link, &signature) {
                    return Ok(key.access());
                }
            }
        }
        Err(mismatch())
    }

    fn is_made_by(&self, key: &Key, kind: &str, link: &str, signature: &[u8; 32]) -> bool {
        let Dates { first, second } = &self.dates;
        // Wire: the fifth line is empty when `x-ms-date` is there, but some clients fill it anyway.
        let plain = if first.is_empty() { second } else { "" };
        self.matches(key, [kind, link, first, plain], signature)
            || (plain != second && self.matches(key, [kind, link, first, second], signature))
    }

    fn matches(&self, key: &Key, lines: [&str; 4], signature: &[u8; 32]) -> bool {
        let mut mac = key.mac();
        mac.update(self.verb.as_bytes());
        for line in lines {
            mac.update(b"\n");
            mac.update(line.as_bytes());
        }
        mac.update(b"\n");
        // Compares in constant time.
        mac.verify_slice(signature).is_ok()
    }

    /// The text we would have signed, for the message.
    fn payload(&self) -> String {
        let (kind, link) = by_name(self.path);
        let Dates { first, second } = &self.dates;
        let plain = if first.is_empty() { second } else { "" };
        let verb = &self.verb;
        excerpt(&format!("{verb}\n{kind}\n{link}\n")) + &format!("{first}\n{plain}\n")
    }
}

/// Reads the base64 text of a signature without allocating.
pub(super) fn decode_signature(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 36];
    let n = STANDARD.decode_slice(text, &mut bytes).ok()?;
    bytes.get(..n)?.try_into().ok()
}

fn verb(method: &Method) -> Cow<'static, str> {
    match *method {
        Method::GET => Cow::Borrowed("get"),
        Method::POST => Cow::Borrowed("post"),
        Method::PUT => Cow::Borrowed("put"),
        Method::PATCH => Cow::Borrowed("patch"),
        Method::DELETE => Cow::Borrowed("delete"),
        ref other => Cow::Owned(other.as_str().to_ascii_lowercase()),
    }
}

/// The plain rule: even number of segments, the resource itself; odd, the feed below its owner.
fn by_name(path: &Path) -> (&str, &str) {
    let n = path.n_segments();
    if n == 0 {
        ("", "")
    } else if n.is_multiple_of(2) {
        (path.segment(n - 2), path.text())
    } else {
        (path.segment(n - 1), path.prefix(n - 1))
    }
}

/// The (resource type, link) pairs that a client may have signed for one path, likeliest first.
#[derive(Debug)]
struct Candidates<'a> {
    path: &'a Path,
    next: u8,
}

impl<'a> Iterator for Candidates<'a> {
    type Item = (Cow<'a, str>, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let candidate = match self.next {
                0 => Some(by_name(self.path)).map(|(kind, link)| (kind.into(), link.into())),
                1 => by_rid(self.path),
                2 => as_sent(self.path),
                3 => for_operation(self.path, "colls", false),
                4 => for_operation(self.path, "partitionkey", false),
                5 => for_operation(self.path, "colls", true),
                6 => for_operation(self.path, "partitionkey", true),
                7 => for_media(self.path, str::to_ascii_lowercase),
                8 => for_media(self.path, str::to_owned),
                // Wire: npm's documentdb 1.5 reads the `-` of our alphabet as the `+` of another one.
                9 => for_media(self.path, |rid| rid.to_ascii_lowercase().replace('-', "+")),
                _ => return None,
            };
            self.next += 1;
            if candidate.is_some() {
                return candidate;
            }
        }
    }
}

/// Rid-based links sign the last rid alone, in lower case.
fn by_rid(path: &Path) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let n = path.n_segments();
    let is_offer = path.segment(0) == "offers";
    if n < 2 || !(is_offer || is_database_rid(path.segment(1))) {
        return None;
    }
    let (kind, _) = by_name(path);
    let rid = if n.is_multiple_of(2) { path.last() } else { path.segment(n - 2) };
    Some((kind.into(), rid.to_ascii_lowercase().into()))
}

/// The link with its percent-encoding.
fn as_sent(path: &Path) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let encoded = path.encoded()?;
    let (kind, _) = by_name(path);
    let link = if path.n_segments().is_multiple_of(2) {
        encoded
    } else {
        encoded.rsplit_once('/').map_or("", |(owner, _)| owner)
    };
    Some((kind.into(), link.into()))
}

/// `…/operations/partitionkeydelete` signs the container under either of two types.
fn for_operation<'a>(
    path: &'a Path,
    kind: &'static str,
    by_rid: bool,
) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let n = path.n_segments();
    if n < 6 || path.segment(n - 2) != "operations" {
        return None;
    }
    if !by_rid {
        return Some((kind.into(), path.prefix(n - 2).into()));
    }
    is_database_rid(path.segment(1))
        .then(|| (kind.into(), path.segment(n - 3).to_ascii_lowercase().into()))
}

/// `media/{id}` signs the rid of the attachment that the id is made of, most clients in lower case.
fn for_media(
    path: &Path,
    spell: impl FnOnce(&str) -> String,
) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    if path.n_segments() != 2 || path.segment(0) != "media" {
        return None;
    }
    let rid = Rid::from_media_id(path.segment(1))?.to_string();
    Some(("media".into(), spell(&rid).into()))
}

fn is_database_rid(text: &str) -> bool {
    Rid::parse(text).is_some_and(|rid| rid.as_bytes().len() == 4)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::auth::{Keys, WELL_KNOWN_KEY};

    const DATE: &str = "Tue, 01 Nov 1994 08:12:31 GMT";

    fn sign(key: &str, payload: &str) -> String {
        let keys = Keys::new(key).ring().unwrap();
        let mut mac = keys.iter().next().unwrap().mac();
        mac.update(payload.as_bytes());
        STANDARD.encode(mac.finalize().into_bytes())
    }

    #[track_caller]
    fn check(method: &Method, path: &str, payload: &str, expected: bool) {
        let keys = Keys::new(WELL_KNOWN_KEY).ring().unwrap();
        let mut map = HeaderMap::new();
        map.insert("x-ms-date", DATE.parse().unwrap());
        let headers = RequestHeaders::collect(&map).unwrap();
        let path = Path::parse(path).unwrap();
        let signature = Signature::of(method, &path, &headers).unwrap();
        let payload = payload.replace('|', "\n");
        let result = signature.verify(&keys, &sign(WELL_KNOWN_KEY, &payload));
        assert_eq!(result.is_ok(), expected, "{method} {} {payload:?}", path.text());
    }

    #[test]
    fn a_signature_of_an_sdk_is_accepted() {
        #[rustfmt::skip]
        let table = [
            (Method::GET,    "/",                                  "get||", ),
            (Method::POST,   "/dbs",                               "post|dbs|"),
            (Method::GET,    "/dbs/D",                             "get|dbs|dbs/D"),
            (Method::GET,    "/dbs/D/colls/",                      "get|colls|dbs/D"),
            (Method::POST,   "/dbs/D/colls/C/docs/",               "post|docs|dbs/D/colls/C"),
            (Method::PATCH,  "/dbs/D/colls/C/docs/a%20%C3%A9",     "patch|docs|dbs/D/colls/C/docs/a é"),
            (Method::GET,    "/dbs/D/colls/C/docs/a%20b",          "get|docs|dbs/D/colls/C/docs/a%20b"),
            (Method::GET,    "/dbs/a%20b/colls",                   "get|colls|dbs/a%20b"),
            (Method::GET,    "/dbs/AQAAAA==/colls/AQAAAJ0fgTc=/pkranges", "get|pkranges|aqaaaj0fgtc="),
            (Method::GET,    "/dbs/AQAAAA==/colls/AQAAAJ0fgTc=",   "get|colls|aqaaaj0fgtc="),
            (Method::GET,    "/dbs/AQAAAA==",                      "get|dbs|aqaaaa=="),
            (Method::GET,    "/offers/lUtX",                       "get|offers|lutx"),
            (Method::POST,   "/offers",                            "post|offers|"),
            (Method::POST,   "/dbs/D/colls/C/operations/partitionkeydelete", "post|colls|dbs/D/colls/C"),
            (Method::POST,   "/dbs/D/colls/C/operations/partitionkeydelete", "post|partitionkey|dbs/D/colls/C"),
            (Method::POST,   "/dbs/D/colls/C/docs/I/attachments/", "post|attachments|dbs/D/colls/C/docs/I"),
            (Method::GET,    "/dbs/D/colls/C/docs/I/attachments/A", "get|attachments|dbs/D/colls/C/docs/I/attachments/A"),
            (Method::GET,    "//media/6hl2ALdWbQCxAgAAAAAAAC4-1VoB", "get|media|6hl2aldwbqcxagaaaaaaac4-1vo="),
            (Method::GET,    "//media/6hl2ALdWbQCxAgAAAAAAAC4-1VoB", "get|media|6hl2aldwbqcxagaaaaaaac4+1vo="),
            (Method::PUT,    "/media/6hl2ALdWbQCxAgAAAAAAAC4-1VoB", "put|media|6hl2ALdWbQCxAgAAAAAAAC4-1Vo="),
            (Method::POST,   "/dbs/D/colls/C/sprocs/S",            "post|sprocs|dbs/D/colls/C/sprocs/S"),
        ];
        for (method, path, payload) in table {
            let payload = format!("{payload}|{}||", DATE.to_ascii_lowercase());
            check(&method, path, &payload, true);
        }
    }

    #[test]
    fn a_signature_serves_its_own_resource_only() {
        let date = DATE.to_ascii_lowercase();
        #[rustfmt::skip]
        let table = [
            (Method::GET,    "/dbs/D/colls/C/docs/b", "get|docs|dbs/D/colls/C/docs/a"), // another item
            (Method::DELETE, "/dbs/D",                "get|dbs|dbs/D"),                 // another verb
            (Method::GET,    "/dbs/d",                "get|dbs|dbs/D"),                 // names keep case
            (Method::GET,    "/dbs/D/colls/C/docs/a", "get|docs|a"),                    // a name is no rid
            (Method::GET,    "/dbs/D/users",          "get|colls|dbs/D"),               // another type
            (Method::GET,    "/media/6hl2ALdWbQCxAgAAAAAAAC4-1VoB", "get|media|6hl2aldwbqcxagaaaaaaac4-1vp="), // other media
        ];
        for (method, path, payload) in table {
            check(&method, path, &format!("{payload}|{date}||"), false);
        }
        check(&Method::GET, "/", "get|||tue, 01 nov 1994 08:12:32 gmt||", false);
        // The official worked example: what we compute is what they computed.
        check(&Method::GET, "/dbs/ToDoList", &format!("get|dbs|dbs/ToDoList|{date}||"), true);
    }

    #[test]
    fn signatures_that_are_not_32_bytes_are_refused() {
        for bad in ["", "AAAA", "!!!!", &STANDARD.encode([0; 33]), &STANDARD.encode([0; 64])] {
            assert_eq!(decode_signature(bad), None, "{bad}");
        }
        assert_eq!(decode_signature(&STANDARD.encode([7; 32])), Some([7; 32]));
    }
}
