//! The indexing policy: checked, completed with the service's defaults, and written in its shape.
//!
//! Wire: the service fills in what a policy leaves out, and shows the completed policy.

use std::collections::HashSet;

use model::{Object, Value};

use super::index_path::IndexPath;
use super::{composite, full_text, spatial, vectors};
use crate::body;
use crate::error::Result;
use crate::operation::Options;
use crate::policy_error::PolicyError;

/// Limit: paths of one policy; the service documents no number, this keeps the catalog small.
const PATHS_MAX: usize = 1000;

/// The API version from which a policy with an index is automatic whatever it says.
const AUTOMATIC_SINCE: &str = "2018-12-31";

const ROOT_PATH: &str = "/*";
const ETAG_PATH: &str = "/\"_etag\"/?";
const MODES: [&str; 3] = ["consistent", "lazy", "none"];
const INDEX_KINDS: [&str; 3] = ["Hash", "Range", "Spatial"];
const INDEX_TYPES: [&str; 6] =
    ["Number", "String", "Point", "LineString", "Polygon", "MultiPolygon"];

/// What the rest of a container's definition must say for its policy to make sense.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) is_geometry: bool,
    /// The completed vector embedding policy, if any.
    pub(crate) embeddings: Option<&'a Object>,
    /// The completed full-text policy, if any.
    pub(crate) full_text: Option<&'a Object>,
}

/// Completes a policy; an absent one becomes the default.
pub(crate) fn complete(
    policy: Option<&Object>,
    around: Surroundings<'_>,
    options: &Options,
) -> Result<Object> {
    let empty = Object::new();
    let policy = policy.unwrap_or(&empty);
    let mode = match body::optional_text(policy, "indexingMode")? {
        None => "consistent",
        Some(text) => body::spelled(text, &MODES).ok_or_else(|| PolicyError::UnknownValue {
            property: "indexingMode",
            value: text.to_owned(),
        })?,
    };
    let automatic = body::optional_bool(policy, "automatic")?;
    let included = included_paths(policy)?;
    let excluded = excluded_paths(policy)?;
    if mode == "none" {
        check_none(policy, automatic, &included, &excluded)?;
        return Ok(shape(mode, false, Vec::new(), Vec::new()));
    }
    let kinds = if options.is_before(KINDS_UNTIL) { kinds_of_indexes(policy)? } else { Vec::new() };
    let (included, excluded) = complete_paths(included, excluded)?;
    // Wire: an index is always automatic since this version. Before, items could be indexed one by one.
    let is_manual = automatic == Some(false) && options.is_before(AUTOMATIC_SINCE);
    let mut completed = shape(mode, !is_manual, included, excluded);
    let parts = [
        ("compositeIndexes", composite::complete(policy)?),
        ("spatialIndexes", spatial::complete(policy, around.is_geometry)?),
        ("vectorIndexes", vectors::complete_indexes(policy, around.embeddings)?),
        ("fullTextIndexes", full_text::complete_indexes(policy, around.full_text)?),
    ];
    for (name, values) in parts {
        if !values.is_empty() {
            completed.insert(name, Value::Array(values));
        }
    }
    add_kinds(&mut completed, &kinds);
    Ok(completed)
}

/// Wire: clients from before this version see the kinds of indexes that such a client asked for; others neither see nor
/// send them, and what they write has none.
pub(crate) const KINDS_UNTIL: &str = "2018-12-31";

/// The `indexes` of the included paths that have some, with their path.
fn kinds_of_indexes(policy: &Object) -> Result<Vec<(String, Value)>> {
    let mut kinds = Vec::new();
    for entry in body::object_list(policy, "includedPaths")? {
        let indexes = body::object_list(entry, "indexes")?;
        if !indexes.is_empty() {
            let shown = indexes.into_iter().map(|index| Value::Object(kind_of_index(index)));
            kinds.push((path_of(entry)?, Value::Array(shown.collect())));
        }
    }
    Ok(kinds)
}

fn kind_of_index(index: &Object) -> Object {
    let known = ["kind", "dataType", "precision"];
    let shown = known.into_iter().filter_map(|name| Some((name, body::present(index, name)?)));
    let mut kind = Object::new();
    for (name, value) in shown {
        kind.insert(name, value.clone());
    }
    kind
}

fn add_kinds(completed: &mut Object, kinds: &[(String, Value)]) {
    change_included(completed, |path| {
        let name = path.get("path").and_then(Value::as_str);
        if let Some((_, indexes)) = kinds.iter().find(|(path, _)| Some(path.as_str()) == name) {
            path.insert("indexes", indexes.clone());
        }
    });
}

