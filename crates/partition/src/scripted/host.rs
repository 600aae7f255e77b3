//! A transaction behind the seam of the script engine.

use std::sync::Arc;

use bytes::Bytes;
use model::{Failure as _, ItemBody, Value};
use query::{PrepareOptions, Statement};
use script::{
    FeedPage, Host, HostError, HostResult, ItemRef, NewItem, PageRequest, QueryPage, Usage,
};

use super::execute::{OnDemand, Surroundings};
use super::transaction::{Transaction, is_not_modified};
use crate::{Error, ItemCall, ItemOp, Result};

#[derive(Debug)]
pub(super) struct TransactionHost {
    /// Taken when the run is over.
    transaction: Option<Transaction>,
    self_link: String,
    alt_link: String,
    on_demand: Arc<dyn OnDemand>,
    prepare: Option<PrepareOptions>,
}

impl TransactionHost {
    pub(super) fn new(transaction: Transaction, surroundings: &Surroundings) -> TransactionHost {
        TransactionHost {
            self_link: transaction.context.settings.container_link.to_string(),
            alt_link: surroundings.alt_link.clone(),
            on_demand: Arc::clone(&surroundings.on_demand),
            prepare: None,
            transaction: Some(transaction),
        }
    }

    /// Ends the use of the transaction: a run that was given up finds nothing here any more.
    pub(super) fn take(&mut self) -> Result<Transaction> {
        self.transaction.take().ok_or(Error::Corrupt("a script's transaction ended twice"))
    }

    pub(super) fn transaction(&mut self) -> Result<&mut Transaction> {
        self.transaction.as_mut().ok_or(Error::Corrupt("a script's transaction has ended"))
    }

    fn write(
        &mut self,
        op: ItemOp,
        if_match: Option<&str>,
        is_seen: bool,
    ) -> HostResult<Option<Bytes>> {
        let call = ItemCall { if_match: if_match.map(str::to_owned), ..ItemCall::new(op) };
        let written = self.transaction().and_then(|transaction| {
            if is_seen {
                Ok(transaction.apply(call)?.body)
            } else {
                transaction.carry_out(call).map(|()| None)
            }
        });
        written.map_err(|error| refused(&error))
    }

    pub(super) fn id(&mut self, item: ItemRef<'_>) -> HostResult<String> {
        match item {
            ItemRef::Id(id) => Ok(id.to_owned()),
            ItemRef::Rid(rid) => {
                let id = self.transaction().and_then(|transaction| transaction.id_of_rid(rid));
                id.map_err(|error| refused(&error))
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a size in megabytes need not be exact")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// What a script may handle, and what ends it: a broken store, a lost race.
pub(super) fn refused(error: &Error) -> HostError {
    let is_fatal = matches!(error, Error::Raced | Error::Fenced | Error::Forgotten);
    let failure = HostError::from_failure(error);
    HostError { is_fatal: is_fatal || failure.is_fatal, ..failure }
}

pub(super) fn checked(body: NewItem) -> HostResult<ItemBody> {
    body.into_body().map_err(|error| HostError::new(error.status(), error.to_string()))
}

impl Host for TransactionHost {
    fn self_link(&self) -> &str {
        &self.self_link
    }

    fn alt_link(&self) -> &str {
        &self.alt_link
    }

    fn has_room(&self) -> bool {
        self.transaction.as_ref().is_some_and(Transaction::has_room)
    }

    fn usage(&self) -> Usage {
        let Some(transaction) = &self.transaction else { return Usage::default() };
        Usage {
            current_mb: megabytes(transaction.partition.statistics().bytes),
            max_mb: megabytes(transaction.context.settings.logical_bytes_max),
            current_text: self.on_demand.usage(),
            max_text: self.on_demand.quota(),
        }
    }

    fn read(
        &mut self,
        item: ItemRef<'_>,
        if_none_match: Option<&str>,
    ) -> HostResult<Option<Bytes>> {
        let id = self.id(item)?;
        let if_none_match = if_none_match.map(str::to_owned);
        let call = ItemCall { if_none_match, ..ItemCall::new(ItemOp::Read { id }) };
        let outcome = self.transaction().and_then(|transaction| transaction.apply(call));
        let outcome = outcome.map_err(|error| refused(&error))?;
        Ok(if is_not_modified(&outcome) { None } else { outcome.body })
    }

    fn create(&mut self, body: NewItem, is_seen: bool) -> HostResult<Option<Bytes>> {
        self.write(ItemOp::Create(checked(body)?), None, is_seen)
    }

    fn upsert(
        &mut self,
        body: NewItem,
        if_match: Option<&str>,
        is_seen: bool,
    ) -> HostResult<Option<Bytes>> {
        self.write(ItemOp::Upsert(checked(body)?), if_match, is_seen)
    }

    fn replace(
        &mut self,
        item: ItemRef<'_>,
        body: NewItem,
        if_match: Option<&str>,
        is_seen: bool,
    ) -> HostResult<Option<Bytes>> {
        let (id, body) = (self.id(item)?, checked(body)?);
        self.write(ItemOp::Replace { id, body }, if_match, is_seen)
    }

    fn delete(&mut self, item: ItemRef<'_>, if_match: Option<&str>) -> HostResult<()> {
        let id = self.id(item)?;
        self.write(ItemOp::Delete { id }, if_match, false).map(drop)
    }

    fn page(&mut self, after: Option<u64>, items_max: Option<usize>) -> HostResult<FeedPage> {
        let page = self.transaction().and_then(|transaction| transaction.page(after, items_max));
        page.map_err(|error| refused(&error))
    }

    fn query(
        &mut self,
        text: &str,
        parameters: &[(String, Value)],
        page: PageRequest<'_>,
    ) -> HostResult<QueryPage> {
        let prepare = self.prepare.take().unwrap_or_else(|| self.on_demand.prepare());
        let run = || -> Result<query::Page> {
            let statement = Statement::prepare(text, parameters, &prepare)?;
            self.transaction()?.query(&statement, page)
        };
        let page = { run }();
        self.prepare = Some(prepare);
        let page = page.map_err(|error| refused(&error))?;
        let rows = query::Row::texts(&page.rows);
        Ok(QueryPage { rows, continuation: page.continuation })
    }
}
