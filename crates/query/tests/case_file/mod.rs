//! Reads `.case` files (format: `cases/README.md`). Other runners include this file by path.
#![allow(dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use model::Value;

/// A container and the cases that run on it.
#[derive(Debug, Default, Clone)]
pub struct Container {
    pub name: String,
    pub key_paths: Vec<String>,
    pub policy: Option<Value>,
    pub computed: Option<Value>,
    pub vectors: Option<Value>,
    pub full_text: Option<Value>,
    pub udfs: Vec<(String, String)>,
    pub items: Vec<Value>,
    pub cases: Vec<Case>,
}

#[derive(Debug, Default, Clone)]
pub struct Case {
    pub name: String,
    pub line: usize,
    pub parameters: Vec<(String, Value)>,
    pub resume: Option<Value>,
    pub scope: Option<Value>,
    pub page: Option<usize>,
    pub direct: Option<Direct>,
    pub query: String,
    pub expected: Expected,
}

/// The query is sent without a partition key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direct {
    pub is_cross_partition: bool,
}

#[derive(Debug, Clone)]
pub enum Expected {
    Rows {
        rows: Vec<Value>,
        unordered: bool,
    },
    Error {
        status: u16,
        sub_status: Option<u32>,
        code: Option<String>,
        text: String,
    },
    Document(Value),
    /// The text of the plan on an indexed source.
    Plan(String),
}

impl Default for Expected {
    fn default() -> Expected {
        Expected::Rows { rows: Vec::new(), unordered: false }
    }
}

pub fn json(text: &str) -> Value {
    model::json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the case files below `cases/query`, sorted.
pub fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/query");
    let mut list: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    list.retain(|path| path.extension().is_some_and(|extension| extension == "case"));
    list.sort();
    list
}

/// Reads one file.
pub fn read(path: &Path) -> Vec<Container> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut containers: Vec<Container> = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix("container ") {
            let (name, paths) = rest.split_once(" pk=").expect("container NAME pk=PATHS");
            containers.push(Container {
                name: name.trim().to_string(),
                key_paths: paths.split(',').map(|path| path.trim().to_string()).collect(),
                ..Container::default()
            });
            continue;
        }
        let container = containers.last_mut().expect("a container comes first");
        if line.starts_with('{') {
            container.items.push(json(line));
        } else if let Some(rest) = line.strip_prefix("policy ") {
            container.policy = Some(json(rest));
        } else if let Some(rest) = line.strip_prefix("computed ") {
            container.computed = Some(json(rest));
        } else if let Some(rest) = line.strip_prefix("vectors ") {
            container.vectors = Some(json(rest));
        } else if let Some(rest) = line.strip_prefix("fulltext ") {
            container.full_text = Some(json(rest));
        } else if let Some(rest) = line.strip_prefix("udf ") {
            let (name, body) = rest.split_once(" = ").expect("udf NAME = BODY");
            container.udfs.push((name.to_string(), body.to_string()));
        } else if let Some(name) = line.strip_prefix("case ") {
            let mut case = Case { name: name.to_string(), line: number + 1, ..Case::default() };
            let mut head = Vec::new();
            let verdict = loop {
                let (_, line) = lines.next().expect("a case has a ---- line");
                if line.starts_with("----") {
                    break line;
                }
                head.push(line);
            };
            let mut tail = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
                tail.push(line);
            }
            read_head(&mut case, &head);
            case.expected = expected(verdict.trim_start_matches('-').trim(), &tail);
            container.cases.push(case);
        } else {
            panic!("{}:{}: cannot read '{line}'", path.display(), number + 1);
        }
    }
    containers
}

fn read_head(case: &mut Case, head: &[&str]) {
    let mut query = Vec::new();
    for line in head {
        if !query.is_empty() {
            query.push(*line);
        } else if let Some(rest) = line.strip_prefix("param ") {
            let (name, value) = rest.split_once(" = ").expect("param @NAME = JSON");
            case.parameters.push((name.to_string(), json(value)));
        } else if let Some(rest) = line.strip_prefix("resume ") {
            case.resume = Some(json(rest));
        } else if let Some(rest) = line.strip_prefix("in ") {
            case.scope = Some(json(rest));
        } else if let Some(rest) = line.strip_prefix("page ") {
            case.page = Some(rest.parse().expect("page N"));
        } else if *line == "direct" || *line == "direct cross-partition" {
            case.direct = Some(Direct { is_cross_partition: line.ends_with("cross-partition") });
        } else {
            query.push(*line);
        }
    }
    case.query = query.join("\n");
}

fn expected(verdict: &str, tail: &[&str]) -> Expected {
    if let Some(rest) = verdict.strip_prefix("error ") {
        let mut words = rest.split_whitespace();
        let status = words.next().expect("a status");
        let (status, sub_status) = match status.split_once('/') {
            Some((status, sub)) => (status, Some(sub.parse().unwrap())),
            None => (status, None),
        };
        return Expected::Error {
            status: status.parse().unwrap(),
            sub_status,
            code: words.next().map(str::to_string),
            text: tail.join("\n"),
        };
    }
    if verdict == "plan" {
        return Expected::Plan(tail.join("\n"));
    }
    if verdict == "document" {
        return Expected::Document(json(&tail.join("\n")));
    }
    assert!(matches!(verdict, "" | "unordered"), "unknown verdict '{verdict}'");
    let rows = tail.iter().filter(|line| **line != "--").map(|line| json(line)).collect();
    Expected::Rows { rows, unordered: verdict == "unordered" }
}
