//! `orrery explain`: which ranges a query asks, and how each of them finds its items.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::remote::{AccountArguments, block_on};
use crate::{output, partitions, size};

const EXAMPLES: &str = "\
Examples:
  orrery explain shop/orders \"SELECT * FROM c WHERE c.customer = 7\"
  orrery explain shop/orders \"SELECT * FROM c WHERE c.total > @t\" --parameter @t=100
  orrery explain shop/orders \"SELECT * FROM c WHERE c.open\" --partition-key '[\"berlin\"]'
  orrery explain shop/orders \"SELECT * FROM c WHERE c.total > 9\" --analyze

The query does not run without --analyze. Read a plan from below.
  seek                          items with certain terms in the index
  intersection, union           several seeks
  scan                          every item is read, and the filter looked at
  stream                        items are handed on as they come
  follow                        items come in the order of an index
  sort, rank                    all items are read, then the best are handed on
  group, distinct, collect      all items are read, then rows are made of them
  aggregate from the index      no item is read";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    account: AccountArguments,

    /// DATABASE/CONTAINER
    container: String,

    /// Text of the query
    query: String,

    /// Value of a parameter, as JSON; what is no JSON is a string
    #[arg(long, short, value_name = "@NAME=VALUE", value_parser = parameter)]
    parameter: Vec<Value>,

    /// Partition key that the client would name, as a JSON array
    #[arg(long, value_name = "JSON", value_parser = json_array)]
    partition_key: Option<Value>,

    /// Run the query, and tell what it took: by range and by part of the price
    #[arg(long)]
    analyze: bool,

    /// Request units after which --analyze begins no further page
    #[arg(long, value_name = "RU", requires = "analyze")]
    max_charge: Option<f64>,

    /// Print the answer of the server as JSON
    #[arg(long)]
    json: bool,
}

fn parameter(text: &str) -> Result<Value> {
    let (name, value) = text.split_once('=').context("a parameter is given as @NAME=VALUE")?;
    let value: Value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok(json!({"name": name, "value": value}))
}

fn json_array(text: &str) -> Result<Value> {
    let value: Value = serde_json::from_str(text).context("it is no JSON")?;
    anyhow::ensure!(value.is_array(), "a partition key is an array such as [\"berlin\"]");
    Ok(value)
}

