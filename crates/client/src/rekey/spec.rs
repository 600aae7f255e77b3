//! What the new key is, and what a copy looks like.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Refusal;
use crate::items::{id_of, without_system_properties};
use crate::{
    Concat, ContainerLink, Error, HashedSuffix, JsonPath, Key, KeySource, RandomSuffix, Result,
    SyntheticKey,
};

/// A synthetic key of any kind, in a form that can be saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "strategy", rename_all = "camelCase")]
#[non_exhaustive]
pub enum SyntheticScheme {
    /// Several values joined.
    Concat(Concat),
    /// A value and a random number. While copying, the number comes from the identity of the item, so that an item
    /// which is copied twice stays in one place.
    RandomSuffix(RandomSuffix),
    /// A value and a number that is computed from another.
    HashedSuffix(HashedSuffix),
}

impl SyntheticScheme {
    fn property(&self) -> &JsonPath {
        match self {
            SyntheticScheme::Concat(it) => it.property(),
            SyntheticScheme::RandomSuffix(it) => it.property(),
            SyntheticScheme::HashedSuffix(it) => it.property(),
        }
    }

    fn apply(&self, item: &mut Value, identity: &str) -> Result<String> {
        match self {
            SyntheticScheme::Concat(it) => it.apply(item),
            SyntheticScheme::HashedSuffix(it) => it.apply(item),
            SyntheticScheme::RandomSuffix(it) => it.apply_by(item, identity),
        }
    }
}

/// From where to where, and the new key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The container to copy.
    pub source: ContainerLink,
    /// The container to make.
    pub target: ContainerLink,
    /// The partition key paths of the target; several make a hierarchical key.
    pub paths: Vec<String>,
    /// How a synthetic key is written into the copies, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticScheme>,
}

impl Spec {
    /// A new key from properties that items have: one, or several for a hierarchical key.
    pub fn plain<P: Into<String>>(
        source: impl Into<ContainerLink>,
        target: impl Into<ContainerLink>,
        paths: impl IntoIterator<Item = P>,
    ) -> Spec {
        Spec {
            source: source.into(),
            target: target.into(),
            paths: paths.into_iter().map(Into::into).collect(),
            synthetic: None,
        }
    }

    /// A new key that is written into the copies, and is the whole partition key of the target.
    pub fn synthetic(
        source: impl Into<ContainerLink>,
        target: impl Into<ContainerLink>,
        scheme: SyntheticScheme,
    ) -> Spec {
        let path = scheme.property().to_wire();
        Spec { synthetic: Some(scheme), ..Spec::plain(source, target, [path]) }
    }

    /// Checks what can be checked without the service, and takes the key of the source.
    pub(super) fn keyed(&self, source_paths: &[String]) -> Result<Keyed<'_>> {
        if self.source.name() == self.target.name() {
            return Err(Refusal::SameContainer.into());
        }
        let source = key_source(source_paths)?;
        if let (Some(scheme), KeySource::Paths(paths)) = (&self.synthetic, &source)
            && paths.iter().any(|it| it.names() == scheme.property().names())
        {
            return Err(Refusal::PropertyTaken(scheme.property().to_wire()).into());
        }
        Ok(Keyed { spec: self, source, target: key_source(&self.paths)? })
    }
}

fn key_source(paths: &[String]) -> Result<KeySource> {
    KeySource::paths(paths.iter().map(String::as_str))
}

/// A specification with both partition keys parsed.
pub(super) struct Keyed<'a> {
    pub(super) spec: &'a Spec,
    source: KeySource,
    target: KeySource,
}

/// An item as it stands in the target.
pub(super) struct Copy {
    pub(super) partition: Key,
    pub(super) body: Value,
}

impl Keyed<'_> {
    /// Returns the partition key that an item, or its copy, has in the source.
    pub(super) fn source_partition(&self, item: &Value) -> Result<Key> {
        self.source.partition_of(item)
    }

    /// Returns the partition key that a copy has in the target.
    pub(super) fn target_partition(&self, copy: &Value) -> Result<Key> {
        self.target.partition_of(copy)
    }

    /// Makes the copy of an item. The same item gives the same copy.
    pub(super) fn copy(&self, item: &Value) -> Result<Copy> {
        let mut body = without_system_properties(item);
        let no_key = |error: Error| match error {
            Error::KeyMissing { .. } | Error::KeyNotScalar { .. } | Error::KeyTooLong { .. } => {
                let id = id_of(item).unwrap_or_default().to_owned();
                Refusal::NoKey { id, why: error.to_string() }.into()
            }
            error => error,
        };
        if let Some(scheme) = &self.spec.synthetic {
            let identity = format!("{}{}", self.source_partition(item)?, id_of(item)?);
            scheme.apply(&mut body, &identity).map_err(no_key)?;
        }
        let partition = self.target.partition_of(&body).map_err(no_key)?;
        Ok(Copy { partition, body })
    }
}
