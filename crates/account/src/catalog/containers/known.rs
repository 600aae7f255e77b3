//! Every property of a container that clients of the service are known to send, and what becomes of it.
//!
//! Invariant: a known property is kept and shown (and does what it says, unless the line says why it need not), harmless
//! when dropped, or refused. What nobody knows is dropped, as on the service.

use model::{Object, Value};

use crate::error::Result;
use crate::policy_error::PolicyError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Checked, kept, shown.
    Kept,
    /// Dropped, and no answer is wrong because of that.
    Dropped,
    /// 400, because without it answers would be wrong.
    Refused,
}

use Treatment::{Dropped, Kept, Refused};

/// A path of names, `[]` behind a list, what becomes of it, and why.
#[rustfmt::skip]
pub(super) const PROPERTIES: &[(&str, Treatment, &str)] = &[
    ("id", Dropped, "it is the record's own, not part of its policies"),
    ("_rid", Dropped, "the server gives it"),
    ("_self", Dropped, "the server gives it"),
    ("_etag", Dropped, "the server gives it"),
    ("_ts", Dropped, "the server gives it"),
    ("_docs", Dropped, "the server gives it"),
    ("_sprocs", Dropped, "the server gives it"),
    ("_triggers", Dropped, "the server gives it"),
    ("_udfs", Dropped, "the server gives it"),
    ("_conflicts", Dropped, "the server gives it"),
    ("statistics", Dropped, "the server gives it"),
    ("partitionKey.paths", Kept, "where items go"),
    ("partitionKey.kind", Kept, "where items go"),
    ("partitionKey.version", Kept, "where items go"),
    ("partitionKey.systemKey", Kept, "the key of a container without one"),
    ("defaultTtl", Kept, "expiry"),
    ("ttlPropertyPath", Kept, "from when the time of an item counts"),
    ("analyticalStorageTtl", Kept, "shown; there is no analytical store that could forget anything"),
    ("uniqueKeyPolicy.uniqueKeys[].paths", Kept, "unique keys"),
    ("uniqueKeyPolicy.uniqueKeys[].filter", Refused, "a key of some items would refuse others"),
    ("conflictResolutionPolicy.mode", Kept, "shown; one region writes, so there are no conflicts"),
    ("conflictResolutionPolicy.conflictResolutionPath", Kept, "shown; there are no conflicts"),
    ("conflictResolutionPolicy.conflictResolutionProcedure", Kept, "shown; there are no conflicts"),
    ("geospatialConfig.type", Kept, "flat or round"),
    ("changeFeedPolicy.retentionDuration", Kept, "how long the all-versions feed keeps its entries"),
    ("clientEncryptionPolicy.policyFormatVersion", Kept, "clients encrypt by it"),
    ("clientEncryptionPolicy.includedPaths[].path", Kept, "clients encrypt by it"),
    ("clientEncryptionPolicy.includedPaths[].clientEncryptionKeyId", Kept, "clients encrypt by it"),
    ("clientEncryptionPolicy.includedPaths[].encryptionType", Kept, "clients encrypt by it"),
    ("clientEncryptionPolicy.includedPaths[].encryptionAlgorithm", Kept, "clients encrypt by it"),
    ("computedProperties[].name", Kept, "computed properties"),
    ("computedProperties[].query", Kept, "computed properties"),
    ("indexingPolicy.indexingMode", Kept, "whether there is an index"),
    ("indexingPolicy.automatic", Kept, "whether an item is indexed without being told to"),
    ("indexingPolicy.annotation", Dropped, "a note"),
    ("indexingPolicy.includedPaths[].path", Kept, "what is indexed"),
    ("indexingPolicy.includedPaths[].indexes[].kind", Dropped, "checked, and shown to clients before 2018-12-31; every index serves ranges"),
    ("indexingPolicy.includedPaths[].indexes[].dataType", Dropped, "checked, and shown to clients before 2018-12-31; every index has all types"),
    ("indexingPolicy.includedPaths[].indexes[].precision", Dropped, "shown to clients before 2018-12-31; every index is exact"),
    ("indexingPolicy.includedPaths[].isFullIndex", Dropped, "every index is whole"),
    ("indexingPolicy.excludedPaths[].path", Kept, "what is not indexed"),
    ("indexingPolicy.compositeIndexes[][].path", Kept, "composite indexes"),
    ("indexingPolicy.compositeIndexes[][].order", Kept, "composite indexes"),
    ("indexingPolicy.spatialIndexes[].path", Kept, "spatial indexes"),
    ("indexingPolicy.spatialIndexes[].types", Kept, "shown; an index has all shapes"),
    ("indexingPolicy.spatialIndexes[].boundingBox.xmin", Kept, "flat geometry"),
    ("indexingPolicy.spatialIndexes[].boundingBox.ymin", Kept, "flat geometry"),
    ("indexingPolicy.spatialIndexes[].boundingBox.xmax", Kept, "flat geometry"),
    ("indexingPolicy.spatialIndexes[].boundingBox.ymax", Kept, "flat geometry"),
    ("indexingPolicy.vectorIndexes[].path", Kept, "vector indexes"),
    ("indexingPolicy.vectorIndexes[].type", Kept, "vector indexes"),
    ("indexingPolicy.vectorIndexes[].quantizationByteSize", Kept, "shown; it trades memory for exactness"),
    ("indexingPolicy.vectorIndexes[].indexingSearchListSize", Kept, "shown; it trades time for exactness"),
    ("indexingPolicy.vectorIndexes[].quantizerType", Kept, "shown; it trades memory for exactness"),
    ("indexingPolicy.vectorIndexes[].vectorIndexShardKey", Kept, "shown; it makes searches cheaper"),
    ("indexingPolicy.vectorIndexes[].vectorIndexShardKeys", Kept, "the same, as Java spells it"),
    ("indexingPolicy.fullTextIndexes[].path", Kept, "full-text indexes"),
    ("vectorEmbeddingPolicy.vectorEmbeddings[].path", Kept, "vectors"),
    ("vectorEmbeddingPolicy.vectorEmbeddings[].dataType", Kept, "vectors"),
    ("vectorEmbeddingPolicy.vectorEmbeddings[].dimensions", Kept, "vectors"),
    ("vectorEmbeddingPolicy.vectorEmbeddings[].distanceFunction", Kept, "vectors"),
    ("vectorEmbeddingPolicy.vectorEmbeddings[].embeddingSource", Refused, "the server makes no embeddings"),
    ("fullTextPolicy.defaultLanguage", Kept, "full text"),
    ("fullTextPolicy.fullTextPaths[].path", Kept, "full text"),
    ("fullTextPolicy.fullTextPaths[].language", Kept, "full text"),
    ("fullTextPolicy.fullTextPaths[].tokenizer", Refused, "words are found in one way"),
    ("fullTextPolicy.fullTextPaths[].filters", Refused, "words are found in one way"),
    ("fullTextPolicy.fullTextPaths[].stopWordListKind", Refused, "there is one list of stop words for each language"),
    ("fullTextPolicy.fullTextPaths[].addStopWords", Refused, "there is one list of stop words for each language"),
    ("fullTextPolicy.fullTextPaths[].removeStopWords", Refused, "there is one list of stop words for each language"),
    ("fullTextPolicy.defaultSpec", Refused, "words are found in one way"),
    ("fullTextPolicy.package", Refused, "words are found in one way"),
    ("materializedViewDefinition", Refused, "there are no views"),
    ("materializedViews", Refused, "there are no views"),
    ("globalSecondaryIndexDefinition", Refused, "there are no views"),
    ("createMode", Refused, "nothing is restored from backups of the service"),
    ("restoreParameters", Refused, "nothing is restored from backups of the service"),
    ("schemaPolicy", Refused, "there are no schemas"),
    ("dataMaskingPolicy", Refused, "every reader sees all of an item"),
];

