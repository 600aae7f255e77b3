//! Full-text policy and full-text indexes.

use std::collections::HashSet;

use model::{Object, PropertyPath, Value};

use crate::body;
use crate::error::Result;
use crate::policy_error::PolicyError;

const LANGUAGES: [&str; 7] = ["en-US", "de-DE", "es-ES", "fr-FR", "it-IT", "pt-BR", "pt-PT"];
const LANGUAGE_LIST: &str =
    "\"en-US\", \"de-DE\", \"es-ES\", \"fr-FR\", \"it-IT\", \"pt-BR\", \"pt-PT\"";

/// The numbers of the same languages, which old clients write.
const LANGUAGE_NUMBERS: [&str; 7] = ["1033", "1031", "3082", "1036", "1040", "1046", "2070"];

/// Limit: keeps the catalog small; the service documents no number.
const PATHS_MAX: usize = 100;

/// Completes the full-text policy. A path without a language uses the default one and shows none.
pub(super) fn complete(policy: &Object) -> Result<Object> {
    let default = body::optional_text(policy, "defaultLanguage")?.unwrap_or("en-US");
    let default = language(default)?;
    let paths = body::object_list(policy, "fullTextPaths")?;
    if paths.len() > PATHS_MAX {
        let count = paths.len();
        return Err(PolicyError::TooMany { what: "full-text paths", count, max: PATHS_MAX }.into());
    }
    let mut seen = HashSet::new();
    let mut completed = Vec::new();
    for entry in paths {
        let path = body::required_text(entry, "path")?;
        if !PropertyPath::parse(path).is_ok_and(|parsed| seen.insert(parsed)) {
            return Err(PolicyError::FullTextPath { path: path.to_owned() }.into());
        }
        let mut one = body::object([("path", path.into())]);
        if let Some(text) = body::optional_text(entry, "language")? {
            one.insert("language", language(text)?);
        }
        completed.push(Value::Object(one));
    }
    Ok(body::object([
        ("defaultLanguage", default.into()),
        ("fullTextPaths", Value::Array(completed)),
    ]))
}

fn language(text: &str) -> Result<&'static str> {
    let by_number = || {
        let at = LANGUAGE_NUMBERS.iter().position(|number| *number == text)?;
        LANGUAGES.get(at).copied()
    };
    Ok(body::spelled(text, &LANGUAGES).or_else(by_number).ok_or_else(|| {
        PolicyError::FullTextLanguage { language: text.to_owned(), supported: LANGUAGE_LIST }
    })?)
}

/// Completes the full-text indexes of an indexing policy; each path must be in the full-text policy.
pub(super) fn complete_indexes(policy: &Object, full_text: Option<&Object>) -> Result<Vec<Value>> {
    let known: HashSet<PropertyPath> = full_text
        .and_then(|policy| policy.get("fullTextPaths")?.as_array())
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| PropertyPath::parse(entry.get("path")?.as_str()?).ok())
        .collect();
    let mut completed = Vec::new();
    for (index, entry) in body::object_list(policy, "fullTextIndexes")?.into_iter().enumerate() {
        let path = body::optional_text(entry, "path")?
            .ok_or(PolicyError::FullTextIndexWithoutPath { index })?;
        let parsed =
            PropertyPath::parse(path).map_err(|_| PolicyError::FullTextIndexPath { index })?;
        if !known.contains(&parsed) {
            return Err(PolicyError::FullTextIndexUnmatched { path: path.to_owned() }.into());
        }
        completed.push(Value::Object(body::object([("path", path.into())])));
    }
    Ok(completed)
}
