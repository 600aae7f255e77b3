//! Looks at all connections in turn and ends those that take too long: to send the head of a request, to say anything at
//! all, to read their answers. One task does it for all, so a connection needs no timers of its own.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::connection_table::{ConnectionTable, Entry, Phase, Verdict};
use crate::options::Limits;

/// Between two looks.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Limit: when the server has too much unread, a client that has read nothing for so long is disconnected.
const STALL_MAX_UNDER_PRESSURE: Duration = Duration::from_secs(2);

/// Limit: how long a connection of direct mode may have no request. Wire: clients keep theirs for ever, and mark our
/// addresses as unhealthy when we close one.
const DIRECT_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// How a client reads, as far as the watchdog has seen it.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Since when there has been something to read at every look, and what had been written by then.
    window: Option<(Instant, u64)>,
    /// When something was last seen to be written, and how much had been by then.
    progress: Option<(Instant, u64)>,
}

/// Runs until it is dropped.
pub(super) async fn run(table: &ConnectionTable) {
    let limits = &table.state().options.limits;
    let shortest = limits.header_timeout.min(limits.write_timeout).min(limits.idle_timeout);
    let pause = (shortest / 4).clamp(PAUSE_MIN, PAUSE_MAX);
    loop {
        tokio::time::sleep(pause).await;
        look(table, limits);
    }
}

fn look(table: &ConnectionTable, limits: &Limits) {
    let entries = table.entries();
    let now = Instant::now();
    for entry in &entries {
        if let Some(verdict) = judge(entry, limits, now) {
            entry.end(verdict);
        }
    }
    relieve(table, limits, entries, now);
}

fn judge(entry: &Entry, limits: &Limits, now: Instant) -> Option<Verdict> {
    // Invariant: the phase is read before its age. The other way round, a request that comes between the two looks as
    // old as the rest before it.
    let phase = entry.phase();
    let lasts = entry.lasts();
    if does_not_read(entry, limits, now) {
        tracing::debug!(unread = entry.unsent.bytes(), "a client does not read its answers");
        return Some(Verdict::Now);
    }
    let idle_timeout = if entry.is_direct() { DIRECT_IDLE_TIMEOUT } else { limits.idle_timeout };
    match phase {
        Phase::Head if lasts > limits.header_timeout => Some(Verdict::Now),
        // HTTP/1 connections end themselves; those that cannot, because nobody reads what they write, end here.
        Phase::Idle if lasts > idle_timeout + limits.write_timeout => Some(Verdict::Now),
        Phase::Idle if lasts > idle_timeout => Some(Verdict::Gracefully),
        Phase::Greeting | Phase::Head | Phase::Busy | Phase::Idle => None,
    }
}

/// Says whether the client has read less than it must for a whole write timeout although there was something to read.
fn does_not_read(entry: &Entry, limits: &Limits, now: Instant) -> bool {
    let mut pace = entry.pace.lock();
    if entry.unsent.bytes() == 0 {
        *pace = Pace::default();
        return false;
    }
    let written = entry.n_written();
    match pace.progress {
        Some((_, before)) if before == written => {}
        _ => pace.progress = Some((now, written)),
    }
    let Some((since, before)) = pace.window else {
        pace.window = Some((now, written));
        return false;
    };
    if now.duration_since(since) < limits.write_timeout {
        return false;
    }
    pace.window = Some((now, written));
    let needed =
        limits.read_bytes_per_second_min.saturating_mul(limits.write_timeout.as_secs().max(1));
    written.saturating_sub(before) < needed
}

/// Makes room when clients have left too much unread: the largest of those that have read nothing lately goes first.
fn relieve(table: &ConnectionTable, limits: &Limits, mut entries: Vec<Arc<Entry>>, now: Instant) {
    let mut in_all = table.state().unsent.bytes();
    if in_all < limits.unread_bytes_in_all_max / 4 * 3 {
        return;
    }
    entries.retain(|entry| {
        let stalled = entry.pace.lock().progress.map(|(at, _)| now.duration_since(at));
        stalled.is_some_and(|stalled| stalled >= STALL_MAX_UNDER_PRESSURE)
    });
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.unsent.bytes()));
    for entry in entries {
        if in_all < limits.unread_bytes_in_all_max / 2 {
            return;
        }
        in_all = in_all.saturating_sub(entry.unsent.bytes());
        tracing::warn!(
            "a client that does not read its answers is disconnected: the server has too many of them"
        );
        entry.end(Verdict::Now);
    }
}
