//! Transactional batch: operations on one logical partition, all or none.
//!
//! Wire: A failing operation makes the answer 207: it has its own status, all others 424.

use model::{Charge, Failure, ItemBody, PartitionKeyError, Status};
use partition::{ItemCall, ItemOp, ItemOutcome, Logical, Patch};

use super::ItemRequest;
use super::query::LONG_TEXT_BYTES;
use crate::error::{Error, Result};
use crate::operation::{BatchAction, BatchCall};
use crate::outcome::{BatchResult, Body, Facts, Failed, Outcome};
use crate::threads::{run_blocking, wait_blocking};

/// Limit: the service's numbers.
pub(super) const OPERATIONS_MAX: usize = 100;
pub(super) const BYTES_MAX: usize = 2 << 20;

/// Says whether an operation may have a condition that takes long to plan and check.
fn has_long_patch(call: &BatchCall) -> bool {
    matches!(&call.action, BatchAction::Patch { body, .. } if body.len() > LONG_TEXT_BYTES)
}

impl ItemRequest<'_> {
    pub(super) async fn batch(&self, calls: Vec<BatchCall>) -> Result<Outcome, Failed> {
        check_size(&calls).map_err(|error| self.fail(error))?;
        let at = self.logical().map_err(|error| self.fail(whole_key(error)))?;
        let range = self.route(&at).map_err(|error| self.fail(error))?;
        if calls.iter().any(is_read) {
            self.check_session(range).map_err(|error| self.fail_at(range, error))?;
        }
        let minimal: Vec<bool> = calls.iter().map(is_minimal).collect();
        let is_long = calls.iter().any(has_long_patch);
        let prepare = || calls.into_iter().map(|call| self.prepare(&at, call)).collect();
        let prepared: Vec<Result<ItemCall>> =
            if is_long { run_blocking(prepare) } else { prepare() };
        if let Some(results) = refused(&prepared) {
            let facts = self.facts_of(range.id(), range.partition.lsn());
            let charge = results.iter().map(|result| result.charge).sum();
            return Ok(answer(results, Facts { charge, ..facts }));
        }
        let prepared = prepared.into_iter().filter_map(Result::ok).collect();
        let applied = range.partition.apply_batch(&at, prepared);
        let applied = if is_long { wait_blocking(applied).await } else { applied.await };
        let applied = applied.map_err(|error| self.fail_at(range, error))?;
        let results = applied.results.into_iter().zip(minimal);
        let results = results.map(|(result, minimal)| match result {
            Ok(outcome) => success(outcome, minimal),
            Err(error) => failure(&error, error.charge()),
        });
        let facts = Facts { charge: applied.charge, ..self.facts_of(range.id(), applied.lsn) };
        Ok(answer(results.collect(), facts))
    }

    /// Parses one operation. The key of its body, and one of its own, must be the batch's.
    pub(super) fn prepare(&self, at: &Logical, call: BatchCall) -> Result<ItemCall> {
        let minimal = is_minimal(&call);
        if call.key.as_ref().is_some_and(|key| *key != at.key) {
            return Err(Error::KeyMismatch);
        }
        let parse = |bytes: &[u8]| {
            let body = ItemBody::parse(bytes)?;
            self.check_body_key(at, &body)?;
            Ok::<_, Error>(body)
        };
        let op = match call.action {
            BatchAction::Create { body } => ItemOp::Create(parse(&body)?),
            BatchAction::Upsert { body } => ItemOp::Upsert(parse(&body)?),
            BatchAction::Replace { id, body } => ItemOp::Replace { id, body: parse(&body)? },
            BatchAction::Patch { id, body } => ItemOp::Patch { id, patch: Patch::parse(&body)? },
            BatchAction::Read { id } => ItemOp::Read { id },
            BatchAction::Delete { id } => ItemOp::Delete { id },
        };
        // Wire: a read has one condition, whichever name it comes under: an item that is still the same is 304.
        let (if_match, if_none_match) = match &op {
            ItemOp::Read { .. } => (None, call.if_none_match.or(call.if_match)),
            _ => (call.if_match, call.if_none_match),
        };
        let indexing = call.indexing;
        Ok(ItemCall { op, if_match, if_none_match, minimal, indexing, is_bare: false })
    }
}

/// Wire: a part of a hierarchical key is a key that does not fit here.
pub(super) fn whole_key(error: Error) -> Error {
    match error {
        Error::PartitionKey(PartitionKeyError::TooFewComponents) => Error::KeyUnfit,
        other => other,
    }
}

pub(super) fn check_size(calls: &[BatchCall]) -> Result<()> {
    if calls.is_empty() {
        return Err(Error::BatchEmpty);
    }
    if calls.len() > OPERATIONS_MAX {
        return Err(Error::BatchTooLong);
    }
    let bytes = calls.iter().map(|call| body_len(&call.action)).sum();
    if bytes > BYTES_MAX {
        Err(Error::BatchTooLarge { bytes, bytes_max: BYTES_MAX })
    } else {
        Ok(())
    }
}

fn body_len(action: &BatchAction) -> usize {
    match action {
        BatchAction::Create { body }
        | BatchAction::Upsert { body }
        | BatchAction::Replace { body, .. }
        | BatchAction::Patch { body, .. } => body.len(),
        BatchAction::Read { .. } | BatchAction::Delete { .. } => 0,
    }
}

/// Wire: reads return their item even if the client wants no content back.
pub(super) fn is_minimal(call: &BatchCall) -> bool {
    call.minimal && !is_read(call)
}

pub(super) fn is_read(call: &BatchCall) -> bool {
    matches!(call.action, BatchAction::Read { .. })
}

/// The results of a batch that is refused before it starts: the first fault, and 424 for the rest.
fn refused(prepared: &[Result<ItemCall>]) -> Option<Vec<BatchResult>> {
    let fault = prepared.iter().position(Result::is_err)?;
    let results = prepared.iter().enumerate().map(|(index, call)| match call {
        Err(error) if index == fault => failure(error, partition::charge::refused()),
        Ok(_) | Err(_) => dependent(),
    });
    Some(results.collect())
}

pub(super) fn success(outcome: ItemOutcome, minimal: bool) -> BatchResult {
    BatchResult {
        status: outcome.status,
        charge: outcome.charge,
        etag: outcome.etag,
        body: outcome.body.filter(|_| !minimal),
        retry_after_ms: None,
    }
}

pub(super) fn failure(error: &dyn Failure, charge: Charge) -> BatchResult {
    BatchResult {
        status: error.status(),
        charge,
        etag: None,
        body: None,
        retry_after_ms: error.retry_after_ms(),
    }
}

pub(super) fn dependent() -> BatchResult {
    let status = Status::FAILED_DEPENDENCY;
    BatchResult { status, charge: Charge::ZERO, etag: None, body: None, retry_after_ms: None }
}

/// 200 if all are successes, else 207 with the sub-status of the first real failure. Wire: 304 is no success.
pub(super) fn answer(results: Vec<BatchResult>, facts: Facts) -> Outcome {
    let is_success = |result: &BatchResult| result.status.code < 300;
    let is_failure = |result: &&BatchResult| {
        result.status.code >= 400 && result.status != Status::FAILED_DEPENDENCY
    };
    let status = match results.iter().find(is_failure) {
        Some(result) => Status { sub: result.status.sub, ..Status::MULTI_STATUS },
        None if results.iter().all(is_success) => Status::OK,
        None => Status::MULTI_STATUS,
    };
    let n_items = u64::try_from(results.len()).ok();
    Outcome { status, body: Body::Batch(results), facts: Facts { n_items, ..facts } }
}
