//! The doors: one operation, a batch, a point read.

use model::{Charge, Failure as _, ItemBody, Status};

use crate::keys::LogicalPrefix;
use crate::partition::Partition;
use crate::transaction::{BATCH_OPERATIONS_MAX, Refusal, Step, TransactionContext};
use crate::{
    Applied, AttachmentCall, AttachmentOp, BatchApplied, Error, ItemCall, ItemOp, ItemOutcome,
    Logical, Result, charge,
};

impl Partition {
    /// Reads one item: the key gives its number, the number gives its text, the system properties are spliced in.
    ///
    /// Fails with `ItemMissing`. Answers 304 without a body when `if_none_match` names the current etag.
    pub fn read(&self, at: &Logical, id: &str, if_none_match: Option<&str>) -> Result<ItemOutcome> {
        let reader = self.reader();
        let place = LogicalPrefix::new(at, &reader.settings.definition);
        let (number, record) = reader.find(&place, id)?.ok_or(Error::missing())?;
        self.has_seen(record.moment.lsn);
        let etag = record.etag();
        let (item_lsn, is_bare) = (Some(record.moment.lsn), record.is_bare);
        if if_none_match.is_some_and(|header| etag.matches(header)) {
            let (status, charge) = (Status::NOT_MODIFIED, charge::nothing());
            let etag = Some(etag);
            return Ok(ItemOutcome { status, body: None, etag, item_lsn, is_bare, charge });
        }
        Ok(ItemOutcome {
            status: Status::OK,
            body: Some(reader.render(number, &record, None)),
            etag: Some(etag),
            item_lsn,
            is_bare,
            charge: charge::read(record.text().len()),
        })
    }

    /// Finds the logical partition and id of the live item with this number, which its rid carries.
    pub fn find_by_rid(&self, number: u64) -> Result<Option<(Logical, String)>> {
        let reader = self.reader();
        let Some(record) = reader.item(number)? else { return Ok(None) };
        if !reader.liveness.is_live(&record) {
            return Ok(None);
        }
        let body = ItemBody::parse(record.text())
            .map_err(|_| Error::Corrupt("a stored item is not an item"))?;
        Ok(Some((record.place().to_logical()?, body.id().to_owned())))
    }

    /// Carries out one operation. A write that is answered is durable, and every later read shows it.
    pub async fn apply(&self, at: &Logical, call: ItemCall) -> Result<Applied> {
        if let ItemOp::Read { id } = &call.op {
            let outcome = self.read(at, id, call.if_none_match.as_deref())?;
            return Ok(Applied { outcome, lsn: self.lsn() });
        }
        let context = TransactionContext::new(self.settings(), self.keys(), at);
        let step = context.step(call, &self.inner().env)?;
        self.apply_step(&context, step).await
    }

    /// Carries out one operation on an attachment of an item, as [`Partition::apply`] does on an item.
    pub async fn apply_attachment(&self, at: &Logical, call: AttachmentCall) -> Result<Applied> {
        if let AttachmentOp::Read { id } = &call.op {
            let if_none_match = call.if_none_match.as_deref();
            let outcome = self.read_attachment(at, &call.item, id, if_none_match)?;
            return Ok(Applied { outcome, lsn: self.lsn() });
        }
        let context = TransactionContext::new(self.settings(), self.keys(), at);
        self.apply_step(&context, Step::attachment(call)).await
    }

    async fn apply_step(&self, context: &TransactionContext, step: Step) -> Result<Applied> {
        let committed = self.transact(context, &[step]).await.map_err(|refusal| refusal.error)?;
        let lsn = committed.lsn;
        let mut results = committed.results.into_iter();
        let done = results.next().ok_or(Error::Corrupt("a transaction answered nothing"))?;
        Ok(Applied { outcome: done.into_outcome(context, committed.sealed.as_ref()), lsn })
    }

    /// Carries out all calls with one LSN, or none of them.
    ///
    /// `Err` is a failure of the whole request; a call that fails is reported in the results.
    pub async fn apply_batch(&self, at: &Logical, calls: Vec<ItemCall>) -> Result<BatchApplied> {
        if calls.is_empty() {
            return Err(Error::BatchEmpty);
        }
        if calls.len() > BATCH_OPERATIONS_MAX {
            return Err(Error::BatchTooLong);
        }
        let n_calls = calls.len();
        let context = TransactionContext::new(self.settings(), self.keys(), at);
        let mut steps = Vec::with_capacity(n_calls);
        for (index, call) in calls.into_iter().enumerate() {
            match context.step(call, &self.inner().env) {
                Ok(step) => steps.push(step),
                Err(error) => return self.refused(Refusal::new(index, error), n_calls),
            }
        }
        let committed = match self.transact(&context, &steps).await {
            Ok(committed) => committed,
            Err(refusal) => return self.refused(refusal, n_calls),
        };
        let sealed = committed.sealed.as_ref();
        let outcomes = committed.results.into_iter();
        let results: Vec<_> =
            outcomes.map(|done| Ok(done.into_outcome(&context, sealed))).collect();
        let charge = results.iter().flatten().map(|outcome: &ItemOutcome| outcome.charge).sum();
        Ok(BatchApplied { results, committed: true, lsn: committed.lsn, charge })
    }

    /// The failing call with its own error, all others failed with it. Those before it were done and are paid for.
    fn refused(&self, refusal: Refusal, n_calls: usize) -> Result<BatchApplied> {
        let Refusal { index, error, charges } = refusal;
        if is_whole(&error) {
            return Err(error);
        }
        let charge = charges.iter().sum::<Charge>() + error.charge();
        let undone = charges.into_iter().chain(std::iter::repeat(Charge::ZERO));
        let mut results: Vec<_> =
            undone.take(n_calls).map(|charge| Err(Error::FailedDependency { charge })).collect();
        if let Some(slot) = results.get_mut(index) {
            *slot = Err(error);
        }
        Ok(BatchApplied { results, committed: false, lsn: self.lsn(), charge })
    }
}

/// Failures that say nothing about one call: the store's, our own, and those of the answer as a whole.
fn is_whole(error: &Error) -> bool {
    matches!(
        error,
        Error::Store(_)
            | Error::Corrupt(_)
            | Error::Forgotten
            | Error::Fenced
            | Error::Relocating
            | Error::AnswerTooLarge
    ) || error.is_our_fault()
}
