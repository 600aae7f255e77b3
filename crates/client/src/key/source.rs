//! Where the key of an item comes from: a path, several paths, a choice by type, or a named closure.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Key, Result};

/// A path to a property: `/user/id`, or just `id`. A name with a slash is written in double quotes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JsonPath {
    text: String,
    names: Vec<String>,
}

impl JsonPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<JsonPath> {
        let invalid = || Error::PathInvalid { path: text.to_owned() };
        let names = split(text).ok_or_else(invalid)?;
        if names.is_empty() || names.iter().any(String::is_empty) {
            return Err(invalid());
        }
        Ok(JsonPath { text: text.to_owned(), names })
    }

    /// Follows the path; `None` if there is nothing.
    pub fn find<'a>(&self, item: &'a Value) -> Option<&'a Value> {
        self.names.iter().try_fold(item, |value, name| value.as_object()?.get(name))
    }

    /// Writes a value at the path, making objects on the way; fails if something else stands there.
    pub fn set(&self, item: &mut Value, value: Value) -> Result<()> {
        let mut place = item;
        for name in &self.names {
            let object = place.as_object_mut().ok_or(Error::ItemInvalid)?;
            place =
                object.entry(name.clone()).or_insert_with(|| Value::Object(serde_json::Map::new()));
        }
        *place = value;
        Ok(())
    }

    /// Returns the path as the service writes it: with a slash in front.
    pub fn to_wire(&self) -> String {
        if self.text.starts_with('/') { self.text.clone() } else { format!("/{}", self.text) }
    }

    /// Returns the names from the root down.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

fn split(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.strip_prefix('/').unwrap_or(text);
    loop {
        let (name, after) = if let Some(quoted) = rest.strip_prefix('"') {
            let (name, after) = quoted.split_once('"')?;
            (name, after)
        } else {
            rest.split_at(rest.find('/').unwrap_or(rest.len()))
        };
        names.push(name.to_owned());
        match after.strip_prefix('/') {
            Some(more) => rest = more,
            None => return after.is_empty().then_some(names),
        }
    }
}

impl TryFrom<String> for JsonPath {
    type Error = Error;

    fn try_from(text: String) -> Result<JsonPath> {
        JsonPath::parse(&text)
    }
}

impl From<JsonPath> for String {
    fn from(path: JsonPath) -> String {
        path.text
    }
}

type Extractor = dyn Fn(&Value) -> Option<Key> + Send + Sync;

/// A closure under a name. The state of a resolver keeps the name; whoever restores it brings the closure.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Named {
    name: String,
    extract: Option<Arc<Extractor>>,
}

impl Named {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn extractor(&self) -> Option<&Arc<Extractor>> {
        self.extract.as_ref()
    }

    pub(crate) fn bind(&mut self, extract: Arc<Extractor>) {
        self.extract = Some(extract);
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Named({:?})", self.name)
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        self.name == other.name
    }
}

impl From<String> for Named {
    fn from(name: String) -> Named {
        Named { name, extract: None }
    }
}

impl From<Named> for String {
    fn from(named: Named) -> String {
        named.name
    }
}

/// Says how the key of an item is found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum KeySource {
    /// The value at one path.
    Path(JsonPath),
    /// The values at several paths, as a list.
    Paths(Vec<JsonPath>),
    /// Another source for each type of item.
    ByType {
        /// Where the type stands.
        path: JsonPath,
        /// The source for each type.
        cases: BTreeMap<String, KeySource>,
        /// The source for all other types; none means that they are refused.
        otherwise: Option<Box<KeySource>>,
    },
    /// A closure under a name.
    Named(Named),
}

impl KeySource {
    /// Takes the key from one path.
    pub fn path(path: &str) -> Result<KeySource> {
        Ok(KeySource::Path(JsonPath::parse(path)?))
    }

    /// Takes the key from several paths.
    pub fn paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> Result<KeySource> {
        let paths = paths.into_iter().map(JsonPath::parse).collect::<Result<Vec<_>>>()?;
        if paths.is_empty() {
            return Err(Error::PathInvalid { path: String::new() });
        }
        Ok(KeySource::Paths(paths))
    }

    /// Takes the key from a closure. The name stands for it in saved states.
    pub fn closure(
        name: impl Into<String>,
        extract: impl Fn(&Value) -> Option<Key> + Send + Sync + 'static,
    ) -> KeySource {
        KeySource::Named(Named { name: name.into(), extract: Some(Arc::new(extract)) })
    }

