//! Answers and delays on demand, so that the retries of a client can be tested.
//!
//! A rule has conditions on a request, what to do with it, and how often. The first rule that fits a request is used
//! up by it; a request that fits none costs one look at a flag.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::{Object, Status, Value};
use parking_lot::Mutex;

use super::{invalid, known, number, object};
use crate::error::Error;
use crate::headers::{Name, RequestHeaders};
use crate::parse::Action;

// Limit: rules at a time, requests that one takes, and how long it may hold one.
const RULES_MAX: usize = 100;
const TIMES_MAX: u64 = 1_000_000;
const DELAY_MS_MAX: u64 = 60_000;
const RETRY_AFTER_MS_MAX: u64 = 60_000;

/// Requests that a rule is for. Absent conditions hold always.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Conditions {
    action: Option<Action>,
    /// Beginning of the decoded path, without outer slashes.
    path: Option<String>,
    range: Option<String>,
    /// The partition key header.
    key: Option<String>,
}

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) delay: Duration,
    /// The failure to answer with; `None`: the request goes on.
    pub(crate) failure: Option<InjectedFailure>,
}

/// A failure that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InjectedFailure {
    pub(crate) status: Status,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    conditions: Conditions,
    fault: Fault,
    /// How many more requests it takes.
    n_left: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    has_rules: AtomicBool,
    rules: Mutex<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    list: Vec<(u64, Rule)>,
    n_made: u64,
}

impl Faults {
    pub(crate) fn add(&self, rule: Rule) -> Result<u64, Error> {
        let mut rules = self.rules.lock();
        if rules.list.len() >= RULES_MAX {
            return Err(invalid("there are a hundred rules already; delete them first"));
        }
        rules.n_made += 1;
        let id = rules.n_made;
        rules.list.push((id, rule));
        self.has_rules.store(true, Ordering::Release);
        Ok(id)
    }

    pub(crate) fn clear(&self) {
        self.rules.lock().list.clear();
        self.has_rules.store(false, Ordering::Release);
    }

    /// What is to happen to a request, if anything.
    pub(crate) fn take(
        &self,
        action: Action,
        path: &str,
        headers: &RequestHeaders<'_>,
    ) -> Option<Fault> {
        if !self.has_rules.load(Ordering::Acquire) {
            return None;
        }
        let mut rules = self.rules.lock();
        let fits = |rule: &Rule| rule.conditions.hold(action, path, headers);
        let at = rules.list.iter().position(|(_, rule)| fits(rule))?;
        let (_, rule) = rules.list.get_mut(at)?;
        rule.n_left -= 1;
        let fault = rule.fault.clone();
        if rule.n_left == 0 {
            rules.list.remove(at);
        }
        self.has_rules.store(!rules.list.is_empty(), Ordering::Release);
        Some(fault)
    }

    pub(crate) fn show(&self) -> Value {
        let rules = self.rules.lock();
        let rules = rules.list.iter().map(|(id, rule)| rule.show(*id)).collect();
        object([("faults", Value::Array(rules))])
    }
}

impl Conditions {
    fn hold(&self, action: Action, path: &str, headers: &RequestHeaders<'_>) -> bool {
        let is_header = |name, wanted: &Option<String>| {
            let sent = headers.get(name).ok().flatten();
            wanted.as_deref().is_none_or(|wanted| sent == Some(wanted))
        };
        self.action.is_none_or(|wanted| wanted == action)
            && self.path.as_deref().is_none_or(|wanted| is_below(path, wanted))
            && is_header(Name::RangeId, &self.range)
            && is_header(Name::PartitionKey, &self.key)
    }
}

/// Says whether a path is `owner` or lies below it.
fn is_below(path: &str, owner: &str) -> bool {
    path.strip_prefix(owner).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a rule may have.
pub(crate) const PROPERTIES: &[&str] =
    &["match", "times", "status", "subStatus", "retryAfterMs", "message", "delayMs"];
const MATCH_PROPERTIES: &[&str] = &["action", "path", "range", "partitionKey"];

impl Rule {
    pub(crate) fn parse(body: &Value) -> Result<Rule, Error> {
        let rule = known(Some(body), PROPERTIES)?.unwrap_or_default();
        let conditions = known(rule.get("match"), MATCH_PROPERTIES)?.unwrap_or_default();
        let delay_ms = bounded(&rule, "delayMs", DELAY_MS_MAX)?.unwrap_or(0);
        let failure = failure(&rule)?;
        if delay_ms == 0 && failure.is_none() {
            return Err(invalid("a fault needs a status, a delayMs, or both"));
        }
        Ok(Rule {
            conditions: Conditions {
                action: action(&conditions)?,
                path: text(&conditions, "path")?.map(|path| path.trim_matches('/').to_owned()),
                range: text(&conditions, "range")?,
                key: conditions.get("partitionKey").map(header_text),
            },
            fault: Fault { delay: Duration::from_millis(delay_ms), failure },
            n_left: bounded(&rule, "times", TIMES_MAX)?.unwrap_or(1).max(1),
        })
    }

    fn show(&self, id: u64) -> Value {
        let mut conditions = Object::new();
        let texts = [
            ("action", self.conditions.action.map(|action| action.name().to_owned())),
            ("path", self.conditions.path.clone()),
            ("range", self.conditions.range.clone()),
            ("partitionKey", self.conditions.key.clone()),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                conditions.insert(name, text);
            }
        }
        let delay_ms = u64::try_from(self.fault.delay.as_millis()).unwrap_or(u64::MAX);
        let Value::Object(mut shown) = object([
            ("id", number(id)),
            ("match", Value::Object(conditions)),
            ("timesLeft", number(self.n_left)),
            ("delayMs", number(delay_ms)),
        ]) else {
            return Value::Null;
        };
        if let Some(failure) = &self.fault.failure {
            shown.insert("status", number(u64::from(failure.status.code)));
            shown.insert("subStatus", number(u64::from(failure.status.sub)));
        }
        Value::Object(shown)
    }
}

