//! How a container gets partition keys from items, and where they fall in the hash space.

use super::{
    Component, Epk, EpkRange, PartitionKey, PartitionKeyError, boundaries, encoding,
    key::KEY_BYTES_MAX,
};
use crate::{PropertyPath, Value, object};

/// Limit: paths of one definition, as the service has it.
pub const PATHS_MAX: usize = 3;

/// How components become a place in the hash space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionKeyKind {
    /// All components hashed together.
    Hash,
    /// Hierarchical: each component hashed by itself, so a prefix of components is a range.
    MultiHash,
    /// Not hashed at all; found in very old containers only.
    Range,
}

impl PartitionKeyKind {
    /// Returns the word of the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hash => "Hash",
            Self::MultiHash => "MultiHash",
            Self::Range => "Range",
        }
    }

    fn parse(text: &str) -> Result<PartitionKeyKind, PartitionKeyError> {
        [Self::Hash, Self::MultiHash, Self::Range]
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| PartitionKeyError::Kind { kind: shorten(text) })
    }
}

/// The partition key definition of a container: paths, kind and version. It never changes.
///
/// Wire: `partitionKey` of a container.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartitionKeyDefinition {
    /// Where the components stand in an item.
    pub paths: Vec<PropertyPath>,
    /// The paths as written; they are echoed just so.
    pub path_texts: Vec<String>,
    /// How components become a place in the hash space.
    pub kind: PartitionKeyKind,
    /// 1 (old: strings count up to 100 characters) or 2.
    pub version: u8,
    /// True for containers made without a partition key: items without one have the empty key.
    pub system_key: bool,
}

impl PartitionKeyDefinition {
    /// Makes the definition that current SDKs send: one path `Hash`, several `MultiHash`, version 2.
    pub fn new(paths: &[&str]) -> Result<PartitionKeyDefinition, PartitionKeyError> {
        let kind =
            if paths.len() > 1 { PartitionKeyKind::MultiHash } else { PartitionKeyKind::Hash };
        let path_texts = paths.iter().map(|&path| path.to_owned()).collect();
        PartitionKeyDefinition::from_parts(path_texts, kind, 2, false)
    }

    /// Reads the wire form.
    ///
    /// `kind` absent means `Hash`; `version` absent means 1, and 2 for `MultiHash`, which has no
    /// other.
    pub fn from_value(value: &Value) -> Result<PartitionKeyDefinition, PartitionKeyError> {
        let wrong =
            |property, expected| PartitionKeyError::DefinitionProperty { property, expected };
        let definition = value.as_object().ok_or(PartitionKeyError::DefinitionMissing)?;
        let paths = definition.get("paths").ok_or(PartitionKeyError::DefinitionMissing)?;
        let paths = paths.as_array().ok_or(wrong("paths", "an array of strings"))?;
        let texts: Option<Vec<String>> =
            paths.iter().take(PATHS_MAX + 1).map(|path| path.as_str().map(str::to_owned)).collect();
        let texts = texts.ok_or(wrong("paths", "an array of strings"))?;
        let kind = match definition.get("kind") {
            None | Some(Value::Null) => PartitionKeyKind::Hash,
            Some(kind) => PartitionKeyKind::parse(kind.as_str().ok_or(wrong("kind", "a string"))?)?,
        };
        let version = match (definition.get("version"), kind) {
            (None | Some(Value::Null), PartitionKeyKind::MultiHash) => 2,
            (None | Some(Value::Null), _) => 1,
            (Some(version), _) => parse_version(version).ok_or(wrong("version", "1 or 2"))?,
        };
        let system_key = definition.get("systemKey").and_then(Value::as_bool).unwrap_or(false);
        PartitionKeyDefinition::from_parts(texts, kind, version, system_key)
    }

