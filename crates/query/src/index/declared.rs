//! Indexes that a policy declares one by one, beside the range index over paths.
//!
//! They live in the same book of names as paths do: their names are JSON arrays, which no path looks like. Whoever
//! keeps an index stores their terms as it stores those of paths.

use model::{PropertyPath, Value};

use super::composite::{Composite, CompositePart};
use super::policy::property_names;
use super::spatial::Spatial;
use super::{Counted, PATH_BYTES_MAX, vectors, words};
use crate::full_text::language::{FullTextPolicy, Language};
use crate::functions::Bounds;

/// One declared index.
#[derive(Clone, Debug, PartialEq)]
pub enum Declared {
    /// Several values as one.
    Composite(Composite),
    /// Where a shape lies.
    Spatial(Spatial),
    /// The words of the text at a path, given as names from the outside in, stemmed in a language.
    Words(Vec<String>, Language),
    /// The vector at a path. Entries have it as their value, packed.
    Vector(Vec<String>),
}

impl Declared {
    /// Reads all indexes of a policy object, each once; those with an overlong name are left out.
    pub(super) fn from_policy(policy: &Value, full_text: &FullTextPolicy) -> Vec<Declared> {
        let mut declared: Vec<Declared> = Vec::new();
        let mut add = |index: Declared| {
            if index.name().len() <= PATH_BYTES_MAX && !declared.contains(&index) {
                declared.push(index);
            }
        };
        let list = |name| policy.get(name).and_then(Value::as_array).unwrap_or_default();
        for index in list("compositeIndexes") {
            if let Some(composite) = Composite::from_policy(index) {
                add(Declared::Composite(composite));
            }
        }
        for index in list("spatialIndexes") {
            let path = index.get("path").and_then(Value::as_str).and_then(property_names);
            if let Some(names) = path {
                let grid = index.get("boundingBox").and_then(bounding_box);
                let may_be_plane = grid.is_some();
                let grid = grid.unwrap_or(Spatial::DEGREES);
                add(Declared::Spatial(Spatial { names, grid, may_be_plane }));
            }
        }
        let property = |index: &Value| {
            let path = PropertyPath::parse(index.get("path")?.as_str()?).ok()?;
            Some(path.segments().to_vec())
        };
        for index in list("fullTextIndexes") {
            if let Some(names) = property(index) {
                let language = full_text.language(Some(&names));
                add(Declared::Words(names, language));
            }
        }
        for index in list("vectorIndexes") {
            if let Some(names) = property(index) {
                add(Declared::Vector(names));
            }
        }
        declared
    }

    /// Returns the name under which entries are stored. Never change its form: indexes on disk have it.
    pub fn name(&self) -> String {
        let names = |names: &[String]| {
            Value::Array(names.iter().map(|name| Value::from(name.as_str())).collect())
        };
        let values = match self {
            Declared::Composite(composite) => {
                let parts = composite.parts().iter().map(|part| {
                    Value::Array(vec![names(&part.names), Value::from(part.descending)])
                });
                std::iter::once(Value::from("composite")).chain(parts).collect()
            }
            Declared::Spatial(index) => {
                let kind = if index.may_be_plane { "plane" } else { "globe" };
                let ends = index.grid.low.iter().chain(&index.grid.high);
                let grid = Value::Array(ends.map(|end| Value::from(*end)).collect());
                vec![Value::from(kind), names(&index.names), grid]
            }
            // English came first, and has no name.
            Declared::Words(path, Language::English) => vec![Value::from("words"), names(path)],
            Declared::Words(path, language) => {
                vec![Value::from("words"), names(path), Value::from(language.name())]
            }
            Declared::Vector(path) => vec![Value::from("vector"), names(path)],
        };
        Value::Array(values).to_text()
    }

