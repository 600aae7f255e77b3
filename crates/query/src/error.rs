//! Every way a query can fail, and the text the service would answer with.
//!
//! A mistake in the query text is a [`Diagnostic`]: code, message and place. The service packs all of them
//! into one JSON text inside the error message; [`Error::to_service_message`] builds that text.

use model::{Failure, Object, Status, Value};

/// A result whose error is a query error unless said otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in the query text something stands: UTF-16 offsets, the end is exclusive.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Span {
    /// Offset of the first unit.
    pub start: u32,
    /// Offset after the last unit.
    pub end: u32,
}

impl Span {
    /// Returns the smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The code the service prints in front of a query mistake.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Code {
    /// Printed as text, `SC1001`.
    Sc(u16),
    /// Printed as a bare number, as the service does for 2206.
    Number(u16),
    /// The code is not known; the member is left out.
    None,
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Code::Sc(number) => write!(f, "SC{number:04}"),
            Code::Number(number) => write!(f, "{number}"),
            Code::None => Ok(()),
        }
    }
}

/// One mistake in a query text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Diagnostic {
    /// The code of the service.
    pub code: Code,
    /// The sentence of the service.
    pub message: String,
    /// The place in the text.
    pub span: Span,
}

impl Diagnostic {
    /// Makes a diagnostic with an `SC` code.
    pub(crate) fn sc(number: u16, message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic { code: Code::Sc(number), message: message.into(), span }
    }

    /// Makes a diagnostic whose code we do not know.
    pub(crate) fn plain(message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic { code: Code::None, message: message.into(), span }
    }

    fn to_value(&self) -> Value {
        let mut location = Object::new();
        location.insert("start", Value::from(i64::from(self.span.start)));
        location.insert("end", Value::from(i64::from(self.span.end)));
        let mut object = Object::new();
        object.insert("severity", Value::from("Error"));
        // Wire: the service does not say where this one is.
        if !matches!(self.code, Code::Number(_)) {
            object.insert("location", Value::Object(location));
        }
        match self.code {
            Code::Sc(_) => {
                object.insert("code", Value::from(self.code.to_string()));
            }
            Code::Number(number) => {
                object.insert("code", Value::from(i64::from(number)));
            }
            Code::None => {}
        }
        object.insert("message", Value::from(self.message.as_str()));
        Value::Object(object)
    }
}

/// Why a query was refused or could not finish.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// The text is wrong; at least one diagnostic.
    #[error("{}", first_message(.0))]
    Invalid(Vec<Diagnostic>),
    /// The planner refuses the query as a whole; printed under `Errors` with a capital letter.
    #[error("{0}")]
    Unplannable(String),
    /// The plan needs features that the client did not announce.
    #[error("{}", unsupported_message(.0))]
    UnsupportedFeatures(Vec<String>),
    /// A rule found while rows were computed, such as a scalar subquery with two rows.
    #[error("{0}")]
    Evaluation(String),
    /// A row has NaN or an infinity in it.
    #[error(
        "The response content contains a numeric value that cannot be represented in JSON (e.g. Infinity and NaN)."
    )]
    NotFinite,
    /// A user-defined function is missing, not available here, or threw.
    #[error("{0}")]
    Udf(String),
    /// The continuation does not belong to this query or was changed.
    #[error("the continuation is malformed or belongs to another query")]
    Continuation,
    /// The resume filter of the request body is not one.
    #[error("the resume filter is malformed: {0}")]
    ResumeFilter(&'static str),
    /// A named limit was exceeded.
    #[error("{what} exceeds the limit of {limit}")]
    Limit {
        /// What grew too much.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// One item, or all items together where all are needed, took longer than a request may take.
    #[error(
        "the query took longer than a request may take; filter by a partition key or an indexed path, or project less"
    )]
    Timeout,
    /// Other queries hold the memory that this one needs.
    #[error(
        "the queries of this server hold all memory that they may have (option --memory); try again"
    )]
    Busy,
    /// The item source failed; the text is for the log.
    #[error("item source failed: {message}")]
    Source {
        /// The status of the source's own error.
        status: Status,
        /// Its message.
        message: String,
    },
}

impl Error {
    /// Makes the error of one diagnostic.
    pub(crate) fn one(diagnostic: Diagnostic) -> Error {
        Error::Invalid(vec![diagnostic])
    }

    /// Returns the text that the service puts after "Message: ": a JSON text for mistakes in the query,
    /// the plain sentence otherwise.
    pub fn to_service_message(&self) -> String {
        match self {
            Error::Invalid(diagnostics) => {
                let list = diagnostics.iter().map(Diagnostic::to_value).collect();
                wrap("errors", list)
            }
            Error::Unplannable(message) => wrap("Errors", vec![Value::from(message.as_str())]),
            Error::NotFinite => {
                let mut object = Object::new();
                object.insert("severity", "Error");
                object.insert("code", i64::from(self.status().sub));
                object.insert("message", self.to_string());
                wrap("errors", vec![Value::Object(object)])
            }
            Error::UnsupportedFeatures(_)
            | Error::Evaluation(_)
            | Error::Udf(_)
            | Error::Continuation
            | Error::ResumeFilter(_)
            | Error::Limit { .. }
            | Error::Timeout
            | Error::Busy
            | Error::Source { .. } => self.to_string(),
        }
    }

    /// Returns the diagnostics of a refused text, none for other errors.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Error::Invalid(diagnostics) => diagnostics,
            Error::Unplannable(_)
            | Error::UnsupportedFeatures(_)
            | Error::Evaluation(_)
            | Error::NotFinite
            | Error::Udf(_)
            | Error::Continuation
            | Error::ResumeFilter(_)
            | Error::Limit { .. }
            | Error::Timeout
            | Error::Busy
            | Error::Source { .. } => &[],
        }
    }
}

impl Failure for Error {
    fn status(&self) -> Status {
        match self {
            Error::Invalid(_)
            | Error::Unplannable(_)
            | Error::UnsupportedFeatures(_)
            | Error::Evaluation(_)
            | Error::Udf(_)
            | Error::Continuation
            | Error::ResumeFilter(_)
            | Error::Limit { .. } => Status::BAD_REQUEST,
            Error::NotFinite => Status::NUMBER_NOT_FINITE,
            Error::Timeout => Status::REQUEST_TIMEOUT,
            Error::Busy => Status::TOO_MANY_REQUESTS,
            Error::Source { status, .. } => *status,
        }
    }

    fn is_our_fault(&self) -> bool {
        matches!(self, Error::Source { .. })
    }

    fn retry_after_ms(&self) -> Option<u64> {
        matches!(self, Error::Busy).then_some(BUSY_MS)
    }
}

/// When to come back to a server whose queries hold all their memory.
const BUSY_MS: u64 = 1000;

fn wrap(name: &str, list: Vec<Value>) -> String {
    let mut object = Object::new();
    object.insert(name, Value::Array(list));
    Value::Object(object).to_text()
}

fn first_message(diagnostics: &[Diagnostic]) -> &str {
    diagnostics.first().map_or("the query is invalid", |first| first.message.as_str())
}

/// Wire: SDKs look for "unsupported features" and "Upgrade your SDK" in this text.
fn unsupported_message(features: &[String]) -> String {
    let mut text = String::from(
        "Query contains 1 or more unsupported features. Upgrade your SDK to a version that does \
         support the requested features:",
    );
    for feature in features {
        text.push_str("\r\nQuery contained ");
        text.push_str(feature);
        text.push_str(", which the calling client does not support.");
    }
    text
}
