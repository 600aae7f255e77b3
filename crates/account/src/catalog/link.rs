//! Finds what a link names.
//!
//! Wire: A link is all names or all rids. A database of that name wins; otherwise a
//! known rid makes the whole link rid-based.

use std::sync::Arc;

use model::Rid;

use super::record::{ACCOUNT, Record};
use super::tables::Tables;
use crate::error::{Error, Result};
use crate::operation::{Link, ResourceKind};

/// A link's resource and its owners, outermost first.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResolvedLink {
    pub(crate) chain: Vec<Arc<Record>>,
    /// The link was written with rids, so what follows it is too.
    pub(crate) is_by_rid: bool,
}

impl ResolvedLink {
    /// The number of the named resource; the account's for an empty link.
    pub(crate) fn number(&self) -> u64 {
        self.chain.last().map_or(ACCOUNT, |record| record.number)
    }

    pub(crate) fn record(&self) -> Option<&Arc<Record>> {
        self.chain.last()
    }

    pub(crate) fn kind(&self) -> Option<ResourceKind> {
        self.chain.last().map(|record| record.kind)
    }
}

impl Tables {
    /// Finds the named resource: a missing owner is `OwnerNotFound`, a missing last one `NotFound`.
    pub(crate) fn find(&self, link: &Link) -> Result<ResolvedLink> {
        self.find_with(link, Error::NotFound)
    }

    /// Finds the owner of what is asked for: any missing part is `OwnerNotFound`.
    pub(crate) fn find_owner(&self, link: &Link) -> Result<ResolvedLink> {
        self.find_with(link, Error::OwnerNotFound)
    }

    /// Finds the container of an item operation.
    pub(crate) fn find_container(&self, link: &Link) -> Result<ResolvedLink> {
        self.find_with(link, Error::ContainerNotFound)
    }

    fn find_with(&self, link: &Link, missing: Error) -> Result<ResolvedLink> {
        let mut found = ResolvedLink::default();
        let Some((first_kind, first)) = link.segments.first() else { return Ok(found) };
        if *first_kind == ResourceKind::Offer && Rid::parse(first).is_none() {
            return Err(Error::LinkInvalid("an offer is named by its rid"));
        }
        let named = self.by_name(ACCOUNT, *first_kind, first);
        found.is_by_rid =
            *first_kind == ResourceKind::Offer || named.is_none() && self.is_rid(first);
        found.chain.reserve_exact(link.segments.len());
        let last = link.segments.len() - 1;
        let mut missing = Some(missing);
        for (index, (kind, text)) in link.segments.iter().enumerate() {
            let owner = found.number();
            let record = if found.is_by_rid {
                Rid::parse(text).and_then(|rid| self.by_rid(&rid))
            } else if index == 0 {
                named
            } else {
                self.by_name(owner, *kind, text)
            };
            match record.filter(|record| record.owner == owner && record.kind == *kind) {
                Some(record) => found.chain.push(Arc::clone(record)),
                None if index == last => return Err(missing.take().unwrap_or(Error::NotFound)),
                None => return Err(Error::OwnerNotFound),
            }
        }
        Ok(found)
    }

    fn is_rid(&self, text: &str) -> bool {
        Rid::parse(text).is_some_and(|rid| self.by_rid(&rid).is_some())
    }
}

/// Wire: `dbs/d/colls/c`, names of the chain.
pub(crate) fn name_path(chain: &[Arc<Record>]) -> String {
    let segments = chain.iter().map(|record| {
        let kind = super::record::kind_name(record.kind);
        format!("{kind}/{}", record.id)
    });
    segments.collect::<Vec<_>>().join("/")
}

/// Wire: `_self`, rids of the chain, with a slash at the end.
pub(crate) fn self_link(chain: &[Arc<Record>]) -> String {
    let mut link = String::new();
    for record in chain {
        link.push_str(super::record::kind_name(record.kind));
        link.push('/');
        link.push_str(&record.rid.to_string());
        link.push('/');
    }
    link
}

/// Parses the resource of a permission: `dbs/D/colls/C`, slashes around it tolerated.
pub(crate) fn parse_link(text: &str) -> Option<Link> {
    let parts: Vec<&str> = text.trim_matches('/').split('/').collect();
    if !parts.len().is_multiple_of(2) {
        return None;
    }
    let segment = |pair: &[&str]| match pair {
        [kind, text] if !text.is_empty() => {
            super::record::kind_from_name(kind).map(|kind| (kind, (*text).to_owned()))
        }
        _ => None,
    };
    let segments = parts.chunks(2).map(segment).collect::<Option<Vec<_>>>()?;
    Some(Link { segments })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_permissions_parse_with_and_without_slashes() {
        for text in ["dbs/D/colls/C", "/dbs/D/colls/C/"] {
            let link = parse_link(text).unwrap();
            assert_eq!(link.segments[1], (ResourceKind::Container, "C".to_owned()));
        }
        for text in ["", "dbs", "dbs//colls/C", "nothing/x", "dbs/D/colls"] {
            assert_eq!(parse_link(text), None, "{text}");
        }
    }
}
