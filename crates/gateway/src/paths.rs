//! From the path of a request to the resource that it names.
//!
//! Segments are split at `/` first and percent-decoded afterwards, each by itself, so an encoded
//! slash can never move a boundary: it is refused, but in the id of an item. Leading and trailing slashes, also doubled, are
//! dropped, because SDKs send them; an empty segment in between is refused, because the segments
//! behind it would name something else. Whether a segment is a name or a rid is decided by
//! the account, which knows what exists.
//!
//! Invariant: a [`Path`] has at most [`SEGMENTS_MAX`] segments, none of them empty, and none but an item's id with a slash.
//!
//! Hot path: one buffer for the decoded text, no other allocation before the target is built.

#![deny(clippy::indexing_slicing)]

use account::{Link, ResourceKind};
use http::Uri;
use percent_encoding::percent_decode_str;

use crate::error::Error;

/// Limit: the deepest path is an attachment, `dbs/d/colls/c/docs/i/attachments/a`.
const SEGMENTS_MAX: usize = 8;

/// Segments of an item, `dbs/d/colls/c/docs/i`.
const ITEM_SEGMENTS: usize = 6;

/// A decoded path: its segments joined by single slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    text: String,
    /// Byte offsets in `text` at which each segment ends.
    ends: [usize; SEGMENTS_MAX],
    n_segments: usize,
    /// The segments as sent, joined likewise; empty unless something was percent-encoded.
    encoded: String,
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Account,
    Feed {
        owner: Link,
        kind: ResourceKind,
    },
    Resource {
        owner: Link,
        kind: ResourceKind,
        id: String,
    },
    /// `media/{id}`: media of an attachment.
    Media {
        id: String,
    },
    /// `…/operations/partitionkeydelete`: deletes one logical partition.
    DeleteLogicalPartition {
        container: Link,
    },
}

impl Path {
    /// The path of a request, without a query string. Only an id of an item may hold a question mark, which some SDKs
    /// send as it is.
    pub(crate) fn of(uri: &Uri) -> Result<Path, Error> {
        let path = Path::parse(uri.path())?;
        match uri.path_and_query().filter(|it| it.query().is_some()) {
            Some(whole) if path.n_segments() == ITEM_SEGMENTS && path.segment(4) == "docs" => {
                Path::parse(whole.as_str())
            }
            _ => Ok(path),
        }
    }

    pub(crate) fn parse(raw: &str) -> Result<Path, Error> {
        let mut path = Path {
            text: String::with_capacity(raw.len()),
            ends: [0; SEGMENTS_MAX],
            n_segments: 0,
            encoded: String::new(),
        };
        let raw = raw.trim_matches('/');
        if raw.contains('%') {
            raw.clone_into(&mut path.encoded);
            raw.split('/').try_for_each(|segment| path.decode(segment))?;
        } else if !raw.is_empty() {
            path.text.push_str(raw);
            let slashes = raw.bytes().enumerate().filter(|(_, byte)| *byte == b'/');
            slashes.map(|(at, _)| at).chain([raw.len()]).try_for_each(|end| path.close(end))?;
        }
        Ok(path)
    }

    /// Adds a segment that may be percent-encoded.
    fn decode(&mut self, raw: &str) -> Result<(), Error> {
        if self.n_segments > 0 {
            self.text.push('/');
        }
        let decoded = percent_decode_str(raw).decode_utf8().map_err(|_| Error::UrlInvalid)?;
        let is_item = self.n_segments + 1 == ITEM_SEGMENTS && self.segment(4) == "docs";
        if decoded.contains('/') && !is_item {
            return Err(Error::UrlInvalid);
        }
        self.text.push_str(&decoded);
        self.close(self.text.len())
    }

    /// Ends a segment at a byte of the text.
    fn close(&mut self, end: usize) -> Result<(), Error> {
        let start = if self.n_segments == 0 { 0 } else { self.prefix(self.n_segments).len() + 1 };
        let slot = self.ends.get_mut(self.n_segments).filter(|_| start < end);
        *slot.ok_or(Error::UrlInvalid)? = end;
        self.n_segments += 1;
        Ok(())
    }

    pub(crate) fn n_segments(&self) -> usize {
        self.n_segments
    }

    /// The whole decoded path without outer slashes: what clients sign.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The path as sent, without outer slashes, if that differs from [`Path::text`].
    pub(crate) fn encoded(&self) -> Option<&str> {
        (!self.encoded.is_empty()).then_some(self.encoded.as_str())
    }

