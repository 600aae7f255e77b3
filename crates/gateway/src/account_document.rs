//! The account document, `GET /`: what every SDK reads first.
//!
//! Wire: endpoints come from the request (scheme, host, port), so that a client behind a mapped port
//! or another host name is sent back to where it came from. Thin-client
//! locations are never listed: their presence would switch SDKs to another protocol.

use std::net::SocketAddr;

use account::Consistency;
use bytes::Bytes;
use http::{HeaderMap, Uri, header, uri::Authority};

use crate::{
    error::{Error, write_string},
    options::GatewayOptions,
};

/// What the account document says of the limits of queries. Wire: .NET needs a non-empty object.
const QUERY_ENGINE: &str = r#"{"allowNewKeywords":true,"maxJoinsPerSqlQuery":10,"maxQueryRequestTimeoutFraction":0.9,"maxSqlQueryInputLength":524288,"maxUdfRefPerSqlQuery":10,"queryMaxInMemorySortDocumentCount":-1000,"spatialMaxGeometryPointCount":256,"sqlAllowNonFiniteNumbers":false,"sqlDisableOptimizationFlags":0,"sqlQueryILDisableOptimizationFlags":0,"clientDisableOptimisticDirectExecution":false,"queryEnableFullText":true,"queryEnableFullTextPreviewFeatures":false,"queryMaxFullTextScoreSearchTerms":30,"queryMaxRrfArgumentCount":100,"enableSpatialIndexing":true,"maxInExpressionItemsCount":2147483647,"maxLogicalAndPerSqlQuery":2147483647,"maxLogicalOrPerSqlQuery":2147483647,"maxSpatialQueryCells":2147483647,"sqlAllowAggregateFunctions":true,"sqlAllowGroupByClause":true,"sqlAllowLike":true,"sqlAllowSubQuery":true,"sqlAllowScalarSubQuery":true,"sqlAllowTop":true}"#;

/// How a request reached us.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) is_tls: bool,
    /// The request is a frame of direct mode.
    pub(crate) is_direct: bool,
    /// Our side of the connection, for clients that send no host.
    pub(crate) local: Option<SocketAddr>,
}

/// Returns the endpoint that the client should use from now on, with a trailing slash.
pub(crate) fn endpoint(
    options: &GatewayOptions,
    uri: &Uri,
    headers: &HeaderMap,
    arrival: Arrival,
) -> Result<String, Error> {
    if let Some(endpoint) = &options.public_endpoint {
        return Ok(format!("{}/", endpoint.trim_end_matches('/')));
    }
    let forwarded = |name: &str| {
        let value = headers.get(name).filter(|_| options.trust_forwarded)?;
        // Several proxies append; the first one spoke to the client.
        value.to_str().ok()?.split(',').next().map(str::trim)
    };
    let scheme = match forwarded("x-forwarded-proto") {
        Some(scheme) if scheme.eq_ignore_ascii_case("https") => "https",
        Some(scheme) if scheme.eq_ignore_ascii_case("http") => "http",
        Some(_) => return Err(Error::HostInvalid),
        None if arrival.is_tls => "https",
        None => "http",
    };
    let host = match forwarded("x-forwarded-host") {
        Some(host) => host.to_owned(),
        None => host(uri, headers, arrival)?,
    };
    if !is_authority(&host) {
        return Err(Error::HostInvalid);
    }
    Ok(format!("{scheme}://{host}/"))
}

/// The whole address that was asked, for `content-location`; none if it cannot be told.
pub(crate) fn location(
    options: &GatewayOptions,
    uri: &Uri,
    headers: &HeaderMap,
    arrival: Arrival,
) -> Option<Bytes> {
    let path = uri.path_and_query()?.as_str();
    let mut out = Vec::with_capacity(path.len() + 64);
    if options.public_endpoint.is_some() || options.trust_forwarded {
        let endpoint = endpoint(options, uri, headers, arrival).ok()?;
        out.extend_from_slice(endpoint.trim_end_matches('/').as_bytes());
    } else {
        out.extend_from_slice(if arrival.is_tls { b"https://" } else { b"http://" });
        out.extend_from_slice(
            named_host(uri, headers).filter(|host| is_authority(host))?.as_bytes(),
        );
    }
    out.extend_from_slice(path.as_bytes());
    Some(out.into())
}

/// Says whether clients may be told to come back over TLS only. Not under the name that programs on a developer's
/// machine share: those on other ports would have to speak TLS too.
pub(crate) fn is_strict(uri: &Uri, headers: &HeaderMap) -> bool {
    named_host(uri, headers).is_some_and(|host| !account_id(host).eq_ignore_ascii_case("localhost"))
}

