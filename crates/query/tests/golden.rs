//! Plans, errors and ranges as the service's own planner gave them: `cases/witness`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "golden/answer.rs"]
mod answer;

use std::path::Path;

use model::Value;

/// Answers of another planner that this one gives too.
fn check(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/witness").join(name);
    let text = std::fs::read_to_string(file).unwrap();
    let mut wrong = Vec::new();
    let mut n_lines = 0;
    for line in text.lines() {
        n_lines += 1;
        let question = model::json::parse(line.as_bytes()).unwrap();
        let expected = question.get("answer").cloned().unwrap_or(Value::Null);
        assert!(!answer::is_open(&expected), "a kept answer says something");
        let own = answer::own(&question);
        if own != expected {
            let query = question.get("query").unwrap().to_text();
            wrong.push(format!("{query}\n  got      {own}\n  expected {expected}"));
        }
    }
    assert!(n_lines > 500, "{name} has {n_lines} answers");
    let shown: Vec<String> = wrong.iter().take(10).cloned().collect();
    assert!(wrong.is_empty(), "{} of {n_lines} differ:\n{}", wrong.len(), shown.join("\n"));
}

#[test]
fn texts_of_the_cases_are_planned_as_the_service_does() {
    check("cases.jsonl");
}

#[test]
fn nearly_right_texts_are_refused_as_the_service_does() {
    check("texts.jsonl");
}

#[test]
fn whole_queries_are_planned_as_the_service_does() {
    check("queries.jsonl");
}

#[test]
fn ranked_queries_are_planned_as_the_service_does() {
    check("searches.jsonl");
}

#[test]
fn texts_that_nobody_writes_are_refused_as_the_service_does() {
    check("hostile.jsonl");
}

#[test]
fn chains_of_operators_are_read_as_the_service_does() {
    check("chains.jsonl");
}

#[test]
fn constant_expressions_have_the_values_that_the_service_computes() {
    check("expressions.jsonl");
}

#[test]
fn filters_on_keys_ask_the_ranges_that_the_service_asks() {
    check("filters.jsonl");
}

/// The other form is for the command that compares.
#[test]
fn an_answer_in_normal_form_stays_as_it_is() {
    let question = model::json::parse(br#"{"query":"SELECT * FROM c WHERE c.pk = 1"}"#).unwrap();
    let other = model::json::parse(
        br#"{"plan":{"queryInfo":{"distinctType":"None","hasSelectValue":0,"orderBy":[]},
            "queryRanges":[{"min":[1],"max":[1],"isMinInclusive":true,"isMaxInclusive":true}]}}"#,
    );
    assert_eq!(answer::normal(&question, &other.unwrap()), answer::own(&question));
}