    fn from_parts(
        path_texts: Vec<String>,
        kind: PartitionKeyKind,
        version: u8,
        system_key: bool,
    ) -> Result<PartitionKeyDefinition, PartitionKeyError> {
        if path_texts.is_empty() {
            return Err(PartitionKeyError::DefinitionMissing);
        }
        if path_texts.len() > PATHS_MAX {
            return Err(PartitionKeyError::TooManyPaths);
        }
        if kind == PartitionKeyKind::MultiHash && version != 2 {
            let (property, expected) = ("version", "2 for the kind MultiHash");
            return Err(PartitionKeyError::DefinitionProperty { property, expected });
        }
        let mut paths: Vec<PropertyPath> = Vec::with_capacity(path_texts.len());
        for text in &path_texts {
            let invalid = |error| PartitionKeyError::Path { path: shorten(text), error };
            let path = PropertyPath::parse(text).map_err(invalid)?;
            if paths.contains(&path) {
                return Err(PartitionKeyError::PathTwice { path: shorten(text) });
            }
            paths.push(path);
        }
        Ok(PartitionKeyDefinition { paths, path_texts, kind, version, system_key })
    }

    /// Returns the wire form.
    pub fn to_value(&self) -> Value {
        let mut value = object! {
            "paths" => self.path_texts.clone(),
            "kind" => self.kind.name(),
            "version" => i64::from(self.version),
        };
        if let (true, Some(object)) = (self.system_key, value.as_object_mut()) {
            object.insert("systemKey", true);
        }
        value
    }

    /// Returns the partition key of an item.
    ///
    /// A missing property, or a scalar in the middle of a path, gives `Undefined`. Wire: so does an
    /// object or array at the end of a path.
    pub fn extract(&self, item: &Value) -> PartitionKey {
        self.extract_from(|path| {
            path.segments().iter().try_fold(item, |value, segment| value.get(segment)).cloned()
        })
    }

    /// Returns the partition key of an item that is seen through `value_at`.
    pub(crate) fn extract_from(
        &self,
        mut value_at: impl FnMut(&PropertyPath) -> Option<Value>,
    ) -> PartitionKey {
        let mut components = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            let component = match value_at(path) {
                None | Some(Value::Array(_) | Value::Object(_)) => Component::Undefined,
                Some(Value::Null) => Component::Null,
                Some(Value::Bool(bool)) => Component::Bool(bool),
                Some(Value::Number(number)) => Component::Number(number.as_f64()),
                Some(Value::String(text)) => Component::String(text),
            };
            components.push(component);
        }
        let has_no_key = components.iter().all(|component| *component == Component::Undefined);
        if self.system_key && has_no_key {
            components.clear();
        }
        PartitionKey::new(components)
    }

    /// Checks that a key names one logical partition of the container: all components, and not too
    /// large.
    pub fn check(&self, key: &PartitionKey) -> Result<(), PartitionKeyError> {
        self.check_prefix(key)?;
        let is_none_key = self.system_key && key.components().is_empty();
        if key.components().len() < self.paths.len() && !is_none_key {
            return Err(PartitionKeyError::TooFewComponents);
        }
        Ok(())
    }

    /// Checks a key that may lack components, as queries over a prefix have it.
    pub fn check_prefix(&self, key: &PartitionKey) -> Result<(), PartitionKeyError> {
        if key.components().len() > self.paths.len() {
            return Err(PartitionKeyError::TooManyComponents);
        }
        let is_finite = |component: &Component| match component {
            Component::Number(double) => double.is_finite(),
            _ => true,
        };
        if !key.components().iter().all(is_finite) {
            return Err(PartitionKeyError::NotFinite);
        }
        let bytes = key.components().iter().filter_map(Component::as_str).map(str::len).sum();
        if bytes > KEY_BYTES_MAX {
            return Err(PartitionKeyError::TooLarge { bytes });
        }
        Ok(())
    }

    /// Returns the place of a key in the hash space.
    pub fn epk(&self, key: &PartitionKey) -> Epk {
        encoding::epk(self, key.components())
    }

    /// Returns the range that holds every item with this key or, if components are missing at the
    /// end, with a key that begins so.
    ///
    /// Only hierarchical containers keep such keys together; elsewhere an incomplete key may be
    /// anywhere.
    pub fn epk_range_of_prefix(&self, key: &PartitionKey) -> EpkRange {
        let is_none_key = self.system_key && key.components().is_empty();
        if key.components().len() >= self.paths.len() || is_none_key {
            return EpkRange::point(self.epk(key));
        }
        match self.kind {
            PartitionKeyKind::MultiHash => EpkRange::prefix(self.epk(key)),
            PartitionKeyKind::Hash | PartitionKeyKind::Range => EpkRange::full(),
        }
    }

    /// Returns the ranges of a new container: `n_ranges` of them, at least one and at most
    /// [`super::RANGES_MAX`], that tile the hash space evenly.
    pub fn boundaries(&self, n_ranges: u32) -> Vec<EpkRange> {
        boundaries::boundaries(self, n_ranges)
    }

    /// Returns where to cut a range in half, or `None` if it is too narrow to be cut.
    pub fn split_point(&self, range: &EpkRange) -> Option<Epk> {
        boundaries::split_point(self, range)
    }

    /// Where a key lies in the hash space, from 0 to 1.
    pub fn place(&self, epk: &Epk) -> f64 {
        if *epk == Epk::max() {
            return 1.0;
        }
        f64::from(boundaries::place(self, epk)) / (f64::from(u32::MAX) + 1.0)
    }

    /// The slice of 256 equal ones that a key lies in.
    pub fn slice(&self, epk: &Epk) -> u8 {
        boundaries::place(self, epk).to_be_bytes()[0]
    }

    /// The first and the last slice that a range has a part of.
    pub fn slices(&self, range: &EpkRange) -> [u8; 2] {
        let first = self.slice(range.min());
        let end = boundaries::place(self, range.max());
        let last = if *range.max() == Epk::max() {
            u8::MAX
        } else {
            end.saturating_sub(1).to_be_bytes()[0]
        };
        [first, last.max(first)]
    }

    /// Says whether keys are hashed by the old rules.
    pub(super) fn is_old(&self) -> bool {
        self.version < 2 && self.kind != PartitionKeyKind::MultiHash
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}