fn failure(rule: &Object) -> Result<Option<InjectedFailure>, Error> {
    let Some(code) = bounded(rule, "status", 599)? else { return Ok(None) };
    let code = u16::try_from(code).ok().filter(|code| *code >= 400);
    let code = code.ok_or_else(|| invalid("status must be from 400 to 599"))?;
    let default_sub = if code == 429 { 3200 } else { 0 };
    let sub = bounded(rule, "subStatus", 99_999)?.unwrap_or(default_sub);
    let retry_after_ms = bounded(rule, "retryAfterMs", RETRY_AFTER_MS_MAX)?;
    let message = text(rule, "message")?;
    Ok(Some(InjectedFailure {
        status: Status { code, sub: u32::try_from(sub).unwrap_or(0) },
        // Wire: clients do not retry a 429 without it.
        retry_after_ms: retry_after_ms.or((code == 429).then_some(1)),
        message: message
            .unwrap_or_else(|| "This failure was asked for by a fault rule.".to_owned()),
    }))
}

fn bounded(object: &Object, name: &str, max: u64) -> Result<Option<u64>, Error> {
    let Some(value) = object.get(name) else { return Ok(None) };
    let number = value.as_i64().and_then(|number| u64::try_from(number).ok());
    match number.filter(|number| *number <= max) {
        Some(number) => Ok(Some(number)),
        None => Err(invalid(&format!("{name} must be a whole number from 0 to {max}"))),
    }
}

fn text(object: &Object, name: &str) -> Result<Option<String>, Error> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(&format!("{name} must be text"))),
    }
}

fn action(conditions: &Object) -> Result<Option<Action>, Error> {
    let Some(name) = text(conditions, "action")? else { return Ok(None) };
    let action = Action::ALL.iter().find(|action| action.name() == name);
    let names = || Action::ALL.iter().map(|action| action.name()).collect::<Vec<_>>().join(", ");
    action.copied().map(Some).ok_or_else(|| invalid(&format!("action must be one of {}", names())))
}

/// A partition key as its header is sent: an array is written the way clients write it.
fn header_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_text(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use model::json;

    use super::*;

    fn rule(text: &str) -> Result<Rule, Error> {
        Rule::parse(&json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_rule_takes_the_requests_that_fit_and_then_is_gone() {
        let faults = Faults::default();
        let text =
            r#"{"match":{"action":"item_read","path":"/dbs/d/colls/c"},"status":503,"times":2}"#;
        faults.add(rule(text).unwrap()).unwrap();
        let map = HeaderMap::new();
        let headers = RequestHeaders::collect(&map).unwrap();
        let take = |action, path| faults.take(action, path, &headers);
        assert_eq!(take(Action::ItemCreate, "dbs/d/colls/c/docs"), None);
        assert_eq!(take(Action::ItemRead, "dbs/d/colls/c2/docs/i"), None);
        for _ in 0..2 {
            let fault = take(Action::ItemRead, "dbs/d/colls/c/docs/i").unwrap();
            assert_eq!(fault.failure.unwrap().status, Status { code: 503, sub: 0 });
        }
        assert_eq!(take(Action::ItemRead, "dbs/d/colls/c/docs/i"), None);
        assert!(!faults.has_rules.load(Ordering::Acquire));
    }

    #[test]
    fn bad_rules_are_refused() {
        for bad in [
            "{}",
            r#"{"status":200}"#,
            r#"{"status":600}"#,
            r#"{"delayMs":-1}"#,
            r#"{"delayMs":1.5}"#,
            r#"{"delayMs":99999999}"#,
            r#"{"status":429,"times":1e9}"#,
            r#"{"status":429,"match":{"acton":"item_read"}}"#,
            r#"{"status":429,"match":{"action":"nothing"}}"#,
            r#"{"status":429,"match":[]}"#,
            r#"{"status":429,"path":"x"}"#,
        ] {
            assert!(rule(bad).is_err(), "{bad}");
        }
    }
}