    /// The first `n` segments joined by slashes.
    pub(crate) fn prefix(&self, n: usize) -> &str {
        let end = n.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        self.text.get(..end).unwrap_or_default()
    }

    pub(crate) fn segment(&self, index: usize) -> &str {
        if index >= self.n_segments {
            return "";
        }
        let start = if index == 0 { 0 } else { self.prefix(index).len() + 1 };
        let end = self.ends.get(index).copied().unwrap_or(0);
        self.text.get(start..end).unwrap_or_default()
    }

    pub(crate) fn last(&self) -> &str {
        self.n_segments.checked_sub(1).map_or("", |last| self.segment(last))
    }

    /// Resolves the keywords of the path.
    pub(crate) fn target(&self) -> Result<Target, Error> {
        if self.n_segments == 0 {
            return Ok(Target::Account);
        }
        if self.segment(0) == "media" && self.n_segments == 2 {
            return Ok(Target::Media { id: self.segment(1).to_owned() });
        }
        if self.segment(0) == "addresses" {
            return Err(Error::DirectModeUnsupported);
        }
        let mut owner = Link { segments: Vec::with_capacity(self.n_segments / 2) };
        let mut parent = None;
        for index in (0..self.n_segments).step_by(2) {
            let keyword = self.segment(index);
            if keyword == "operations" {
                return self.operation(index, owner, parent);
            }
            let kind = child(parent, keyword).ok_or(Error::UrlInvalid)?;
            let is_last = index + 2 >= self.n_segments;
            let id = self.segment(index + 1);
            match (is_last, index + 1 < self.n_segments) {
                (_, false) => return Ok(Target::Feed { owner, kind }),
                (true, true) => return Ok(Target::Resource { owner, kind, id: id.to_owned() }),
                (false, true) => owner.segments.push((kind, id.to_owned())),
            }
            parent = Some(kind);
        }
        Err(Error::UrlInvalid)
    }

    fn operation(
        &self,
        index: usize,
        container: Link,
        parent: Option<ResourceKind>,
    ) -> Result<Target, Error> {
        let is_last = index + 2 == self.n_segments;
        let is_delete = self.segment(index + 1) == "partitionkeydelete";
        if parent == Some(ResourceKind::Container) && is_last && is_delete {
            Ok(Target::DeleteLogicalPartition { container })
        } else {
            Err(Error::UrlInvalid)
        }
    }
}

