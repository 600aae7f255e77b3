//! The body of a query: `{"query":"…","parameters":[{"name":"@x","value":1}]}`, or plain SQL text.

use std::collections::HashSet;

use account::QueryText;
use model::{Object, Value};

use super::Request;
use crate::error::{Error, excerpt};
use crate::headers::Name;

/// Limit: parameters of one query; the body limit bounds their size.
const PARAMETERS_MAX: usize = 65_536;
/// So few names are compared with each other; more of them are hashed.
const PAIRWISE_MAX: usize = 16;

impl Request<'_> {
    /// Reads text and parameters; the text itself is parsed further down.
    pub(super) fn query_text(&self) -> Result<QueryText, Error> {
        let body = self.json_body()?;
        if self.is_sql()? {
            let text = std::str::from_utf8(&body).map_err(|_| invalid("it is not UTF-8"))?;
            let query = QueryText { text: text.to_owned(), ..QueryText::default() };
            return self.with_options(query);
        }
        let value = model::json::parse(&body).map_err(|error| invalid(&error.to_string()))?;
        let mut object = match value {
            Value::Object(object) => object,
            _ => Object::new(),
        };
        let query = text_and_parameters(&mut object)?;
        // Wire: `null` means the same as leaving it out.
        let resume_filter = object.remove("resumeFilter").filter(|it| !it.is_null());
        self.with_options(QueryText { resume_filter, ..query })
    }

    /// Adds what the headers say of who merges the ranges, and by which plan.
    fn with_options(&self, query: QueryText) -> Result<QueryText, Error> {
        let merge = self.headers.merge()?;
        let wants_plan = self.headers.is_on(Name::Parallelize)?;
        let is_optimistic = self.headers.is_on(Name::OptimisticExecution)?;
        Ok(QueryText { merge, wants_plan, is_optimistic, ..query })
    }
}

/// Takes `query` and `parameters` out of a body.
pub(crate) fn text_and_parameters(body: &mut Object) -> Result<QueryText, Error> {
    let Some(Value::String(text)) = body.remove("query") else {
        return Err(invalid("a query is an object with the string 'query'"));
    };
    let parameters = match body.remove("parameters") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(parameters)) => self::parameters(parameters)?,
        Some(_) => return Err(invalid("'parameters' is an array")),
    };
    Ok(QueryText { text, parameters, ..QueryText::default() })
}

fn parameters(values: Vec<Value>) -> Result<Vec<(String, Value)>, Error> {
    check_parameters(&values)?;
    let parameter = |value| {
        let Value::Object(mut parameter) = value else { return None };
        let Some(Value::String(name)) = parameter.remove("name") else { return None };
        Some((name, parameter.remove("value")?))
    };
    Ok(values.into_iter().filter_map(parameter).collect())
}

/// Checks that every parameter has a name of its own. One without a value is undefined.
fn check_parameters(values: &[Value]) -> Result<(), Error> {
    if values.len() > PARAMETERS_MAX {
        return Err(invalid("there are too many parameters"));
    }
    let mut seen = HashSet::new();
    for (index, parameter) in values.iter().enumerate() {
        let name = name(parameter);
        if !is_parameter_name(name) {
            return Err(Error::ParameterName { name: excerpt(name) });
        }
        let is_new = if values.len() <= PAIRWISE_MAX {
            !values.iter().take(index).any(|before| self::name(before) == name)
        } else {
            seen.insert(name)
        };
        if !is_new {
            return Err(Error::ParameterRepeated { name: excerpt(name) });
        }
    }
    Ok(())
}

fn name(parameter: &Value) -> &str {
    parameter.get("name").and_then(Value::as_str).unwrap_or_default()
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
        Request { method: &Method::POST, headers: &headers, body, is_direct: false }.query_text()
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
            (r#"{"query":"q","parameters":[{"name":"@a","value":1},{"name":"@a","value":2}]}"#, "Specified duplicate parameter name"),
        ];
        for (body, words) in table {
            let error = query("application/query+json", body).unwrap_err().to_string();
            assert!(error.contains(words), "{body}: {error}");
        }
    }

    #[test]
    fn a_parameter_without_a_value_is_none() {
        let body = r#"{"query":"q","parameters":[{"name":"@a"},{"name":"@b","value":1}]}"#;
        let read = query("application/query+json", body).unwrap().parameters;
        assert_eq!(read, [("@b".to_owned(), Value::from(1))]);
    }

    #[test]
    fn a_repeated_name_is_found_among_few_and_many() {
        let query_of = |names: &[i64]| {
            let parameters: Vec<String> =
                names.iter().map(|n| format!(r#"{{"name":"@p{n}","value":{n}}}"#)).collect();
            let body = format!(r#"{{"query":"q","parameters":[{}]}}"#, parameters.join(","));
            query("application/query+json", &body)
        };
        for n_parameters in [2, PAIRWISE_MAX - 1, PAIRWISE_MAX, PAIRWISE_MAX + 1, 1000] {
            let mut names: Vec<i64> = (0..).take(n_parameters).collect();
            let read = query_of(&names).unwrap().parameters;
            let expected = names.iter().map(|n| (format!("@p{n}"), Value::from(*n)));
            assert_eq!(read, expected.collect::<Vec<_>>());
            names[n_parameters - 1] = 0;
            let error = query_of(&names).unwrap_err().to_string();
            assert!(error.contains("Specified duplicate parameter name"), "{error}");
        }
    }
}
