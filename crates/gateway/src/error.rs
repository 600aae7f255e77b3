//! What can be wrong with a request before the account sees it, and the only place where any error
//! becomes a response.
//!
//! Wire: every response ≥ 400 has a JSON object body with `code` and `message` and a length, because
//! clients read both (facts/protocol.md §5.1). Messages keep the words that SDK test suites look for.

use account::{Facts, Failed};
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use model::{Failure, Status, json::binary::BinaryError};

use crate::{hybrid_row, manage::faults::InjectedFailure, respond};

/// A request that the gateway itself refuses.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    // Who asks.
    #[error(
        "Required Header authorization is missing. Ensure a valid Authorization token is passed."
    )]
    AuthorizationMissing,
    #[error(
        "The authorization header is malformed: {0}. Ensure a valid Authorization token is passed."
    )]
    AuthorizationMalformed(&'static str),
    #[error(
        "The request has no x-ms-date or date header in the RFC 1123 form. Ensure a valid Authorization token is passed."
    )]
    DateInvalid,
    #[error(
        "The input authorization token can't serve the request. The wrong key is being used or the expected payload is not built as per the protocol. For more info: https://aka.ms/cosmosdb-tsg-unauthorized. Server used the following payload to sign: '{payload}'"
    )]
    SignatureMismatch { payload: String },
    #[error(
        "The authorization token is not valid at the current time. Please create another token and retry (token start time: {start}, token expiry time: {expiry}, current server time: {now})."
    )]
    OutsideDateWindow { start: String, expiry: String, now: String },
    #[error(
        "Identity tokens (type=aad) are not enabled on this server. Start it with identity tokens enabled, or use a key."
    )]
    IdentityDisabled,
    #[error("The identity token is invalid: {0}.")]
    IdentityInvalid(&'static str),
    #[error("The identity token is expired or not valid yet.")]
    IdentityExpired,
    #[error("{0}")]
    Token(account::Error),

    // What it names.
    #[error("Request url is invalid. Server could not parse the Url.")]
    UrlInvalid,
    #[error(
        "Request url is invalid: a query string is not part of any resource address (percent-encode '?' in ids)."
    )]
    QueryStringUnexpected,
    #[error("The method {method} is not allowed on this resource.")]
    MethodNotAllowed { method: String },
    #[error(
        "Direct mode is not available: this server speaks gateway mode only. Set ConnectionMode.Gateway (.NET CosmosClientOptions.ConnectionMode) or call gatewayMode() (Java CosmosClientBuilder)."
    )]
    DirectModeUnsupported,
    #[error("Attachments are not supported.")]
    AttachmentsUnsupported,
    #[error("A partition key range can not be read alone; read the pkranges feed.")]
    SingleRangeUnsupported,
    #[error(
        "Cross-origin requests are not enabled on this server. Start it with the allowed origins."
    )]
    CorsDisabled,
    #[error("This server has no certificate to export.")]
    NoCertificate,
    #[error("The Host header is missing or invalid.")]
    HostInvalid,

    // How it is to be done.
    #[error("The header '{name}' was sent more than once.")]
    HeaderRepeated { name: &'static str },
    #[error("The header '{name}' contains characters outside of printable ASCII.")]
    HeaderNotText { name: &'static str },
    #[error("The header '{name}' is not supported: {why}.")]
    HeaderRefused { name: &'static str, why: &'static str },
    #[error("The value '{value}' specified for the header '{name}' is invalid. {expected}")]
    HeaderInvalid { name: &'static str, value: String, expected: &'static str },
    #[error(
        "The input PageSize {value} is invalid. Ensure to pass a valid page size which must be a positive integer or -1 for a dynamic page size."
    )]
    PageSizeInvalid { value: String },
    #[error(
        "The continuation token limit {value} is invalid. Please pass in a valid continuation token size limit which must be a positive integer."
    )]
    ContinuationLimitInvalid { value: String },
    #[error(transparent)]
    Session(#[from] model::SessionTokenError),
    #[error(transparent)]
    PartitionKey(#[from] model::PartitionKeyError),
    #[error("{0} is not supported on this resource.")]
    OperationUnsupported(&'static str),

    // What it carries.
    // Wire: clients look for the first line.
    #[error(
        "Message: {{\"Errors\":[\"Request size is too large\"]}}\r\nThe limit is {bytes_max} bytes."
    )]
    BodyTooLarge { bytes_max: usize },
    #[error(
        "The request payload is invalid. Ensure to provide a valid request payload. ({reason})"
    )]
    BodyInvalid { reason: String },
    #[error("The request payload is invalid. Ensure to provide a valid request payload. The {0}.")]
    BinaryJson(#[from] BinaryError),
    #[error("The content encoding '{encoding}' of the request payload is not supported.")]
    BodyEncoding { encoding: String },
    #[error("The request payload did not arrive in time.")]
    BodyTimeout,
    #[error("The request payload ended early.")]
    BodyBroken,
    #[error("Batch request has no operations.")]
    BatchEmpty,
    #[error("Batch request has more operations than what is supported. (limit {n_calls_max})")]
    BatchTooLong { n_calls_max: usize },
    #[error("One of the specified inputs is invalid: batch operation {index}: {reason}.")]
    BatchCall { index: usize, reason: String },
    #[error("The request payload is invalid: {0}.")]
    HybridRow(#[from] hybrid_row::Error),
    #[error("Specified duplicate parameter name '{name}'.")]
    ParameterRepeated { name: String },
    #[error(
        "Parameter names should be in the format of symbol '@' followed by a valid identifier. ('{name}')"
    )]
    ParameterName { name: String },

    // What people and tests ask for.
    #[error(
        "The management API needs a key of the account that may write: send it as 'Authorization: Bearer <key>'."
    )]
    ManagementKey,
    #[error("There is no such management route; GET /_orrery/ lists them.")]
    ManagementRoute,
    #[error("{}", .0.message)]
    Injected(InjectedFailure),

    // What went wrong on our side.
    #[error("The request did not complete within the allowed time.")]
    Timeout,
    #[error("The server is shutting down.")]
    Stopping,
    #[error("the request task panicked: {0}")]
    Panicked(String),
}

