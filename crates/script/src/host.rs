//! The seam to the data: one transaction in one logical partition.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::json::{ItemError, Outline};
use model::{Failure, ItemBody, Status, Value};
use parking_lot::Mutex;

/// A host that a run uses and its caller keeps: after the run the caller commits or drops it.
pub type SharedHost = Arc<Mutex<dyn Host>>;

pub type HostResult<T> = Result<T, HostError>;

/// A call that the host refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    pub status: Status,
    pub message: String,
    /// The store failed or data is corrupt: the run ends with this error, whatever the script does about it.
    pub is_fatal: bool,
}

impl HostError {
    /// Makes a refusal that the script may handle.
    pub fn new(status: Status, message: impl Into<String>) -> HostError {
        HostError { status, message: message.into(), is_fatal: false }
    }

    /// Takes over an error; what is not the client's fault ends the run.
    pub fn from_failure(failure: &dyn Failure) -> HostError {
        let status = failure.status();
        let is_fatal = failure.is_our_fault() || status.code >= 500;
        HostError { status, message: failure.to_string(), is_fatal }
    }
}

/// An item that a script wants written.
#[derive(Debug)]
pub struct NewItem {
    text: Vec<u8>,
    /// Present when the text was written here, not given by the script.
    outline: Option<Outline>,
}

impl NewItem {
    /// Makes one that came as text, whatever it is.
    pub fn given(text: Vec<u8>) -> NewItem {
        NewItem { text, outline: None }
    }

    pub(crate) fn written(text: Vec<u8>, outline: Outline) -> NewItem {
        NewItem { text, outline: Some(outline) }
    }

    /// Returns its JSON text, unchecked.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Checks it.
    pub fn into_body(self) -> Result<ItemBody, ItemError> {
        match self.outline {
            Some(outline) => ItemBody::outlined(self.text, outline),
            None => ItemBody::parse(&self.text),
        }
    }
}

/// How a link names an item of the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemRef<'a> {
    Id(&'a str),
    Rid(&'a str),
}

/// How a link names an attachment of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentRef<'a> {
    pub item: ItemRef<'a>,
    /// Its rid if the item is named by one, else its id.
    pub name: &'a str,
}

/// Where a page ends and where it starts.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'a> {
    /// `None` lets the host decide.
    pub items_max: Option<usize>,
    pub continuation: Option<&'a str>,
    /// On the clock of [`model::Env::monotonic`].
    pub deadline: Duration,
}

/// One page of items in creation order, each with its position.
#[derive(Debug, Default)]
pub struct FeedPage {
    pub items: Vec<(u64, Bytes)>,
    /// Pass as `after` to go on; `None` at the end.
    pub next: Option<u64>,
}

/// One page of rows.
#[derive(Debug, Default)]
pub struct QueryPage {
    pub rows: Vec<Bytes>,
    pub continuation: Option<String>,
}

/// Storage used and allowed, in megabytes, and the quota texts of a response.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    pub current_mb: f64,
    pub max_mb: f64,
    pub current_text: String,
    pub max_text: String,
}

/// One transaction of one logical partition, as a script sees it.
///
/// Reads show the transaction's own writes. Items are whole JSON texts with system properties.
pub trait Host: AttachmentHost + Send + std::fmt::Debug {
    /// Wire: `dbs/<rid>/colls/<rid>/`.
    fn self_link(&self) -> &str;
    /// Wire: `dbs/<name>/colls/<name>`.
    fn alt_link(&self) -> &str;
    /// False when the transaction cannot grow; the script then sees its calls not accepted.
    fn has_room(&self) -> bool;
    fn usage(&self) -> Usage;

    /// Returns the item, or `None` when `if_none_match` names its etag.
    fn read(&mut self, item: ItemRef<'_>, if_none_match: Option<&str>)
    -> HostResult<Option<Bytes>>;
    /// This and the other writes return the item if `is_seen`.
    fn create(&mut self, body: NewItem, is_seen: bool) -> HostResult<Option<Bytes>>;
    fn upsert(
        &mut self,
        body: NewItem,
        if_match: Option<&str>,
        is_seen: bool,
    ) -> HostResult<Option<Bytes>>;
    fn replace(
        &mut self,
        item: ItemRef<'_>,
        body: NewItem,
        if_match: Option<&str>,
        is_seen: bool,
    ) -> HostResult<Option<Bytes>>;
    fn delete(&mut self, item: ItemRef<'_>, if_match: Option<&str>) -> HostResult<()>;
    /// Returns items after position `after`, by ascending position.
    fn page(&mut self, after: Option<u64>, items_max: Option<usize>) -> HostResult<FeedPage>;
    fn query(
        &mut self,
        text: &str,
        parameters: &[(String, Value)],
        page: PageRequest<'_>,
    ) -> HostResult<QueryPage>;
}

/// The attachments of the items, in the same transaction.
pub trait AttachmentHost {
    /// Returns the attachment, or `None` when `if_none_match` names its etag.
    fn read_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        if_none_match: Option<&str>,
    ) -> HostResult<Option<Bytes>>;
    fn create_attachment(&mut self, item: ItemRef<'_>, body: NewItem) -> HostResult<Option<Bytes>>;
    fn upsert_attachment(
        &mut self,
        item: ItemRef<'_>,
        body: NewItem,
        if_match: Option<&str>,
    ) -> HostResult<Option<Bytes>>;
    fn replace_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        body: NewItem,
        if_match: Option<&str>,
    ) -> HostResult<Option<Bytes>>;
    fn delete_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        if_match: Option<&str>,
    ) -> HostResult<()>;
    /// Returns the attachments of an item after position `after`, by ascending position.
    fn attachments(
        &mut self,
        item: ItemRef<'_>,
        after: Option<u64>,
        items_max: Option<usize>,
    ) -> HostResult<FeedPage>;
    fn query_attachments(
        &mut self,
        item: ItemRef<'_>,
        text: &str,
        parameters: &[(String, Value)],
        page: PageRequest<'_>,
    ) -> HostResult<QueryPage>;
}
