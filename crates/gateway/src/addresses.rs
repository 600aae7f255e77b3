//! `GET /addresses/`: where the replicas of a partition listen, for clients in direct mode.
//!
//! Wire: one server plays a primary and one secondary on its own port, and the account document says that a set has
//! two replicas. With a single address every strong read, and every read of metadata, would fetch addresses again.
//! The host is the one that the client asked, so that mapped ports and other names work.

use account::{Account, Body, Call, Link, Operation, Options, Principal, ResourceKind};
use bytes::Bytes;
use http::{Uri, request::Parts};
use model::RangeId;
use percent_encoding::percent_decode_str;

use crate::{
    account_document::{self, Arrival},
    error::{Error, write_string},
    options::GatewayOptions,
    paths::Path,
};

/// Limit: ranges in one request; clients ask for up to 50.
const RANGES_MAX: usize = 1000;

/// Wire: the name of the partition that answers for metadata.
const MASTER: &str = "M";

/// What a client asks the addresses of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AddressQuery {
    /// The feed below which the partition lies, `dbs` or `dbs/D/colls/C/docs`: this is what the client signs.
    pub(crate) path: Path,
    ranges: Vec<RangeId>,
}

/// Says whether a path is the route. Wire: .NET begins it with two slashes.
pub(crate) fn is_route(path: &str) -> bool {
    path.trim_matches('/') == "addresses"
}

impl AddressQuery {
    pub(crate) fn parse(uri: &Uri) -> Result<AddressQuery, Error> {
        let mut path = None;
        let mut ranges = Vec::new();
        for pair in uri.query().unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded =
                |text| percent_decode_str(text).decode_utf8().map_err(|_| Error::UrlInvalid);
            match decoded(name)?.as_ref() {
                "$resolveFor" => path = Some(Path::parse(&decoded(value)?)?),
                "$partitionKeyRangeIds" => ranges = self::ranges(&decoded(value)?)?,
                // One protocol has addresses here; others are answered with it, and clients look for theirs.
                _ => {}
            }
        }
        Ok(AddressQuery { path: path.ok_or(Error::UrlInvalid)?, ranges })
    }

    /// The container, or `None` for the partition of metadata.
    fn container(&self) -> Result<Option<Link>, Error> {
        match (self.path.n_segments(), self.path.segment(0), self.path.segment(2)) {
            (1, "dbs", _) => Ok(None),
            (4 | 5, "dbs", "colls") => Ok(Some(Link {
                segments: vec![
                    (ResourceKind::Database, self.path.segment(1).to_owned()),
                    (ResourceKind::Container, self.path.segment(3).to_owned()),
                ],
            })),
            _ => Err(Error::UrlInvalid),
        }
    }
}

fn ranges(text: &str) -> Result<Vec<RangeId>, Error> {
    let ids = text.split(',').filter(|id| !id.is_empty()).take(RANGES_MAX + 1);
    let ids: Option<Vec<RangeId>> = ids.map(|id| RangeId::parse(id.trim())).collect();
    ids.filter(|ids| ids.len() <= RANGES_MAX).ok_or(Error::UrlInvalid)
}

/// Why there are no addresses.
#[derive(Debug)]
pub(crate) enum Failed {
    Refused(Error),
    Account(account::Failed),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed::Refused(error)
    }
}

/// Answers the route for a principal that may read the container.
pub(crate) async fn answer(
    account: &Account,
    options: &GatewayOptions,
    principal: Principal,
    query: &AddressQuery,
    parts: &Parts,
    arrival: Arrival,
) -> Result<Bytes, Failed> {
    let authority = authority(options, parts, arrival)?;
    let Some(container) = query.container()? else {
        return Ok(document("", &authority, &[(MASTER.to_owned(), "master".to_owned())]));
    };
    // The account knows who may see the container and which of its ranges there are.
    let operation =
        Operation::Ranges { container: container.clone(), since: None, is_incremental: false };
    let call = Call { principal, operation, options: Options::default() };
    let outcome = account.execute(call).await.map_err(Failed::Account)?;
    let Body::Feed { owner_rid, .. } = outcome.body else { return Err(Error::UrlInvalid.into()) };
    let described =
        account.describe_ranges(&container).map_err(|error| Failed::Account(error.into()))?;
    let mut found = Vec::with_capacity(query.ranges.len());
    for id in &query.ranges {
        if !described.iter().any(|range| range.id == *id) {
            let container = owner_rid.to_string();
            let gone = account::Error::RangeGone { range: *id, container };
            return Err(Failed::Account(gone.into()));
        }
        found.push((id.to_string(), format!("{}-{id}", path_safe(&owner_rid))));
    }
    Ok(document(&owner_rid, &authority, &found))
}

/// A rid with the characters that both clients leave alone in a path.
fn path_safe(rid: &str) -> String {
    rid.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect()
}

/// Host and port that the client used. Wire: a primary with an IPv6 literal is not accepted by any client.
fn authority(options: &GatewayOptions, parts: &Parts, arrival: Arrival) -> Result<String, Error> {
    let endpoint = account_document::endpoint(options, &parts.uri, &parts.headers, arrival)?;
    let (scheme, rest) = endpoint.split_once("://").ok_or(Error::HostInvalid)?;
    let authority = rest.trim_end_matches('/');
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, if scheme == "https" { "443" } else { "80" }),
    };
    let is_on_loopback =
        arrival.local.is_some_and(|local| local.ip().is_loopback() && local.is_ipv4());
    let host = match host {
        "[::1]" => "localhost",
        // Wire: .NET takes any address of a name, and nobody may listen on the one of IPv6.
        "localhost" if is_on_loopback && options.is_self_signed => "127.0.0.1",
        literal if literal.starts_with('[') => return Err(Error::DirectModeUnsupported),
        host => host,
    };
    Ok(format!("{host}:{port}"))
}

/// Writes the document. Wire: both names are misspelt in the protocol.
fn document(rid: &str, authority: &str, partitions: &[(String, String)]) -> Bytes {
    let mut out = Vec::with_capacity(256 + 512 * partitions.len());
    out.extend_from_slice(b"{\"_rid\":");
    write_string(&mut out, rid);
    out.extend_from_slice(b",\"Addresss\":[");
    for (index, (range, partition)) in partitions.iter().enumerate() {
        for (replica, is_primary) in [("1p", true), ("2s", false)] {
            if index > 0 || !is_primary {
                out.push(b',');
            }
            let uri = format!(
                "rntbd://{authority}/apps/orrery/services/db/partitions/{partition}/replicas/{replica}/"
            );
            let flag = if is_primary { "true" } else { "false" };
            out.extend_from_slice(
                format!("{{\"isPrimary\":{flag},\"protocol\":\"rntbd\",\"physcialUri\":")
                    .as_bytes(),
            );
            write_string(&mut out, &uri);
            out.extend_from_slice(b",\"partitionKeyRangeId\":");
            write_string(&mut out, range);
            out.push(b'}');
        }
    }
    out.extend_from_slice(format!("],\"_count\":{}}}", partitions.len() * 2).as_bytes());
    out.into()
}