/// The host that the request names.
fn named_host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    uri.authority().map(Authority::as_str).or_else(|| headers.get(header::HOST)?.to_str().ok())
}

/// HTTP/2 and absolute URLs name the host in the URL, HTTP/1.1 in a header, HTTP/1.0 nowhere.
fn host(uri: &Uri, headers: &HeaderMap, arrival: Arrival) -> Result<String, Error> {
    if let Some(authority) = uri.authority() {
        return Ok(authority.as_str().to_owned());
    }
    match (headers.get(header::HOST), arrival.local) {
        (Some(host), _) => host.to_str().map(str::to_owned).map_err(|_| Error::HostInvalid),
        (None, Some(local)) => Ok(local.to_string()),
        (None, None) => Err(Error::HostInvalid),
    }
}

/// A host with an optional port: nothing that could change the meaning of the URL around it.
fn is_authority(host: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    // Limit: a DNS name has at most 253 characters.
    !host.is_empty() && host.len() <= 300 && host.bytes().all(is_allowed)
}

/// The name of the account. Wire: JavaScript keeps the endpoint that the user gave if it is
/// `localhost`, which is right for every address that is not a name.
fn account_id(endpoint: &str) -> &str {
    let host = endpoint.split_once("://").map_or(endpoint, |(_, host)| host);
    let label = host.split(['.', ':', '/']).next().unwrap_or_default();
    let is_name = label.bytes().any(|byte| byte.is_ascii_alphabetic()) && !host.starts_with('[');
    if is_name { label } else { "localhost" }
}

/// Writes the document.
pub(crate) fn document(endpoint: &str, region: &str, consistency: Consistency) -> Vec<u8> {
    let mut out = Vec::with_capacity(2048);
    let id = account_id(endpoint);
    let put = |out: &mut Vec<u8>, name: &str, text: &str| {
        write_string(out, name);
        out.push(b':');
        write_string(out, text);
        out.push(b',');
    };
    out.push(b'{');
    put(&mut out, "_self", "");
    put(&mut out, "id", id);
    put(&mut out, "_rid", id);
    put(&mut out, "media", "//media/");
    put(&mut out, "addresses", "//addresses/");
    put(&mut out, "_dbs", "//dbs/");
    for list in ["writableLocations", "readableLocations"] {
        write_string(&mut out, list);
        out.extend_from_slice(b":[{");
        put(&mut out, "name", region);
        write_string(&mut out, "databaseAccountEndpoint");
        out.push(b':');
        write_string(&mut out, endpoint);
        out.extend_from_slice(b"}],");
    }
    out.extend_from_slice(
        br#""enableMultipleWriteLocations":false,"continuousBackupEnabled":false,"enableNRegionSynchronousCommit":false,"enablePerPartitionFailoverBehavior":false,"disableCrossRegionalHedging":false,"userReplicationPolicy":{"asyncReplication":false,"minReplicaSetSize":1,"maxReplicasetSize":2},"#,
    );
    out.extend_from_slice(consistency_policy(consistency).as_bytes());
    out.extend_from_slice(
        br#","systemReplicationPolicy":{"minReplicaSetSize":1,"maxReplicasetSize":2},"readPolicy":{"primaryReadCoefficient":1,"secondaryReadCoefficient":1},"queryEngineConfiguration":"#,
    );
    write_string(&mut out, QUERY_ENGINE);
    out.push(b'}');
    out
}