pub(crate) fn run(arguments: &ExplainArguments) -> Result<()> {
    let account = arguments.account.open()?;
    let path = format!("{}/explain", partitions::path(&arguments.container)?);
    let mut body = json!({"query": arguments.query, "parameters": arguments.parameter});
    if let Value::Object(body) = &mut body {
        let max_charge = arguments.max_charge.map(Value::from);
        let analyze = arguments.analyze.then(|| Value::from(true));
        for (name, value) in [
            ("partitionKey", arguments.partition_key.clone()),
            ("analyze", analyze),
            ("maxCharge", max_charge),
        ] {
            body.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    let answer = block_on(async {
        account.tell(&path, &body).await.map_err(|error| in_the_text(error, &arguments.query))
    })?;
    if arguments.json {
        return output::print_json(&answer);
    }
    output::print(&picture(&arguments.container, &answer))
}

/// Shows where in the text an error of the query is, if it is one.
fn in_the_text(error: client::Error, query: &str) -> anyhow::Error {
    let client::Error::Service { message, .. } = &error else { return error.into() };
    match errors_of(message).and_then(|errors| pointed(&errors, query)) {
        Some(found) => anyhow::anyhow!(found),
        None => error.into(),
    }
}

/// The JSON in a message of the form `Message: {"errors":…}`, whatever follows it.
fn errors_of(message: &str) -> Option<Value> {
    let text = message.strip_prefix("Message: ").unwrap_or(message);
    serde_json::Deserializer::from_str(text).into_iter().next()?.ok()
}

/// The first error with the line of the text that it is in, and marks below its place.
fn pointed(errors: &Value, query: &str) -> Option<String> {
    let error = errors.get("errors")?.get(0)?;
    let message = error.get("message")?.as_str()?;
    let offset = |name| usize::try_from(error.get("location")?.get(name)?.as_u64()?).ok();
    // Offsets count units of UTF-16.
    let mut n_units = 0;
    let mut marks = String::new();
    let (start, end) = (offset("start")?, offset("end")?);
    for character in query.chars() {
        let is_marked = (start..end.max(start + 1)).contains(&n_units);
        marks.push(match character {
            '\n' => '\n',
            _ if is_marked => '^',
            _ => ' ',
        });
        n_units += character.len_utf16();
    }
    // The text may end before what it lacks.
    if start >= n_units {
        marks.push('^');
    }
    let mut text = message.to_owned();
    for (line, marks) in query.split('\n').zip(marks.split('\n')) {
        if marks.contains('^') {
            let _ = write!(text, "\n  {line}\n  {}", marks.trim_end());
        }
    }
    Some(text)
}

/// What a person reads. Ranges that do the same are shown as one.
fn picture(container: &str, answer: &Value) -> String {
    let mut text = String::new();
    let ranges = answer.get("ranges").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let n_all = answer.get("rangesInAll").and_then(Value::as_u64).unwrap_or_default();
    let is_merged = answer.get("needsMerge").and_then(Value::as_bool) == Some(true);
    let noun = if n_all == 1 { "range" } else { "ranges" };
    let merged = if is_merged { "; their rows have to be merged" } else { "" };
    let _ = writeln!(text, "{container}   asks {} of {n_all} {noun}{merged}", ranges.len());
    for (ids, plan) in grouped(ranges) {
        let noun = if ids.len() == 1 { "range" } else { "ranges" };
        let _ = writeln!(text, "  {noun} {}", ids.join(", "));
        for line in plan.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    for (title, single, composite) in [
        ("index used", "utilized", "utilizedComposites"),
        ("would help", "potential", "potentialComposites"),
    ] {
        let paths = paths(answer.get("index"), single, composite);
        if !paths.is_empty() {
            let _ = writeln!(text, "{title}   {}", paths.join("   "));
        }
    }
    if let Some(analyzed) = answer.get("analyze") {
        text.push_str(&took(analyzed));
    }
    text
}

/// What a run took: a line for each range, a column for each part of the price.
fn took(analyzed: &Value) -> String {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_f64);
    let list = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let n_pages = list(analyzed, "pages").len();
    let noun = if n_pages == 1 { "page" } else { "pages" };
    let open = if analyzed["isComplete"] == true { "" } else { ", not to its end" };
    let [charge, ms] = ["charge", "totalMs"].map(|name| number(analyzed, name).unwrap_or(0.0));
    let [items, bytes, rows] =
        ["items", "bytes", "rows"].map(|name| analyzed.get(name).and_then(Value::as_u64));
    let mut text = format!(
        "took   {charge:.2} RU, {n_pages} {noun}{open}, {ms:.1} ms: {} items ({}) read, {} rows\n",
        items.unwrap_or(0),
        size::show(bytes.unwrap_or(0)),
        rows.unwrap_or(0),
    );
    let parts = list(analyzed, "parts");
    let name = |part: &Value| part["name"].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = parts.iter().map(name).collect();
    let mut line = |first: &str, cells: &[String]| {
        let _ = write!(text, "  {first:<6}");
        for (cell, width) in cells.iter().zip(std::iter::once(9).chain(widths(&names))) {
            let _ = write!(text, " {cell:>width$}");
        }
        text.push('\n');
    };
    let head: Vec<String> = std::iter::once("RU".to_owned()).chain(names.iter().cloned()).collect();
    line("range", &head);
    let cells = |value: &Value| -> Vec<String> {
        let parts = list(value, "parts");
        let of = |wanted: &String| parts.iter().find(|part| name(part) == *wanted);
        let charge = |value: &Value| format!("{:.4}", number(value, "charge").unwrap_or(0.0));
        let each = names.iter().map(|name| of(name).map_or_else(|| "-".to_owned(), charge));
        std::iter::once(charge(value)).chain(each).collect()
    };
    for range in list(analyzed, "ranges") {
        line(range["id"].as_str().unwrap_or("-"), &cells(&range));
    }
    line("all", &cells(analyzed));
    text
}

/// Columns are as wide as their names, and wide enough for a charge.
fn widths(names: &[String]) -> impl Iterator<Item = usize> {
    names.iter().map(|name| name.len().max(8))
}

/// The ids of ranges by their plan, in the order of the first of each.
fn grouped(ranges: &[Value]) -> Vec<(Vec<&str>, &str)> {
    let mut groups: Vec<(Vec<&str>, &str)> = Vec::new();
    for range in ranges {
        let text = |name| range.get(name).and_then(Value::as_str).unwrap_or_default();
        let (id, plan) = (text("id"), text("plan"));
        match groups.iter_mut().find(|(_, own)| *own == plan) {
            Some((ids, _)) => ids.push(id),
            None => groups.push((vec![id], plan)),
        }
    }
    groups
}

fn paths(index: Option<&Value>, single: &str, composite: &str) -> Vec<String> {
    let list = |name| index.and_then(|index| index.get(name)?.as_array()).into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let composite = list(composite).map(|parts| {
        let parts: Vec<String> = parts.as_array().into_iter().flatten().map(text).collect();
        format!("({})", parts.join(", "))
    });
    list(single).map(text).chain(composite).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_json_or_strings() {
        assert_eq!(parameter("@a=1").unwrap(), json!({"name": "@a", "value": 1}));
        assert_eq!(parameter("@a=x=y").unwrap(), json!({"name": "@a", "value": "x=y"}));
        assert!(parameter("@a").is_err());
        assert!(json_array("7").is_err());
    }

    #[test]
    fn an_error_is_shown_in_the_text() {
        let at = |start: u64, end: u64| json!({"errors": [{"message": "Bad.", "location": {"start": start, "end": end}}]});
        let shown = |start, end, query| pointed(&at(start, end), query).unwrap();
        assert_eq!(shown(7, 11, "SELECT FROM"), "Bad.\n  SELECT FROM\n         ^^^^");
        assert_eq!(shown(8, 10, "SELECT\n'𝄞' x\n y"), "Bad.\n  '𝄞' x\n   ^", "a pair of units");
        assert_eq!(shown(6, 6, "SELECT"), "Bad.\n  SELECT\n        ^", "something is missing");
        assert_eq!(pointed(&json!({"message": "x"}), ""), None);
    }

    #[test]
    fn what_a_run_took_is_a_table() {
        let part = |name: &str, charge: f64| json!({"name": name, "count": 1, "charge": charge});
        let analyzed = json!({
            "isComplete": false, "charge": 5.125, "totalMs": 1.25, "items": 3, "bytes": 300, "rows": 2,
            "pages": [{}, {}], "parts": [part("visit", 4.5), part("rowProperties", 0.625)],
            "ranges": [
                {"id": "0", "charge": 2.875, "parts": [part("visit", 2.25), part("rowProperties", 0.625)]},
                {"id": "12", "charge": 2.25, "parts": [part("visit", 2.25)]},
            ],
        });
        let expected = "\
took   5.12 RU, 2 pages, not to its end, 1.2 ms: 3 items (300 B) read, 2 rows
  range         RU    visit rowProperties
  0         2.8750   2.2500        0.6250
  12        2.2500   2.2500             -
  all       5.1250   4.5000        0.6250
";
        assert_eq!(took(&analyzed), expected);
    }

    #[test]
    fn ranges_with_one_plan_are_one() {
        let seek = "stream\n  seek /n = 1\n";
        let answer = json!({
            "ranges": [
                {"id": "0", "plan": seek}, {"id": "1", "plan": "stream\n  scan\n"}, {"id": "3", "plan": seek},
            ],
            "rangesInAll": 4, "needsMerge": true,
            "index": {"utilized": ["/n/?"], "potentialComposites": [["/a ASC", "/b DESC"]]},
        });
        let expected = "\
d/c   asks 3 of 4 ranges; their rows have to be merged
  ranges 0, 3
    stream
      seek /n = 1
  range 1
    stream
      scan
index used   /n/?
would help   (/a ASC, /b DESC)
";
        assert_eq!(picture("d/c", &answer), expected);
    }
}
