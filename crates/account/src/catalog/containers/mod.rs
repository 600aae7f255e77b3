//! The properties of a container: checked, completed with the service's defaults, stored and returned in
//! its shape, as the service shows it.

mod composite;
mod computed;
mod encryption;
mod full_text;
pub(crate) mod index_path;
mod indexing_policy;
mod known;
mod replace;
mod settings;
mod spatial;
mod unique_keys;
mod vectors;

use std::sync::Arc;
use std::time::Duration;

use model::{Object, PartitionKeyDefinition, PropertyPath, Value};
use query::index::IndexPolicy;
use query::{ComputedProperty, FullTextPolicy, OrderPolicy, VectorEmbedding};

pub(crate) use encryption::ALGORITHM as ENCRYPTION_ALGORITHM;
pub(crate) use encryption::key_ids as encryption_key_ids;
pub(crate) use indexing_policy::{
    KINDS_UNTIL as INDEX_KINDS_UNTIL, hide_kinds as hide_index_kinds,
};
pub(crate) use replace::{check as check_replace, keep_key};

use crate::body;
use crate::error::{Error, Result};
use crate::operation::{KEY_REQUIRED_SINCE, Options};
use crate::policy_error::PolicyError;

/// Limit: partition key paths, the service's number for hierarchical keys.
const KEY_PATHS_MAX: usize = 3;

/// The API version from which hierarchical keys exist.
const MULTI_HASH_SINCE: &str = "2020-07-15";

/// Completes a create or replace body; `id` and system properties are not part of the result.
pub(crate) fn complete(container: &Object, options: &Options) -> Result<Object> {
    known::check(container)?;
    let definition = partition_key(container, options)?;
    let geospatial = settings::geospatial(container)?;
    let embeddings = match body::optional_object(container, "vectorEmbeddingPolicy")? {
        Some(policy) => vectors::complete(policy)?,
        None => None,
    };
    let full_text = match body::optional_object(container, "fullTextPolicy")? {
        Some(policy) => Some(full_text::complete(policy)?),
        None => None,
    };
    let around = indexing_policy::Surroundings {
        is_geometry: geospatial == "Geometry",
        embeddings: embeddings.as_ref(),
        full_text: full_text.as_ref(),
    };
    let policy = body::optional_object(container, "indexingPolicy")?;
    let mut completed = body::object([
        ("indexingPolicy", Value::Object(indexing_policy::complete(policy, around, options)?)),
        ("partitionKey", shown_key(container, &definition)),
    ]);
    for property in ["defaultTtl", "analyticalStorageTtl"] {
        if let Some(seconds) = settings::ttl(container, property)? {
            completed.insert(property, i64::from(seconds));
        }
    }
    if let Some((text, _)) = settings::ttl_path(container)? {
        completed.insert("ttlPropertyPath", text);
    }
    if let Some(policy) = body::optional_object(container, "uniqueKeyPolicy")? {
        completed.insert("uniqueKeyPolicy", Value::Object(unique_keys::complete(policy)?));
    }
    completed
        .insert("conflictResolutionPolicy", Value::Object(settings::conflict_policy(container)?));
    completed
        .insert("geospatialConfig", Value::Object(body::object([("type", geospatial.into())])));
    complete_optional(container, &definition, &mut completed)?;
    for (name, policy) in [("vectorEmbeddingPolicy", embeddings), ("fullTextPolicy", full_text)] {
        if let Some(policy) = policy {
            completed.insert(name, Value::Object(policy));
        }
    }
    Ok(completed)
}

fn complete_optional(
    container: &Object,
    definition: &PartitionKeyDefinition,
    completed: &mut Object,
) -> Result<()> {
    let computed = computed::complete(container)?;
    if !computed.is_empty() {
        completed.insert("computedProperties", Value::Array(computed));
    }
    if let Some(minutes) = settings::retention_minutes(container)? {
        completed.insert("changeFeedPolicy", settings::change_feed_value(minutes));
    }
    if let Some(policy) = body::optional_object(container, "clientEncryptionPolicy")? {
        let policy = encryption::complete(policy, definition)?;
        completed.insert("clientEncryptionPolicy", Value::Object(policy));
    }
    Ok(())
}

fn partition_key(container: &Object, options: &Options) -> Result<PartitionKeyDefinition> {
    let Some(value) = body::present(container, "partitionKey") else {
        return without_key(options);
    };
    let n_paths = value.get("paths").and_then(Value::as_array).map_or(0, <[Value]>::len);
    if n_paths > KEY_PATHS_MAX {
        return Err(PolicyError::TooManyKeyPaths { count: n_paths, max: KEY_PATHS_MAX }.into());
    }
    // Wire: several paths need the kind that says so.
    let is_multi_hash = value
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.eq_ignore_ascii_case("MultiHash"));
    if is_multi_hash && options.is_before(MULTI_HASH_SINCE) {
        return Err(PolicyError::MultiHashTooOld.into());
    }
    if n_paths > 1 && !is_multi_hash {
        return Err(PolicyError::HashPaths { count: n_paths }.into());
    }
    let definition = PartitionKeyDefinition::from_value(value)
        .map_err(|error| PolicyError::PartitionKeyInvalid { reason: error.to_string() })?;
    for path in &definition.path_texts {
        check_key_path(path)?;
    }
    Ok(definition)
}

