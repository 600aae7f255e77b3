//! Runs `cases/wire/**/*.case`: requests and the answers they must get, as text.
//!
//! A file is one server; its cases run in order and see what the earlier ones left behind.
//!
//! ```text
//! # Why: a comment.
//! case create-and-read          starts a case
//! > POST /dbs                   a request: method and path,
//! > x-ms-max-item-count: 1      headers,
//! >                             an empty line,
//! > {"id":"d"}                  and the body
//! < 201 1002                    the answer: status and, if not 0, sub-status,
//! < etag: *                     headers: `*` any, `~text` contains, `!` absent, else equal,
//! < {"id":"d","_rid":"{{rid}}"} and the body: each member named must match, others may follow;
//!                               `"*"` matches any value, `"~text"` a string that contains it, `"!"` none,
//!                               `{{name}}` is remembered and can be used from then on;
//!                               `< empty` means that there is no body
//! ```
//!
//! A line of a body `@each 0..100 TEXT` stands for the text with each number in the place of `#`, parted by commas;
//! `{{x*1000}}` in a body for a thousand `x`.
//!
//! Requests are signed with the primary key. `> authorization: none` sends no signature,
//! `> authorization: key NAME` signs with `secondary` or `read-only`, anything else is sent as is.
//! `> @gzip`, `> @cors ORIGIN` and `> @ranges N` in front of the first case set options of the server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use http::{HeaderName, HeaderValue, Method};
use model::Value;
use support::{Call, Reply, Server};

#[tokio::test]
async fn every_wire_case_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/wire");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    assert!(files.len() >= 10, "only {} case files in {}", files.len(), root.display());
    let mut failures = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        failures.extend(run(&name, &text).await);
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("case folder") {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "case") {
            files.push(path);
        }
    }
}

/// One request and what must come back.
#[derive(Debug)]
struct Exchange {
    case: String,
    line: usize,
    request: Vec<String>,
    answer: Vec<String>,
}

fn exchanges(text: &str) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    let mut case = "(start)".to_owned();
    let mut was_answer = true;
    for (index, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("case ") {
            name.clone_into(&mut case);
            was_answer = true;
        } else if let Some(rest) = line.strip_prefix('>') {
            if was_answer {
                let (request, answer) = (Vec::new(), Vec::new());
                all.push(Exchange { case: case.clone(), line: index + 1, request, answer });
            }
            was_answer = false;
            let rest = rest.strip_prefix(' ').unwrap_or(rest);
            all.last_mut().unwrap().request.push(rest.to_owned());
        } else if let Some(rest) = line.strip_prefix('<') {
            was_answer = true;
            let rest = rest.strip_prefix(' ').unwrap_or(rest);
            all.last_mut().expect("a request first").answer.push(rest.to_owned());
        } else {
            assert!(line.is_empty() || line.starts_with('#'), "line {}: {line}", index + 1);
        }
    }
    all
}

async fn run(file: &str, text: &str) -> Vec<String> {
    let mut all = exchanges(text);
    assert!(!all.is_empty(), "{file} has no cases");
    let mut settings = Vec::new();
    if all[0].request.iter().all(|line| line.starts_with('@')) {
        settings = all.remove(0).request;
    }
    let ranges = settings.iter().find_map(|setting| setting.strip_prefix("@ranges "));
    let n_ranges = ranges.map_or(2, |count| count.parse().expect("a count of ranges"));
    let server = Server::start_over(n_ranges, |options| {
        for setting in &settings {
            match setting.split_once(' ').unwrap_or((setting, "")) {
                ("@gzip", _) => options.gzip = true,
                ("@identity", _) => options.identity_tokens = true,
                ("@cors", origin) => options.cors = gateway::Cors::Origins(vec![origin.to_owned()]),
                ("@public", endpoint) => options.public_endpoint = Some(endpoint.to_owned()),
                ("@ranges", _) => {}
                _ => panic!("{file}: unknown setting {setting}"),
            }
        }
    })
    .await;
    let mut names = HashMap::new();
    let mut failures = Vec::new();
    for exchange in all {
        let reply = server.send(call(&exchange, &names)).await;
        if let Err(reason) = check(&exchange, &reply, &mut names) {
            let Exchange { case, line, .. } = &exchange;
            let (status, body) = (reply.status, reply.text());
            failures.push(format!("{file}:{line} {case}: {reason}\n    got {status} {body}"));
        }
    }
    failures
}

fn filled(text: &str, names: &HashMap<String, String>) -> String {
    let mut filled = text.to_owned();
    for (name, value) in names {
        filled = filled.replace(&format!("{{{{{name}}}}}"), value);
    }
    filled
}

/// Writes out what a line of a body says for short.
fn expanded(line: &str) -> String {
    let mut text = line.to_owned();
    if let Some(each) = line.strip_prefix("@each ") {
        let (numbers, part) = each.split_once(' ').expect("@each FROM..TO TEXT");
        let (from, to) = numbers.split_once("..").expect("FROM..TO");
        let numbers = from.parse::<u32>().unwrap()..to.parse::<u32>().unwrap();
        let parts = numbers.map(|number| part.replace('#', &number.to_string()));
        text = parts.collect::<Vec<_>>().join(",");
    }
    while let Some((before, rest)) = text.split_once("{{") {
        let repeated = rest.split_once("}}").and_then(|(inside, after)| {
            let (part, count) = inside.split_once('*')?;
            Some((part.repeat(count.parse().ok()?), after))
        });
        let Some((part, after)) = repeated else { break };
        text = format!("{before}{part}{after}");
    }
    text
}

