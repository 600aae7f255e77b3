//! Ranges as a table with bars: how much of the hash space, of the bytes and of the throughput each has.

use std::fmt::Write as _;

use serde_json::Value;

use crate::size;

/// Characters of a full bar.
const BAR_CHARS: usize = 16;

/// The highest effective partition key of hashed containers, as a share of the space: 2^126.
const SPACE_BITS: i32 = 126;

/// The picture of one container.
pub(super) fn container(shown: &Value, with_keys: bool) -> String {
    let mut out = String::new();
    let ranges =
        shown.get("ranges").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let provisioned = match number(shown, "provisioned") {
        Some(units) if shown["isShared"] == true => {
            format!("{units:.0} RU/s shared by the database")
        }
        Some(units) => format!("{units:.0} RU/s"),
        None => "no throughput".to_owned(),
    };
    let name = format!("{}/{}", text(shown, "database"), text(shown, "container"));
    let n_ranges =
        if ranges.len() == 1 { "1 range".to_owned() } else { format!("{} ranges", ranges.len()) };
    // Writing into memory does not fail.
    let _ = writeln!(out, "{name}   {n_ranges}, {provisioned}");
    let bytes_max = ranges.iter().filter_map(|range| number(range, "bytes")).fold(0.0, f64::max);
    let _ = writeln!(
        out,
        "  {:>5}  {:<16}  {:>10} {:>10} {:<bar$}  {:>9} {:<share$}  status",
        "range",
        "hash space",
        "items",
        "bytes",
        "",
        "RU/s peak",
        "of its share",
        bar = BAR_CHARS,
        share = BAR_CHARS + 6,
    );
    for range in ranges {
        out.push_str(&line(range, bytes_max));
        if with_keys {
            out.push_str(&keys(range));
        }
    }
    out.push('\n');
    out
}

fn line(range: &Value, bytes_max: f64) -> String {
    let bytes = number(range, "bytes").unwrap_or(0.0);
    let normalised = number(range, "normalised").unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a size is not negative"
    )]
    let size = size::show(bytes as u64);
    format!(
        "  {:>5}  {}  {:>10} {:>10} {}  {:>9.1} {} {:>4.0}%  {}\n",
        text(range, "id"),
        place(text(range, "min"), text(range, "max")),
        number(range, "items").unwrap_or(0.0),
        size,
        bar(bytes / bytes_max.max(1.0)),
        number(range, "peak").unwrap_or(0.0),
        bar(normalised),
        normalised * 100.0,
        status(range),
    )
}

fn status(range: &Value) -> String {
    let progress = range.get("relocation").and_then(|it| number(it, "progress"));
    match progress {
        Some(progress) => format!("{} {:.0} %", text(range, "status"), progress * 100.0),
        None => text(range, "status").to_owned(),
    }
}

fn keys(range: &Value) -> String {
    let mut out = String::new();
    let watched = number(range, "watched").unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let hottest = range.get("hottest").and_then(Value::as_array);
    for hot in hottest.into_iter().flatten().take(5) {
        let charge = number(hot, "charge").unwrap_or(0.0);
        let share = charge / watched * 100.0;
        let key = hot.get("partitionKey").map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "         {share:>4.0}% of the charge: {key}");
    }
    out
}

/// A bar as long as the share, at most full.
fn bar(share: f64) -> String {
    let n_full = part(share, BAR_CHARS);
    format!("{}{}", "█".repeat(n_full), "·".repeat(BAR_CHARS - n_full))
}

/// Where a range lies in the hash space.
fn place(min: &str, max: &str) -> String {
    let start = part(position(min), BAR_CHARS - 1);
    let end = part(position(max), BAR_CHARS).max(start + 1);
    format!("{}{}{}", "·".repeat(start), "▒".repeat(end - start), "·".repeat(BAR_CHARS - end))
}

/// Where an effective partition key lies, from 0 to 1.
fn position(epk: &str) -> f64 {
    if epk == "FF" {
        return 1.0;
    }
    let digits: String = epk.chars().chain(std::iter::repeat('0')).take(32).collect();
    let number = u128::from_str_radix(&digits, 16).unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "a picture has sixteen places")]
    let share = number as f64 / 2.0_f64.powi(SPACE_BITS);
    share.min(1.0)
}

/// How many of `n_max` characters a share takes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "at most sixteen"
)]
pub(crate) fn part(share: f64, n_max: usize) -> usize {
    (share.clamp(0.0, 1.0) * n_max as f64).round() as usize
}

fn number(value: &Value, name: &str) -> Option<f64> {
    value.get(name).and_then(Value::as_f64)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_drawn_where_they_lie() {
        assert_eq!(place("", "FF"), "▒".repeat(16));
        let half = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
        assert_eq!(place("", half), "▒▒▒▒▒▒▒▒········");
        assert_eq!(place(half, "FF"), "········▒▒▒▒▒▒▒▒");
        assert_eq!(place("3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF0", "FF").chars().count(), 16);
        assert_eq!((bar(0.5), bar(7.0)), ("████████········".into(), "█".repeat(16)));
    }

    #[test]
    fn a_container_has_a_line_for_each_range() {
        let shown = serde_json::json!({"database": "d", "container": "c", "provisioned": 400.0, "isShared": false,
            "ranges": [{"id": "0", "min": "", "max": "FF", "items": 7, "bytes": 2048, "peak": 12.5,
                "normalised": 0.03, "status": "splitting", "relocation": {"progress": 0.5}, "watched": 10.0,
                "hottest": [{"partitionKey": ["a"], "charge": 9.0}]}]});
        let text = container(&shown, true);
        assert!(text.starts_with("d/c   1 range, 400 RU/s\n"), "{text}");
        assert!(text.contains("2.00 KB") && text.contains("splitting 50 %"), "{text}");
        assert!(text.contains("90% of the charge: [\"a\"]"), "{text}");
    }
}
