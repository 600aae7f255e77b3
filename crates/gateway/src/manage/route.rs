//! Paths of the management API.

use account::{Link, ResourceKind};
use http::Method;
use model::Value;
use percent_encoding::percent_decode_str;

use super::relocations::Command;
use super::{events, explain, faults, heat, logical, object, place};
use crate::error::Error;

/// Every route, for the root page and for the documentation.
const ROUTES: &[&str] = &[
    "GET /_orrery/",
    "GET /_orrery/ranges",
    "GET /_orrery/events",
    "GET /_orrery/dbs/{db}/colls/{coll}/ranges",
    "GET /_orrery/dbs/{db}/colls/{coll}/logical",
    "GET /_orrery/dbs/{db}/colls/{coll}/heat",
    "GET /_orrery/dbs/{db}/colls/{coll}/paths",
    "POST /_orrery/dbs/{db}/colls/{coll}/ranges/{range}/split",
    "POST /_orrery/dbs/{db}/colls/{coll}/ranges/{range}/move",
    "POST /_orrery/dbs/{db}/colls/{coll}/ranges/merge",
    "POST /_orrery/dbs/{db}/colls/{coll}/explain",
    "POST /_orrery/dbs/{db}/colls/{coll}/throughput",
    "POST /_orrery/dbs/{db}/colls/{coll}/hold",
    "POST /_orrery/dbs/{db}/colls/{coll}/release",
    "POST /_orrery/place",
    "GET /_orrery/enforcement",
    "POST /_orrery/enforcement",
    "GET /_orrery/relocations",
    "GET /_orrery/relocations/{id}",
    "DELETE /_orrery/relocations/{id}",
    "POST /_orrery/dbs/{db}/colls/{coll}/reset",
    "POST /_orrery/reset",
    "GET /_orrery/faults",
    "POST /_orrery/faults",
    "DELETE /_orrery/faults",
    "GET /_orrery/clock",
    "POST /_orrery/clock",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Root,
    Ranges { container: Option<Link> },
    Reset { container: Option<Link> },
    Explain { container: Link },
    Logical { container: Link },
    Heat { container: Link },
    Paths { container: Link },
    Place,
    Enforcement,
    Events,
    Throughput { container: Link },
    Relocate { container: Link, command: Command },
    Hold { container: Link, is_held: bool },
    Relocations,
    Relocation { id: u64 },
    Faults,
    Clock,
}

impl Route {
    /// Reads what follows `/_orrery`.
    pub(crate) fn parse(path: &str) -> Result<Route, Error> {
        let segments = segments(path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        Ok(match segments.as_slice() {
            [] => Route::Root,
            ["ranges"] => Route::Ranges { container: None },
            ["reset"] => Route::Reset { container: None },
            ["faults"] => Route::Faults,
            ["events"] => Route::Events,
            ["place"] => Route::Place,
            ["enforcement"] => Route::Enforcement,
            ["relocations"] => Route::Relocations,
            ["relocations", id] => {
                Route::Relocation { id: id.parse().map_err(|_| Error::ManagementRoute)? }
            }
            ["clock"] => Route::Clock,
            ["dbs", database, "colls", container, rest @ ..] => {
                Route::of_container(link(database, container), rest)?
            }
            _ => return Err(Error::ManagementRoute),
        })
    }
}

impl Route {
    /// What the body may have.
    pub(crate) fn properties(&self) -> &'static [&'static str] {
        match self {
            Route::Relocate { command: Command::Split(_), .. } => &["at", "wait"],
            Route::Relocate { command: Command::Merge, .. } => &["ranges", "wait"],
            Route::Relocate { command: Command::Move(_), .. } => &["store", "wait"],
            Route::Explain { .. } => explain::PROPERTIES,
            Route::Throughput { .. } => &["ranges"],
            Route::Hold { .. } => &["step"],
            Route::Faults => faults::PROPERTIES,
            Route::Clock => &["advanceSeconds"],
            Route::Place => place::PROPERTIES,
            Route::Enforcement => &["mode"],
            Route::Root
            | Route::Ranges { .. }
            | Route::Logical { .. }
            | Route::Heat { .. }
            | Route::Paths { .. }
            | Route::Events
            | Route::Reset { .. }
            | Route::Relocations
            | Route::Relocation { .. } => &[],
        }
    }

    /// What may follow the question mark.
    pub(super) fn parameters(&self) -> &'static [&'static str] {
        match self {
            Route::Logical { .. } => logical::PARAMETERS,
            Route::Heat { .. } => heat::PARAMETERS,
            Route::Events => events::PARAMETERS,
            _ => &[],
        }
    }

    /// Says whether a call changes nothing: keys that only read may make it.
    pub(super) fn only_reads(&self, method: &Method) -> bool {
        method.is_safe() || matches!(self, Route::Explain { .. } | Route::Place)
    }

    fn of_container(container: Link, rest: &[&str]) -> Result<Route, Error> {
        let relocate = |command| Route::Relocate { container: container.clone(), command };
        Ok(match rest {
            ["ranges"] => Route::Ranges { container: Some(container) },
            ["reset"] => Route::Reset { container: Some(container) },
            ["explain"] => Route::Explain { container },
            ["logical"] => Route::Logical { container },
            ["heat"] => Route::Heat { container },
            ["paths"] => Route::Paths { container },
            ["throughput"] => Route::Throughput { container },
            ["hold"] => Route::Hold { container, is_held: true },
            ["release"] => Route::Hold { container, is_held: false },
            ["ranges", "merge"] => relocate(Command::Merge),
            ["ranges", range, "split"] => relocate(Command::Split((*range).to_owned())),
            ["ranges", range, "move"] => relocate(Command::Move((*range).to_owned())),
            _ => return Err(Error::ManagementRoute),
        })
    }
}

pub(crate) fn segments(path: &str) -> Result<Vec<String>, Error> {
    let path = path.trim_matches('/');
    let segments = path.split('/').filter(|_| !path.is_empty()).map(|segment| {
        let decoded = percent_decode_str(segment).decode_utf8().map_err(|_| Error::UrlInvalid)?;
        if decoded.is_empty() { Err(Error::UrlInvalid) } else { Ok(decoded.into_owned()) }
    });
    segments.collect()
}

pub(crate) fn link(database: &str, container: &str) -> Link {
    Link {
        segments: vec![
            (ResourceKind::Database, database.to_owned()),
            (ResourceKind::Container, container.to_owned()),
        ],
    }
}

pub(crate) fn list() -> Value {
    let routes = ROUTES.iter().map(|route| Value::from(*route)).collect();
    object([("version", env!("CARGO_PKG_VERSION").into()), ("routes", Value::Array(routes))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_routes() {
        let container = Some(link("d 1", "c"));
        assert_eq!(Route::parse("").unwrap(), Route::Root);
        assert_eq!(Route::parse("/ranges/").unwrap(), Route::Ranges { container: None });
        let path = "/dbs/d%201/colls/c/ranges";
        assert_eq!(Route::parse(path).unwrap(), Route::Ranges { container });
        for bad in ["/nothing", "/dbs/d/colls/c", "/dbs/d", "/dbs//colls/c/ranges", "/%FF"] {
            assert!(Route::parse(bad).is_err(), "{bad}");
        }
    }
}
