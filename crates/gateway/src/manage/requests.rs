//! The requests of the last moment, for those who watch: a bounded list that is filled while somebody does.
//!
//! Hot path: nobody watches, and a request costs a look at one number. While somebody does, the first [`ROWS_MAX`] of a
//! second are noted and the others counted.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Duration;

use http::{HeaderMap, Response, header::HeaderName, request::Parts};
use model::Value;
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;

use super::{number, object};
use crate::explorer::session;
use crate::headers::response;
use crate::parse::Action;

// Limit: requests that are told of a second.
const ROWS_MAX: usize = 200;
// Limit: characters of a name or key that are told.
const TEXT_CHARS_MAX: usize = 256;

const PARTITION_KEY: &str = "x-ms-documentdb-partitionkey";

/// What is noted, and whether.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    n_watching: AtomicUsize,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    rows: Vec<Value>,
    n_missed: u64,
}

/// Somebody who watches; dropping it ends that.
#[derive(Debug)]
pub(crate) struct Watching(Arc<Requests>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.n_watching.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) action: Action,
    pub(crate) at_ms: u64,
    pub(crate) took: Duration,
}

impl Requests {
    pub(super) fn watch(self: &Arc<Requests>) -> Watching {
        if self.n_watching.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.noted.lock() = Noted::default();
        }
        Watching(Arc::clone(self))
    }

    /// Says whether somebody wants to know.
    pub(crate) fn are_watched(&self) -> bool {
        self.n_watching.load(Ordering::Relaxed) > 0
    }

    /// Notes a request with its answer.
    pub(crate) fn note<B>(&self, parts: &Parts, answer: &Response<B>, ended: Ended) {
        if matches!(ended.action, Action::Page | Action::Manage) {
            return;
        }
        let mut noted = self.noted.lock();
        if noted.rows.len() < ROWS_MAX {
            let row = row(parts, answer, ended);
            noted.rows.push(row);
        } else {
            noted.n_missed += 1;
        }
    }

    /// Takes what was noted since the last time; nothing if nobody watches.
    pub(super) fn take(&self) -> Option<Value> {
        if !self.are_watched() {
            return None;
        }
        let Noted { rows, n_missed } = std::mem::take(&mut *self.noted.lock());
        Some(object([("requests", Value::Array(rows)), ("missed", number(n_missed))]))
    }
}

fn row<B>(parts: &Parts, answer: &Response<B>, ended: Ended) -> Value {
    let headers = answer.headers();
    let or_null = |text: Option<&str>| text.map_or(Value::Null, |text| cut(text).into());
    let (database, container) = names(parts.uri.path());
    let charge = text(headers, &response::REQUEST_CHARGE).and_then(|it| it.parse::<f64>().ok());
    // Wire: `RANGE:VERSION#LSN`.
    let session = text(headers, &response::SESSION_TOKEN).and_then(|it| it.split(':').next());
    let range = text(headers, &response::RANGE_ID).or(session);
    let key = parts.headers.get(PARTITION_KEY).and_then(|key| key.to_str().ok());
    object([
        ("atMs", number(ended.at_ms)),
        ("operation", ended.action.name().into()),
        ("method", parts.method.as_str().into()),
        ("path", or_null(Some(parts.uri.path()))),
        ("database", or_null(database.as_deref())),
        ("container", or_null(container.as_deref())),
        ("partitionKey", or_null(key)),
        ("range", or_null(range)),
        ("status", i64::from(answer.status().as_u16()).into()),
        ("charge", charge.map_or(Value::Null, Value::from)),
        ("ms", (ended.took.as_secs_f64() * 1000.0).into()),
        ("isExplorer", session::is_meant(&parts.headers).into()),
    ])
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

/// The database and the container that a path names.
fn names(path: &str) -> (Option<String>, Option<String>) {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let mut named = |kind| {
        let name = segments.next().filter(|it| *it == kind).and_then(|_| segments.next())?;
        Some(percent_decode_str(name).decode_utf8_lossy().into_owned())
    };
    let database = named("dbs");
    let container = database.is_some().then(|| named("colls")).flatten();
    (database, container)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_databases_and_containers() {
        let some = |text: &str| Some(text.to_owned());
        for (path, expected) in [
            ("/dbs/a%20b/colls/c/docs/1", (some("a b"), some("c"))),
            ("/dbs/d/users/u", (some("d"), None)),
            ("/offers/x", (None, None)),
            ("/", (None, None)),
        ] {
            assert_eq!(names(path), expected, "{path}");
        }
    }

    #[test]
    fn nothing_is_noted_or_kept_without_a_watcher() {
        let requests = Arc::new(Requests::default());
        assert!(!requests.are_watched() && requests.take().is_none());
        let (parts, ()) = http::Request::new(()).into_parts();
        let ended = Ended { action: Action::ItemRead, at_ms: 1, took: Duration::ZERO };
        let watching = requests.watch();
        for _ in 0..ROWS_MAX + 5 {
            requests.note(&parts, &Response::new(()), ended);
        }
        let taken = requests.take().unwrap();
        assert_eq!(taken.get("missed").and_then(Value::as_i64), Some(5));
        assert_eq!(taken.get("requests").and_then(Value::as_array).unwrap().len(), ROWS_MAX);
        requests.note(&parts, &Response::new(()), ended);
        drop(watching);
        assert!(!requests.are_watched());
        // What was left of the one before is not the next one's.
        let _watching = requests.watch();
        let empty = requests.take().unwrap();
        assert!(empty.get("requests").and_then(Value::as_array).unwrap().is_empty());
    }
}