    /// Takes the key from another source for each type, which stands as text at `path`.
    pub fn by_type(
        path: &str,
        cases: impl IntoIterator<Item = (String, KeySource)>,
        otherwise: Option<KeySource>,
    ) -> Result<KeySource> {
        Ok(KeySource::ByType {
            path: JsonPath::parse(path)?,
            cases: cases.into_iter().collect(),
            otherwise: otherwise.map(Box::new),
        })
    }

    /// Returns the partition key of an item as the service sees it: a missing value is undefined, not an error.
    pub(crate) fn partition_of(&self, item: &Value) -> Result<Key> {
        let component = |path: &JsonPath| match path.find(item) {
            None => Ok(Key::Undefined),
            Some(_) => key_at(path, item),
        };
        match self {
            KeySource::Path(path) => component(path),
            KeySource::Paths(paths) => {
                paths.iter().map(component).collect::<Result<Vec<_>>>().map(Key::from_components)
            }
            KeySource::ByType { .. } | KeySource::Named(_) => self.key_of(item),
        }
    }

    /// Returns the key of an item.
    pub fn key_of(&self, item: &Value) -> Result<Key> {
        match self {
            KeySource::Path(path) => key_at(path, item),
            KeySource::Paths(paths) => {
                paths.iter().map(|it| key_at(it, item)).collect::<Result<Vec<_>>>().map(Key::List)
            }
            KeySource::ByType { path, cases, otherwise } => {
                let kind = path.find(item).and_then(Value::as_str);
                let case = kind.and_then(|it| cases.get(it)).or(otherwise.as_deref());
                case.ok_or_else(|| Error::KeyMissing { path: path.text.clone() })?.key_of(item)
            }
            KeySource::Named(named) => {
                let extract = named.extractor();
                let extract = extract.ok_or_else(|| Error::UnknownExtractor(named.name.clone()))?;
                extract(item).ok_or_else(|| Error::KeyMissing { path: named.name.clone() })
            }
        }
    }
}

fn key_at(path: &JsonPath, item: &Value) -> Result<Key> {
    let value = path.find(item).ok_or_else(|| Error::KeyMissing { path: path.text.clone() })?;
    match Key::from_value(value) {
        // An empty object in an item is an object; only a partition key header means "undefined" by it.
        None | Some(Key::Undefined) => Err(Error::KeyNotScalar { path: path.text.clone() }),
        Some(key) => Ok(key),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_parsed_or_refused() {
        for good in ["/a", "a", "/a/b", "/\"a/b\"/c"] {
            assert!(JsonPath::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "/a/", "//", "/\"a", "/\"a\"b"] {
            assert!(JsonPath::parse(bad).is_err(), "{bad}");
        }
        let item = json!({"a/b": {"c": 1}});
        assert_eq!(JsonPath::parse("/\"a/b\"/c").unwrap().find(&item), Some(&json!(1)));
    }

    #[test]
    fn each_type_of_item_has_its_own_key() {
        let cases = [("order".to_owned(), KeySource::path("/customer").unwrap())];
        let source =
            KeySource::by_type("/type", cases, Some(KeySource::path("/id").unwrap())).unwrap();
        let order = json!({"id": "1", "type": "order", "customer": "c"});
        assert_eq!(source.key_of(&order).unwrap(), Key::from("c"));
        assert_eq!(source.key_of(&json!({"id": "2"})).unwrap(), Key::from("2"));
    }

    #[test]
    fn several_paths_make_a_list_and_a_missing_one_is_an_error() {
        let source = KeySource::paths(["/a", "/b"]).unwrap();
        assert_eq!(source.key_of(&json!({"a": 1, "b": "x"})).unwrap(), Key::from((1, "x")));
        assert!(matches!(source.key_of(&json!({"a": 1})), Err(Error::KeyMissing { .. })));
        let object = source.key_of(&json!({"a": 1, "b": {}}));
        assert!(matches!(object, Err(Error::KeyNotScalar { .. })));
    }

    #[test]
    fn a_closure_survives_json_only_by_name() {
        let source = KeySource::closure("vin", |it| it.get("vin").and_then(Key::from_value));
        assert_eq!(source.key_of(&json!({"vin": "V"})).unwrap(), Key::from("V"));
        let restored: KeySource =
            serde_json::from_str(&serde_json::to_string(&source).unwrap()).unwrap();
        assert!(matches!(restored.key_of(&json!({"vin": "V"})), Err(Error::UnknownExtractor(_))));
    }
}
