//! Item operations: find the container, check the principal, route by partition key, answer with facts.
//!
//! Every answer, failures included, names the owner and, where one range served, its session token: SDKs
//! record sessions from 404, 409 and 412 too.

mod attachments;
mod batch;
mod bulk;
mod changes;
mod explain;
mod feed;
mod point;
mod purge;
mod query;
mod query_facts;
mod query_merge;
mod relocation_wait;
mod scope;
mod scripts;
mod span_position;
mod system_procedures;
mod udfs;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use model::{Charge, EpkRange, Lsn, PartitionKey, RangeId, Rid, Status};
use partition::Logical;

pub use explain::{Explanation, RangePlan};
use relocation_wait::RelocationWait;

use crate::access::{self, Allowed, Right, Want};
use crate::account::{Inner, Request};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::meter::Budget;
use crate::operation::{
    AttachmentAction, Consistency, ItemAction, ItemOperation, KEY_REQUIRED_SINCE, Link,
    MediaAction, Options, Principal, ResourceKind,
};
use crate::outcome::{Body, Facts, Failed, Outcome};
use crate::range_map::Range;
use crate::resources::check_intended;
use crate::session;

/// An item operation whose container has been found and whose principal has been checked.
#[derive(Debug)]
pub(super) struct ItemRequest<'a> {
    inner: &'a Inner,
    options: &'a Options,
    container: Arc<Container>,
    /// The link was rid-based: item ids in it are rids too.
    is_by_rid: bool,
    allowed: Allowed,
    key: Option<PartitionKey>,
    range: Option<RangeId>,
    epks: Option<EpkRange>,
    /// What the container may use; `None` when throughput is not looked at.
    budget: Option<Budget>,
    /// The same when the client tries the same again; zero when throughput is not looked at.
    fingerprint: u64,
    /// The logical partition that the request turned out to be for.
    routed: OnceLock<Logical>,
}

pub(crate) async fn execute(
    inner: &Inner,
    request: Request<'_>,
    operation: ItemOperation,
) -> Result<Outcome, Failed> {
    let ItemOperation { container, key, range, epks, action } = operation;
    let (found, container, allowed, budget) = {
        let tables = inner.catalog.tables();
        let found = tables.find_container(&container).map_err(|error| match request.principal {
            Principal::Token(_) => Error::Forbidden,
            // Wire: the client has the name from its cache, and looks it up again.
            _ if request.options.cached_container_rid.is_some() => Error::ContainerNameStale,
            Principal::Master | Principal::ReadOnly | Principal::Identity => error,
        })?;
        let runtime = tables.container(found.number()).cloned().ok_or(Error::ContainerNotFound)?;
        let want = Want { chain: &found.chain, kind: ResourceKind::Item, right: right(&action) };
        let allowed = access::check(&tables, request.principal, want)?;
        let budget = Budget::of(&tables, &runtime, inner.options(), &inner.shared_buckets);
        (found, runtime, allowed, budget)
    };
    let key = if is_without_key(&container, request.options, &action) {
        Some(PartitionKey::none())
    } else {
        key
    };
    let fingerprint = budget.as_ref().map_or(0, |_| fingerprint(key.as_ref(), &action));
    let mut request = ItemRequest {
        inner,
        options: request.options,
        container,
        is_by_rid: found.is_by_rid,
        allowed,
        key,
        range,
        epks,
        budget,
        fingerprint,
        routed: OnceLock::new(),
    };
    request.check(&found, &action).map_err(|error| request.fail(error))?;
    let is_bulk = matches!(action, ItemAction::Batch { is_atomic: false, .. });
    let is_page = matches!(
        action,
        ItemAction::ReadFeed | ItemAction::ChangeFeed { .. } | ItemAction::Query { .. }
    );
    let answer = if right(&action) == Right::Read {
        let mut answer = request.run(action).await;
        let facts = match &mut answer {
            Ok(outcome) => Some(&mut outcome.facts),
            // What was sent away was read nowhere.
            Err(Failed { error: Error::Throttled { .. }, .. }) => None,
            Err(failed) => Some(&mut *failed.facts),
        };
        if let Some(facts) = facts {
            facts.charge = facts.charge * request.n_replicas_read();
        }
        answer
    } else {
        request.write(action).await
    };
    let facts = match &answer {
        Ok(outcome) => &outcome.facts,
        Err(failed) => &*failed.facts,
    };
    // What several ranges may have served, or several operations, was recorded with each; what was sent away used nothing.
    let is_throttled = matches!(&answer, Err(Failed { error: Error::Throttled { .. }, .. }));
    let is_recorded = is_bulk || is_page && answer.is_ok() || is_throttled;
    let range = facts.range.filter(|_| !is_recorded);
    if let Some(range) = range.and_then(|id| request.container.ranges.by_id(id)) {
        let now = inner.env().monotonic();
        match request.routed.get() {
            Some(at) => request.record(now, range, Some(at), facts.charge),
            None => request.record(now, range, request.logical().ok().as_ref(), facts.charge),
        }
    }
    answer
}

