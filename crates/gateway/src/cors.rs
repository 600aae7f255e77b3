//! Calls from web pages of other origins: off unless the operator names the origins.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;

use crate::{error::Error, headers::response, options::Cors};

/// Everything that an SDK in a browser reads.
static EXPOSED: LazyLock<HeaderValue> = LazyLock::new(|| {
    HeaderValue::from_str(&response::ALL.join(", ")).unwrap_or(HeaderValue::from_static("*"))
});

impl Cors {
    pub(crate) fn allows(&self, origin: &HeaderValue) -> bool {
        match self {
            Cors::Off => false,
            Cors::Any => true,
            Cors::Origins(origins) => {
                origins.iter().any(|known| known.as_bytes() == origin.as_bytes())
            }
        }
    }
}

/// Answers `OPTIONS`.
pub(crate) fn preflight(cors: &Cors, request: &HeaderMap) -> Result<Response<Full<Bytes>>, Error> {
    let origin = request.get(header::ORIGIN).filter(|origin| cors.allows(origin));
    if origin.is_none() {
        return Err(Error::CorsDisabled);
    }
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let asked = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let asked = asked.unwrap_or(HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    Ok(response)
}

/// Lets the page that asked read the answer, if its origin is allowed.
pub(crate) fn expose(cors: &Cors, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
    let Some(origin) = origin.filter(|origin| cors.allows(origin)) else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED.clone());
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_origins_may_ask() {
        let page = HeaderValue::from_static("https://page.example");
        let mut request = HeaderMap::new();
        request.insert(header::ORIGIN, page.clone());
        let named = Cors::Origins(vec!["https://page.example".to_owned()]);
        let other = Cors::Origins(vec!["https://other.example".to_owned()]);
        for (cors, expected) in
            [(Cors::Off, false), (Cors::Any, true), (named, true), (other, false)]
        {
            assert_eq!(preflight(&cors, &request).is_ok(), expected, "{cors:?}");
            let mut headers = HeaderMap::new();
            expose(&cors, Some(&page), &mut headers);
            assert_eq!(headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN), expected);
        }
        assert!(preflight(&Cors::Any, &HeaderMap::new()).is_err());
    }

    #[test]
    fn exposed_headers_include_what_sdks_read() {
        let text = EXPOSED.to_str().unwrap();
        for name in ["x-ms-continuation", "etag", "lsn", "x-ms-session-token"] {
            assert!(text.contains(name), "{name}");
        }
    }
}
