//! What can be wrong with a request before the account sees it, and the only place where any error
//! becomes a response.
//!
//! Wire: every response ≥ 400 has a JSON object body with `code` and `message` and a length, because
//! clients read both. Messages keep the words that SDK test suites look for.

use account::{Facts, Failed, Refuser};
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use model::{Failure, Status, json::binary::BinaryError};

use self::form::Form;
use crate::{
    answers::Answer,
    hybrid_row,
    manage::faults::InjectedFailure,
    parse::{Action, Reply},
    respond,
};

mod form;

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
    #[error("Request url is invalid.")]
    UrlInvalid,
    #[error(
        "Request url is invalid: a query string is not part of any resource address (percent-encode '?' in ids)."
    )]
    QueryStringUnexpected,
    #[error("The method {method} is not allowed on this route.")]
    RouteMethod { method: String },
    // Wire: the service names its own code.
    #[error("RequestHandler.{}", handler(method))]
    MethodNotAllowed { method: String },
    #[error(
        "Direct mode is not available here: it needs TLS, and a host that is not an IPv6 address. Use such an endpoint, or gateway mode: ConnectionMode.Gateway (.NET CosmosClientOptions.ConnectionMode), gatewayMode() (Java CosmosClientBuilder)."
    )]
    DirectModeUnsupported,
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
    #[error(
        "This server is not '{host}'. While it has the well-known key it answers to addresses, local names and names without a dot only; start it with --allow-host {host}, or with a key of its own."
    )]
    HostUnknown { host: String },
    #[error("Web pages of other origins may not call this route.")]
    OriginForeign,

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
    #[error(
        "The continuation token limit specified is not large enough. Please pass in a valid continuation token size limit which must be a positive integer."
    )]
    ContinuationLimitSmall,
    #[error(
        "Invalid API version. Ensure a valid x-ms-version header value is passed. Please update to the latest version of Azure Cosmos DB SDK."
    )]
    VersionInvalid,
    #[error(transparent)]
    Session(#[from] model::SessionTokenError),
    #[error(transparent)]
    PartitionKey(#[from] model::PartitionKeyError),
    #[error("{0} is not supported on this resource.")]
    OperationUnsupported(&'static str),
    #[error("The frame is invalid: {0}.")]
    FrameInvalid(&'static str),

    // What it carries.
    #[error("Request size is too large")]
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
    #[error("One of the specified inputs is invalid: batch operation {index}: {reason}.")]
    BatchCall { index: usize, reason: String },
    #[error("The request payload is invalid: {0}.")]
    HybridRow(#[from] hybrid_row::Error),
    #[error("Invalid query. Specified duplicate parameter name '{name}'.")]
    ParameterRepeated { name: String },
    #[error(
        "Invalid query. Specified parameter name '{name}' is invalid. Parameter names should be in the format of symbol '@' followed by a valid identifier. E.g. @param1"
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

    // What the explorer asks.
    #[error("The explorer is switched off on this server (--explorer off).")]
    ExplorerOff,
    #[error("The explorer has no such file.")]
    ExplorerFile,
    #[error("There is no session, or it is over: sign in at /_explorer/.")]
    SessionMissing,
    #[error("This is not a key of the account.")]
    SessionKey,
    #[error("Sessions are for the explorer: the header x-orrery-explorer is missing.")]
    SessionMark,
    #[error("This session is read-only: sign in with a key that may write.")]
    SessionReadOnly,

    // What went wrong on our side.
    #[error("The request did not complete within the allowed time.")]
    Timeout,
    #[error("Too many answers wait to be read. Read those that were sent, then ask again.")]
    AnswersUnread,
    #[error("Too many request bodies are being received. Send this one again in a moment.")]
    BodiesHeld,
    #[error("Too many streams of events are open. Close one, then ask again.")]
    EventStreamsTaken,
    #[error("The server is shutting down.")]
    Stopping,
    #[error("The store takes no writes: {0}")]
    NotWritable(String),
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
            | Self::ManagementKey
            | Self::SessionMissing
            | Self::SessionKey => Status::UNAUTHORIZED,
            // Wire: substatus 5006, expired identity token.
            Self::IdentityExpired => Status { code: 401, sub: 5006 },
            Self::OutsideDateWindow { .. }
            | Self::CorsDisabled
            | Self::OriginForeign
            | Self::SessionMark
            | Self::SessionReadOnly => Status::FORBIDDEN,
            Self::HostUnknown { .. } => Status::MISDIRECTED,
            Self::Token(error) => error.status(),
            Self::NoCertificate
            | Self::ManagementRoute
            | Self::ExplorerOff
            | Self::ExplorerFile => Status::NOT_FOUND,
            Self::Injected(failure) => failure.status,
            Self::MethodNotAllowed { .. } | Self::RouteMethod { .. } => Status::METHOD_NOT_ALLOWED,
            Self::Session(error) => error.status(),
            Self::PartitionKey(error) => error.status(),
            Self::BodyTooLarge { .. } | Self::BinaryJson(BinaryError::TooLarge) => {
                Status::TOO_LARGE
            }
            Self::BodyTimeout | Self::Timeout => Status::REQUEST_TIMEOUT,
            Self::Stopping | Self::NotWritable(_) => Status::UNAVAILABLE,
            Self::AnswersUnread | Self::BodiesHeld | Self::EventStreamsTaken => {
                Status::TOO_MANY_REQUESTS
            }
            Self::Panicked(_) => Status::INTERNAL,
            Self::UrlInvalid
            | Self::QueryStringUnexpected
            | Self::DirectModeUnsupported
            | Self::SingleRangeUnsupported
            | Self::HostInvalid
            | Self::HeaderRepeated { .. }
            | Self::HeaderNotText { .. }
            | Self::HeaderRefused { .. }
            | Self::HeaderInvalid { .. }
            | Self::PageSizeInvalid { .. }
            | Self::ContinuationLimitInvalid { .. }
            | Self::ContinuationLimitSmall
            | Self::VersionInvalid
            | Self::OperationUnsupported(_)
            | Self::FrameInvalid(_)
            | Self::BodyInvalid { .. }
            | Self::BinaryJson(_)
            | Self::BodyEncoding { .. }
            | Self::BodyBroken
            | Self::BatchEmpty
            | Self::BatchCall { .. }
            | Self::HybridRow(_)
            | Self::ParameterRepeated { .. }
            | Self::ParameterName { .. } => Status::BAD_REQUEST,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Injected(failure) => failure.retry_after_ms,
            Self::AnswersUnread | Self::BodiesHeld | Self::EventStreamsTaken => {
                Some(UNREAD_RETRY_MS)
            }
            _ => None,
        }
    }

    fn is_our_fault(&self) -> bool {
        matches!(self, Self::Panicked(_))
            || matches!(self, Self::Token(error) if error.is_our_fault())
    }
}

/// When to ask again for an answer that there was no room for.
const UNREAD_RETRY_MS: u64 = 500;

/// The method as the service writes it: `Post`.
fn handler(method: &str) -> String {
    let (first, rest) = method.split_at(method.len().min(1));
    first.to_ascii_uppercase() + &rest.to_ascii_lowercase()
}

impl Error {
    /// Whose refusal it looks like to the client.
    fn refuser(&self) -> Refuser {
        match self {
            Self::BodyTooLarge { .. } | Self::BinaryJson(_) => Refuser::Partition,
            Self::ParameterRepeated { .. } | Self::ParameterName { .. } => Refuser::Parser,
            Self::Injected(failure) if failure.status.code != 400 => Refuser::Partition,
            _ => Refuser::Gateway,
        }
    }

    fn form(&self) -> Form {
        match self {
            // Wire: these two say nothing of the request.
            Self::CorsDisabled => Form::CodeOnly,
            Self::MethodNotAllowed { .. } => Form::Bare,
            _ => Form::of(self.refuser(), false),
        }
    }

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

/// What the message of an error tells of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) activity: &'a str,
    pub(crate) action: Action,
    /// What it would have got.
    pub(crate) answer: Answer,
    /// It came in a frame of direct mode.
    pub(crate) is_direct: bool,
    /// When it came and when it was refused, in milliseconds since 1970.
    pub(crate) start_ms: u64,
    pub(crate) end_ms: u64,
}

/// Turns a refusal of the gateway into a response, and says what kind of answer it is.
pub(crate) fn refuse(error: &Error, asked: Asked<'_>) -> (Response<Full<Bytes>>, Answer) {
    let kind = match error {
        Error::PageSizeInvalid { .. } => Answer::Invalid,
        _ => asked.answer.refused(error.refuser(), error.status().code, false),
    };
    (answer(error, error.form(), None, &Facts::default(), asked, kind), kind)
}

/// Turns a failure of the account into a response, and says what kind of answer it is.
pub(crate) fn fail(failed: &Failed, asked: Asked<'_>) -> (Response<Full<Bytes>>, Answer) {
    let Failed { error, facts } = failed;
    let refuser = error.refuser();
    let kind = match error {
        account::Error::BatchTooLong => Answer::BatchTooLong,
        _ => asked.answer.refused(refuser, error.status().code, facts.range.is_some()),
    };
    // Wire: the texts of query mistakes are JSON already.
    let form = Form::of(refuser, matches!(error, account::Error::Query(_)));
    (answer(error, form, error.additional_info(), facts, asked, kind), kind)
}

fn answer(
    error: &dyn Failure,
    form: Form,
    additional_info: Option<&str>,
    facts: &Facts,
    asked: Asked<'_>,
    kind: Answer,
) -> Response<Full<Bytes>> {
    let status = error.status();
    let activity = asked.activity;
    let text = if error.is_our_fault() {
        tracing::error!(activity, %status, error = %causes(error), "request failed");
        "The server failed to process the request; its log has more under this activity id."
            .to_owned()
    } else {
        tracing::debug!(activity, %status, error = %causes(error), "request refused");
        error.to_string()
    };
    let message = form.message(&text, facts.partition, asked);
    let body = body(status, message.as_deref(), additional_info);
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() =
        StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reply = Reply { is_direct: asked.is_direct, ..Reply::new(asked.action) };
    respond::facts(response.headers_mut(), reply.groups(kind), status, facts);
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

fn body(status: Status, message: Option<&str>, additional_info: Option<&str>) -> Vec<u8> {
    let mut body = Vec::with_capacity(message.map_or(0, str::len) + 160);
    body.extend_from_slice(b"{\"code\":");
    write_string(&mut body, status.name());
    if let Some(message) = message {
        body.extend_from_slice(b",\"message\":");
        write_string(&mut body, message);
    }
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
        let text = body(Status::NOT_FOUND, Some("Resource \"x\"\nNot Found"), Some("{\"a\":1}"));
        let value = model::json::parse(&text).unwrap();
        assert_eq!(value.get("code").unwrap().as_str(), Some("NotFound"));
        let message = value.get("message").unwrap().as_str().unwrap();
        assert_eq!(message, "Resource \"x\"\nNot Found");
        assert_eq!(value.get("additionalErrorInfo").unwrap().as_str(), Some("{\"a\":1}"));
    }

    #[test]
    fn long_client_text_is_cut_in_messages() {
        let error = Error::header("x", &"é".repeat(100_000), "");
        assert!(error.to_string().len() < 1000);
    }
}