fn consistency_policy(consistency: Consistency) -> &'static str {
    match consistency {
        Consistency::Strong => r#""userConsistencyPolicy":{"defaultConsistencyLevel":"Strong"}"#,
        Consistency::BoundedStaleness => {
            r#""userConsistencyPolicy":{"defaultConsistencyLevel":"BoundedStaleness","maxStalenessPrefix":100,"maxIntervalInSeconds":5}"#
        }
        Consistency::Session => r#""userConsistencyPolicy":{"defaultConsistencyLevel":"Session"}"#,
        Consistency::ConsistentPrefix => {
            r#""userConsistencyPolicy":{"defaultConsistencyLevel":"ConsistentPrefix"}"#
        }
        Consistency::Eventual => {
            r#""userConsistencyPolicy":{"defaultConsistencyLevel":"Eventual"}"#
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Env;

    use super::*;
    use crate::auth::{Keys, WELL_KNOWN_KEY};

    fn options() -> GatewayOptions {
        GatewayOptions::new(Keys::new(WELL_KNOWN_KEY), Env::fixed(1, 0))
    }

    fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
        headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn of(
        options: &GatewayOptions,
        uri: &str,
        headers: &[(&'static str, &str)],
        is_tls: bool,
    ) -> Option<String> {
        let local = None;
        endpoint(
            options,
            &uri.parse().unwrap(),
            &map(headers),
            Arrival { is_tls, is_direct: false, local },
        )
        .ok()
    }

    #[test]
    fn the_endpoint_is_where_the_request_came_to() {
        let plain = options();
        let host = [("host", "db.example:18081")];
        assert_eq!(of(&plain, "/", &host, false).as_deref(), Some("http://db.example:18081/"));
        assert_eq!(of(&plain, "/", &host, true).as_deref(), Some("https://db.example:18081/"));
        assert_eq!(of(&plain, "https://h2:8081/", &[], true).as_deref(), Some("https://h2:8081/"));
        assert_eq!(
            of(&plain, "/", &[("host", "[::1]:8081")], false).as_deref(),
            Some("http://[::1]:8081/")
        );
        assert_eq!(of(&plain, "/", &[], false), None);
        for bad in ["a b", "a/b", "a\"b", "user@host", ""] {
            assert_eq!(of(&plain, "/", &[("host", bad)], false), None, "{bad}");
        }
    }

    #[test]
    fn forwarded_headers_count_only_if_configured() {
        let headers = [
            ("host", "inner"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "outer, inner"),
        ];
        assert_eq!(of(&options(), "/", &headers, false).as_deref(), Some("http://inner/"));
        let trusting = GatewayOptions { trust_forwarded: true, ..options() };
        assert_eq!(of(&trusting, "/", &headers, false).as_deref(), Some("https://outer/"));
        let fixed =
            GatewayOptions { public_endpoint: Some("https://public:1".to_owned()), ..trusting };
        assert_eq!(of(&fixed, "/", &headers, false).as_deref(), Some("https://public:1/"));
    }

    #[test]
    fn the_location_is_the_address_that_was_asked() {
        let of = |options: &GatewayOptions, is_tls| {
            let headers = map(&[("host", "db.example:1")]);
            let uri = "/dbs/d?x".parse().unwrap();
            let found = location(
                options,
                &uri,
                &headers,
                Arrival { is_tls, is_direct: false, local: None },
            )
            .unwrap();
            String::from_utf8(found.to_vec()).unwrap()
        };
        assert_eq!(of(&options(), false), "http://db.example:1/dbs/d?x");
        assert_eq!(of(&options(), true), "https://db.example:1/dbs/d?x");
        let fixed = GatewayOptions { public_endpoint: Some("https://p/".to_owned()), ..options() };
        assert_eq!(of(&fixed, false), "https://p/dbs/d?x");
    }

    #[test]
    fn only_hosts_with_a_name_of_their_own_are_strict() {
        let strict = |host: &str| is_strict(&"/".parse().unwrap(), &map(&[("host", host)]));
        assert!(strict("db.example:8081"));
        for host in ["localhost:8081", "LOCALHOST", "127.0.0.1:8081", "[::1]:8081"] {
            assert!(!strict(host), "{host}");
        }
    }

    #[test]
    fn without_a_host_the_local_address_serves() {
        let local = Some(SocketAddr::from(([127, 0, 0, 1], 8081)));
        let found = endpoint(
            &options(),
            &"/".parse().unwrap(),
            &HeaderMap::new(),
            Arrival { is_tls: false, is_direct: false, local },
        );
        assert_eq!(found.unwrap(), "http://127.0.0.1:8081/");
    }

    #[test]
    fn the_document_has_what_the_sdks_need() {
        let text = document("https://acct.example:1/", "West \"X\"", Consistency::Session);
        let value = model::json::parse(&text).unwrap();
        let string = |name: &str| value.get(name).unwrap().as_str().unwrap().to_owned();
        assert_eq!(string("id"), "acct");
        assert_eq!(string("_rid"), "acct");
        assert_eq!(string("_self"), "");
        let engine = model::json::parse(string("queryEngineConfiguration").as_bytes()).unwrap();
        assert!(engine.get("maxJoinsPerSqlQuery").is_some());
        for list in ["writableLocations", "readableLocations"] {
            let location = &value.get(list).unwrap().as_array().unwrap()[0];
            assert_eq!(location.get("name").unwrap().as_str(), Some("West \"X\""));
            assert_eq!(
                location.get("databaseAccountEndpoint").unwrap().as_str(),
                Some("https://acct.example:1/")
            );
        }
        assert!(value.get("thinClientReadableLocations").is_none());
    }

    #[test]
    fn addresses_are_called_localhost() {
        for endpoint in [
            "http://127.0.0.1:8081/",
            "http://[::1]:8081/",
            "http://localhost/",
            "http://[fe80::a]/",
        ] {
            assert_eq!(account_id(endpoint), "localhost", "{endpoint}");
        }
    }
}