/// Takes the kinds of indexes out of a completed policy.
pub(crate) fn hide_kinds(policy: &mut Object) {
    change_included(policy, |path| {
        path.remove("indexes");
    });
}

fn change_included(policy: &mut Object, change: impl Fn(&mut Object)) {
    let paths = policy.get_mut("includedPaths").and_then(Value::as_array_mut);
    for path in paths.into_iter().flatten() {
        if let Some(path) = path.as_object_mut() {
            change(path);
        }
    }
}

fn shape(mode: &str, automatic: bool, included: Vec<String>, excluded: Vec<String>) -> Object {
    let paths = |paths: Vec<String>| {
        Value::Array(
            paths
                .into_iter()
                .map(|path| Value::Object(body::object([("path", path.into())])))
                .collect(),
        )
    };
    body::object([
        ("indexingMode", mode.into()),
        ("automatic", automatic.into()),
        ("includedPaths", paths(included)),
        ("excludedPaths", paths(excluded)),
    ])
}

/// Without an index nothing may be asked of it.
fn check_none(
    policy: &Object,
    automatic: Option<bool>,
    included: &[String],
    excluded: &[String],
) -> Result<()> {
    if automatic == Some(true) {
        return Err(PolicyError::AutomaticWithoutIndex.into());
    }
    let is_default = |paths: &[String]| paths.iter().all(|path| path == "/*" || path == ETAG_PATH);
    let others = ["compositeIndexes", "spatialIndexes", "vectorIndexes", "fullTextIndexes"];
    for name in others {
        if !body::list(policy, name)?.is_empty() {
            return Err(PolicyError::PathsWithoutIndex.into());
        }
    }
    if !is_default(included) || !is_default(excluded) {
        return Err(PolicyError::PathsWithoutIndex.into());
    }
    Ok(())
}

fn included_paths(policy: &Object) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in body::object_list(policy, "includedPaths")? {
        check_legacy_indexes(entry)?;
        paths.push(path_of(entry)?);
    }
    check_count("included paths", paths.len())?;
    Ok(paths)
}

fn excluded_paths(policy: &Object) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in body::object_list(policy, "excludedPaths")? {
        paths.push(path_of(entry)?);
    }
    check_count("excluded paths", paths.len())?;
    Ok(paths)
}

/// Wire: `/` is what old clients write for the root and everything below.
fn path_of(entry: &Object) -> Result<String> {
    let path = body::required_text(entry, "path")?;
    Ok(if path == "/" { ROOT_PATH } else { path }.to_owned())
}

/// Wire: `indexes` of an included path changes no index; its values must still be known ones.
fn check_legacy_indexes(entry: &Object) -> Result<()> {
    for index in body::object_list(entry, "indexes")? {
        for (name, known) in [("kind", &INDEX_KINDS[..]), ("dataType", &INDEX_TYPES[..])] {
            if let Some(text) = body::optional_text(index, name)?
                && body::spelled(text, known).is_none()
            {
                let value = text.to_owned();
                return Err(PolicyError::UnknownValue { property: name, value }.into());
            }
        }
    }
    Ok(())
}

/// Adds the root and the etag where the service does; every path must be well formed and there once.
fn complete_paths(
    mut included: Vec<String>,
    mut excluded: Vec<String>,
) -> Result<(Vec<String>, Vec<String>)> {
    let mut seen = HashSet::new();
    let mut has_root = false;
    for path in included.iter().chain(&excluded) {
        let parsed = IndexPath::parse(path)?;
        has_root |= parsed.is_root();
        if !seen.insert(parsed) {
            return Err(PolicyError::IndexPathTwice { path: path.clone() }.into());
        }
    }
    if !has_root {
        // SDKs that serialise an untouched policy send empty lists.
        if !included.is_empty() {
            return Err(PolicyError::RootPathMissing.into());
        }
        included.push(ROOT_PATH.to_owned());
    }
    if !seen.contains(&IndexPath::parse(ETAG_PATH)?) {
        excluded.push(ETAG_PATH.to_owned());
    }
    Ok((included, excluded))
}

fn check_count(what: &'static str, count: usize) -> Result<(), PolicyError> {
    if count > PATHS_MAX {
        Err(PolicyError::TooMany { what, count, max: PATHS_MAX })
    } else {
        Ok(())
    }
}
