//! What differs between two planners, by kind.

use std::collections::BTreeMap;
use std::fmt;

use model::Value;

/// Counts of differences, with some of each kind.
pub(crate) struct Report {
    n_asked: usize,
    n_same: usize,
    n_open: usize,
    show: usize,
    kinds: BTreeMap<String, (usize, Vec<String>)>,
}

impl Report {
    pub(crate) fn new(show: usize) -> Report {
        Report { n_asked: 0, n_same: 0, n_open: 0, show, kinds: BTreeMap::new() }
    }

    /// Counts a question that the other planner leaves open.
    pub(crate) fn note_open(&mut self) {
        self.n_open += 1;
    }

    /// Compares two answers to a question.
    pub(crate) fn note(&mut self, question: &Value, own: &Value, other: &Value) {
        self.n_asked += 1;
        let Some((kind, own, other)) = difference(own, other) else {
            self.n_same += 1;
            return;
        };
        let (count, examples) = self.kinds.entry(kind).or_default();
        *count += 1;
        if examples.len() < self.show {
            examples
                .push(format!("{}\n      ours  {own}\n      other {other}", question.to_text()));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} the same, {} left open", self.n_same, self.n_asked, self.n_open)?;
        for (kind, (count, examples)) in &self.kinds {
            writeln!(f, "  {kind}: {count}")?;
            for example in examples {
                writeln!(f, "    {example}")?;
            }
        }
        Ok(())
    }
}

/// Returns what kind of difference there is first, with both sides.
fn difference(own: &Value, other: &Value) -> Option<(String, String, String)> {
    if own == other {
        return None;
    }
    let shown = |value: Option<&Value>| value.map(Value::to_text).unwrap_or_default();
    if own.get("value").or(other.get("value")).is_some() {
        let kind = if is_close(own, other) { "value, in late digits" } else { "value" };
        return Some((kind.into(), own.to_text(), other.to_text()));
    }
    match (own.get("plan"), other.get("plan")) {
        (Some(_), None) => {
            Some(("verdict, we accept".into(), String::new(), shown(other.get("errors"))))
        }
        (None, Some(_)) => {
            Some(("verdict, we refuse".into(), shown(own.get("errors")), String::new()))
        }
        (None, None) => {
            let kind = error_kind(own.get("errors"), other.get("errors"));
            Some((format!("errors, {kind}"), shown(own.get("errors")), shown(other.get("errors"))))
        }
        (Some(own), Some(other)) => {
            for info in ["queryInfo", "hybridSearchQueryInfo"] {
                match (own.get(info), other.get(info)) {
                    (Some(own), Some(other)) => {
                        if let Some(found) = member_difference(own, other) {
                            return Some(found);
                        }
                    }
                    (None, None) => {}
                    (own, other) => {
                        return Some((format!("plan, {info}"), shown(own), shown(other)));
                    }
                }
            }
            let (own, other) = (own.get("queryRanges"), other.get("queryRanges"));
            let size = |ranges: Option<&Value>| match ranges.and_then(Value::as_array) {
                Some([range]) if range.as_str() == Some("[,FF)") => "all",
                Some([range]) if range.as_str() == Some("[,]") => "none",
                _ => "some",
            };
            let kind = format!("ranges, ours {} other {}", size(own), size(other));
            Some((kind, shown(own), shown(other)))
        }
    }
}

/// Says whether two values are numbers that agree to seven digits, as distances on the earth do.
fn is_close(own: &Value, other: &Value) -> bool {
    let number = |answer: &Value| answer.get("value")?.as_str()?.parse::<f64>().ok();
    match (number(own), number(other)) {
        (Some(own), Some(other)) => (own - other).abs() <= own.abs() * 1e-7,
        _ => false,
    }
}

fn member_difference(own: &Value, other: &Value) -> Option<(String, String, String)> {
    let (Value::Object(own), Value::Object(other)) = (own, other) else { return None };
    let names = own.iter().chain(other.iter()).map(|(name, _)| name);
    for name in names {
        let (own, other) = (own.get(name), other.get(name));
        if own != other {
            let shown = |value: Option<&Value>| value.map(Value::to_text).unwrap_or_default();
            return Some((format!("plan, {name}"), shown(own), shown(other)));
        }
    }
    None
}

fn error_kind(own: Option<&Value>, other: Option<&Value>) -> &'static str {
    let texts = |value: Option<&Value>| -> Vec<String> {
        let list = value.and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(|text| text.as_str().map(str::to_string)).collect()
    };
    let (own, other) = (texts(own), texts(other));
    let part = |list: &[String], n: usize| -> Vec<String> {
        list.iter().map(|text| text.splitn(3, ' ').nth(n).unwrap_or_default().to_string()).collect()
    };
    if own.first().map(|text| text.split(' ').next())
        != other.first().map(|text| text.split(' ').next())
    {
        "code of the first"
    } else if own.len() != other.len() {
        "how many"
    } else if part(&own, 0) != part(&other, 0) {
        "codes"
    } else if part(&own, 2) != part(&other, 2) {
        "messages"
    } else {
        "places"
    }
}
