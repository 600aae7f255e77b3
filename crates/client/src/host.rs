//! Containers from a template: what managed and spillover resolvers need from a service.

use std::fmt::Debug;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BoxFuture, Error, Result};

/// The containers of one database.
pub trait ContainerHost: Debug + Send + Sync {
    /// Returns the names of all containers.
    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>>;

    /// Makes a container, with its scripts. One that exists already is left as it is, except that scripts of the
    /// template which it lacks are added: whoever made it may have died in between.
    fn create<'a>(
        &'a self,
        name: &'a str,
        template: &'a ContainerTemplate,
    ) -> BoxFuture<'a, Result<Creation>>;

    /// Deletes a container with all its items. One that does not exist is no error.
    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Returns how full a container is.
    fn fill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Fill>>;

    /// Returns what a container looks like, `None` if there is none.
    fn template<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<ContainerTemplate>>>;

    /// Waits.
    fn pause(&self, time: Duration) -> BoxFuture<'_, ()>;
}

/// What came of a creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Creation {
    /// It was made now.
    Created,
    /// It was there already.
    Existed,
}

/// How full a container is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// What its items take.
    pub used_bytes: u64,
    /// What they may take.
    pub quota_bytes: u64,
}

impl Fill {
    /// Returns whether usage has reached a share of the quota. A quota of 0 is unknown, thus never reached.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of a quota is not a matter of single bytes"
    )]
    pub fn reaches(self, factor: f64) -> bool {
        self.quota_bytes > 0 && self.used_bytes as f64 >= self.quota_bytes as f64 * factor
    }
}

/// What new containers look like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerTemplate {
    /// The partition key paths of the service: one, or several for a hierarchical key.
    pub partition_key_paths: Vec<String>,
    /// The indexing policy as the service writes it; none for the default of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexing_policy: Option<Value>,
    /// Time to live of items in seconds, -1 for "on, but no default".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_ttl_seconds: Option<i64>,
    /// Manual throughput in RU/s; none for the default of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<u32>,
    /// Scripts that are registered in a new container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
    /// Further properties as the service writes them: `uniqueKeyPolicy`, `computedProperties` and so on.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub other: Map<String, Value>,
}

impl ContainerTemplate {
    /// A template with only a partition key.
    pub fn new<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> ContainerTemplate {
        ContainerTemplate {
            partition_key_paths: paths.into_iter().map(Into::into).collect(),
            indexing_policy: None,
            default_ttl_seconds: None,
            throughput: None,
            scripts: Vec::new(),
            other: Map::new(),
        }
    }

    /// Reads what the service says about a container; `None` if it has no partition key.
    pub fn from_properties(properties: &Value) -> Option<ContainerTemplate> {
        let mut other = properties.as_object()?.clone();
        let key = other.remove("partitionKey")?;
        let paths = key["paths"].as_array()?.iter();
        let paths =
            paths.map(|it| it.as_str().map(ToOwned::to_owned)).collect::<Option<Vec<_>>>()?;
        let indexing_policy = other.remove("indexingPolicy");
        let default_ttl_seconds = other.remove("defaultTtl").and_then(|it| it.as_i64());
        other.retain(|name, value| name != "id" && !name.starts_with('_') && !value.is_null());
        Some(ContainerTemplate {
            partition_key_paths: paths,
            indexing_policy,
            default_ttl_seconds,
            throughput: None,
            scripts: Vec::new(),
            other,
        })
    }
}

/// The body that creates a container.
#[cfg(feature = "rest")]
pub(crate) fn properties(name: &str, template: &ContainerTemplate) -> Value {
    let paths = &template.partition_key_paths;
    let kind = if paths.len() > 1 { "MultiHash" } else { "Hash" };
    let mut body = template.other.clone();
    body.insert("id".to_owned(), name.into());
    let key = serde_json::json!({"paths": paths, "kind": kind, "version": 2});
    body.insert("partitionKey".to_owned(), key);
    if let Some(policy) = &template.indexing_policy {
        body.insert("indexingPolicy".to_owned(), policy.clone());
    }
    if let Some(seconds) = template.default_ttl_seconds {
        body.insert("defaultTtl".to_owned(), seconds.into());
    }
    Value::Object(body)
}

/// Reads `collectionSize=…`, which is in KB, from `documentSize=0;collectionSize=17;…`.
#[cfg(feature = "rest")]
pub(crate) fn collection_size(header: &str) -> Option<u64> {
    let size = header.split(';').find_map(|it| it.trim().strip_prefix("collectionSize="))?;
    size.parse::<u64>().ok().map(|it| it.saturating_mul(1024))
}

/// A stored procedure, trigger or user-defined function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    /// Its name.
    pub id: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: ScriptKind,
    /// Its JavaScript text.
    pub body: String,
}

/// The kind of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum ScriptKind {
    /// A stored procedure.
    StoredProcedure,
    /// A trigger.
    #[serde(rename_all = "camelCase")]
    Trigger {
        /// "Pre" or "Post".
        trigger_type: String,
        /// "All", "Create", "Replace" or "Delete".
        trigger_operation: String,
    },
    /// A user-defined function.
    Function,
}

/// Names of numbered containers: a prefix and a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Naming {
    prefix: String,
    #[serde(default)]
    digits_min: usize,
}

