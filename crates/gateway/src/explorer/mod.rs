//! The explorer: the page under `/_explorer/` and how it gets in.
//!
//! The files are part of the program ([`files`]), so the page works without a network and fits its server. It may load
//! nothing from elsewhere and run nothing that came as data: see [`POLICY`]. A key that is typed into it becomes a
//! [`session`], which scripts of the page cannot read.

mod files;
pub(crate) mod session;

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Body;

use self::files::Representation;
use crate::account_document::Arrival;
use crate::error::{self, Error};
use crate::gateway::State;
use crate::gzip;
use crate::options::GatewayOptions;

/// Where the page comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Explorer {
    /// From the program itself.
    #[default]
    On,
    /// There is none.
    Off,
    /// From a folder, read anew for each request: for those who write the page.
    Folder(PathBuf),
}

const PREFIX: &str = "/_explorer";

/// Nothing from elsewhere, nothing inline, no text that becomes markup or code, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// What every file of the page is sent with.
const PROTECTION: [(&str, &str); 5] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// What follows `/_explorer`, if the path is below it.
pub(crate) fn below(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Sends a browser on that opens the port of the official emulators' explorer.
pub(crate) fn first_page(
    options: &GatewayOptions,
    parts: &Parts,
    arrival: Arrival,
) -> Option<Response<Full<Bytes>>> {
    let is_there = options.explorer_port.is_some()
        && options.explorer_port == arrival.local.map(|local| local.port());
    let is_browser = !parts.headers.contains_key(header::AUTHORIZATION);
    (is_there && is_browser && parts.uri.path() == "/" && parts.method == Method::GET)
        .then(redirect)
}

/// Answers a request for something below `/_explorer`.
pub(crate) async fn answer<B>(
    state: &Arc<State>,
    parts: &Parts,
    body: B,
    arrival: Arrival,
    rest: &str,
) -> Result<Response<Full<Bytes>>, Error>
where
    B: Body<Data = Bytes> + Send + Unpin,
{
    // The certificate is there with and without the page: scripts fetch it.
    if rest != "/emulator.pem" && state.options.explorer == Explorer::Off {
        return Err(Error::ExplorerOff);
    }
    if rest == "/session" {
        return session::answer(state, parts, body, arrival).await;
    }
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(Error::RouteMethod { method: error::excerpt(parts.method.as_str()) });
    }
    match rest {
        "/emulator.pem" => certificate(state),
        // Addresses in the page are relative to the folder.
        "" => Ok(redirect()),
        _ => file(&state.options.explorer, rest.trim_start_matches('/'), &parts.headers),
    }
}

fn certificate(state: &State) -> Result<Response<Full<Bytes>>, Error> {
    let pem = state.options.certificate_pem.clone().ok_or(Error::NoCertificate)?;
    let mut response = Response::new(Full::new(Bytes::from(pem)));
    let kind = HeaderValue::from_static("application/x-pem-file");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn redirect() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    let to = HeaderValue::from_static("/_explorer/");
    response.headers_mut().insert(header::LOCATION, to);
    response
}

fn file(
    explorer: &Explorer,
    name: &str,
    headers: &HeaderMap,
) -> Result<Response<Full<Bytes>>, Error> {
    let name = if name.is_empty() { "index.html" } else { name };
    let takes_gzip = headers.get_all(header::ACCEPT_ENCODING).iter();
    let takes_gzip = takes_gzip.filter_map(|it| it.to_str().ok()).any(gzip::is_accepted);
    let found = match explorer {
        Explorer::Folder(folder) => read(folder, name),
        Explorer::On | Explorer::Off => files::find(name, takes_gzip),
    };
    let Representation { kind, etag, bytes, is_packed } = found.ok_or(Error::ExplorerFile)?;
    let has_it = headers.get_all(header::IF_NONE_MATCH).iter();
    let has_it = has_it.filter_map(|it| it.to_str().ok()).any(|known| names(known, &etag));
    let mut response = Response::new(Full::new(if has_it { Bytes::new() } else { bytes }));
    if has_it {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    for (name, value) in PROTECTION {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, etag);
    }
    if is_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// Says whether a list of entity tags has one; tags compare weakly here.
fn names(list: &str, etag: &str) -> bool {
    list.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == etag)
}

/// A file of the folder that the page is written in.
fn read(folder: &FilePath, name: &str) -> Option<Representation> {
    // No way out of the folder: plain names only.
    let is_plain = |segment: &str| {
        !segment.is_empty()
            && !segment.starts_with('.')
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if !name.split('/').all(is_plain) {
        return None;
    }
    let kind = files::kind(name)?;
    let bytes = Bytes::from(std::fs::read(folder.join(name)).ok()?);
    Some(Representation { kind, etag: files::etag(&bytes, false), bytes, is_packed: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_its_own_files_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("page")).unwrap();
        std::fs::write(folder.path().join("page/a.js"), "1").unwrap();
        std::fs::write(folder.path().join("page/a.txt"), "2").unwrap();
        std::fs::write(folder.path().join("b.js"), "3").unwrap();
        let page = folder.path().join("page");
        assert_eq!(read(&page, "a.js").unwrap().bytes, "1");
        for bad in
            ["../b.js", "..", ".", "", "/a.js", "a.txt", "x.js", "a.js/", "./a.js", "..%2fb.js"]
        {
            assert!(read(&page, bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn entity_tags_are_found_in_lists() {
        for (list, expected) in
            [("\"a\"", true), ("\"b\", W/\"a\"", true), ("\"b\"", false), ("", false)]
        {
            assert_eq!(names(list, "\"a\""), expected, "{list}");
        }
    }
}
