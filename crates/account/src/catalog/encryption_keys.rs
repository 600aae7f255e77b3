//! Client encryption keys: wrapped keys that clients share through the database. Kept as they were sent.

use model::{Object, Value};

use super::containers::ENCRYPTION_ALGORITHM;
use super::record::{Record, number_value, read_number};
use crate::body;
use crate::error::{Error, Result};
use crate::policy_error::PolicyError;

/// When the key was made: a replace changes `_ts`, not this.
const CREATED: &str = "created";

/// What is kept of a new key beside its body.
pub(crate) fn state(seconds: u64) -> Object {
    body::object([(CREATED, number_value(seconds))])
}

/// Wire: `_cts`. Keys of older versions of this server know their last change only.
pub(crate) fn created(record: &Record) -> u64 {
    record.state.get(CREATED).and_then(read_number).unwrap_or(record.ts)
}

pub(crate) fn complete(key: &Object) -> Result<Object> {
    let algorithm = body::required_text(key, "encryptionAlgorithm")?;
    if algorithm != ENCRYPTION_ALGORITHM {
        let value = algorithm.to_owned();
        return Err(PolicyError::UnknownValue { property: "encryptionAlgorithm", value }.into());
    }
    let wrapped = body::required_text(key, "wrappedDataEncryptionKey")?;
    let metadata = body::optional_object(key, "keyWrapMetadata")?
        .ok_or(Error::PropertyMissing { property: "keyWrapMetadata" })?;
    Ok(body::object([
        ("encryptionAlgorithm", algorithm.into()),
        ("wrappedDataEncryptionKey", wrapped.into()),
        ("keyWrapMetadata", Value::Object(metadata.clone())),
    ]))
}
