//! Client encryption keys: wrapped keys that clients share through the database. Kept as they were sent.

use model::{Object, Value};

use super::containers::ENCRYPTION_ALGORITHM;
use crate::body;
use crate::error::{Error, Result};
use crate::policy_error::PolicyError;

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
