//! One request and its answer.

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::state::invalid;
use crate::{Error, Key, Result};

/// A request before it is signed.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Without the leading slash and not encoded: `dbs/d/colls/c/docs`.
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Bytes,
}

impl Request {
    pub(super) fn new(method: Method, path: impl Into<String>) -> Request {
        Request { method, path: path.into(), headers: Vec::new(), body: Bytes::new() }
    }

    pub(super) fn get(path: impl Into<String>) -> Request {
        Request::new(Method::GET, path)
    }

    pub(super) fn post(path: impl Into<String>, body: &Value) -> Request {
        Request::new(Method::POST, path).body(body)
    }

    pub(super) fn body(mut self, body: &Value) -> Request {
        self.body = body.to_string().into();
        self.header("content-type", "application/json")
    }

    /// Sets a header, in the place of an earlier one of that name.
    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Request {
        self.headers.retain(|(it, _)| *it != name);
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn header_if(self, name: &'static str, value: Option<impl Into<String>>) -> Request {
        match value {
            Some(value) => self.header(name, value),
            None => self,
        }
    }

    pub(super) fn partition(self, key: &Key) -> Request {
        self.header("x-ms-documentdb-partitionkey", partition_header(key))
    }
}

/// The partition key as a list of components; Wire: characters beyond ASCII are escaped.
fn partition_header(key: &Key) -> String {
    let list = Key::List(key.components().to_vec()).to_string();
    let mut header = String::with_capacity(list.len());
    for c in list.chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            header.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(header, "\\u{unit:04x}");
            }
        }
    }
    header
}

/// An answer of the service with a status below 400.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn etag(&self) -> String {
        self.header("etag").unwrap_or_default().to_owned()
    }

    pub(super) fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).map_err(invalid)
    }

    /// Returns the list of a feed, which stands under a name of its own for each kind of resource.
    pub(super) fn list(&self, name: &str) -> Result<Vec<Value>> {
        match self.json()?.get_mut(name).map(Value::take) {
            Some(Value::Array(rows)) => Ok(rows),
            _ => Err(Error::service(502, format!("the answer has no list {name:?}"))),
        }
    }

    pub(super) fn continuation(&self) -> Option<String> {
        self.header("x-ms-continuation").filter(|it| !it.is_empty()).map(ToOwned::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_key_is_a_list_in_ascii() {
        for (key, header) in [
            (Key::from("a"), r#"["a"]"#),
            (Key::from(("é", 2018)), r#"["\u00e9",2018]"#),
            (Key::from("😀\n"), r#"["\ud83d\ude00\n"]"#),
            (Key::from_components(vec![Key::Undefined, Key::Null]), "[{},null]"),
        ] {
            assert_eq!(partition_header(&key), header);
        }
    }
}
