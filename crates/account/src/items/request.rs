//! One item operation: what it is for, what it needs, and whether its principal may ask for it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use model::{EpkRange, PartitionKey, RangeId};
use partition::Logical;

use crate::access::{Allowed, Right};
use crate::account::Inner;
use crate::catalog::link::ResolvedLink;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::meter::Budget;
use crate::operation::{AttachmentAction, Consistency, ItemAction, MediaAction, Options};
use crate::resources::check_intended;
use crate::session;

/// An item operation whose container has been found and whose principal has been checked.
#[derive(Debug)]
pub(crate) struct ItemRequest<'a> {
    pub(super) inner: &'a Inner,
    pub(super) options: &'a Options,
    pub(super) container: Arc<Container>,
    /// The link was rid-based: item ids in it are rids too.
    pub(super) is_by_rid: bool,
    pub(super) allowed: Allowed,
    pub(super) key: Option<PartitionKey>,
    pub(super) range: Option<RangeId>,
    pub(super) epks: Option<EpkRange>,
    /// What the container may use; `None` when throughput is not looked at.
    pub(super) budget: Option<Budget>,
    /// The same when the client tries the same again; zero when throughput is not looked at.
    pub(super) fingerprint: u64,
    /// The logical partition that the request turned out to be for.
    pub(super) routed: OnceLock<Logical>,
    pub(super) is_write: bool,
}

impl ItemRequest<'_> {
    pub(super) fn check(&self, found: &ResolvedLink, action: &ItemAction) -> Result<()> {
        check_intended(self.options, found)?;
        session::check_consistency(self.options, self.inner.options().default_consistency)?;
        let is_point = matches!(
            action,
            ItemAction::Read { .. }
                | ItemAction::Replace { .. }
                | ItemAction::Patch { .. }
                | ItemAction::Delete { .. }
        );
        // What an item's grant means for its attachments is looked at with them.
        let is_attached =
            matches!(action, ItemAction::Attachment { .. } | ItemAction::Media { .. });
        if is_point {
            self.allowed.check_whole_item()?;
        } else if !is_attached {
            self.allowed.check_many()?;
        }
        let runs_triggers = matches!(
            action,
            ItemAction::Create { .. } | ItemAction::Replace { .. } | ItemAction::Delete { .. }
        );
        // Triggers would change what is written: ignoring them would be silently wrong.
        if right(action) == Right::Write && !runs_triggers && self.has_triggers() {
            return Err(Error::NotSupported("a trigger on this operation"));
        }
        Ok(())
    }

    /// How many replicas are read and paid for.
    ///
    /// Wire: a quorum of two answers strong and bounded reads.
    pub(super) fn n_replicas_read(&self) -> u64 {
        let level = self.options.consistency.unwrap_or(self.inner.options().default_consistency);
        match level {
            Consistency::Strong | Consistency::BoundedStaleness => 2,
            Consistency::Session | Consistency::ConsistentPrefix | Consistency::Eventual => 1,
        }
    }
}

/// A number for what a request asks: a client that was sent away comes back with the very same.
pub(super) fn fingerprint(key: Option<&PartitionKey>, action: &ItemAction) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    match action {
        ItemAction::Create { body, .. } => body.hash(&mut hasher),
        ItemAction::Attachment {
            item,
            action:
                AttachmentAction::Create { content, .. } | AttachmentAction::Replace { content, .. },
        } => (item, content).hash(&mut hasher),
        ItemAction::Media { rid, action: MediaAction::Replace { bytes, .. } } => {
            (rid, bytes).hash(&mut hasher);
        }
        ItemAction::Replace { id, body } | ItemAction::Patch { id, body } => {
            (id, body).hash(&mut hasher);
        }
        other => format!("{other:?}").hash(&mut hasher),
    }
    hasher.finish()
}

pub(super) fn right(action: &ItemAction) -> Right {
    match action {
        ItemAction::Attachment {
            action:
                AttachmentAction::Read { .. } | AttachmentAction::List | AttachmentAction::Query { .. },
            ..
        }
        | ItemAction::Media { action: MediaAction::Read | MediaAction::Head, .. }
        | ItemAction::Read { .. }
        | ItemAction::Head
        | ItemAction::ReadFeed
        | ItemAction::ChangeFeed { .. }
        | ItemAction::Query { .. }
        | ItemAction::QueryPlan { .. } => Right::Read,
        ItemAction::Create { .. }
        | ItemAction::Replace { .. }
        | ItemAction::Patch { .. }
        | ItemAction::Delete { .. }
        | ItemAction::Batch { .. }
        | ItemAction::DeleteLogicalPartition
        | ItemAction::Attachment { .. }
        | ItemAction::Media { .. }
        | ItemAction::Execute { .. } => Right::Write,
    }
}