impl Failure for Error {
    fn status(&self) -> Status {
        match self {
            Self::AuthorizationMissing
            | Self::AuthorizationMalformed(_)
            | Self::DateInvalid
            | Self::SignatureMismatch { .. }
            | Self::IdentityDisabled
            | Self::IdentityInvalid(_)
            | Self::ManagementKey => Status::UNAUTHORIZED,
            // Wire: substatus 5006, expired identity token.
            Self::IdentityExpired => Status { code: 401, sub: 5006 },
            Self::OutsideDateWindow { .. } | Self::CorsDisabled => Status::FORBIDDEN,
            Self::Token(error) => error.status(),
            Self::NoCertificate | Self::ManagementRoute => Status::NOT_FOUND,
            Self::Injected(failure) => failure.status,
            Self::MethodNotAllowed { .. } => Status::METHOD_NOT_ALLOWED,
            Self::Session(error) => error.status(),
            Self::PartitionKey(error) => error.status(),
            Self::BodyTooLarge { .. } | Self::BinaryJson(BinaryError::TooLarge) => {
                Status::TOO_LARGE
            }
            Self::BodyTimeout | Self::Timeout => Status::REQUEST_TIMEOUT,
            Self::Stopping => Status::UNAVAILABLE,
            Self::Panicked(_) => Status::INTERNAL,
            Self::UrlInvalid
            | Self::QueryStringUnexpected
            | Self::DirectModeUnsupported
            | Self::AttachmentsUnsupported
            | Self::SingleRangeUnsupported
            | Self::HostInvalid
            | Self::HeaderRepeated { .. }
            | Self::HeaderNotText { .. }
            | Self::HeaderRefused { .. }
            | Self::HeaderInvalid { .. }
            | Self::PageSizeInvalid { .. }
            | Self::ContinuationLimitInvalid { .. }
            | Self::OperationUnsupported(_)
            | Self::BodyInvalid { .. }
            | Self::BinaryJson(_)
            | Self::BodyEncoding { .. }
            | Self::BodyBroken
            | Self::BatchEmpty
            | Self::BatchTooLong { .. }
            | Self::BatchCall { .. }
            | Self::HybridRow(_)
            | Self::ParameterRepeated { .. }
            | Self::ParameterName { .. } => Status::BAD_REQUEST,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        if let Self::Injected(failure) = self { failure.retry_after_ms } else { None }
    }

    fn is_our_fault(&self) -> bool {
        matches!(self, Self::Panicked(_))
            || matches!(self, Self::Token(error) if error.is_our_fault())
    }
}

impl Error {
    /// A header value that is not what the header takes.
    pub(crate) fn header(name: &'static str, value: &str, expected: &'static str) -> Error {
        Error::HeaderInvalid { name, value: excerpt(value), expected }
    }
}

/// Limit: how much of a client's own text a message repeats.
const EXCERPT_CHARS_MAX: usize = 128;

/// The start of a client's text, fit for a message.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT_CHARS_MAX).collect()
}

