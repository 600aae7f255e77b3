//! `orrery top`: the busiest ranges of a running server, second by second.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use model::Env;
use serde_json::Value;

use crate::remote::{AccountArguments, block_on};
use crate::{partitions, size, watch};

const EXAMPLES: &str = "\
Examples:
  orrery top                               the busiest ranges of the account; q leaves
  orrery top shop/orders                   those of one container
  orrery top --times 1                     one look, as plain text

Where the output is no terminal, each look is plain text below the one before.";

/// Ranges that are shown if nobody says how many.
const ROWS_DEFAULT: usize = 30;
// Limit: characters of a partition key.
const KEY_CHARS_MAX: usize = 32;
/// Characters of a full bar.
const BAR_CHARS: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TopArguments {
    #[command(flatten)]
    account: AccountArguments,

    /// DATABASE/CONTAINER; all without it
    container: Option<String>,

    /// Looks, one a second, before it ends by itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    times: Option<u32>,

    /// Ranges to show at most
    #[arg(long, value_name = "N", default_value_t = ROWS_DEFAULT)]
    rows: usize,
}

pub(crate) fn run(arguments: &TopArguments) -> Result<()> {
    let account = arguments.account.open()?;
    let path = match &arguments.container {
        Some(name) => format!("{}/ranges", partitions::path(name)?),
        None => "ranges".to_owned(),
    };
    let env = Env::system();
    block_on(async {
        let mut before = RangeTotals::of(&account.ask(&path).await?, env.monotonic());
        // Two looks tell what is used now.
        tokio::time::sleep(Duration::from_secs(1)).await;
        watch::watch(arguments.times, async || {
            let now = RangeTotals::of(&account.ask(&path).await?, env.monotonic());
            let shown = picture(&before, &now, arguments.rows);
            before = now;
            Ok(shown)
        })
        .await
    })
}

/// All ranges at one moment.
struct RangeTotals {
    at: Duration,
    n_containers: usize,
    ranges: HashMap<(String, String), Range>,
}

/// What is known of a range.
#[derive(Clone, Default)]
struct Range {
    charge: f64,
    throttled: f64,
    items: f64,
    bytes: u64,
    provisioned: Option<f64>,
    status: String,
    hottest: String,
}

impl RangeTotals {
    fn of(answer: &Value, at: Duration) -> RangeTotals {
        let containers = match answer.get("containers").and_then(Value::as_array) {
            Some(containers) => containers.as_slice(),
            None => std::slice::from_ref(answer),
        };
        let mut ranges = HashMap::new();
        for container in containers {
            let name = format!("{}/{}", text(container, "database"), text(container, "container"));
            for range in container.get("ranges").and_then(Value::as_array).into_iter().flatten() {
                ranges.insert((name.clone(), text(range, "id").to_owned()), Range::of(range));
            }
        }
        RangeTotals { at, n_containers: containers.len(), ranges }
    }
}

impl Range {
    fn of(range: &Value) -> Range {
        let number = |name: &str| range.get(name).and_then(Value::as_f64);
        let hottest = range.get("hottest").and_then(|hottest| hottest.get(0));
        let key = hottest.and_then(|hot| hot.get("partitionKey")).map(Value::to_string);
        Range {
            charge: number("charge").unwrap_or_default(),
            throttled: number("throttled").unwrap_or_default(),
            items: number("items").unwrap_or_default(),
            bytes: range.get("bytes").and_then(Value::as_u64).unwrap_or_default(),
            provisioned: number("provisioned"),
            status: text(range, "status").to_owned(),
            hottest: key.unwrap_or_default().chars().take(KEY_CHARS_MAX).collect(),
        }
    }
}

/// What a range did between two looks.
struct RangeRate<'l> {
    name: &'l str,
    id: &'l str,
    range: &'l Range,
    units: f64,
    refused: f64,
}