/// Wire: most SDKs send the number; the Java SDK sends the name of its constant, `"V2"`.
fn parse_version(version: &Value) -> Option<u8> {
    match (version.as_i64(), version.as_str()) {
        (Some(1), _) | (_, Some("V1")) => Some(1),
        (Some(2), _) | (_, Some("V2")) => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn keys_lie_in_slices_of_their_ranges() {
        for text in [
            r#"{"paths":["/pk"],"version":1}"#,
            r#"{"paths":["/pk"],"version":2}"#,
            r#"{"paths":["/a","/b"],"kind":"MultiHash","version":2}"#,
        ] {
            let definition =
                PartitionKeyDefinition::from_value(&json::parse(text.as_bytes()).unwrap()).unwrap();
            let ranges = definition.boundaries(8);
            for (index, range) in ranges.iter().enumerate() {
                let eighth = u8::try_from(index * 32).unwrap();
                let slices = definition.slices(range);
                assert!(slices[0].abs_diff(eighth) <= 1, "{text} {index} {slices:?}");
                assert!(slices[1].abs_diff(eighth + 31) <= 1, "{text} {index} {slices:?}");
                let place = definition.place(range.max());
                assert!((place - (f64::from(eighth) + 32.0) / 256.0).abs() < 1e-6, "{place}");
            }
            for number in 0..200 {
                let value = format!(r#"["k{number}"]"#);
                let mut key = crate::PartitionKey::from_header(&value).unwrap();
                if definition.paths.len() == 2 {
                    key =
                        crate::PartitionKey::from_header(&format!(r#"["k{number}","x"]"#)).unwrap();
                }
                let epk = definition.epk(&key);
                let range = ranges.iter().find(|range| range.contains(&epk)).unwrap();
                let [first, last] = definition.slices(range);
                let slice = definition.slice(&epk);
                assert!((first..=last).contains(&slice), "{text} {value} {slice}");
            }
        }
    }

    #[test]
    fn the_version_is_a_number_or_the_name_that_java_sends() {
        let table =
            [("1", Some(1)), ("2", Some(2)), ("\"V1\"", Some(1)), ("\"V2\"", Some(2)), ("3", None)];
        for (text, expected) in table {
            let definition = format!(r#"{{"paths":["/pk"],"version":{text}}}"#);
            let value = json::parse(definition.as_bytes()).unwrap();
            let version =
                PartitionKeyDefinition::from_value(&value).ok().map(|found| found.version);
            assert_eq!(version, expected, "{text}");
        }
    }
}