/// Turns a refusal of the gateway into a response.
pub(crate) fn refuse(error: &Error, activity: &str) -> Response<Full<Bytes>> {
    answer(error, None, &Facts::default(), activity)
}

/// Turns a failure of the account into a response.
pub(crate) fn fail(failed: &Failed, activity: &str) -> Response<Full<Bytes>> {
    let info = failed.error.additional_info();
    answer(&failed.error, info, &failed.facts, activity)
}

fn answer(
    error: &dyn Failure,
    additional_info: Option<&str>,
    facts: &Facts,
    activity: &str,
) -> Response<Full<Bytes>> {
    let status = error.status();
    let message = if error.is_our_fault() {
        tracing::error!(activity, %status, error = %causes(error), "request failed");
        "The server failed to process the request; its log has more under this activity id."
            .to_owned()
    } else {
        tracing::debug!(activity, %status, %error, "request refused");
        error.to_string()
    };
    let body = body(status, &message, additional_info, activity);
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() =
        StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond::facts(response.headers_mut(), status, facts);
    if let Some(wait_ms) = error.retry_after_ms() {
        respond::retry_after(response.headers_mut(), wait_ms);
    }
    response
}

/// The error and what caused it, for the log.
fn causes(error: &dyn Failure) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

fn body(status: Status, message: &str, additional_info: Option<&str>, activity: &str) -> Vec<u8> {
    let mut body = Vec::with_capacity(message.len() + 160);
    body.extend_from_slice(b"{\"code\":");
    write_string(&mut body, status.name());
    body.extend_from_slice(b",\"message\":");
    write_string(&mut body, &format!("{message}\r\nActivityId: {activity}, Orrery"));
    if let Some(info) = additional_info {
        body.extend_from_slice(b",\"additionalErrorInfo\":");
        write_string(&mut body, info);
    }
    body.push(b'}');
    body
}

/// Writes a JSON string literal.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    model::Value::String(text.to_owned()).write_to(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_body_is_a_json_object_with_code_and_message() {
        let text = body(Status::NOT_FOUND, "Resource \"x\"\nNot Found", Some("{\"a\":1}"), "id-1");
        let value = model::json::parse(&text).unwrap();
        assert_eq!(value.get("code").unwrap().as_str(), Some("NotFound"));
        let message = value.get("message").unwrap().as_str().unwrap();
        assert!(message.starts_with("Resource \"x\"\nNot Found\r\nActivityId: id-1"), "{message}");
        assert_eq!(value.get("additionalErrorInfo").unwrap().as_str(), Some("{\"a\":1}"));
    }

    #[test]
    fn long_client_text_is_cut_in_messages() {
        let error = Error::header("x", &"é".repeat(100_000), "");
        assert!(error.to_string().len() < 1000);
    }
}