/// The definition as the container shows it. Wire: a version that the client did not name is not shown.
fn shown_key(container: &Object, definition: &PartitionKeyDefinition) -> Value {
    let mut value = definition.to_value();
    let sent = body::present(container, "partitionKey");
    let is_named = sent.is_none_or(|sent| sent.get("version").is_some_and(|it| !it.is_null()));
    if let (1, false, Some(shown)) = (definition.version, is_named, value.as_object_mut()) {
        shown.remove("version");
    }
    value
}

/// Wire: clients from before partition keys make containers without one, which have a key of the system.
fn without_key(options: &Options) -> Result<PartitionKeyDefinition> {
    if !options.is_before(KEY_REQUIRED_SINCE) {
        return Err(Error::PropertyMissing { property: "partitionKey" });
    }
    let mut definition = PartitionKeyDefinition::new(&["/_partitionKey"])
        .map_err(|error| PolicyError::PartitionKeyInvalid { reason: error.to_string() })?;
    definition.version = 1;
    definition.system_key = true;
    Ok(definition)
}

/// Wire: names with odd characters must stand in quotes. Not part of reading a definition, for older versions of
/// this server took such paths.
fn check_key_path(path: &str) -> Result<(), PolicyError> {
    let is_odd = |c: char| c.is_whitespace() || "*?[]{}()<>,;!%&+=|\\^~#".contains(c);
    match path.find(is_odd) {
        Some(position) if !path.contains(['"', '\'']) => {
            Err(PolicyError::KeyPathInvalid { path: path.to_owned(), position })
        }
        _ => Ok(()),
    }
}

/// What the account and its partitions use of a completed body.
#[derive(Debug, Clone)]
pub(crate) struct Properties {
    pub(crate) definition: PartitionKeyDefinition,
    pub(crate) unique_keys: Vec<Vec<PropertyPath>>,
    pub(crate) default_ttl: Option<i32>,
    pub(crate) ttl_path: Option<Arc<PropertyPath>>,
    /// From the container's own change-feed policy.
    pub(crate) version_retention: Option<Duration>,
    pub(crate) is_indexed: bool,
    /// Whether queries find items whose writer did not say.
    pub(crate) is_automatic: bool,
    pub(crate) index_policy: IndexPolicy,
    pub(crate) is_geometry: bool,
    pub(crate) computed: Vec<ComputedProperty>,
    pub(crate) embeddings: Vec<VectorEmbedding>,
    pub(crate) full_text: FullTextPolicy,
    pub(crate) order_policy: OrderPolicy,
}

impl Properties {
    /// Reads a body that [`complete`] made.
    pub(crate) fn of(completed: &Object) -> Result<Properties> {
        let key = completed.get("partitionKey").unwrap_or(&Value::Null);
        let definition = PartitionKeyDefinition::from_value(key)
            .map_err(|error| Error::CatalogCorrupt(error.to_string()))?;
        let minutes = settings::retention_minutes(completed)?.unwrap_or(0);
        let policy = completed.get("indexingPolicy").unwrap_or(&Value::Null);
        let mode = policy.get("indexingMode").and_then(Value::as_str);
        let full_text = completed.get("fullTextPolicy").unwrap_or(&Value::Null);
        let full_text = FullTextPolicy::from_policy(full_text);
        Ok(Properties {
            definition,
            unique_keys: unique_keys::keys(body::optional_object(completed, "uniqueKeyPolicy")?),
            default_ttl: settings::ttl(completed, "defaultTtl")?,
            ttl_path: settings::ttl_path(completed)?.map(|(_, path)| Arc::new(path)),
            version_retention: u64::try_from(minutes)
                .ok()
                .filter(|minutes| *minutes > 0)
                .map(|minutes| Duration::from_secs(minutes * 60)),
            is_indexed: mode != Some("none"),
            is_automatic: policy.get("automatic").and_then(Value::as_bool) != Some(false),
            index_policy: IndexPolicy::of_container(policy, &full_text),
            is_geometry: settings::geospatial(completed)? == "Geometry",
            computed: computed::properties(completed)?,
            embeddings: vectors::embeddings(completed),
            full_text,
            order_policy: OrderPolicy::from_policy(policy),
        })
    }
}
