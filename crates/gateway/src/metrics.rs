//! Counters of the gateway, and `/metrics` in the Prometheus text format.
//!
//! Hot path: a request costs four relaxed additions.

use std::{
    fmt::Write,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use account::{AccountMetrics, RangeMetrics};

use crate::options::Limits;
use crate::parse::Action;

/// Upper bounds of the latency buckets, in microseconds.
const BOUNDS_US: [u64; 12] =
    [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 100_000, 500_000, 2_500_000];

/// What the gateway counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    actions: [ActionCounts; Action::ALL.len()],
    pub(crate) connections_open: AtomicU64,
    pub(crate) connections_total: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) connections_evicted: AtomicU64,
    pub(crate) handshakes_failed: AtomicU64,
}

/// Bytes of requests and answers that are in memory now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) answers: usize,
    pub(crate) bodies: usize,
    pub(crate) media: usize,
}

#[derive(Debug, Default)]
struct ActionCounts {
    /// By first digit of the status code.
    statuses: [AtomicU64; 6],
    /// The last bucket has no bound.
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    sum_us: AtomicU64,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        Metrics {
            actions: std::array::from_fn(|_| ActionCounts::default()),
            connections_open: AtomicU64::new(0),
            connections_total: AtomicU64::new(0),
            connections_refused: AtomicU64::new(0),
            connections_evicted: AtomicU64::new(0),
            handshakes_failed: AtomicU64::new(0),
        }
    }

    /// Counts one answered request.
    pub(crate) fn count(&self, action: Action, code: u16, took: Duration) {
        let Some(counts) = self.actions.get(action as usize) else { return };
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| *bound < took_us);
        let class = usize::from(code / 100).min(5);
        for counter in
            [counts.statuses.get(class), counts.buckets.get(bucket)].into_iter().flatten()
        {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        counts.sum_us.fetch_add(took_us, Ordering::Relaxed);
    }

    /// Writes everything, the account's figures included. Without names, figures of partitions are those of all together.
    pub(crate) fn text(
        &self,
        account: &AccountMetrics,
        waiting: Waiting,
        limits: &Limits,
        has_names: bool,
    ) -> String {
        let mut out = Text(String::with_capacity(8 << 10));
        self.connections(&mut out);
        out.one(
            "orrery_unread_answer_bytes",
            "gauge",
            "Bytes of answers that clients have not read yet.",
            waiting.answers,
        );
        memory_text(&mut out, account, waiting, limits);
        self.requests(&mut out);
        self.durations(&mut out);
        account_text(&mut out, account, has_names);
        out.0
    }

    fn connections(&self, out: &mut Text) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        out.one(
            "orrery_connections_open",
            "gauge",
            "Open connections.",
            load(&self.connections_open),
        );
        out.one(
            "orrery_connections_total",
            "counter",
            "Accepted connections.",
            load(&self.connections_total),
        );
        out.one(
            "orrery_connections_refused_total",
            "counter",
            "Connections closed at once because their address had too many.",
            load(&self.connections_refused),
        );
        out.one(
            "orrery_connections_evicted_total",
            "counter",
            "Idle connections closed to make room for new ones.",
            load(&self.connections_evicted),
        );
        out.one(
            "orrery_tls_handshakes_failed_total",
            "counter",
            "Connections whose TLS handshake failed.",
            load(&self.handshakes_failed),
        );
    }

    fn seen(&self) -> impl Iterator<Item = (&'static str, &ActionCounts)> {
        let all = Action::ALL.iter().map(|action| action.name()).zip(&self.actions);
        all.filter(|(_, counts)| {
            counts.statuses.iter().any(|count| count.load(Ordering::Relaxed) > 0)
        })
    }

    fn requests(&self, out: &mut Text) {
        out.head(
            "orrery_requests_total",
            "counter",
            "Answered requests by action and class of status.",
        );
        for (action, counts) in self.seen() {
            for (class, count) in counts.statuses.iter().enumerate() {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    out.line(format_args!(
                        "orrery_requests_total{{action=\"{action}\",status=\"{class}xx\"}} {count}"
                    ));
                }
            }
        }
    }

    fn durations(&self, out: &mut Text) {
        let name = "orrery_request_duration_seconds";
        out.head(name, "histogram", "Time from the headers of a request to its answer.");
        for (action, counts) in self.seen() {
            let mut total = 0;
            let bounds = BOUNDS_US.iter().map(|bound| seconds(*bound)).chain(["+Inf".to_owned()]);
            for (bound, count) in bounds.zip(&counts.buckets) {
                total += count.load(Ordering::Relaxed);
                out.line(format_args!(
                    "{name}_bucket{{action=\"{action}\",le=\"{bound}\"}} {total}"
                ));
            }
            let sum = seconds(counts.sum_us.load(Ordering::Relaxed));
            out.line(format_args!("{name}_sum{{action=\"{action}\"}} {sum}"));
            out.line(format_args!("{name}_count{{action=\"{action}\"}} {total}"));
        }
    }
}

