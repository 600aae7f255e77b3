//! What this crate needs from a service to reach items.

use std::fmt::Debug;

use serde_json::Value;

use crate::{BoxFuture, ContainerLink, Key, Result};

/// An item as it is stored, with its version.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The item with its system properties.
    pub item: Value,
    /// Its version.
    pub etag: String,
}

/// A query text and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The text.
    pub text: String,
    /// Names, with `@`, and values.
    pub parameters: Vec<(String, Value)>,
}

impl Statement {
    /// A query without parameters.
    pub fn new(text: impl Into<String>) -> Statement {
        Statement { text: text.into(), parameters: Vec::new() }
    }

    /// Adds a parameter; the name begins with `@`.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Statement {
        self.parameters.push((name.into(), value.into()));
        self
    }
}

/// Asks for one page of a query over one container.
#[derive(Clone, Debug)]
pub struct PageRequest<'a> {
    /// The container.
    pub container: &'a ContainerLink,
    /// The query.
    pub statement: &'a Statement,
    /// The partition key of the service that the query is limited to.
    pub partition: Option<&'a Key>,
    /// Where to go on.
    pub continuation: Option<&'a str>,
    /// How many rows at most; none leaves it to the service.
    pub rows_max: Option<u32>,
}

/// One page of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemPage {
    /// Its rows.
    pub rows: Vec<Value>,
    /// Where to go on; none at the end.
    pub continuation: Option<String>,
}

/// The items of a database. `partition` is the partition key of the service, a list if it is hierarchical.
pub trait ItemStore: Debug + Send + Sync {
    /// Creates an item and returns its etag; status 409 if the id is taken.
    fn create<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>>;

    /// Creates or replaces an item and returns its etag.
    fn upsert<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>>;

    /// Reads an item; `None` if there is none.
    fn read<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>>>;

    /// Replaces an item and returns its etag; `None` if there is none, status 412 if the etag differs.
    fn replace<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
        if_match: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<String>>>;

    /// Deletes an item and returns whether there was one; status 412 if the etag differs.
    fn delete<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
        if_match: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool>>;

    /// Returns one page of a query.
    fn page<'a>(&'a self, request: PageRequest<'a>) -> BoxFuture<'a, Result<ItemPage>>;
}

/// Returns the id of an item.
pub(crate) fn id_of(item: &Value) -> Result<&str> {
    item.get("id").and_then(Value::as_str).ok_or(crate::Error::ItemInvalid)
}

/// Marks a copy that a move has made and not looked back from yet. Its value is the container of the source.
///
/// Invariant: a marked copy does not count. What the application writes has no mark, so a mark tells for certain
/// that the copy is the work of a move, whoever was killed when.
pub(crate) const COPY_MARK: &str = "_orreryCopyOf";

/// Returns the container that a marked copy was made from.
pub(crate) fn source_of(item: &Value) -> Option<ContainerLink> {
    item.get(COPY_MARK).and_then(Value::as_str).map(ContainerLink::from)
}

/// Returns the copy of an item, marked.
pub(crate) fn marked(item: &Value, source: &ContainerLink) -> Value {
    let mut copy = without_system_properties(item);
    copy[COPY_MARK] = source.as_str().into();
    copy
}

/// Returns an item without what the service or a move adds, ready to be created elsewhere.
pub(crate) fn without_system_properties(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(object) = item.as_object_mut() {
        for name in ["_rid", "_self", "_etag", "_ts", "_attachments", "_lsn", COPY_MARK] {
            object.remove(name);
        }
    }
    item
}

/// Returns whether two items say the same, whatever the service has added to them.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    without_system_properties(one) == without_system_properties(other)
}
