//! Why bytes are not JSON that we accept.

use crate::{Failure, Status};

/// A fault in a JSON text, with the byte where it was noticed.
///
/// Wire: 400, with the sentence that the service answers to any malformed body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "The request payload is invalid. Ensure to provide a valid request payload. {fault} at byte \
     {offset}."
)]
pub struct JsonError {
    /// What is wrong.
    pub fault: JsonFault,
    /// Where, counted in bytes from the start of the text.
    pub offset: usize,
}

/// What is wrong with a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// Bytes that are not UTF-8.
    #[error("The text is not UTF-8")]
    Utf8,
    /// The text ends inside a value, or is empty.
    #[error("The text ends too early")]
    End,
    /// A character that cannot stand here.
    #[error("Unexpected character")]
    Unexpected,
    /// Something after the value.
    #[error("Unexpected text after the value")]
    Trailing,
    /// A control character in a string, or an unknown escape.
    #[error("A string has a raw control character or an unknown escape")]
    String,
    /// Not a number as JSON writes them.
    #[error("Malformed number")]
    Number,
    /// A number beyond the range of a double, such as `1e400`.
    #[error("A number is out of range")]
    NumberRange,
    /// Two properties of one object have the same name.
    #[error("An object has two properties with one name")]
    DuplicateName,
    /// More objects and arrays inside each other than we follow.
    #[error("The value is nested too deep")]
    Depth,
}

impl Failure for JsonError {
    fn status(&self) -> Status {
        Status::BAD_REQUEST
    }
}
