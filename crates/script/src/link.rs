//! Links as scripts write them: `_self` of an item or container, or paths of names.

use crate::host::{AttachmentRef, ItemRef};

/// The two links of the container that a script runs in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links<'a> {
    pub(crate) by_rid: &'a str,
    pub(crate) by_name: &'a str,
}

impl Links<'_> {
    /// Says whether the link names this container.
    pub(crate) fn is_container(&self, link: &str) -> bool {
        let link = trimmed(link);
        link == trimmed(self.by_rid) || link == trimmed(self.by_name)
    }

    /// Returns the item of this container that the link names.
    pub(crate) fn item<'l>(&self, link: &'l str) -> Option<ItemRef<'l>> {
        if let Some(rid) = below(trimmed(self.by_rid), trimmed(link)) {
            return Some(ItemRef::Rid(rid));
        }
        // An id may itself end with a slash, so only the front is trimmed.
        let link = link.trim_start_matches('/');
        below(trimmed(self.by_name), link).map(ItemRef::Id)
    }

    /// Returns the attachment of an item of this container that the link names.
    pub(crate) fn attachment<'l>(&self, link: &'l str) -> Option<AttachmentRef<'l>> {
        // An id of an item may have a slash in it, one of an attachment may not.
        let (item, name) = trimmed(link).rsplit_once("/attachments/")?;
        let item = self.item(item)?;
        (!name.is_empty() && !name.contains('/')).then_some(AttachmentRef { item, name })
    }
}

fn trimmed(link: &str) -> &str {
    link.trim_matches('/')
}

fn below<'l>(container: &str, link: &'l str) -> Option<&'l str> {
    let rest = link.strip_prefix(container)?.strip_prefix("/docs/")?;
    (!rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: Links<'static> =
        Links { by_rid: "dbs/AAA=/colls/BBB=/", by_name: "dbs/d/colls/c" };

    #[test]
    fn links_of_the_container_are_known_by_rid_and_by_name() {
        for link in
            ["dbs/AAA=/colls/BBB=/", "dbs/AAA=/colls/BBB=", "dbs/d/colls/c", "/dbs/d/colls/c/"]
        {
            assert!(LINKS.is_container(link), "{link}");
        }
        for link in ["", "dbs/d", "dbs/d/colls/other", "dbs/d/colls/c/docs/x", "colls/c"] {
            assert!(!LINKS.is_container(link), "{link}");
        }
    }

    #[test]
    fn links_of_items_give_rid_or_id() {
        #[rustfmt::skip]
        let table = [
            ("dbs/AAA=/colls/BBB=/docs/CCC=/", Some(ItemRef::Rid("CCC="))),
            ("dbs/d/colls/c/docs/x",           Some(ItemRef::Id("x"))),
            ("/dbs/d/colls/c/docs/a b",        Some(ItemRef::Id("a b"))),
            ("dbs/d/colls/c/docs/",            None),
            ("dbs/d/colls/other/docs/x",       None),
            ("dbs/d/colls/cx/docs/x",          None),
            ("dbs/AAA=/colls/other=/docs/C=/", None),
        ];
        for (link, expected) in table {
            assert_eq!(LINKS.item(link), expected, "{link}");
        }
    }

    #[test]
    fn links_of_attachments_give_both_by_rid_or_both_by_name() {
        #[rustfmt::skip]
        let table = [
            ("dbs/AAA=/colls/BBB=/docs/CCC=/attachments/DDD=/", Some((ItemRef::Rid("CCC="), "DDD="))),
            ("dbs/d/colls/c/docs/x/attachments/a b",            Some((ItemRef::Id("x"), "a b"))),
            ("/dbs/d/colls/c/docs/x/y/attachments/z",           Some((ItemRef::Id("x/y"), "z"))),
            ("dbs/d/colls/c/docs/x/attachments/",               None),
            ("dbs/d/colls/c/docs/x/attachments/a/b",            None),
            ("dbs/d/colls/c/docs/x",                            None),
            ("dbs/d/colls/other/docs/x/attachments/a",          None),
        ];
        for (link, expected) in table {
            let found = LINKS.attachment(link).map(|found| (found.item, found.name));
            assert_eq!(found, expected, "{link}");
        }
    }
}