/// What takes memory, and what it may take: the parts of `--memory`, and all that the process has.
fn memory_text(out: &mut Text, account: &AccountMetrics, waiting: Waiting, limits: &Limits) {
    let store = account.store.memory;
    let parts = [
        ("queries", account.query_bytes, account.query_bytes_max),
        ("answers", waiting.answers, limits.unread_bytes_in_all_max),
        ("bodies", waiting.bodies, limits.body_bytes_in_all_max),
        ("media", waiting.media, to_usize(u64::from(limits.media_mib_at_once_max) << 20)),
        ("scripts", account.script_bytes, account.script_bytes_max),
        ("cache", to_usize(store.cache_bytes), to_usize(store.cache_bytes_max)),
        ("writes", to_usize(store.write_buffer_bytes), to_usize(store.write_buffer_bytes_max)),
    ];
    out.head("orrery_memory_used_bytes", "gauge", "Memory in use, by what uses it.");
    for (part, used, _) in parts {
        out.line(format_args!("orrery_memory_used_bytes{{part=\"{part}\"}} {used}"));
    }
    out.head("orrery_memory_limit_bytes", "gauge", "Memory that each part may use.");
    for (part, _, limit) in parts {
        out.line(format_args!("orrery_memory_limit_bytes{{part=\"{part}\"}} {limit}"));
    }
    let help = "Queries refused because other queries held the memory.";
    out.one("orrery_queries_refused_total", "counter", help, account.n_queries_refused);
    if let Some(bytes) = resident_bytes() {
        out.one("orrery_memory_resident_bytes", "gauge", "Memory of the process.", bytes);
    }
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// `VmRSS:  123 kB` in `/proc/self/status`.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

fn account_text(out: &mut Text, account: &AccountMetrics, has_names: bool) {
    out.head("orrery_operations_total", "counter", "Operations of the account by status.");
    for count in &account.operations {
        let (operation, code, n) = (count.operation, count.code, count.count);
        out.line(format_args!(
            "orrery_operations_total{{operation=\"{operation}\",status=\"{code}\"}} {n}"
        ));
    }
    out.head("orrery_charge_total", "counter", "Request units charged.");
    for (operation, charge) in &account.charges {
        out.line(format_args!("orrery_charge_total{{operation=\"{operation}\"}} {charge}"));
    }
    out.one("orrery_databases", "gauge", "Databases.", account.n_databases);
    out.one("orrery_containers", "gauge", "Containers.", account.n_containers);
    out.one(
        "orrery_partitions_to_reclaim",
        "gauge",
        "Deleted partitions whose bytes are not yet reclaimed.",
        account.n_partitions_to_reclaim,
    );
    if has_names {
        partitions_text(out, account);
    } else {
        nameless_text(out, &account.ranges);
    }
    let store = &account.store;
    out.one("orrery_store_disk_bytes", "gauge", "Bytes on disk.", store.disk_bytes);
    out.one(
        "orrery_store_writable",
        "gauge",
        "1 if the store takes writes, 0 if it refuses them (disk full, or a failed write).",
        u8::from(account.is_writable),
    );
    out.one(
        "orrery_store_refused_total",
        "counter",
        "Batches refused because the disk has too little room.",
        store.refused,
    );
    out.one(
        "orrery_store_reopened_total",
        "counter",
        "Times that the store recovered by itself after it had run out of space or descriptors.",
        store.reopened,
    );
    out.one("orrery_store_commits_total", "counter", "Committed batches.", store.commits);
    out.one(
        "orrery_store_conflicts_total",
        "counter",
        "Batches whose condition did not hold.",
        store.conflicts,
    );
    out.one(
        "orrery_store_groups_total",
        "counter",
        "Groups of batches written together.",
        store.groups,
    );
    out.one("orrery_store_syncs_total", "counter", "Disk syncs.", store.syncs);
    out.one("orrery_store_bytes_total", "counter", "Bytes of committed batches.", store.bytes);
    out.one("orrery_store_waiting", "gauge", "Batches that wait for the committer.", store.waiting);
}

fn partitions_text(out: &mut Text, account: &AccountMetrics) {
    type Figure = fn(&RangeMetrics) -> u64;
    let figures: [(&str, &str, Figure); 4] = [
        ("orrery_partition_items", "Items of a physical partition.", |range| range.n_items),
        ("orrery_partition_bytes", "Bytes of a physical partition.", |range| range.bytes),
        (
            "orrery_partition_crowded",
            "Logical partitions with four fifths of the bytes that they may have, or more.",
            |range| range.n_crowded,
        ),
        ("orrery_partition_lsn", "Last commit of a physical partition.", |range| range.lsn),
    ];
    for (name, help, figure) in figures {
        partition_lines(out, account, (name, "gauge", help), |range| figure(range).to_string());
    }
    let name = "orrery_partition_charge_total";
    let help = "Request units that a physical partition charged since it was opened.";
    partition_lines(out, account, (name, "counter", help), |range| range.charge.to_string());
    let name = "orrery_partition_throttled_total";
    let help = "Requests over the throughput of a physical partition.";
    partition_lines(out, account, (name, "counter", help), |range| range.n_throttled.to_string());
    let name = "orrery_partition_normalised_charge";
    let help = "Busiest second of the last minute over the partition's share of the throughput.";
    let normalised = |range: &RangeMetrics| format!("{:.4}", range.normalised);
    partition_lines(out, account, (name, "gauge", help), normalised);
}

fn partition_lines(
    out: &mut Text,
    account: &AccountMetrics,
    (name, kind, help): (&str, &str, &str),
    figure: impl Fn(&RangeMetrics) -> String,
) {
    out.head(name, kind, help);
    for range in &account.ranges {
        let (database, container) = (label(&range.database), label(&range.container));
        let (id, value) = (range.range, figure(range));
        out.line(format_args!(
            "{name}{{database=\"{database}\",container=\"{container}\",range=\"{id}\"}} {value}"
        ));
    }
}

/// What partitions have together: those who may not know their names may know that.
fn nameless_text(out: &mut Text, ranges: &[RangeMetrics]) {
    let sum = |figure: fn(&RangeMetrics) -> u64| ranges.iter().map(figure).sum::<u64>();
    out.one("orrery_partitions", "gauge", "Physical partitions.", ranges.len());
    out.one("orrery_items", "gauge", "Items of all partitions.", sum(|range| range.n_items));
    out.one("orrery_bytes", "gauge", "Bytes of all partitions.", sum(|range| range.bytes));
    out.one(
        "orrery_throttled_total",
        "counter",
        "Requests over the throughput of their partition.",
        sum(|range| range.n_throttled),
    );
}

/// A name inside a label value.
fn label(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

/// The text under construction. Writing into memory does not fail.
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{line}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        self.line(format_args!("{name} {value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_fall_into_their_bucket_and_class() {
        let metrics = Metrics::new();
        metrics.count(Action::ItemRead, 200, Duration::from_micros(50));
        metrics.count(Action::ItemRead, 404, Duration::from_micros(51));
        metrics.count(Action::ItemRead, 200, Duration::from_secs(60));
        let mut out = Text(String::new());
        metrics.requests(&mut out);
        metrics.durations(&mut out);
        for line in [
            "orrery_requests_total{action=\"item_read\",status=\"2xx\"} 2",
            "orrery_requests_total{action=\"item_read\",status=\"4xx\"} 1",
            "orrery_request_duration_seconds_bucket{action=\"item_read\",le=\"0.000050\"} 1",
            "orrery_request_duration_seconds_bucket{action=\"item_read\",le=\"0.000100\"} 2",
            "orrery_request_duration_seconds_bucket{action=\"item_read\",le=\"+Inf\"} 3",
            "orrery_request_duration_seconds_count{action=\"item_read\"} 3",
            "orrery_request_duration_seconds_sum{action=\"item_read\"} 60.000101",
        ] {
            assert!(out.0.lines().any(|found| found == line), "{line}\n{}", out.0);
        }
        assert!(!out.0.contains("item_create"));
    }

    #[test]
    fn names_can_not_break_out_of_a_label() {
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
