//! Client encryption policy: which properties the clients encrypt, and with which key.
//!
//! The server only keeps and checks it; encryption happens in the client.

use std::collections::HashSet;

use model::{Object, PartitionKeyDefinition, PropertyPath, Value};

use crate::body;
use crate::error::Result;
use crate::policy_error::PolicyError;

const TYPES: [&str; 2] = ["Deterministic", "Randomized"];
pub(crate) const ALGORITHM: &str = "AEAD_AES_256_CBC_HMAC_SHA256";

pub(super) fn complete(policy: &Object, definition: &PartitionKeyDefinition) -> Result<Object> {
    let version = body::optional_int(policy, "policyFormatVersion")?.unwrap_or(1);
    if !(1..=2).contains(&version) {
        return Err(invalid(format!("policyFormatVersion {version} is neither 1 nor 2")).into());
    }
    let mut seen = HashSet::new();
    let mut completed = Vec::new();
    for entry in body::object_list(policy, "includedPaths")? {
        let included = complete_path(entry, version, definition)?;
        let path = included.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !seen.insert(path.clone()) {
            return Err(invalid(format!("duplicate path '{path}'")).into());
        }
        completed.push(Value::Object(included));
    }
    Ok(body::object([
        ("includedPaths", Value::Array(completed)),
        ("policyFormatVersion", version.into()),
    ]))
}

fn complete_path(
    entry: &Object,
    version: i64,
    definition: &PartitionKeyDefinition,
) -> Result<Object> {
    let path = body::required_text(entry, "path")?;
    let key = body::required_text(entry, "clientEncryptionKeyId")?;
    let kind = body::required_text(entry, "encryptionType")?;
    let algorithm = body::required_text(entry, "encryptionAlgorithm")?;
    let kind = body::spelled(kind, &TYPES)
        .ok_or_else(|| invalid(format!("EncryptionType '{kind}' is not supported")))?;
    if algorithm != ALGORITHM {
        return Err(invalid(format!("EncryptionAlgorithm '{algorithm}' is not supported")).into());
    }
    if key.is_empty() {
        return Err(invalid("a path has no clientEncryptionKeyId".to_owned()).into());
    }
    let parsed = PropertyPath::parse(path)
        .map_err(|_| invalid(format!("path '{path}' must name a top-level property")))?;
    if parsed.segments().len() != 1 {
        return Err(invalid(format!("path '{path}' must name a top-level property")).into());
    }
    let is_id = parsed.segments().first().is_some_and(|name| name == "id");
    let is_key =
        definition.paths.iter().any(|path| path.segments().first() == parsed.segments().first());
    if (is_id || is_key) && (version < 2 || kind != "Deterministic") {
        let reason = "id and partition key need policyFormatVersion 2 and deterministic encryption";
        return Err(invalid(format!("path '{path}': {reason}")).into());
    }
    Ok(body::object([
        ("path", path.into()),
        ("clientEncryptionKeyId", key.into()),
        ("encryptionType", kind.into()),
        ("encryptionAlgorithm", algorithm.into()),
    ]))
}

/// The keys that a completed container names.
pub(crate) fn key_ids(completed: &Object) -> impl Iterator<Item = &str> {
    let policy = completed.get("clientEncryptionPolicy");
    let paths = policy.and_then(|policy| policy.get("includedPaths")?.as_array());
    let paths = paths.unwrap_or_default().iter();
    paths.filter_map(|path| path.get("clientEncryptionKeyId")?.as_str())
}

fn invalid(reason: String) -> PolicyError {
    PolicyError::EncryptionInvalid { reason }
}