/// Refuses a body that has a property which would have to be heeded.
pub(super) fn check(container: &Object) -> Result<()> {
    let refused = PROPERTIES.iter().filter(|(_, treatment, _)| *treatment == Refused);
    for (path, ..) in refused {
        if is_in(container, path) {
            return Err(PolicyError::NotSupported { property: path }.into());
        }
    }
    Ok(())
}

/// A name, and how many lists deep what follows is.
fn step(text: &str) -> (&str, usize) {
    let name = text.trim_end_matches("[]");
    (name, (text.len() - name.len()) / 2)
}

/// Says whether something other than null stands at the end of the rest of a path.
fn is_at(value: &Value, n_lists: usize, rest: &str) -> bool {
    match value {
        Value::Array(list) if n_lists > 0 => list.iter().any(|it| is_at(it, n_lists - 1, rest)),
        _ if n_lists > 0 => false,
        _ if rest.is_empty() => !value.is_null(),
        Value::Object(object) => is_in(object, rest),
        _ => false,
    }
}

fn is_in(object: &Object, path: &str) -> bool {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let (name, n_lists) = step(first);
    object.get(name).is_some_and(|value| is_at(value, n_lists, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::containers::complete;
    use crate::operation::Options;

    /// A container that has everything that is kept.
    const WHOLE: &str = r#"{
        "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2, "systemKey": true},
        "defaultTtl": 5, "ttlPropertyPath": "/made", "analyticalStorageTtl": -1,
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/mail"]}]},
        "conflictResolutionPolicy": {"mode": "Custom", "conflictResolutionProcedure": "dbs/d/colls/c/sprocs/s"},
        "geospatialConfig": {"type": "Geometry"},
        "changeFeedPolicy": {"retentionDuration": 10},
        "clientEncryptionPolicy": {"policyFormatVersion": 2, "includedPaths": [{"path": "/secret",
            "clientEncryptionKeyId": "k", "encryptionType": "Randomized",
            "encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256"}]},
        "computedProperties": [{"name": "low", "query": "SELECT VALUE LOWER(c.name) FROM c"}],
        "indexingPolicy": {"indexingMode": "consistent", "automatic": true,
            "includedPaths": [{"path": "/*", "indexes": [{"kind": "Range", "dataType": "String"}]}],
            "excludedPaths": [{"path": "/x/?"}],
            "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b"}]],
            "spatialIndexes": [{"path": "/p/*", "types": ["Point"],
                "boundingBox": {"xmin": 0, "ymin": 0, "xmax": 1, "ymax": 1}}],
            "vectorIndexes": [
                {"path": "/v", "type": "diskANN", "quantizationByteSize": 2, "indexingSearchListSize": 50,
                 "quantizerType": "product", "vectorIndexShardKey": ["/country"]},
                {"path": "/w", "type": "diskANN", "vectorIndexShardKeys": ["/country"]}],
            "fullTextIndexes": [{"path": "/text"}]},
        "vectorEmbeddingPolicy": {"vectorEmbeddings": [
            {"path": "/v", "dataType": "float32", "dimensions": 3, "distanceFunction": "cosine"},
            {"path": "/w", "dataType": "float32", "dimensions": 3, "distanceFunction": "cosine"}]},
        "fullTextPolicy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/text", "language": "de-DE"}]}
    }"#;

    fn whole() -> Value {
        model::json::parse(WHOLE.as_bytes()).unwrap()
    }

    fn has(value: &Value, path: &str) -> bool {
        is_at(value, 0, path)
    }

    /// Puts a value at the end of a path, into every list on the way.
    fn put(value: &mut Value, path: &str) {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let (name, mut n_lists) = step(first);
        let object = value.as_object_mut().unwrap();
        if rest.is_empty() {
            object.insert(name, "sent");
            return;
        }
        let mut below = vec![object.get_mut(name).unwrap()];
        while n_lists > 0 {
            below = below.into_iter().flat_map(|it| it.as_array_mut().unwrap()).collect();
            n_lists -= 1;
        }
        for it in below {
            put(it, rest);
        }
    }

    fn completed(body: &Value) -> Result<Value> {
        complete(body.as_object().unwrap(), &Options::default()).map(Value::Object)
    }

    #[test]
    fn every_property_that_is_kept_is_shown() {
        let shown = completed(&whole()).unwrap();
        for (path, ..) in PROPERTIES.iter().filter(|(_, treatment, _)| *treatment == Kept) {
            assert!(has(&shown, path), "{path}");
        }
    }

    #[test]
    fn every_property_that_is_dropped_is_taken_and_not_shown() {
        for (path, treatment, _) in PROPERTIES {
            if *treatment != Dropped || path.contains("indexes[]") {
                continue;
            }
            let mut body = whole();
            put(&mut body, path);
            let shown = completed(&body).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(!has(&shown, path), "{path}");
        }
        assert!(!has(&completed(&whole()).unwrap(), "indexingPolicy.includedPaths[].indexes"));
    }

    #[test]
    fn every_property_that_is_refused_is_told_by_name() {
        for (path, ..) in PROPERTIES.iter().filter(|(_, treatment, _)| *treatment == Refused) {
            let mut body = whole();
            put(&mut body, path);
            let told = completed(&body).unwrap_err().to_string();
            assert!(told.contains(path) && told.contains("not supported"), "{path}: {told}");
        }
    }

    #[test]
    fn nothing_is_shown_that_is_not_in_the_table() {
        fn walk(value: &Value, path: &str, found: &mut Vec<String>) {
            match value {
                Value::Object(object) => {
                    for (name, value) in object.iter() {
                        let dot = if path.is_empty() { "" } else { "." };
                        walk(value, &format!("{path}{dot}{name}"), found);
                    }
                }
                Value::Array(list) if list.iter().any(|it| it.is_object() || it.is_array()) => {
                    for it in list {
                        walk(it, &format!("{path}[]"), found);
                    }
                }
                _ => found.push(path.to_owned()),
            }
        }
        let mut found = Vec::new();
        walk(&completed(&whole()).unwrap(), "", &mut found);
        for path in found {
            let known =
                PROPERTIES.iter().any(|(known, treatment, _)| *known == path && *treatment == Kept);
            assert!(known, "{path}");
        }
    }

    #[test]
    fn every_line_says_why() {
        let mut seen = std::collections::HashSet::new();
        for (path, _, about) in PROPERTIES {
            assert!(seen.insert(path) && !about.is_empty(), "{path}");
        }
    }
}
