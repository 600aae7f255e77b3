//! Indexes that a policy declares one by one, beside the range index over paths.
//!
//! They live in the same book of names as paths do: their names are JSON arrays, which no path looks like. Whoever
//! keeps an index stores their terms as it stores those of paths.

use model::Value;

use super::PATH_BYTES_MAX;
use super::composite::{Composite, CompositePart};

/// One declared index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Declared {
    /// Several values as one.
    Composite(Composite),
}

impl Declared {
    /// Reads all indexes of a policy object, each once; those with an overlong name are left out.
    pub(super) fn from_policy(policy: &Value) -> Vec<Declared> {
        let mut declared: Vec<Declared> = Vec::new();
        let mut add = |index: Declared| {
            if index.name().len() <= PATH_BYTES_MAX && !declared.contains(&index) {
                declared.push(index);
            }
        };
        for index in policy.get("compositeIndexes").and_then(Value::as_array).unwrap_or_default() {
            if let Some(composite) = Composite::from_policy(index) {
                add(Declared::Composite(composite));
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
        match self {
            Declared::Composite(composite) => emit(&composite.term(item)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_written() {
        let policy = r#"{"compositeIndexes":[
            [{"path":"/a/b"},{"path":"/\"x y\"","order":"descending"}],
            [{"path":"/a/b","order":"descending"},{"path":"/\"x y\""}],
            [{"path":"/c"},{"path":"/d"}]]}"#;
        let declared = Declared::from_policy(&model::json::parse(policy.as_bytes()).unwrap());
        assert_eq!(declared.len(), 2, "one index is the reverse of another: {declared:?}");
        for index in declared {
            assert_eq!(Declared::from_name(&index.name()), Some(index));
        }
        for name in ["", "/a", "[]", "[1]", r#"["composite",[["a"]]]"#, r#"["other"]"#] {
            assert_eq!(Declared::from_name(name), None, "{name}");
        }
    }
}