fn picture(before: &RangeTotals, now: &RangeTotals, n_rows: usize) -> String {
    let seconds = now.at.saturating_sub(before.at).as_secs_f64().max(f64::EPSILON);
    let mut rows: Vec<RangeRate<'_>> = now
        .ranges
        .iter()
        .map(|(at, range)| {
            // What a range that is new has used, it has used since.
            let old = before.ranges.get(at).cloned().unwrap_or_default();
            let since = |now: f64, before: f64| (now - before).max(0.0) / seconds;
            RangeRate {
                name: &at.0,
                id: &at.1,
                range,
                units: since(range.charge, old.charge),
                refused: since(range.throttled, old.throttled),
            }
        })
        .collect();
    let place =
        |row: &RangeRate<'_>| (row.name.to_owned(), row.id.parse::<u64>().unwrap_or(u64::MAX));
    rows.sort_by(|a, b| b.units.total_cmp(&a.units).then_with(|| place(a).cmp(&place(b))));
    let units: f64 = rows.iter().map(|row| row.units).sum();
    let refused: f64 = rows.iter().map(|row| row.refused).sum();
    let mut out = String::new();
    // Writing into memory does not fail.
    let _ = writeln!(
        out,
        "{}, {}   {units:.1} RU/s   {refused:.0} refused/s",
        counted(now.n_containers, "container"),
        counted(rows.len(), "range"),
    );
    let name_chars = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(9);
    let _ = writeln!(
        out,
        "{:<name_chars$} {:>6} {:>10} {:<share$} {:>9} {:>10} {:>10}  {:<10} hottest key",
        "container",
        "range",
        "RU/s",
        "of its share",
        "refused/s",
        "items",
        "bytes",
        "status",
        share = BAR_CHARS + 6,
    );
    let n_left = rows.len().saturating_sub(n_rows);
    for RangeRate { name, id, range, units, refused } in rows.into_iter().take(n_rows) {
        let Range { items, bytes, provisioned, status, hottest, .. } = range;
        let share = provisioned.map(|provisioned| units / provisioned.max(1.0));
        let share = share.map_or_else(
            || "-".to_owned(),
            |share| format!("{} {:>4.0}%", bar(share), share * 100.0),
        );
        let bytes = size::show(*bytes);
        let _ = writeln!(
            out,
            "{name:<name_chars$} {id:>6} {units:>10.1} {share:<width$} {refused:>9.0} {items:>10} {bytes:>10}  {status:<10} {hottest}",
            width = BAR_CHARS + 6,
        );
    }
    if n_left > 0 {
        let _ = writeln!(out, "and {}", counted(n_left, "calmer range"));
    }
    out.push('\n');
    out
}

fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

fn bar(share: f64) -> String {
    let n_full = partitions::bar_part(share, BAR_CHARS);
    format!("{}{}", "█".repeat(n_full), "·".repeat(BAR_CHARS - n_full))
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn look(seconds: u64, charges: [f64; 2]) -> RangeTotals {
        let [first, second] = charges;
        let answer = json!({"containers": [{"database": "d", "container": "c", "ranges": [
            {"id": "0", "charge": first, "throttled": 0, "items": 7, "bytes": 2048, "status": "online"},
            {"id": "1", "charge": second, "throttled": seconds * 2, "items": 8, "bytes": 10, "provisioned": 200.0,
             "status": "splitting", "hottest": [{"partitionKey": ["a"]}]},
        ]}]});
        RangeTotals::of(&answer, Duration::from_secs(seconds))
    }

    #[test]
    fn the_busiest_range_comes_first() {
        let text = picture(&look(1, [5.0, 10.0]), &look(3, [5.0, 210.0]), 30);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "1 container, 2 ranges   100.0 RU/s   2 refused/s");
        assert!(lines[2].starts_with("d/c            1      100.0 █████·····   50%"), "{text}");
        assert!(lines[2].ends_with("splitting  [\"a\"]"), "{text}");
        assert!(lines[3].starts_with("d/c            0        0.0 -"), "{text}");
        let cut = picture(&look(1, [5.0, 10.0]), &look(3, [5.0, 210.0]), 1);
        assert!(cut.contains("and 1 calmer range"), "{cut}");
    }

    #[test]
    fn a_range_that_is_new_or_was_reset_uses_nothing_below_zero() {
        let text = picture(&look(1, [50.0, 10.0]), &look(2, [5.0, 10.0]), 30);
        assert!(text.starts_with("1 container, 2 ranges   0.0 RU/s"), "{text}");
    }
}
