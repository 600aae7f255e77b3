//! Bulk: independent operations in one request, each with its own key.
//!
//! All are submitted before any is waited for, so that they share the store's group commit. Submission is in
//! request order: operations on one item take effect in that order.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use model::{Charge, ItemBody, PartitionKey};
use partition::{ItemCall, ItemOutcome, Logical};

use super::ItemRequest;
use super::batch::{answer, check_size, dependent, failure, is_minimal, success};
use super::patience::Patience;
use crate::error::{Error, Result};
use crate::operation::{BatchAction, BatchCall};
use crate::outcome::{BatchResult, Facts, Failed, Outcome};
use crate::range_map::Range;

type Pending<'a> = Pin<Box<dyn Future<Output = BatchResult> + Send + 'a>>;

/// One operation with its place.
struct Placed<'a> {
    range: &'a Range,
    at: Logical,
    call: ItemCall,
}

impl ItemRequest<'_> {
    pub(super) async fn bulk(
        &self,
        calls: Vec<BatchCall>,
        continue_on_error: bool,
    ) -> Result<Outcome, Failed> {
        check_size(&calls).map_err(|error| self.fail(error))?;
        if let Some(range) = self.range {
            self.named_range(range).map_err(|error| self.fail(error))?;
        }
        let results = if continue_on_error {
            join_all(calls.into_iter().map(|call| self.one(call)).collect()).await
        } else {
            self.until_first_failure(calls).await
        };
        let charge = results.iter().map(|result| result.charge).sum();
        let served: Vec<_> = match self.range.and_then(|id| self.container.ranges.by_id(id)) {
            Some(range) => vec![(range.id(), range.partition.lsn())],
            None => self.container.ranges.iter().map(|r| (r.id(), r.partition.lsn())).collect(),
        };
        Ok(answer(results, Facts { charge, ..self.facts_of(&served) }))
    }

    async fn until_first_failure(&self, calls: Vec<BatchCall>) -> Vec<BatchResult> {
        let mut results: Vec<BatchResult> = Vec::with_capacity(calls.len());
        let mut has_failed = false;
        for call in calls {
            let result = if has_failed { dependent() } else { self.one(call).await };
            has_failed |= result.status.code >= 400;
            results.push(result);
        }
        results
    }

    fn one(&self, call: BatchCall) -> Pending<'_> {
        let minimal = is_minimal(&call);
        match self.place_call(call) {
            Ok(placed) => Box::pin(async move {
                let (range, at) = (placed.range, placed.at.clone());
                let result = match self.apply_placed(placed).await {
                    Ok(outcome) => success(outcome, minimal),
                    Err(error) => failure(&error, super::charge_of(&error)),
                };
                self.record(range, Some(&at), result.charge);
                result
            }),
            Err(error) => Box::pin(std::future::ready(failure(&error, Charge::ZERO))),
        }
    }

    /// Applies one operation. While its range is being replaced it waits for the new one, for a while.
    async fn apply_placed(&self, placed: Placed<'_>) -> Result<ItemOutcome> {
        let Placed { range, at, call } = placed;
        let mut patience = Patience::new(self.inner);
        let mut answer = range.partition.apply(&at, call.clone()).await;
        while matches!(answer, Err(partition::Error::Relocating)) && patience.wait().await {
            let container = self.current()?;
            let range = container.ranges.route(&at.epk);
            if let Some(named) = self.range.filter(|named| *named != range.id()) {
                return Err(self.range_gone(named));
            }
            answer = range.partition.apply(&at, call.clone()).await;
        }
        Ok(answer?.outcome)
    }

    fn place_call(&self, call: BatchCall) -> Result<Placed<'_>> {
        let at = self.logical_of(self.key_of(&call)?)?;
        let range = self.route(&at)?;
        let call = self.prepare(&at, call)?;
        Ok(Placed { range, at, call })
    }

    /// The operation's own key, the request's, or the one in its body.
    fn key_of(&self, call: &BatchCall) -> Result<PartitionKey> {
        if let Some(key) = call.key.as_ref().or(self.key.as_ref()) {
            return Ok(key.clone());
        }
        match &call.action {
            BatchAction::Create { body }
            | BatchAction::Upsert { body }
            | BatchAction::Replace { body, .. } => {
                let body = ItemBody::parse(body)?;
                Ok(body.partition_key(&self.container.properties.definition))
            }
            BatchAction::Read { .. } | BatchAction::Delete { .. } | BatchAction::Patch { .. } => {
                Err(Error::KeyRequired)
            }
        }
    }
}

/// Polls all futures, first to last, until each has answered.
async fn join_all(mut pending: Vec<Pending<'_>>) -> Vec<BatchResult> {
    let mut results: Vec<Option<BatchResult>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        let mut is_done = true;
        for (future, result) in pending.iter_mut().zip(&mut results) {
            if result.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(answer) => *result = Some(answer),
                    Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { Poll::Ready(results.drain(..).flatten().collect()) } else { Poll::Pending }
    })
    .await
}