/// The kind that `keyword` names below `parent`, if it may stand there.
fn child(parent: Option<ResourceKind>, keyword: &str) -> Option<ResourceKind> {
    use ResourceKind as Kind;
    let kind = match (parent, keyword) {
        (Some(Kind::Container), "docs") => Kind::Item,
        (Some(Kind::Item), "attachments") => Kind::Attachment,
        (None, "dbs") => Kind::Database,
        (None, "offers") => Kind::Offer,
        (Some(Kind::Database), "colls") => Kind::Container,
        (Some(Kind::Database), "users") => Kind::User,
        (Some(Kind::Database), "clientencryptionkeys") => Kind::EncryptionKey,
        (Some(Kind::Container), "pkranges") => Kind::Range,
        (Some(Kind::Container), "sprocs") => Kind::StoredProcedure,
        (Some(Kind::Container), "triggers") => Kind::Trigger,
        (Some(Kind::Container), "udfs") => Kind::Udf,
        (Some(Kind::Container), "conflicts") => Kind::Conflict,
        (Some(Kind::User), "permissions") => Kind::Permission,
        _ => return None,
    };
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(segments: &[(ResourceKind, &str)]) -> Link {
        Link { segments: segments.iter().map(|(kind, id)| (*kind, (*id).to_owned())).collect() }
    }

    fn target(raw: &str) -> Result<Target, Error> {
        Path::parse(raw).and_then(|path| path.target())
    }

    #[test]
    fn every_resource_of_the_service_has_a_path() {
        use ResourceKind as Kind;
        let container = link(&[(Kind::Database, "d"), (Kind::Container, "c")]);
        let item = link(&[(Kind::Database, "d"), (Kind::Container, "c"), (Kind::Item, "i")]);
        assert_eq!(target("//media/x+y").unwrap(), Target::Media { id: "x+y".to_owned() });
        #[rustfmt::skip]
        let table = [
            ("/dbs", link(&[]), Kind::Database, None),
            ("/dbs/d", link(&[]), Kind::Database, Some("d")),
            ("/dbs/d/colls", link(&[(Kind::Database, "d")]), Kind::Container, None),
            ("/dbs/d/colls/c", link(&[(Kind::Database, "d")]), Kind::Container, Some("c")),
            ("/dbs/d/users", link(&[(Kind::Database, "d")]), Kind::User, None),
            ("/dbs/d/users/u/permissions/p", link(&[(Kind::Database, "d"), (Kind::User, "u")]), Kind::Permission, Some("p")),
            ("/dbs/d/clientencryptionkeys/k", link(&[(Kind::Database, "d")]), Kind::EncryptionKey, Some("k")),
            ("/offers", link(&[]), Kind::Offer, None),
            ("/offers/lUtX", link(&[]), Kind::Offer, Some("lUtX")),
            ("/dbs/d/colls/c/docs", container.clone(), Kind::Item, None),
            ("/dbs/d/colls/c/docs/i", container.clone(), Kind::Item, Some("i")),
            ("/dbs/d/colls/c/docs/i/attachments", item.clone(), Kind::Attachment, None),
            ("/dbs/d/colls/c/docs/i/attachments/a b", item.clone(), Kind::Attachment, Some("a b")),
            ("/dbs/d/colls/c/pkranges", container.clone(), Kind::Range, None),
            ("/dbs/d/colls/c/sprocs/s", container.clone(), Kind::StoredProcedure, Some("s")),
            ("/dbs/d/colls/c/triggers/t", container.clone(), Kind::Trigger, Some("t")),
            ("/dbs/d/colls/c/udfs", container.clone(), Kind::Udf, None),
            ("/dbs/d/colls/c/conflicts", container.clone(), Kind::Conflict, None),
        ];
        for (raw, owner, kind, id) in table {
            let expected = match id {
                Some(id) => Target::Resource { owner, kind, id: id.to_owned() },
                None => Target::Feed { owner, kind },
            };
            assert_eq!(target(raw).unwrap(), expected, "{raw}");
            assert_eq!(target(&format!("/{raw}/")).unwrap(), expected, "{raw} with more slashes");
        }
        assert_eq!(
            target("/dbs/d/colls/c/operations/partitionkeydelete/").unwrap(),
            Target::DeleteLogicalPartition { container }
        );
        for root in ["", "/", "//"] {
            assert_eq!(target(root).unwrap(), Target::Account);
        }
    }

    #[test]
    fn segments_are_decoded_after_splitting() {
        let path = Path::parse("/dbs/a%20b+%C3%A9/colls/100%25").unwrap();
        assert_eq!(path.text(), "dbs/a b+é/colls/100%");
        assert_eq!(path.segment(1), "a b+é");
        assert_eq!(path.last(), "100%");
        assert_eq!(path.prefix(2), "dbs/a b+é");
        assert_eq!(path.prefix(0), "");
        assert_eq!(path.segment(9), "");
    }

    #[test]
    fn an_id_may_hold_a_question_mark() {
        let path = |text: &str| Path::of(&text.parse().unwrap());
        assert_eq!(path("/dbs/d/colls/c/docs/is%20it?yes?%2B").unwrap().last(), "is it?yes?+");
        for text in ["/dbs/d?x", "/dbs/d/colls/c/docs?x", "/dbs/d/colls/c/sprocs/s?x", "/?x"] {
            assert!(!path(text).unwrap().text().contains('?'), "{text}");
        }
    }

    #[test]
    fn foreign_paths_are_refused() {
        #[rustfmt::skip]
        let table = [
            "/foo", "/dbs/d/docs", "/colls", "/dbs/d/colls/c/docs/i/x", "/DBS", "/dbs/a%2Fb", "/dbs/%ff",
            "/dbs/d/colls/c/operations", "/dbs/d/colls/c/operations/other", "/dbs/d/operations/partitionkeydelete",
            "/dbs/d/colls/c/operations/partitionkeydelete/x", "/media", "/offers/x/y", "/dbs/d/users/u/docs",
            "/dbs/d/colls/c/attachments", "/dbs/d/colls/c/docs/i/attachments/a/x", "/media/a/b",
            "/a/b/c/d/e/f/g/h/i/j", "/dbs//colls", "/dbs//colls/c", "/dbs/d//colls",
        ];
        for raw in table {
            assert!(matches!(target(raw), Err(Error::UrlInvalid)), "{raw}: {:?}", target(raw));
        }
        assert!(matches!(target("/addresses/"), Err(Error::DirectModeUnsupported)));
    }
}
