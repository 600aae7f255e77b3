//! Constant expressions give what the service's own planner gives for them (`cases/values/expressions.txt`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;

use client::{MemorySource, run_all, stored};
use model::{Env, Value};
use query::{PrepareOptions, Statement};

const EXPRESSIONS: &str = include_str!("../../../cases/values/expressions.txt");

#[test]
fn constant_expressions_have_the_service_s_values() {
    let options = PrepareOptions::new(Env::fixed(1, 1_700_000_000_000));
    let source = MemorySource { items: vec![stored(1, r#"{"id":"1"}"#)] };
    let own = |expression: &str| {
        let text = format!("SELECT VALUE ToString({expression}) FROM c");
        let rows = Statement::prepare(&text, &[], &options)
            .and_then(|statement| run_all(&statement, &source, 10));
        match rows.map(|rows| rows.into_iter().next()) {
            Ok(Some(Value::String(text))) => format!("={text}"),
            Ok(None) => "undefined".to_owned(),
            other => format!("{other:?}"),
        }
    };
    let mut differences = Vec::new();
    let mut n_compared = 0;
    for line in EXPRESSIONS.lines() {
        let (expression, expected) = line.split_once('\t').expect("an expression and its value");
        n_compared += 1;
        let own = own(expression);
        if own != expected {
            differences.push(format!("{expression}\n  expected {expected}\n  got      {own}"));
        }
    }
    assert!(n_compared > 3000, "{n_compared} expressions");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
