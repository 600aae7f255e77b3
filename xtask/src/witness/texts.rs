//! Texts that are nearly right: the queries of the case files with words left out, added, replaced and swapped.

use anyhow::{Context as _, Result};
use model::{Object, Value, json};

use super::random::Random;
use crate::workspace;

const WORDS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "NOT",
    "AND",
    "OR",
    "IN",
    "BETWEEN",
    "LIKE",
    "SELECT",
    "FROM",
    "c",
    "WHERE",
    "'",
    "\"",
    ";",
    "!",
    "1",
    "-",
    "*",
    "TOP",
    "DISTINCT",
    "VALUE",
    "GROUP BY c.a",
    "ORDER BY c.b",
    "OFFSET 1 LIMIT 2",
    "COUNT(1)",
    "@p",
    "udf.f(1)",
    "EXISTS(SELECT 1)",
    "(SELECT VALUE 1)",
    "JOIN x IN c.y",
    "x.z",
    "foo(1)",
    "ABS()",
    "c.pk = 1",
    "c[c.a]",
    "TRUE",
    "1x",
    "?",
    ":",
    "??",
    "/*",
    "--",
    "AS",
    "JOIN",
    "BY",
    "LIMIT",
    "undefined",
    "c.a",
    "(LET x = c.a IN x)",
    "LET x = 1 IN",
    "=",
    "!=",
    "||",
    "??",
    "~",
    "ASC",
    "DESC",
    "ESCAPE '!'",
    "RANK",
    "FIRST(SELECT VALUE 2)",
    "ALL(SELECT 1)",
    "NaN",
    "Infinity",
    "0x1F",
    "1e3",
    "null",
    "c['a b']",
    "{'a': 1}",
    "[c.a, 2]",
    "MIN(c.a)",
    "VALUE COUNT(1)",
    "TOP 3",
    "ROOT",
    "ORDER BY RANK FullTextScore(c.t, 'a')",
    "WHERE c.pk IN (1, 2)",
];

/// The queries of the case files as questions.
pub(crate) fn cases() -> Result<Vec<Value>> {
    let folder = workspace::root().join("cases/query");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    let mut questions = Vec::new();
    for file in files {
        questions.extend(questions_of(&std::fs::read_to_string(&file)?)?);
    }
    Ok(questions)
}

fn questions_of(text: &str) -> Result<Vec<Value>> {
    const SETTINGS: [&str; 4] = ["in ", "page ", "resume ", "direct"];
    let mut questions = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("case ") {
            continue;
        }
        let mut query = Vec::new();
        let mut parameters = Vec::new();
        for line in lines.by_ref().take_while(|line| !line.starts_with("----")) {
            if let Some((name, value)) =
                line.strip_prefix("param ").and_then(|line| line.split_once(" = "))
            {
                let mut parameter = Object::new();
                parameter.insert("name", name);
                parameter.insert("value", json::parse(value.as_bytes())?);
                parameters.push(Value::Object(parameter));
            } else if !SETTINGS.iter().any(|setting| line.starts_with(setting)) {
                query.push(line);
            }
        }
        let mut question = Object::new();
        question.insert("query", query.join("\n").trim());
        if !parameters.is_empty() {
            question.insert("parameters", Value::Array(parameters));
        }
        questions.push(Value::Object(question));
    }
    Ok(questions)
}

/// Changes a few words of one of the texts.
pub(crate) fn question(random: &mut Random, cases: &[Value]) -> Value {
    let mut question = cases[random.below(cases.len())].clone();
    let other = cases[random.below(cases.len())].clone();
    let text =
        |value: &Value| value.get("query").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (own, other) = (text(&question), text(&other));
    let mut words = words(&own);
    let others = words_of(&other);
    for _ in 0..=random.below(3) {
        let at = random.below(words.len());
        let word = if random.is_one_in(2) { random.pick(WORDS) } else { random.pick(&others) };
        match random.below(4) {
            _ if words.is_empty() => words.push(word.to_owned()),
            0 => drop(words.remove(at)),
            1 => words.insert(at, format!(" {word} ")),
            2 => word.clone_into(&mut words[at]),
            _ => {
                let with = random.below(words.len());
                words.swap(at, with);
            }
        }
    }
    if let Value::Object(question) = &mut question {
        question.insert("query", words.concat().as_str());
    }
    question
}

fn words(text: &str) -> Vec<String> {
    words_of(text).into_iter().map(str::to_owned).collect()
}

/// Splits a text into names, blanks and single characters; nothing is lost.
fn words_of(text: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '@';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if is_name(first) {
            rest.find(|c: char| !is_name(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after;
    }
    if words.is_empty() { vec![""] } else { words }
}