fn call(exchange: &Exchange, names: &HashMap<String, String>) -> Call {
    let mut lines = exchange.request.iter().map(|line| filled(line, names));
    let first = lines.next().expect("a request line");
    let (method, path) = first.split_once(' ').expect("METHOD PATH");
    let mut call = Call::new(Method::from_bytes(method.as_bytes()).unwrap(), path);
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').expect("NAME: VALUE");
        let (name, value) = (name.trim().to_lowercase(), value.trim());
        match (name.as_str(), value) {
            ("authorization", "none") => call = call.unsigned(),
            ("authorization", "key secondary") => {
                call = call.signed_with(&support::secondary_key());
            }
            ("authorization", "key read-only") => {
                call = call.signed_with(&support::read_only_key());
            }
            _ => {
                let name: HeaderName = name.parse().unwrap();
                call.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
        }
    }
    let body = lines.map(|line| expanded(&line)).collect::<Vec<_>>().join("\n");
    Call { body: body.into(), ..call }
}

fn check(
    exchange: &Exchange,
    reply: &Reply,
    names: &mut HashMap<String, String>,
) -> Result<(), String> {
    let mut lines = exchange.answer.iter();
    let status = lines.next().ok_or("no answer is expected")?;
    let mut numbers = status.split_whitespace();
    let code: u16 = numbers.next().and_then(|text| text.parse().ok()).ok_or("no status")?;
    let sub: u32 =
        numbers.next().map_or(Some(0), |text| text.parse().ok()).ok_or("no substatus")?;
    if (reply.status, reply.substatus()) != (code, sub) {
        return Err(format!("expected {code}/{sub}, got {}/{}", reply.status, reply.substatus()));
    }
    if code >= 400 {
        reply.assert_error(code);
    }
    let mut body = String::new();
    for line in lines {
        let is_scalar = ["true", "false", "null", "empty"].contains(&line.as_str());
        let starts_value = |first: char| first.is_ascii_digit() || "{[\"-".contains(first);
        let is_body = !body.is_empty() || is_scalar || line.starts_with(starts_value);
        if is_body {
            body.push_str(line);
        } else {
            let (name, expected) = line.split_once(':').ok_or("NAME: VALUE")?;
            check_header(name.trim(), expected.trim(), reply, names)?;
        }
    }
    match body.as_str() {
        "" => Ok(()),
        "empty" if reply.body.is_empty() => Ok(()),
        "empty" => Err("expected no body".to_owned()),
        expected => {
            let expected = model::json::parse(expected.as_bytes())
                .map_err(|error| format!("bad case: {error} in {expected}"))?;
            let found = model::json::parse(&reply.body).map_err(|error| error.to_string())?;
            matches(&expected, &found, "", names)
        }
    }
}

fn check_header(
    name: &str,
    expected: &str,
    reply: &Reply,
    names: &mut HashMap<String, String>,
) -> Result<(), String> {
    let found = reply.header(name);
    if expected == "!" {
        return found.map_or(Ok(()), |found| Err(format!("{name}: {found} must not be there")));
    }
    let found = found.ok_or(format!("{name} is missing"))?;
    let expected = filled(expected, names);
    if is_text_match(&expected, found, names) {
        Ok(())
    } else {
        Err(format!("{name}: expected {expected}, got {found}"))
    }
}

fn is_text_match(expected: &str, found: &str, names: &mut HashMap<String, String>) -> bool {
    if let Some(name) = expected.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")) {
        names.insert(name.to_owned(), found.to_owned());
        return true;
    }
    match expected.strip_prefix('~') {
        Some(part) => found.contains(part),
        None => expected == "*" || expected == found,
    }
}

fn matches(
    expected: &Value,
    found: &Value,
    at: &str,
    names: &mut HashMap<String, String>,
) -> Result<(), String> {
    let differs =
        || Err(format!("at {at}/: expected {}, got {}", expected.to_text(), found.to_text()));
    match (expected, found) {
        (Value::String(text), _) if text == "*" => Ok(()),
        (Value::String(expected), Value::String(found)) => {
            let expected = filled(expected, names);
            if is_text_match(&expected, found, names) { Ok(()) } else { differs() }
        }
        (Value::Array(expected), Value::Array(found)) => {
            if expected.len() != found.len() {
                return Err(format!(
                    "at {at}: expected {} elements, got {}",
                    expected.len(),
                    found.len()
                ));
            }
            let pairs = expected.iter().zip(found).enumerate();
            pairs.into_iter().try_for_each(|(index, (expected, found))| {
                matches(expected, found, &format!("{at}/{index}"), names)
            })
        }
        (Value::Object(expected), Value::Object(_)) => {
            for (name, expected) in expected.iter() {
                let at = format!("{at}/{name}");
                let must_be_absent = expected.as_str() == Some("!");
                match found.get(name) {
                    Some(_) if must_be_absent => return Err(format!("{at} must not be there")),
                    None if must_be_absent => {}
                    Some(found) => matches(expected, found, &at, names)?,
                    None => return Err(format!("{at} is missing")),
                }
            }
            Ok(())
        }
        // Numbers keep their text.
        (expected, found) if expected.to_text() == found.to_text() => Ok(()),
        _ => differs(),
    }
}
