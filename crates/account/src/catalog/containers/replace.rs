//! What a replace of a container may change as the service rules it: the partition key and the unique keys stay.

use model::{Object, PartitionKeyDefinition, Value};

use super::vectors;
use crate::error::Result;
use crate::policy_error::PolicyError;

/// Compares completed bodies: the one in the catalog and the one that shall take its place.
pub(crate) fn check(old: &Object, new: &Object) -> Result<()> {
    if key(old) != key(new) {
        return Err(PolicyError::PartitionKeyChanged.into());
    }
    if unique_keys(old) != unique_keys(new) {
        return Err(PolicyError::UniqueKeysChanged.into());
    }
    for property in ["conflictResolutionPolicy", "clientEncryptionPolicy"] {
        if old.get(property) != new.get(property) {
            return Err(PolicyError::Changed { property }.into());
        }
    }
    let embeddings =
        |body: &Object| body.get("vectorEmbeddingPolicy").and_then(Value::as_object).cloned();
    if !vectors::is_extension(embeddings(old).as_ref(), embeddings(new).as_ref()) {
        return Err(PolicyError::VectorEmbeddingChanged.into());
    }
    if let Some(path) = vectors::changed_index(old, new) {
        return Err(PolicyError::VectorIndexChanged { path }.into());
    }
    Ok(())
}

/// Leaves the partition key as it was written: a version that is sent, or not, does not change it.
pub(crate) fn keep_key(old: &Object, new: &mut Object) {
    if let Some(key) = old.get("partitionKey") {
        new.insert("partitionKey", key.clone());
    }
}

fn key(body: &Object) -> Option<PartitionKeyDefinition> {
    body.get("partitionKey").and_then(|key| PartitionKeyDefinition::from_value(key).ok())
}

/// No policy and an empty one are the same.
fn unique_keys(body: &Object) -> Vec<Value> {
    let keys = body.get("uniqueKeyPolicy").and_then(|policy| policy.get("uniqueKeys"));
    keys.and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
}
