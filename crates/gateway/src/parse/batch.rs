//! Batches: sniffing the form, and the rules that both forms share.

use account::{BatchAction, BatchCall, IndexingDirective, ItemAction};
use bytes::Bytes;
use model::{PartitionKey, json::binary};

use super::{Action, BatchForm, Reply, Request};
use crate::{
    batch_json,
    error::{Error, excerpt},
    headers::{Name, values::indexing_directive},
    hybrid_row::{self, Operation},
};

/// Limit: operations in one request; SDKs split larger bulks.
pub(crate) const BATCH_CALLS_MAX: usize = 100;

/// Limit: bytes of one request. The service says 2 MB; the .NET SDK fills up to 2,202,010 bytes.
const BATCH_BYTES_MAX: usize = 2_202_010;

/// Reads a batch or bulk request.
pub(super) fn batch(request: &Request<'_>) -> Result<(ItemAction, Reply), Error> {
    if request.body.len() > BATCH_BYTES_MAX {
        return Err(Error::BodyTooLarge { bytes_max: BATCH_BYTES_MAX });
    }
    let headers = request.headers;
    let form = if hybrid_row::is_hybrid_row(&request.body) {
        BatchForm::HybridRow
    } else if headers.version()?.is_some_and(|version| version <= "2018-12-31") {
        BatchForm::JsonOf2018
    } else {
        BatchForm::Json
    };
    let mut calls = match form {
        BatchForm::HybridRow => from_hybrid_row(&request.body)?,
        BatchForm::Json | BatchForm::JsonOf2018 => batch_json::decode(&request.json_body()?)?,
    };
    if calls.is_empty() {
        return Err(Error::BatchEmpty);
    }
    if headers.is_minimal()? {
        for call in &mut calls {
            call.minimal = true;
        }
    }
    // Without the header, one partition key means one transaction.
    let is_atomic = match headers.get(Name::BatchAtomic)? {
        Some(_) => headers.is_on(Name::BatchAtomic)?,
        None => headers.get(Name::PartitionKey)?.is_some(),
    };
    let continue_on_error = headers.is_on(Name::BatchContinueOnError)?;
    let action = if is_atomic { Action::Batch } else { Action::Bulk };
    let reply = Reply { batch_form: form, ..Reply::new(action) };
    Ok((ItemAction::Batch { calls, is_atomic, continue_on_error }, reply))
}

fn from_hybrid_row(body: &Bytes) -> Result<Vec<BatchCall>, Error> {
    // One more than is allowed is enough for the account to refuse them all.
    let operations = hybrid_row::decode_operations(body, BATCH_CALLS_MAX + 1)?;
    let read =
        |(index, operation)| call(operation).map_err(|reason| Error::BatchCall { index, reason });
    operations.into_iter().enumerate().map(read).collect()
}

fn call(operation: Operation) -> Result<BatchCall, String> {
    let id = operation.id.ok_or("id is missing");
    let body = text_json(operation.body)?.ok_or("resourceBody is missing");
    let action = match operation.kind {
        0 => BatchAction::Create { body: body? },
        1 => BatchAction::Patch { id: id?, body: body? },
        2 => BatchAction::Read { id: id? },
        4 => BatchAction::Delete { id: id? },
        5 => BatchAction::Replace { id: id?, body: body? },
        20 => BatchAction::Upsert { body: body? },
        other => return Err(format!("operationType {other} is unknown")),
    };
    let indexing = match &operation.indexing_directive {
        Some(directive) => indexing_directive(directive)
            .ok_or_else(|| format!("indexingDirective {} is unknown", excerpt(directive)))?,
        None => IndexingDirective::Default,
    };
    let key = operation.partition_key.as_deref().map(PartitionKey::from_header).transpose();
    Ok(BatchCall {
        action,
        key: key.map_err(|error| error.to_string())?,
        if_match: operation.if_match,
        if_none_match: operation.if_none_match,
        minimal: operation.minimal.unwrap_or(false),
        indexing,
    })
}

/// Bodies inside of rows may be binary JSON as well.
fn text_json(body: Option<Bytes>) -> Result<Option<Bytes>, String> {
    match body {
        Some(body) if binary::is_binary(&body) => {
            let text = binary::to_text(&body).map_err(|error| error.to_string())?;
            Ok(Some(text.into()))
        }
        other => Ok(other),
    }
}

/// Decodes foreign bytes; used by fuzz targets.
pub(crate) fn fuzz_hybrid_row(body: &Bytes) {
    let _ = from_hybrid_row(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hybrid_rows_become_calls() {
        let body = Some(Bytes::from_static(b"{}"));
        let id = Some("i".to_owned());
        let operation = |kind| Operation {
            kind,
            id: id.clone(),
            body: body.clone(),
            partition_key: Some("[\"a\"]".to_owned()),
            minimal: Some(true),
            ..Operation::default()
        };
        for (kind, name) in [
            (0, "Create"),
            (1, "Patch"),
            (2, "Read"),
            (4, "Delete"),
            (5, "Replace"),
            (20, "Upsert"),
        ] {
            let call = call(operation(kind)).unwrap();
            assert!(format!("{:?}", call.action).starts_with(name));
            assert!(call.minimal && call.key.is_some());
        }
        assert!(call(operation(3)).is_err());
        assert!(call(Operation { id: None, ..operation(2) }).is_err());
        assert!(call(Operation { body: None, ..operation(0) }).is_err());
        let broken = Some(Bytes::from_static(b"\x80"));
        assert!(call(Operation { body: broken, ..operation(0) }).is_err());
        let binary = Some(Bytes::from_static(b"\x80\xE8"));
        let created = call(Operation { body: binary, ..operation(0) }).unwrap().action;
        assert!(matches!(created, BatchAction::Create { body } if &body[..] == b"{}"));
        assert!(call(Operation { partition_key: Some("x".to_owned()), ..operation(0) }).is_err());
    }
}