    /// Reads a name.
    pub(super) fn from_name(name: &str) -> Option<Declared> {
        let value = model::json::parse(name.as_bytes()).ok()?;
        let names = |value: &Value| {
            let names = value.as_array()?.iter().map(|name| Some(name.as_str()?.to_string()));
            names.collect::<Option<Vec<String>>>()
        };
        let [kind, rest @ ..] = value.as_array()? else { return None };
        match kind.as_str()? {
            kind @ ("plane" | "globe") => {
                let [path, grid] = rest else { return None };
                let ends =
                    grid.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<_>>>()?;
                let [x0, y0, x1, y1] = ends.as_slice() else { return None };
                let grid = Bounds { low: [*x0, *y0], high: [*x1, *y1] };
                let names = names(path)?;
                Some(Declared::Spatial(Spatial { names, grid, may_be_plane: kind == "plane" }))
            }
            "words" => match rest {
                [path] => Some(Declared::Words(names(path)?, Language::English)),
                [path, language] => {
                    Some(Declared::Words(names(path)?, Language::from_name(language.as_str()?)?))
                }
                _ => None,
            },
            "vector" => {
                let [path] = rest else { return None };
                Some(Declared::Vector(names(path)?))
            }
            "composite" => {
                let part = |part: &Value| {
                    let [path, descending] = part.as_array()? else { return None };
                    let descending = descending.as_bool()?;
                    Some(CompositePart { names: names(path)?, descending })
                };
                let parts = rest.iter().map(part).collect::<Option<Vec<_>>>()?;
                Some(Declared::Composite(Composite::new(parts)))
            }
            _ => None,
        }
    }

    /// Calls `emit` with each term of an item.
    pub(super) fn each_term(&self, item: &Value, emit: &mut dyn FnMut(&[u8])) {
        let at = |names: &[String]| names.iter().try_fold(item, |value, name| value.get(name));
        match self {
            Declared::Composite(composite) => emit(&composite.term(item)),
            Declared::Spatial(index) => {
                if let Some(shape) = at(&index.names) {
                    index.each_term(shape, emit);
                }
            }
            Declared::Words(path, language) => {
                if let Some(text) = at(path) {
                    words::each_term(text, *language, emit);
                }
            }
            Declared::Vector(path) => {
                if let Some(packed) = at(path).and_then(vectors::pack) {
                    emit(&vectors::term(&packed));
                }
            }
        }
    }

    /// What a term counts in a charge: nothing if the item has none of the paths.
    pub(super) fn counted(&self, term: &[u8]) -> Counted {
        match self {
            Declared::Composite(composite) if composite.is_undefined(term) => Counted::Never,
            _ => Counted::Once,
        }
    }

    /// Returns the path of an index on one path.
    pub(crate) fn names(&self) -> Option<&[String]> {
        match self {
            Declared::Composite(_) => None,
            Declared::Spatial(index) => Some(&index.names),
            Declared::Words(path, _) | Declared::Vector(path) => Some(path),
        }
    }
}

/// Reads the grid of a plane; one without an inside is none.
fn bounding_box(corners: &Value) -> Option<Bounds> {
    let corner = |name| corners.get(name).and_then(Value::as_f64);
    let (low, high) = ([corner("xmin")?, corner("ymin")?], [corner("xmax")?, corner("ymax")?]);
    let is_sound = low[0] < high[0] && low[1] < high[1];
    is_sound.then_some(Bounds { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_written() {
        let policy = r#"{"compositeIndexes":[
            [{"path":"/a/b"},{"path":"/\"x y\"","order":"descending"}],
            [{"path":"/a/b","order":"descending"},{"path":"/\"x y\""}],
            [{"path":"/c"},{"path":"/d"}]],
            "spatialIndexes":[{"path":"/loc/*"},{"path":"/\"x y\"/z/?",
                "boundingBox":{"xmin":0,"ymin":-5.5,"xmax":10,"ymax":1}},{"path":"/l/[]/*"}],
            "fullTextIndexes":[{"path":"/text"},{"path":"/texte"}],
            "vectorIndexes":[{"path":"/v/w","type":"flat"}]}"#;
        let policy = model::json::parse(policy.as_bytes()).unwrap();
        let full_text = r#"{"fullTextPaths":[{"path":"/texte","language":"fr-FR"}]}"#;
        let full_text = model::json::parse(full_text.as_bytes()).unwrap();
        let declared = Declared::from_policy(&policy, &FullTextPolicy::from_policy(&full_text));
        assert_eq!(declared.len(), 7, "one index is the reverse of another: {declared:?}");
        for index in &declared {
            assert_eq!(Declared::from_name(&index.name()).as_ref(), Some(index));
        }
        let names: Vec<String> = declared.iter().map(Declared::name).collect();
        assert!(names.contains(&r#"["words",["text"]]"#.to_string()), "{names:?}");
        assert!(names.contains(&r#"["words",["texte"],"french"]"#.to_string()), "{names:?}");
        for name in [
            "",
            "/a",
            "[]",
            "[1]",
            r#"["words",["t"],"dutch"]"#,
            r#"["composite",[["a"]]]"#,
            r#"["other"]"#,
        ] {
            assert_eq!(Declared::from_name(name), None, "{name}");
        }
    }
}
