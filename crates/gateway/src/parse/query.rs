//! The body of a query: `{"query":"…","parameters":[{"name":"@x","value":1}]}`, or plain SQL text.

use std::collections::HashSet;

use account::QueryText;
use model::Value;

use super::Request;
use crate::error::{Error, excerpt};

/// Limit: parameters of one query; the body limit bounds their size.
const PARAMETERS_MAX: usize = 65_536;

impl Request<'_> {
    /// Reads text and parameters; the text itself is parsed further down.
    pub(super) fn query_text(&self) -> Result<QueryText, Error> {
        let body = self.json_body()?;
        if self.is_sql()? {
            let text = std::str::from_utf8(&body).map_err(|_| invalid("it is not UTF-8"))?;
            let merge = self.headers.merge()?;
            return Ok(QueryText { text: text.to_owned(), merge, ..QueryText::default() });
        }
        let value = model::json::parse(&body).map_err(|error| invalid(&error.to_string()))?;
        let text = value.get("query").and_then(Value::as_str);
        let text = text.ok_or_else(|| invalid("a query is an object with the string 'query'"))?;
        let parameters = match value.get("parameters") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(parameters)) => self::parameters(parameters)?,
            Some(_) => return Err(invalid("'parameters' is an array")),
        };
        // Wire: `null` means the same as leaving it out.
        let resume_filter = value.get("resumeFilter").filter(|it| !it.is_null()).cloned();
        let merge = self.headers.merge()?;
        Ok(QueryText { text: text.to_owned(), parameters, resume_filter, merge })
    }
}

fn parameters(values: &[Value]) -> Result<Vec<(String, Value)>, Error> {
    if values.len() > PARAMETERS_MAX {
        return Err(invalid("there are too many parameters"));
    }
    let mut seen = HashSet::new();
    let mut parameters = Vec::with_capacity(values.len());
    for parameter in values {
        let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
        if !is_parameter_name(name) {
            return Err(Error::ParameterName { name: excerpt(name) });
        }
        if !seen.insert(name) {
            return Err(Error::ParameterRepeated { name: excerpt(name) });
        }
        let value = parameter.get("value").cloned();
        let value = value.ok_or_else(|| invalid("a parameter has a 'name' and a 'value'"))?;
        parameters.push((name.to_owned(), value));
    }
    Ok(parameters)
}

fn is_parameter_name(name: &str) -> bool {
    let Some(identifier) = name.strip_prefix('@') else { return false };
    let is_start = |character: char| character.is_alphabetic() || character == '_';
    identifier.starts_with(is_start)
        && identifier.chars().all(|character| is_start(character) || character.is_numeric())
}

fn invalid(reason: &str) -> Error {
    Error::BodyInvalid { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, Method};

    use super::*;
    use crate::headers::RequestHeaders;

    fn query(content_type: &'static str, body: &str) -> Result<QueryText, Error> {
        let mut map = HeaderMap::new();
        map.insert("content-type", HeaderValue::from_static(content_type));
        let headers = RequestHeaders::collect(&map).unwrap();
        let body = Bytes::copy_from_slice(body.as_bytes());
        Request { method: &Method::POST, headers: &headers, body }.query_text()
    }

    #[test]
    fn queries_are_read_in_both_forms() {
        let json = "application/query+json";
        let read = query(json, r#"{"query":"SELECT 1","parameters":[{"name":"@a","value":[1]}]}"#);
        let read = read.unwrap();
        assert_eq!(read.text, "SELECT 1");
        assert_eq!(read.parameters.len(), 1);
        assert!(query(json, r#"{"query":"q","parameters":null}"#).unwrap().parameters.is_empty());
        let resumed = query(json, r#"{"query":"q","resumeFilter":{"value":[]}}"#).unwrap();
        assert!(resumed.resume_filter.is_some());
        assert!(
            query(json, r#"{"query":"q","resumeFilter":null}"#).unwrap().resume_filter.is_none()
        );
        assert_eq!(query("application/sql; charset=utf-8", "SELECT 2").unwrap().text, "SELECT 2");
    }

    #[test]
    fn bad_queries_are_refused_with_the_service_words() {
        #[rustfmt::skip]
        let table = [
            ("", "payload is invalid"), ("[]", "payload is invalid"), ("{\"query\":1}", "payload is invalid"), ("{", "payload is invalid"),
            (r#"{"query":"q","parameters":{}}"#, "payload is invalid"),
            (r#"{"query":"q","parameters":[1]}"#, "Parameter names should be in the format of symbol '@' followed by a valid identifier"),
            (r#"{"query":"q","parameters":[{"name":"a","value":1}]}"#, "Parameter names should be"),
            (r#"{"query":"q","parameters":[{"name":"@","value":1}]}"#, "Parameter names should be"),
            (r#"{"query":"q","parameters":[{"name":"@a"}]}"#, "payload is invalid"),
            (r#"{"query":"q","parameters":[{"name":"@a","value":1},{"name":"@a","value":2}]}"#, "Specified duplicate parameter name"),
        ];
        for (body, words) in table {
            let error = query("application/query+json", body).unwrap_err().to_string();
            assert!(error.contains(words), "{body}: {error}");
        }
    }
}
