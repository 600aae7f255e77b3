//! How a container is named in a resolver.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name of a container, or a link to it.
///
/// A hash ring hashes the text as given, so `users-0`, `dbs/app/colls/users-0` and `dbs/app/colls/users-0/`
/// are three different containers to a ring: choose one form and keep it. Clones are cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ContainerLink(Arc<str>);

impl ContainerLink {
    /// Returns the text as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the container: the part after `colls/`, or the whole text.
    pub fn name(&self) -> &str {
        let text = self.0.trim_matches('/');
        match text.split_once("colls/") {
            Some((_, name)) => name,
            None => text,
        }
    }

    /// Returns the name of the database if the text has one.
    pub fn database(&self) -> Option<&str> {
        let rest = self.0.trim_matches('/').strip_prefix("dbs/")?;
        rest.split_once('/').map(|(database, _)| database)
    }
}

impl fmt::Debug for ContainerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ContainerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ContainerLink {
    fn from(text: &str) -> ContainerLink {
        ContainerLink(text.into())
    }
}

impl From<ContainerLink> for String {
    fn from(link: ContainerLink) -> String {
        link.0.as_ref().to_owned()
    }
}

impl From<String> for ContainerLink {
    fn from(text: String) -> ContainerLink {
        ContainerLink(text.into())
    }
}

/// Appends `link` unless it is there: lists of containers are short and keep their order.
pub(crate) fn push_unique(links: &mut Vec<ContainerLink>, link: &ContainerLink) {
    if !links.contains(link) {
        links.push(link.clone());
    }
}

/// Refuses an empty list and a list that names one container twice.
pub(crate) fn check_distinct(links: &[ContainerLink]) -> crate::Result<()> {
    if links.is_empty() {
        return Err(crate::Error::NoContainers);
    }
    let mut sorted: Vec<_> = links.iter().collect();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(crate::Error::ContainerRepeated(pair[0].to_string())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_gives_up_its_names() {
        for (text, database, name) in [
            ("users-0", None, "users-0"),
            ("dbs/app/colls/users-0", Some("app"), "users-0"),
            ("/dbs/app/colls/users-0/", Some("app"), "users-0"),
            ("colls/us", None, "us"),
        ] {
            let link = ContainerLink::from(text);
            assert_eq!((link.database(), link.name(), link.as_str()), (database, name, text));
        }
    }
}
