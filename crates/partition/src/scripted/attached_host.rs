//! Attachments behind the seam of the script engine.

use bytes::Bytes;
use model::Value;
use query::{PrepareOptions, Statement};
use script::{
    AttachmentHost, AttachmentRef, FeedPage, HostResult, ItemRef, NewItem, PageRequest, QueryPage,
};

use super::host::{TransactionHost, checked, refused};
use super::transaction::is_not_modified;
use crate::{AttachmentBody, AttachmentCall, AttachmentContent, AttachmentOp, ItemOutcome, Result};

impl TransactionHost {
    fn apply_attachment(&mut self, call: AttachmentCall) -> HostResult<ItemOutcome> {
        let outcome = self.transaction().and_then(|transaction| transaction.apply_attachment(call));
        outcome.map_err(|error| refused(&error))
    }

    /// The ids of an item and of its attachment.
    fn ids(&mut self, attachment: AttachmentRef<'_>) -> HostResult<(String, String)> {
        let item = self.id(attachment.item)?;
        let name = match attachment.item {
            ItemRef::Id(_) => attachment.name.to_owned(),
            ItemRef::Rid(_) => {
                let found = self.transaction().and_then(|transaction| {
                    transaction.attachment_id_of_rid(&item, attachment.name)
                });
                found.map_err(|error| refused(&error))?
            }
        };
        Ok((item, name))
    }

    fn attach(
        &mut self,
        item: ItemRef<'_>,
        body: NewItem,
        op: fn(AttachmentContent) -> AttachmentOp,
        if_match: Option<&str>,
    ) -> HostResult<Option<Bytes>> {
        let item = self.id(item)?;
        let if_match = if_match.map(str::to_owned);
        let call = AttachmentCall { if_match, ..AttachmentCall::new(item, op(content(body)?)) };
        Ok(self.apply_attachment(call)?.body)
    }
}

/// Wire: scripts give the JSON of an attachment, never its media.
fn content(body: NewItem) -> HostResult<AttachmentContent> {
    let body = AttachmentBody::new(checked(body)?).map_err(|error| refused(&error))?;
    Ok(AttachmentContent::Json(body))
}

impl AttachmentHost for TransactionHost {
    fn read_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        if_none_match: Option<&str>,
    ) -> HostResult<Option<Bytes>> {
        let (item, id) = self.ids(attachment)?;
        let if_none_match = if_none_match.map(str::to_owned);
        let op = AttachmentOp::Read { id };
        let call = AttachmentCall { if_none_match, ..AttachmentCall::new(item, op) };
        let outcome = self.apply_attachment(call)?;
        Ok(if is_not_modified(&outcome) { None } else { outcome.body })
    }

    fn create_attachment(&mut self, item: ItemRef<'_>, body: NewItem) -> HostResult<Option<Bytes>> {
        self.attach(item, body, AttachmentOp::Create, None)
    }

    fn upsert_attachment(
        &mut self,
        item: ItemRef<'_>,
        body: NewItem,
        if_match: Option<&str>,
    ) -> HostResult<Option<Bytes>> {
        self.attach(item, body, AttachmentOp::Upsert, if_match)
    }

    fn replace_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        body: NewItem,
        if_match: Option<&str>,
    ) -> HostResult<Option<Bytes>> {
        let (item, id) = self.ids(attachment)?;
        let op = AttachmentOp::Replace { id, content: content(body)? };
        let if_match = if_match.map(str::to_owned);
        let call = AttachmentCall { if_match, ..AttachmentCall::new(item, op) };
        Ok(self.apply_attachment(call)?.body)
    }

    fn delete_attachment(
        &mut self,
        attachment: AttachmentRef<'_>,
        if_match: Option<&str>,
    ) -> HostResult<()> {
        let (item, id) = self.ids(attachment)?;
        let if_match = if_match.map(str::to_owned);
        let op = AttachmentOp::Delete { id };
        let call = AttachmentCall { if_match, ..AttachmentCall::new(item, op) };
        self.apply_attachment(call).map(drop)
    }

    fn attachments(
        &mut self,
        item: ItemRef<'_>,
        after: Option<u64>,
        items_max: Option<usize>,
    ) -> HostResult<FeedPage> {
        let item = self.id(item)?;
        let page = self
            .transaction()
            .and_then(|transaction| transaction.attached_page(&item, after, items_max));
        page.map_err(|error| refused(&error))
    }

    fn query_attachments(
        &mut self,
        item: ItemRef<'_>,
        text: &str,
        parameters: &[(String, Value)],
        page: PageRequest<'_>,
    ) -> HostResult<QueryPage> {
        let item = self.id(item)?;
        let run = || -> Result<query::Page> {
            let transaction = self.transaction()?;
            // What the container declares for its items, indexes and functions, is not for attachments.
            let prepare = PrepareOptions::new(transaction.partition.inner().env.clone());
            let statement = Statement::prepare(text, parameters, &prepare)?;
            transaction.query_attached(&item, &statement, page)
        };
        let page = { run }().map_err(|error| refused(&error))?;
        Ok(QueryPage { rows: query::Row::texts(&page.rows), continuation: page.continuation })
    }
}
