//! Bulk: independent operations in one request, each with its own key.
//!
//! All are submitted before any is waited for, so that they share the store's group commit. Submission is in
//! request order: operations on one item take effect in that order. A read does not queue behind writes, so one that
//! follows a write of its item waits for it.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use model::{Charge, ItemBody, PartitionKey};
use partition::{ItemCall, ItemOutcome, Logical};

use super::ItemRequest;
use super::batch::{answer, check_size, dependent, failure, is_minimal, is_read, success};
use super::relocation_wait::RelocationWait;
use crate::error::{Error, Result};
use crate::operation::{BatchAction, BatchCall};
use crate::outcome::{BatchResult, Facts, Failed, Outcome};
use crate::range_map::Range;

/// Limit: bytes of the items in one answer, the service's 4 MB.
const ANSWER_BYTES_MAX: usize = 4 << 20;

type Pending<'a> = Pin<Box<dyn Future<Output = BatchResult> + Send + 'a>>;

/// One operation with its place.
pub(super) struct Placed<'a> {
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
        let reads: Vec<bool> = calls.iter().map(is_read).collect();
        let mut results = if continue_on_error {
            let awaited = self.awaited(&calls);
            join_all(calls.into_iter().map(|call| self.one(call)).collect(), &awaited).await
        } else {
            self.until_first_failure(calls).await
        };
        cut(&mut results, &reads);
        let charge = results.iter().map(|result| result.charge).sum();
        let mut ranges = self.container.ranges.iter();
        let range = match (self.range, ranges.next(), ranges.next()) {
            (Some(id), ..) => self.container.ranges.by_id(id),
            (None, only, None) => only,
            // Operations of several ranges: no position of one of them says what was seen.
            (None, ..) => None,
        };
        let facts = match range {
            Some(range) => self.facts_of(range.id(), range.partition.lsn()),
            None => self.facts(),
        };
        Ok(answer(results, Facts { charge, ..facts }))
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

    /// For each operation, the one before it that it has to wait for: a read waits for the last write of its item.
    fn awaited(&self, calls: &[BatchCall]) -> Vec<Option<usize>> {
        let mut awaited = vec![None; calls.len()];
        let first_write = calls.iter().position(|call| !is_read(call)).unwrap_or(calls.len());
        if !calls.iter().skip(first_write).any(is_read) {
            return awaited;
        }
        let mut writes = HashMap::new();
        for (at, (call, awaited)) in calls.iter().zip(&mut awaited).enumerate() {
            let Some(item) = self.item_of(call) else { continue };
            if is_read(call) {
                *awaited = writes.get(&item).copied();
            } else {
                writes.insert(item, at);
            }
        }
        awaited
    }

    /// The key and id of the item that an operation is about; `None` if it has none, and fails.
    fn item_of(&self, call: &BatchCall) -> Option<(String, String)> {
        let id = match &call.action {
            BatchAction::Create { body } | BatchAction::Upsert { body } => {
                ItemBody::parse(body).ok()?.id().to_owned()
            }
            BatchAction::Replace { id, .. }
            | BatchAction::Patch { id, .. }
            | BatchAction::Read { id }
            | BatchAction::Delete { id } => id.clone(),
        };
        Some((self.key_of(call).ok()?.to_header(), id))
    }

    fn one(&self, call: BatchCall) -> Pending<'_> {
        let minimal = is_minimal(&call);
        match self.place_call(call) {
            Ok(placed) => Box::pin(async move {
                let (range, at) = (placed.range, placed.at.clone());
                let result = match self.apply_placed(placed).await {
                    Ok(outcome) => success(outcome, minimal),
                    Err(error) => failure(&error, super::facts::charge_of(&error)),
                };
                self.record(self.inner.env().monotonic(), range, Some(&at), result.charge);
                result
            }),
            Err(error) => Box::pin(std::future::ready(failure(&error, Charge::ZERO))),
        }
    }

    /// Applies one operation. While its range is being replaced it waits for the new one, for a while.
    pub(super) async fn apply_placed(&self, placed: Placed<'_>) -> Result<ItemOutcome> {
        let Placed { range, at, call } = placed;
        let mut relocation_wait = RelocationWait::new(self.inner);
        let mut answer = range.partition.apply(&at, call.clone()).await;
        while matches!(answer, Err(partition::Error::Relocating)) && relocation_wait.wait().await {
            let container = self.current()?;
            let range = container.ranges.route(&at.epk);
            if let Some(named) = self.range.filter(|named| *named != range.id()) {
                return Err(self.range_gone(named));
            }
            answer = range.partition.apply(&at, call.clone()).await;
        }
        Ok(answer?.outcome)
    }

    pub(super) fn place_call(&self, call: BatchCall) -> Result<Placed<'_>> {
        let at = self.logical_of(self.key_of(&call)?)?;
        let range = self.route(&at)?;
        if is_read(&call) {
            self.check_session(range)?;
        }
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

/// Takes the items of reads out of an answer that would be too large. Wire: bulk clients ask for those again, in fewer at a
/// time.
fn cut(results: &mut [BatchResult], reads: &[bool]) {
    let len = |result: &BatchResult| result.body.as_ref().map_or(0, Bytes::len);
    // What was written is done, and told first.
    let mut n_bytes: usize =
        results.iter().zip(reads).filter(|(_, is_read)| !**is_read).map(|(it, _)| len(it)).sum();
    for (result, _) in results.iter_mut().zip(reads).filter(|(_, is_read)| **is_read) {
        n_bytes += len(result);
        if n_bytes > ANSWER_BYTES_MAX && result.body.is_some() {
            n_bytes -= len(result);
            let charge = result.charge;
            *result = failure(&partition::Error::AnswerTooLarge, charge);
        }
    }
}

/// Polls all futures, first to last, until each has answered; one that has to wait for another after that has.
async fn join_all(mut pending: Vec<Pending<'_>>, awaited: &[Option<usize>]) -> Vec<BatchResult> {
    let mut results: Vec<Option<BatchResult>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        let mut is_done = true;
        for (at, future) in pending.iter_mut().enumerate() {
            let is_answered = |at: usize| results.get(at).is_some_and(Option::is_some);
            if is_answered(at) {
                continue;
            }
            let may_begin = awaited.get(at).copied().flatten().is_none_or(is_answered);
            let polled = if may_begin { future.as_mut().poll(context) } else { Poll::Pending };
            match (polled, results.get_mut(at)) {
                (Poll::Ready(answer), Some(result)) => *result = Some(answer),
                _ => is_done = false,
            }
        }
        if is_done { Poll::Ready(results.drain(..).flatten().collect()) } else { Poll::Pending }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_read_waits_for_the_write_of_its_item_and_others_do_not() {
        let (is_written, seen) = (AtomicBool::new(false), [const { AtomicBool::new(false) }; 2]);
        let write = async {
            tokio::task::yield_now().await;
            is_written.store(true, Ordering::SeqCst);
            dependent()
        };
        let read = |at: usize| {
            let (is_written, seen) = (&is_written, &seen);
            async move {
                seen[at].store(is_written.load(Ordering::SeqCst), Ordering::SeqCst);
                dependent()
            }
        };
        let pending: Vec<Pending<'_>> = vec![Box::pin(write), Box::pin(read(0)), Box::pin(read(1))];
        assert_eq!(join_all(pending, &[None, Some(0), None]).await.len(), 3);
        assert_eq!(seen.map(AtomicBool::into_inner), [true, false]);
    }
}
