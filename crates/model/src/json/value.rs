//! A JSON value.

use std::fmt;

use super::{Number, Object};

/// A JSON value. Undefined is not one: it is `None` where an `Option<Value>` stands.
///
/// Equality is that of queries: numbers by value, objects whatever the order of their properties.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// Returns the string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(bool) = self { Some(*bool) } else { None }
    }

    /// Returns the number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// Returns the number as a double, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// Returns the number as an integer, if it is exactly one.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// Returns the object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the object to change it, if it is one.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// Returns the elements to change them, if it is an array.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// Returns the value of a property; `None` if there is none, or if this is no object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name)
    }

    /// Says whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Says whether it is a boolean.
    pub fn is_bool(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    /// Says whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// Says whether it is a string.
    pub fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// Says whether it is an array.
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Says whether it is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Says whether it is neither array nor object.
    pub fn is_scalar(&self) -> bool {
        !self.is_array() && !self.is_object()
    }

    /// Returns the name of its type, as messages and query plans write it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Gives its numbers the spelling that they get in a query's answer.
    pub fn respell_numbers(&mut self) {
        match self {
            Self::Number(number) => number.respell(),
            Self::Array(elements) => elements.iter_mut().for_each(Value::respell_numbers),
            Self::Object(object) => {
                object.iter_mut().for_each(|(_, value)| value.respell_numbers());
            }
            Self::Null | Self::Bool(_) | Self::String(_) => {}
        }
    }

    /// Returns the compact JSON text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        super::write::write_value(self, &mut text);
        text
    }
}

impl fmt::Display for Value {
    /// Writes the compact JSON text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Value {
        Value::Bool(bool)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::Number(number)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Value {
        Value::Number(Number::from_i64(integer))
    }
}

impl From<i32> for Value {
    fn from(integer: i32) -> Value {
        Value::from(i64::from(integer))
    }
}

impl From<u32> for Value {
    fn from(integer: u32) -> Value {
        Value::from(i64::from(integer))
    }
}

impl From<u64> for Value {
    fn from(integer: u64) -> Value {
        Value::Number(Number::from_u64(integer))
    }
}

impl From<usize> for Value {
    fn from(integer: usize) -> Value {
        Value::from(integer as u64)
    }
}

impl From<f64> for Value {
    /// JSON has no NaN and no infinities: they become `null`.
    fn from(double: f64) -> Value {
        Number::from_f64(double).map_or(Value::Null, Value::Number)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        Value::Object(object)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Value {
        elements.into_iter().collect()
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Value {
        Value::Array(elements.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        super::super::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn views_answer_for_their_own_type_only() {
        let values = ["null", "true", "1", "\"a\"", "[1]", "{\"a\":1}"].map(json);
        let names = ["null", "boolean", "number", "string", "array", "object"];
        for (index, (value, name)) in values.iter().zip(names).enumerate() {
            assert_eq!(value.type_name(), name);
            #[rustfmt::skip]
            let claims = [
                value.is_null(), value.as_bool().is_some(), value.as_f64().is_some(),
                value.as_str().is_some(), value.as_array().is_some(), value.as_object().is_some(),
            ];
            assert_eq!(claims.iter().filter(|&&claim| claim).count(), 1, "{value}");
            assert!(claims[index], "{value}");
        }
        assert_eq!(values[5].get("a"), Some(&Value::from(1)));
        assert_eq!(values[4].get("a"), None);
    }

    #[test]
    fn equality_is_that_of_queries() {
        assert_eq!(json("1"), json("1.0"));
        assert_eq!(json(r#"{"a":1,"b":[2]}"#), json(r#"{"b":[2e0],"a":1}"#));
        assert_ne!(json("[1,2]"), json("[2,1]"));
        assert_ne!(json("1"), json("\"1\""));
        assert_ne!(json(r#"{"a":1}"#), json(r#"{"a":1,"b":null}"#));
    }

    #[test]
    fn numbers_that_json_lacks_become_null() {
        assert_eq!(Value::from(f64::NAN), Value::Null);
        assert_eq!(Value::from(f64::INFINITY), Value::Null);
        assert_eq!(Value::from(u64::MAX).to_text(), "18446744073709551615");
    }
}
