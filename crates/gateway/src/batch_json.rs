//! Batches as JSON: the form of every SDK but .NET.

#![deny(clippy::indexing_slicing)]

use std::io::Write;

use account::{BatchAction, BatchCall, BatchResult, IndexingDirective};
use bytes::Bytes;
use model::{Charge, Number, PartitionKey, Value};

use crate::{
    error::{Error, excerpt, write_string},
    headers::values::indexing_directive,
    json_scan,
    parse::BATCH_CALLS_MAX,
};

/// Reads the operations of a request.
pub(crate) fn decode(body: &Bytes) -> Result<Vec<BatchCall>, Error> {
    let invalid = || Error::BodyInvalid { reason: "a batch is a JSON array".to_owned() };
    let elements = json_scan::elements(body).ok_or_else(invalid)?;
    // One more than is allowed is enough for the account to refuse them all.
    let elements = elements.get(..=BATCH_CALLS_MAX).unwrap_or(&elements);
    let read = |(index, element): (usize, &&[u8])| {
        call(body, element).map_err(|reason| Error::BatchCall { index, reason })
    };
    elements.iter().enumerate().map(read).collect()
}

/// The members of one operation, as far as we know them.
#[derive(Default)]
struct Members {
    kind: Option<String>,
    id: Option<String>,
    body: Option<Bytes>,
    key: Option<PartitionKey>,
    if_match: Option<String>,
    if_none_match: Option<String>,
    minimal: bool,
    indexing: IndexingDirective,
}

fn call(whole: &Bytes, element: &[u8]) -> Result<BatchCall, String> {
    let members = json_scan::members(element).ok_or("an operation is a JSON object")?;
    let mut known = Members::default();
    for (name, text) in members {
        let name = string(parse(name)?, "a member name")?;
        known.set(&name, text, whole)?;
    }
    known.into_call()
}

impl Members {
    fn set(&mut self, name: &str, text: &[u8], whole: &Bytes) -> Result<(), String> {
        let is_null = text == b"null";
        match name {
            _ if is_null => {}
            "operationType" => self.kind = Some(string(parse(text)?, name)?),
            "id" => self.id = Some(string(parse(text)?, name)?),
            "resourceBody" => self.body = Some(whole.slice_ref(text)),
            "partitionKey" => self.key = Some(partition_key(&parse(text)?)?),
            "ifMatch" => self.if_match = Some(string(parse(text)?, name)?),
            "ifNoneMatch" => self.if_none_match = Some(string(parse(text)?, name)?),
            "minimalReturnPreference" => match parse(text)? {
                Value::Bool(minimal) => self.minimal = minimal,
                _ => return Err("minimalReturnPreference is true or false".to_owned()),
            },
            "indexingDirective" => {
                let directive = string(parse(text)?, name)?;
                let unknown = || format!("indexingDirective {} is unknown", excerpt(&directive));
                self.indexing = indexing_directive(&directive).ok_or_else(unknown)?;
            }
            "resourceType" | "resourceStream" | "operationIndex" => {}
            // A member that we do not know could change what the client means.
            other => return Err(format!("the member {} is unknown", excerpt(other))),
        }
        Ok(())
    }

    fn into_call(self) -> Result<BatchCall, String> {
        let kind = self.kind.ok_or("operationType is missing")?;
        let id = self.id.ok_or("id is missing");
        let body = self.body.ok_or("resourceBody is missing");
        let action = match kind.to_ascii_lowercase().as_str() {
            "create" => BatchAction::Create { body: body? },
            "upsert" => BatchAction::Upsert { body: body? },
            "read" => BatchAction::Read { id: id? },
            "replace" => BatchAction::Replace { id: id?, body: body? },
            "patch" => BatchAction::Patch { id: id?, body: body? },
            "delete" => BatchAction::Delete { id: id? },
            _ => return Err(format!("operationType {} is unknown", excerpt(&kind))),
        };
        Ok(BatchCall {
            action,
            key: self.key,
            if_match: self.if_match,
            if_none_match: self.if_none_match,
            minimal: self.minimal,
            indexing: self.indexing,
        })
    }
}

fn parse(text: &[u8]) -> Result<Value, String> {
    // Wire: what an item may have, its batch may have too.
    model::json::parse_mended(text).map_err(|error| error.to_string())
}

fn string(value: Value, name: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(format!("{} is a string", excerpt(name))),
    }
}

/// Wire: a string that holds the JSON array; some clients send the array itself.
fn partition_key(value: &Value) -> Result<PartitionKey, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_text(),
    };
    PartitionKey::from_header(&text).map_err(|error| error.to_string())
}

/// Writes the body of a response. Sub-statuses are left out for those who do not know them.
pub(crate) fn encode(results: &[BatchResult], has_substatus: bool) -> Vec<u8> {
    let bodies: usize =
        results.iter().filter_map(|result| result.body.as_ref()).map(Bytes::len).sum();
    let mut out = Vec::with_capacity(bodies + 128 * results.len() + 2);
    out.push(b'[');
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        encode_result(&mut out, result, has_substatus);
    }
    out.push(b']');
    out
}

