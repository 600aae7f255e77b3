//! Concatenated keys: `deviceId` "abc-123" and `date` 2018 make "abc-123-2018".

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ReadPlan, SyntheticKey, part_at, part_text};
use crate::{JsonPath, Key, Result};

/// Joins the values at several paths.
///
/// Plain joining, the documented convention, is ambiguous: ("a-b", "c") and ("a", "b-c") give one key, which
/// only means that they share a logical partition. With [`Concat::escaped`] keys are unique and can be split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Concat {
    property: JsonPath,
    parts: Vec<JsonPath>,
    separator: char,
    is_escaped: bool,
}

const ESCAPE: char = '\\';

impl Concat {
    /// Joins the values at `parts` with "-" and writes them to `property`.
    pub fn new<'a>(property: &str, parts: impl IntoIterator<Item = &'a str>) -> Result<Concat> {
        let parts: Vec<_> = parts.into_iter().map(JsonPath::parse).collect::<Result<_>>()?;
        Ok(Concat {
            property: JsonPath::parse(property)?,
            parts,
            separator: '-',
            is_escaped: false,
        })
    }

    /// Sets the separator.
    #[must_use]
    pub fn separator(mut self, separator: char) -> Concat {
        self.separator = separator;
        self
    }

    /// Puts a backslash before each separator and backslash inside a part.
    #[must_use]
    pub fn escaped(mut self) -> Concat {
        self.is_escaped = true;
        self
    }

    fn join(&self, parts: &[String]) -> String {
        let mut key = String::new();
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                key.push(self.separator);
            }
            for c in part.chars() {
                if self.is_escaped && (c == self.separator || c == ESCAPE) {
                    key.push(ESCAPE);
                }
                key.push(c);
            }
        }
        key
    }

    /// Splits an escaped key into the texts of its parts; `None` if it is not a key of this scheme.
    pub fn split(&self, key: &str) -> Option<Vec<String>> {
        if !self.is_escaped {
            return None;
        }
        let mut parts = vec![String::new()];
        let mut chars = key.chars();
        while let Some(c) = chars.next() {
            if c == self.separator {
                parts.push(String::new());
            } else {
                let c = if c == ESCAPE { chars.next()? } else { c };
                parts.last_mut()?.push(c);
            }
        }
        (parts.len() == self.parts.len()).then_some(parts)
    }

    /// Plans the read of an item, or of a logical partition, whose parts are known from the left.
    ///
    /// With all parts it is a point read. With fewer nothing can be computed, and there is no prefix search.
    pub fn plan(&self, parts: &[Key]) -> Result<ReadPlan> {
        if parts.len() != self.parts.len() {
            return Ok(ReadPlan::CrossPartition);
        }
        let texts = parts.iter().map(part_text).collect::<Result<Vec<_>>>()?;
        Ok(ReadPlan::Point(self.join(&texts)))
    }
}

impl SyntheticKey for Concat {
    fn property(&self) -> &JsonPath {
        &self.property
    }

    fn make(&self, item: &Value) -> Result<String> {
        let texts = self.parts.iter().map(|it| part_at(it, item)).collect::<Result<Vec<_>>>()?;
        Ok(self.join(&texts))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_documented_example_holds() {
        let scheme = Concat::new("/partitionKey", ["/deviceId", "/date"]).unwrap();
        let mut item = json!({"deviceId": "abc-123", "date": 2018});
        assert_eq!(scheme.apply(&mut item).unwrap(), "abc-123-2018");
        assert_eq!(item["partitionKey"], "abc-123-2018");
        let plan = scheme.plan(&["abc-123".into(), 2018.into()]).unwrap();
        assert_eq!(plan, ReadPlan::Point("abc-123-2018".to_owned()));
        assert_eq!(scheme.plan(&["abc-123".into()]).unwrap(), ReadPlan::CrossPartition);
        for date in [json!(2018), json!("2018"), json!(2018.0), json!(2.018e3)] {
            assert_eq!(scheme.make(&json!({"deviceId": "d", "date": date})).unwrap(), "d-2018");
        }
    }

    #[test]
    fn escaped_parts_cannot_be_confused() {
        let scheme = Concat::new("/pk", ["/a", "/b"]).unwrap().escaped();
        let one = scheme.make(&json!({"a": "a-b", "b": "c"})).unwrap();
        let two = scheme.make(&json!({"a": "a", "b": "b-c"})).unwrap();
        assert_ne!(one, two);
        assert_eq!(scheme.split(&one).unwrap(), ["a-b", "c"]);
        assert_eq!(scheme.split("a"), None);
    }
}
