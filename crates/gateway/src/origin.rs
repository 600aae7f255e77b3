//! Web pages that the user of this machine happens to visit, and what they may not do.
//!
//! The well-known key is public. While it is in use, a page that rebinds its own DNS name to this machine could sign any
//! request; such a request still names the page's host, so hosts that are none of ours are refused. Routes without a key
//! could be called by any page with a plain form; those calls name the page as their origin.

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, HeaderValue, Uri, header, uri::Authority};

use crate::{error::Error, options::GatewayOptions};

/// Where a page that sends a request stands to the server.
const FETCH_SITE: &str = "sec-fetch-site";

/// Refuses a request for a host that is not ours. To be asked while the well-known key is in use.
pub(crate) fn check_host(
    options: &GatewayOptions,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Error> {
    let in_url = uri.authority().map(Authority::as_str);
    let in_headers = headers.get_all(header::HOST).iter().map(HeaderValue::to_str);
    for named in in_url.map(Ok).into_iter().chain(in_headers) {
        let named = named.map_err(|_| Error::HostInvalid)?;
        if !is_ours(host_of(named), &options.allowed_hosts) {
            return Err(Error::HostUnknown { host: crate::error::excerpt(host_of(named)) });
        }
    }
    Ok(())
}

/// Refuses a request that a page of another origin made. To be asked where no key is.
pub(crate) fn check_page(
    options: &GatewayOptions,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Error> {
    let origin = headers.get(header::ORIGIN);
    if origin.is_some_and(|origin| options.cors.allows(origin)) {
        return Ok(());
    }
    let is_foreign = origin.is_some_and(|origin| !is_own_origin(origin, uri, headers));
    if is_from_another_site(headers) || is_foreign { Err(Error::OriginForeign) } else { Ok(()) }
}

/// Refuses a request that did not come from a page of this very server, as far as the browser says. Origins that the
/// operator allows are others still: sessions of the explorer are not for them.
pub(crate) fn check_own_page(
    options: &GatewayOptions,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Error> {
    let is_own = |origin: &HeaderValue| {
        is_own_origin(origin, uri, headers) || is_public_origin(origin, options, headers)
    };
    let is_foreign = headers.get_all(header::ORIGIN).iter().any(|origin| !is_own(origin));
    if is_from_another_site(headers) || is_foreign { Err(Error::OriginForeign) } else { Ok(()) }
}

/// Behind a proxy the browser knows another name than the one that reaches us.
fn is_public_origin(origin: &HeaderValue, options: &GatewayOptions, headers: &HeaderMap) -> bool {
    let authority = |url: &str| {
        url.split_once("://").map(|(_, rest)| rest.trim_end_matches('/').to_ascii_lowercase())
    };
    let Some(origin) = origin.to_str().ok().and_then(authority) else { return false };
    let forwarded = headers.get("x-forwarded-host").filter(|_| options.trust_forwarded);
    let forwarded = forwarded.and_then(|it| it.to_str().ok()?.split(',').next().map(str::trim));
    options.public_endpoint.as_deref().and_then(authority).is_some_and(|it| it == origin)
        || forwarded.is_some_and(|it| it.eq_ignore_ascii_case(&origin))
}

fn is_from_another_site(headers: &HeaderMap) -> bool {
    headers.get(FETCH_SITE).is_some_and(|site| {
        site.as_bytes().eq_ignore_ascii_case(b"cross-site")
            || site.as_bytes().eq_ignore_ascii_case(b"same-site")
    })
}

/// Says whether a page came from the very host and port that it calls.
fn is_own_origin(origin: &HeaderValue, uri: &Uri, headers: &HeaderMap) -> bool {
    let in_header = || headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let called = uri.authority().map(Authority::as_str).or_else(in_header);
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    match (origin, called) {
        (Some((_, origin)), Some(called)) => origin.eq_ignore_ascii_case(called),
        _ => false,
    }
}

/// The name or address without its port.
fn host_of(authority: &str) -> &str {
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some((address, _)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    authority.split_once(':').map_or(authority, |(host, _)| host)
}

/// Addresses, local names, names without a dot (which no public DNS has), and those that the operator named.
fn is_ours(host: &str, allowed: &[String]) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_below = |parent: &str| {
        let at = host.len().checked_sub(parent.len());
        at.and_then(|at| host.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(parent))
    };
    !host.contains('.') && !host.contains(':')
        || host.parse::<IpAddr>().is_ok()
        || host.parse::<Ipv6Addr>().is_ok()
        || is_below(".localhost")
        || host.eq_ignore_ascii_case("host.docker.internal")
        || allowed.iter().any(|name| name.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_local_names_and_named_ones_are_ours() {
        let allowed = ["db.example.com".to_owned()];
        for (authority, expected) in [
            ("localhost", true),
            ("localhost:8081", true),
            ("LOCALHOST.:8081", true),
            ("app.localhost:1", true),
            ("127.0.0.1:8081", true),
            ("10.1.2.3", true),
            ("[::1]:8081", true),
            ("[fe80::1]", true),
            ("orrery:8081", true),
            ("cosmos_db", true),
            ("host.docker.internal:8081", true),
            ("db.example.com:443", true),
            ("DB.example.com.", true),
            ("example.com", false),
            ("evil.db.example.com", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example:8081", false),
            ("evillocalhost.com", false),
            ("127.1", false),
            ("localhost@evil.example", false),
            ("x@localhost", true),
        ] {
            assert_eq!(is_ours(host_of(authority), &allowed), expected, "{authority}");
        }
    }

    #[test]
    fn pages_of_other_origins_are_told_from_our_own() {
        let uri = Uri::from_static("/operations/1");
        let options =
            GatewayOptions::new(crate::Keys::new(crate::WELL_KNOWN_KEY), model::Env::fixed(1, 0));
        for (headers, expected) in [
            (&[("host", "localhost:8081")][..], true),
            (&[("host", "localhost:8081"), ("origin", "http://localhost:8081")], true),
            (&[("host", "localhost:8081"), ("sec-fetch-site", "same-origin")], true),
            (&[("host", "localhost:8081"), ("sec-fetch-site", "none")], true),
            (&[("host", "localhost:8081"), ("origin", "http://localhost:3000")], false),
            (&[("host", "localhost:8081"), ("origin", "https://evil.example")], false),
            (&[("host", "localhost:8081"), ("origin", "null")], false),
            (&[("host", "localhost:8081"), ("sec-fetch-site", "cross-site")], false),
            (&[("host", "localhost:8081"), ("sec-fetch-site", "same-site")], false),
        ] {
            let named = |(name, value): &(&'static str, &'static str)| {
                (http::HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let map: HeaderMap = headers.iter().map(named).collect();
            assert_eq!(check_page(&options, &uri, &map).is_ok(), expected, "{headers:?}");
        }
    }
}
