//! Carries out an item operation: finds its container, dispatches by action, waits while a range relocates, records the charge.

use std::sync::{Arc, OnceLock};

use model::{PartitionKey, Rid};

use super::relocation_wait::RelocationWait;
use super::request::{ItemRequest, fingerprint, right};
use super::{query, udfs};
use crate::access::{self, Right, Want};
use crate::account::{Inner, Request};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::meter::Budget;
use crate::operation::{
    ItemAction, ItemOperation, KEY_REQUIRED_SINCE, Link, MediaAction, Options, Principal,
    ResourceKind,
};
use crate::outcome::{Failed, Outcome};

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
        is_write: right(&action) == Right::Write,
    };
    request.check(&found, &action).map_err(|error| request.fail(error))?;
    let is_bulk = matches!(action, ItemAction::Batch { is_atomic: false, .. });
    let is_page = matches!(
        action,
        ItemAction::ReadFeed | ItemAction::ChangeFeed { .. } | ItemAction::Query { .. }
    );
    let answer = if request.is_write {
        request.write(action).await
    } else {
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

impl ItemRequest<'_> {
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
    pub(super) fn current(&self) -> Result<Arc<Container>> {
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
}