/// Says whether the request comes from a client that knows containers without a partition key, to such a container. All
/// that it can reach has no key, whichever it sends.
///
/// Wire: the resolvers of old SDKs send the key that they resolve by. What is newer than such clients goes by the key of
/// the request.
fn is_without_key(container: &Container, options: &Options, action: &ItemAction) -> bool {
    container.properties.definition.system_key
        && options.is_before(KEY_REQUIRED_SINCE)
        && !matches!(action, ItemAction::Batch { .. } | ItemAction::DeleteLogicalPartition)
}

/// Finds the container of the attachment that media belongs to, and asks there.
pub(crate) async fn execute_media(
    inner: &Inner,
    request: Request<'_>,
    id: &str,
    action: MediaAction,
) -> Result<Outcome, Failed> {
    let rid = Rid::from_media_id(id).ok_or(Error::NotFound)?;
    let container = rid.container_rid().ok_or(Error::NotFound)?;
    let segments = vec![
        (ResourceKind::Database, rid.database_rid().to_string()),
        (ResourceKind::Container, container.to_string()),
    ];
    let operation = ItemOperation {
        container: Link { segments },
        key: None,
        range: None,
        epks: None,
        action: ItemAction::Media { rid, action },
    };
    execute(inner, request, operation).await
}

/// A number for what a request asks: a client that was sent away comes back with the very same.
fn fingerprint(key: Option<&PartitionKey>, action: &ItemAction) -> u64 {
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

fn right(action: &ItemAction) -> Right {
    match action {
        ItemAction::Attachment {
            action:
                AttachmentAction::Read { .. } | AttachmentAction::List | AttachmentAction::Query { .. },
            ..
        }
        | ItemAction::Media { action: MediaAction::Read, .. }
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

impl ItemRequest<'_> {
    fn check(&self, found: &crate::catalog::link::ResolvedLink, action: &ItemAction) -> Result<()> {
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
    fn n_replicas_read(&self) -> u64 {
        let level = self.options.consistency.unwrap_or(self.inner.options().default_consistency);
        match level {
            Consistency::Strong | Consistency::BoundedStaleness => 2,
            Consistency::Session | Consistency::ConsistentPrefix | Consistency::Eventual => 1,
        }
    }

    /// Carries out a write. While its range is being replaced it waits for the new one, for a while.
    async fn write(&mut self, action: ItemAction) -> Result<Outcome, Failed> {
        let mut relocation_wait = RelocationWait::new(self.inner);
        loop {
            match self.run(action.clone()).await {
                Err(failed) if failed.error.is_relocating() => {
                    if !relocation_wait.wait().await {
                        return Err(failed);
                    }
                    self.container = self.current().map_err(|error| self.fail(error))?;
                    self.routed = OnceLock::new();
                }
                answer => return answer,
            }
        }
    }

    /// The container as it is now.
    fn current(&self) -> Result<Arc<Container>> {
        let tables = self.inner.catalog.tables();
        let number = self.container.record().number;
        tables.container(number).cloned().ok_or(Error::OwnerNotFound)
    }

    /// Carries out an action. What waits is boxed: reads do not wait, and a future that has room for every write in it
    /// would be moved about with each of them.
    async fn run(&self, action: ItemAction) -> Result<Outcome, Failed> {
        match action {
            ItemAction::Create { body, is_upsert } => Box::pin(self.create(&body, is_upsert)).await,
            ItemAction::Read { id } => self.read(&id),
            ItemAction::Replace { id, body } => Box::pin(self.replace(&id, &body)).await,
            ItemAction::Patch { id, body } => Box::pin(self.patch(&id, &body)).await,
            ItemAction::Delete { id } => Box::pin(self.delete(&id)).await,
            ItemAction::Batch { calls, is_atomic: true, .. } => Box::pin(self.batch(calls)).await,
            ItemAction::Batch { calls, is_atomic: false, continue_on_error } => {
                Box::pin(self.bulk(calls, continue_on_error)).await
            }
            ItemAction::Head => self.head(),
            ItemAction::ReadFeed => self.read_feed(),
            ItemAction::ChangeFeed { mode, start } => self.change_feed(mode, &start),
            ItemAction::Query {
                query,
                cross_partition,
                wants_query_metrics,
                wants_index_metrics,
                ..
            } => {
                let may_call_udfs = udfs::may_call(&query.text);
                let extras =
                    query::Extras { may_call_udfs, wants_query_metrics, wants_index_metrics };
                if may_call_udfs {
                    return Box::pin(self.query_with_udfs(query, cross_partition, extras)).await;
                }
                self.query(&query, cross_partition, extras)
            }
            ItemAction::QueryPlan { query, supported_features } => {
                self.query_plan(&query, &supported_features)
            }
            ItemAction::Attachment { item, action } => {
                Box::pin(self.attachment(&item, action)).await
            }
            ItemAction::Media { rid, action } => Box::pin(self.media(rid, action)).await,
            ItemAction::DeleteLogicalPartition => Box::pin(self.delete_logical_partition()).await,
            ItemAction::Execute { procedure, arguments, wants_log } => {
                Box::pin(self.execute_procedure(&procedure, &arguments, wants_log)).await
            }
        }
    }

    /// Wire: clients of direct mode ask how far a replica is before they trust what it has read.
    fn head(&self) -> Result<Outcome, Failed> {
        let range = match (&self.key, self.range) {
            (Some(_), _) => {
                let at = self.logical().map_err(|error| self.fail(error))?;
                self.route(&at).map_err(|error| self.fail(error))?
            }
            (None, Some(id)) => self.named_range(id).map_err(|error| self.fail(error))?,
            (None, None) => {
                self.likely_range().ok_or_else(|| self.fail(Error::ContainerNotFound))?
            }
        };
        let facts = self.facts_of(range.id(), range.partition.lsn());
        Ok(Outcome { status: Status::OK, body: Body::Empty, facts })
    }

    /// The logical partition of the key header, which must be complete.
    fn logical(&self) -> Result<Logical> {
        let key = self.key.clone().ok_or(Error::KeyRequired)?;
        self.logical_of(key)
    }

    fn logical_of(&self, key: PartitionKey) -> Result<Logical> {
        let definition = &self.container.properties.definition;
        definition.check(&key)?;
        self.allowed.check_key(Some(&key))?;
        Ok(Logical::new(definition, key))
    }

    /// The range that owns the key; a range header must agree with it.
    fn route(&self, at: &Logical) -> Result<&Range> {
        let range = self.container.ranges.route(&at.epk);
        match self.range {
            Some(named) if named != range.id() => Err(self.range_gone(named)),
            Some(_) | None => {
                let _ = self.routed.set(at.clone());
                self.admit(range)?;
                Ok(range)
            }
        }
    }

    /// Refuses the request if the range has used up its throughput.
    fn admit(&self, range: &Range) -> Result<()> {
        let Some(budget) = &self.budget else { return Ok(()) };
        let now = self.inner.env().monotonic();
        budget.admit(now, range, self.fingerprint)
    }

    /// Notes what a request used of a range.
    fn record(&self, now: Duration, range: &Range, at: Option<&Logical>, charge: Charge) {
        range.meter.record(now, at, charge);
        if let Some(budget) = &self.budget {
            budget.charge(now, range, charge);
        }
    }

    fn named_range(&self, id: RangeId) -> Result<&Range> {
        self.container.ranges.by_id(id).ok_or_else(|| self.range_gone(id))
    }

    fn range_gone(&self, range: RangeId) -> Error {
        Error::RangeGone { range, container: self.container.rid_text.to_string() }
    }

    fn check_session(&self, range: &Range) -> Result<()> {
        let default = self.inner.options().default_consistency;
        session::check_read(self.options, default, &self.container, range)
    }

    fn facts(&self) -> Facts {
        Facts {
            owner_path: Some(Arc::clone(&self.container.name_path)),
            owner_rid: Some(Arc::clone(&self.container.rid_text)),
            ..Facts::default()
        }
    }

    /// Facts of an answer that a range served up to an LSN.
    fn facts_of(&self, range: RangeId, lsn: Lsn) -> Facts {
        let served = self.container.ranges.by_id(range);
        Facts {
            session: Some(session::entry(self.options, range, lsn)),
            range: Some(range),
            lsn: Some(lsn),
            partition: served.map(|range| range.entry.incarnation),
            range_usage: served.map(|range| range.partition.usage()),
            ..self.facts()
        }
    }

    fn fail(&self, error: impl Into<Error>) -> Failed {
        match self.likely_range() {
            Some(range) => self.fail_at(range, error),
            None => error.into().into(),
        }
    }

    /// The range that would have served the request: the one of its item, that it names, of its key, or the first.
    fn likely_range(&self) -> Option<&Range> {
        let ranges = &self.container.ranges;
        let routed = self.routed.get().map(|at| ranges.route(&at.epk));
        let named = || self.range.and_then(|id| ranges.by_id(id));
        let of_key = || self.logical().ok().map(|at| ranges.route(&at.epk));
        routed.or_else(named).or_else(of_key).or_else(|| ranges.iter().next())
    }

    /// A failure that a range found out.
    fn fail_at(&self, range: &Range, error: impl Into<Error>) -> Failed {
        let error = error.into();
        let charge = charge_of(&error);
        let facts = self.facts_of(range.id(), range.partition.lsn());
        Failed { error, facts: Box::new(Facts { charge, ..facts }) }
    }
}

fn charge_of(error: &Error) -> Charge {
    match error {
        Error::Partition(error) => error.charge(),
        Error::Throttled { .. } => partition::charge::throttled(),
        Error::Item(_) | Error::KeyMismatch => partition::charge::refused(),
        _ => Charge::ZERO,
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, facts: Box::default() }
    }
}