// Limit: a u64 has at most 20 digits; more zeros in front would only waste the 255 characters of a name.
const DIGITS_MAX: usize = 20;

impl Naming {
    /// Names like `orders.0`, `orders.1` for the prefix `orders.`.
    pub fn new(prefix: impl Into<String>) -> Naming {
        Naming { prefix: prefix.into(), digits_min: 0 }
    }

    /// Fills numbers with zeros, so that names sort like numbers.
    #[must_use]
    pub fn digits(mut self, digits_min: usize) -> Naming {
        self.digits_min = digits_min;
        self
    }

    /// Returns the name with a number.
    pub fn name(&self, number: u64) -> String {
        let width = self.digits_min.min(DIGITS_MAX);
        format!("{}{number:0width$}", self.prefix)
    }

    /// Returns the number of a name of this scheme, `None` for every other name.
    pub fn number(&self, name: &str) -> Option<u64> {
        let number = name.strip_prefix(&self.prefix)?.parse().ok()?;
        // "+1" and "01" parse, but are not names of ours.
        (self.name(number) == name).then_some(number)
    }
}

/// When to try again, and how long to wait.
#[derive(Clone, Debug)]
pub struct Retry {
    /// How often in all.
    pub attempts_max: u32,
    /// The first wait, if the service does not say; it doubles each time.
    pub wait_first: Duration,
    /// The longest wait.
    pub wait_max: Duration,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            attempts_max: 12,
            wait_first: Duration::from_millis(100),
            wait_max: Duration::from_secs(10),
        }
    }
}

impl Retry {
    /// Returns the wait after a failed attempt, `None` to give up.
    pub fn wait(&self, attempt: u32, error: &Error) -> Option<Duration> {
        if attempt + 1 >= self.attempts_max || !error.is_retryable() {
            return None;
        }
        let doubled = self.wait_first.saturating_mul(2_u32.saturating_pow(attempt));
        let asked = match error {
            Error::Service { retry_after, .. } => *retry_after,
            _ => None,
        };
        // The old SDKs waited at least 10 ms whatever the service said.
        Some(asked.unwrap_or(doubled).clamp(Duration::from_millis(10), self.wait_max))
    }
}

/// Makes a container unless it is there, waiting as long as the service asks for.
pub(crate) async fn ensure(
    host: &dyn ContainerHost,
    name: &str,
    template: &ContainerTemplate,
    retry: &Retry,
) -> Result<Creation> {
    let mut attempt = 0;
    loop {
        match host.create(name, template).await {
            Ok(it) => return Ok(it),
            Err(error) => match retry.wait(attempt, &error) {
                Some(time) => host.pause(time).await,
                None => return Err(error),
            },
        }
        attempt += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "rest")]
    #[test]
    fn the_size_of_a_container_is_found_in_the_header() {
        let header = "functions=0;documentSize=0;documentsSize=12;collectionSize=15;";
        assert_eq!(collection_size(header), Some(15 * 1024));
        assert_eq!(collection_size("documentsSize=12"), None);
        assert_eq!(collection_size("collectionSize=x"), None);
    }

    #[cfg(feature = "rest")]
    #[test]
    fn a_template_survives_the_way_through_the_service() {
        let mut template = ContainerTemplate::new(["/a", "/b"]);
        template.default_ttl_seconds = Some(60);
        template.indexing_policy = Some(serde_json::json!({"indexingMode": "none"}));
        template.other.insert("uniqueKeyPolicy".to_owned(), serde_json::json!({"uniqueKeys": []}));
        let mut shown = properties("c", &template);
        assert_eq!(shown["partitionKey"]["kind"], "MultiHash");
        shown["_rid"] = "x".into();
        shown["geospatialConfig"] = Value::Null;
        assert_eq!(ContainerTemplate::from_properties(&shown), Some(template));
        assert_eq!(ContainerTemplate::from_properties(&Value::Null), None);
    }

    #[test]
    fn names_of_other_schemes_have_no_number() {
        let naming = Naming::new("c.").digits(2);
        assert_eq!(naming.name(7), "c.07");
        assert_eq!(naming.number("c.07"), Some(7));
        assert_eq!(naming.number("c.123"), Some(123));
        for other in ["c.7", "c.", "c.x", "d.07", "c.+7", "c.99999999999999999999999"] {
            assert_eq!(naming.number(other), None, "{other}");
        }
    }

    #[test]
    fn waits_grow_follow_the_service_and_end() {
        let retry = Retry::default();
        let busy = Error::service(429, "");
        assert_eq!(retry.wait(0, &busy), Some(Duration::from_millis(100)));
        assert_eq!(retry.wait(3, &busy), Some(Duration::from_millis(800)));
        assert_eq!(retry.wait(10, &busy), Some(Duration::from_secs(10)));
        assert_eq!(retry.wait(11, &busy), None);
        assert_eq!(retry.wait(0, &Error::service(400, "")), None);
        let asked = Error::Service {
            status: 429,
            sub_status: 3200,
            message: String::new(),
            retry_after: Some(Duration::from_millis(1)),
        };
        assert_eq!(retry.wait(0, &asked), Some(Duration::from_millis(10)));
    }
}