/// Wire: a result has the charge as it is, only the header's sum is rounded.
fn exact(charge: Charge) -> Number {
    // Invariant: a charge is finite; the default can't be taken.
    Number::from_f64(charge.as_f64()).unwrap_or_else(|| Number::from_u64(charge.hundredths() / 100))
}

fn encode_result(out: &mut Vec<u8>, result: &BatchResult, has_substatus: bool) {
    let status = result.status;
    // Writing into memory does not fail.
    let _ = write!(out, "{{\"statusCode\":{}", status.code);
    if has_substatus {
        let _ = write!(out, ",\"subStatusCode\":{}", status.sub);
    }
    let _ = write!(out, ",\"requestCharge\":{}", exact(result.charge));
    if let Some(etag) = &result.etag {
        out.extend_from_slice(b",\"eTag\":");
        write_string(out, etag.as_str());
    }
    if let Some(wait_ms) = result.retry_after_ms {
        let _ = write!(out, ",\"retryAfterMilliseconds\":{wait_ms}");
    }
    if let Some(body) = &result.body {
        out.extend_from_slice(b",\"resourceBody\":");
        out.extend_from_slice(body);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use model::{Charge, ETag, Lsn, Status};

    use super::*;

    fn decoded(text: &str) -> Result<Vec<BatchCall>, Error> {
        decode(&Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn every_operation_is_read() {
        let calls = decoded(
            r#"[{"operationType":"Create","resourceBody":{"id":"1","n":1.0},"id":"1"},
                {"operationType":"Upsert","resourceBody":{},"ifMatch":"\"e\"","partitionKey":"[\"a\"]"},
                {"operationType":"Read","id":"2","resourceBody":null},
                {"operationType":"Replace","id":"3","resourceBody":{},"minimalReturnPreference":true},
                {"operationType":"Delete","id":"4","ifNoneMatch":"x"},
                {"operationType":"Patch","id":"5","resourceBody":[{"op":"set"}],"indexingDirective":"Include"}]"#,
        )
        .unwrap();
        let [create, upsert, read, replace, delete, patch] = &calls[..] else { panic!() };
        assert!(
            matches!(&create.action, BatchAction::Create { body } if &body[..] == br#"{"id":"1","n":1.0}"#)
        );
        assert_eq!(upsert.if_match.as_deref(), Some("\"e\""));
        assert_eq!(upsert.key, Some(PartitionKey::from_header("[\"a\"]").unwrap()));
        assert!(matches!(&read.action, BatchAction::Read { id } if id == "2"));
        assert!(replace.minimal);
        assert_eq!(delete.if_none_match.as_deref(), Some("x"));
        assert!(matches!(&patch.action, BatchAction::Patch { body, .. } if body.starts_with(b"[")));
    }

    #[test]
    fn operations_that_make_no_sense_are_refused() {
        #[rustfmt::skip]
        let table = [
            "{}", "1", "", "[1]", "[{}]", r#"[{"operationType":"Create"}]"#, r#"[{"operationType":"Read"}]"#,
            r#"[{"operationType":"Burn","id":"1"}]"#, r#"[{"operationType":1,"id":"1"}]"#, r#"[{"operationType":"Read","id":1}]"#,
            r#"[{"operationType":"Read","id":"1","timeToLive":5}]"#, r#"[{"operationType":"Read","id":"1","partitionKey":"x"}]"#,
            r#"[{"operationType":"Create","resourceBody":{},"indexingDirective":"Perhaps"}]"#,
            r#"[{"operationType":"Read","id":"1"}"#, r#"[{"operationType":"Read","id":"\x"}]"#,
        ];
        for text in table {
            assert!(decoded(text).is_err(), "{text}");
        }
        let many = format!("[{}]", [r#"{"operationType":"Read","id":"1"}"#; 101].join(","));
        assert_eq!(decoded(&many).unwrap().len(), 101);
        assert!(decoded("[]").unwrap().is_empty());
    }

    #[test]
    fn results_are_valid_json() {
        let result = |body: Option<&'static str>, etag| BatchResult {
            status: Status::RANGE_GONE,
            charge: Charge::from_hundredths(590),
            etag,
            body: body.map(|body| Bytes::from_static(body.as_bytes())),
            retry_after_ms: Some(5),
        };
        let etag = ETag::from_lsn(Lsn(1), 2);
        let text =
            encode(&[result(Some("{\"id\":\"1\"}"), Some(etag.clone())), result(None, None)], true);
        let value = model::json::parse(&text).unwrap();
        let rows = value.as_array().unwrap();
        assert_eq!(rows[0].get("statusCode").unwrap().as_f64(), Some(410.0));
        assert_eq!(rows[0].get("subStatusCode").unwrap().as_f64(), Some(1002.0));
        assert_eq!(rows[0].get("requestCharge").unwrap().as_f64(), Some(5.9));
        assert_eq!(rows[0].get("eTag").unwrap().as_str(), Some(etag.as_str()));
        assert!(rows[0].get("resourceBody").unwrap().as_object().is_some());
        assert!(rows[1].get("resourceBody").is_none());
        assert_eq!(encode(&[], true), b"[]");
        let of_2018 = encode(&[result(None, None)], false);
        assert!(!String::from_utf8_lossy(&of_2018).contains("subStatusCode"));
    }
}
