//! User-defined functions: called many times in one context, with values of every type.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod support;

use model::Value;
use script::{Error, Failed, Role, Script, call_udf};
use support::Bench;

fn udf(id: &str, body: &str) -> Script {
    Script { id: id.into(), version: format!("{id}{body}").into(), body: body.into() }
}

fn json(text: &str) -> Option<Value> {
    (text != "undefined").then(|| model::json::parse(text.as_bytes()).unwrap())
}

async fn call(body: &str, arguments: &[&str]) -> Result<String, String> {
    let arguments: Vec<_> = arguments.iter().map(|text| json(text)).collect();
    let work = move || call_udf("f", &arguments);
    let result = Bench::new().runtime.with_udfs(vec![udf("f", body)], work).await.unwrap()?;
    Ok(result.map_or_else(|| "undefined".to_owned(), |value| value.to_text()))
}

#[tokio::test]
async fn values_of_every_type_go_in_and_out() {
    let same = "function (x) { return x; }";
    for value in [
        "undefined",
        "null",
        "true",
        "1",
        "-2.5",
        "1e+22",
        "1.0000000000000001e+300",
        r#""ü""#,
        "[1,[2]]",
        r#"{"a":{"b":null}}"#,
    ] {
        assert_eq!(call(same, &[value]).await.unwrap(), value);
    }
    #[rustfmt::skip]
    let table = [
        ("function () {}",                          "undefined"),
        ("function () { return function () {}; }",  "undefined"),
        ("function () { return Symbol(); }",        "undefined"),
        ("function () { return NaN; }",             "null"),
        ("function () { return 1 / 0; }",           "null"),
        ("function () { return -0; }",              "0"),
        ("function () { return 0.1 + 0.2; }",       "0.30000000000000004"),
        ("function () { return new Date(0); }",     r#""1970-01-01T00:00:00.000Z""#),
        ("function () { return {a: undefined}; }",  "{}"),
        ("function () { return arguments.length; }", "0"),
        ("function () { return [typeof getContext, typeof __]; }", r#"["undefined","undefined"]"#),
    ];
    for (body, expected) in table {
        assert_eq!(call(body, &[]).await.unwrap(), expected, "{body}");
    }
}

#[tokio::test]
async fn failures_carry_the_services_text() {
    let executing = "Encountered exception while executing Javascript.";
    let compiling = "Encountered exception while compiling Javascript.";
    let table = [
        ("function () { throw new Error('boom'); }", executing, "Error: boom"),
        ("function () { return nope; }", executing, "ReferenceError"),
        ("function () { return 1n; }", executing, "BigInt"),
        ("function () { var a = {}; a.a = a; return a; }", executing, "circular"),
        ("function (", compiling, "SyntaxError"),
    ];
    for (body, kind, detail) in table {
        let message = call(body, &[]).await.unwrap_err();
        assert!(message.contains(kind) && message.contains(detail), "{body}: {message}");
    }
}

#[tokio::test]
async fn one_context_serves_all_calls_of_one_query_and_no_other() {
    let bench = Bench::new();
    let count = "function () { counter = (typeof counter == 'undefined' ? 0 : counter) + 1; return counter; }";
    let work = || {
        (0..3).map(|_| call_udf("f", &[]).unwrap().unwrap().as_i64().unwrap()).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        let counts = bench.runtime.with_udfs(vec![udf("f", count)], work).await.unwrap();
        assert_eq!(counts, [1, 2, 3]);
    }
    assert!(call_udf("f", &[]).unwrap_err().contains("cannot run here"));
}

#[tokio::test]
async fn an_unknown_function_is_an_error() {
    let bench = Bench::new();
    let result = bench.runtime.with_udfs(Vec::new(), || call_udf("f", &[])).await.unwrap();
    assert!(result.unwrap_err().contains("'f' does not exist"));
}

#[tokio::test]
async fn a_function_without_end_is_a_timeout_and_then_blocked() {
    let bench = Bench::new();
    let endless = || vec![udf("f", "function () { for (;;); }")];
    let result = bench.runtime.with_udfs(endless(), || call_udf("f", &[])).await;
    assert!(matches!(result, Err(Error::TimedOut { .. })), "{result:?}");
    let fine =
        bench.runtime.with_udfs(vec![udf("g", "function () { return 1; }")], || call_udf("g", &[]));
    assert_eq!(fine.await.unwrap().unwrap().unwrap().as_i64(), Some(1));
}

#[tokio::test]
async fn a_function_that_overruns_is_named_and_counted_and_no_other() {
    let bench = Bench::new();
    let functions =
        || vec![udf("fine", "function () { return 1; }"), udf("inf", "function () { for (;;); }")];
    let both = || {
        assert_eq!(call_udf("fine", &[]).unwrap().unwrap().as_i64(), Some(1));
        call_udf("inf", &[])
    };
    for _ in 0..3 {
        let told = bench.runtime.with_udfs(functions(), both).await.unwrap_err();
        assert_eq!(model::Failure::status(&told).code, 408);
        assert!(told.to_string().contains("'inf'"), "{told}");
    }
    let told = bench.runtime.with_udfs(functions(), both).await.unwrap_err();
    assert_eq!(model::Failure::status(&told).code, 403);
    let text = "The script with id 'inf' is blocked for execution because it has violated its allowed \
                resources limit several times.";
    assert_eq!(told.to_string(), text);
    // A query that does not call it goes on.
    let fine = bench.runtime.with_udfs(functions(), || call_udf("fine", &[])).await;
    assert_eq!(fine.unwrap().unwrap().unwrap().as_i64(), Some(1));
}

#[tokio::test]
async fn a_function_is_stopped_and_counted_in_the_queries_of_procedures_too() {
    let bench = Bench::new();
    let body = "function () { __.queryDocuments(__.getSelfLink(), 'udf forever'); }";
    for _ in 0..3 {
        let failed = run(&bench, body).await.unwrap_err();
        let told = failed.error.to_string();
        assert!(told.contains("'forever' did not complete"), "{told}");
    }
    let query = "function () {
        try { __.queryDocuments(__.getSelfLink(), 'udf forever'); }
        catch (e) { __.response.setBody(e.message); }
    }";
    assert!(run(&bench, query).await.unwrap().contains("'forever' is blocked"));
}

/// Runs a procedure whose queries may call `count`, `forever` and `boom`.
async fn run(bench: &Bench, body: &str) -> Result<String, Failed> {
    let functions = [
        udf("count", "function f() { f.n = (f.n || 0) + 1; return f.n; }"),
        udf("forever", "function () { for (;;); }"),
        udf("boom", "function () { throw new Error('no'); }"),
    ];
    let role = Role::Procedure { arguments: None };
    let answer = bench.run_with_functions(body, role, &functions).await?;
    Ok(answer.body.unwrap_or_default())
}

#[tokio::test]
async fn the_queries_of_a_run_share_one_context_apart_from_the_script() {
    let bench = Bench::new();
    let body = "function () {
        var all = [], link = __.getSelfLink();
        function next(err, rows) { all.push(err ? err.number : rows[0]); __.response.setBody(all); }
        __.queryDocuments(link, 'udf count', next);
        __.queryDocuments(link, 'udf count', next);
        __.queryDocuments(link, 'udf boom', next);
        __.queryDocuments(link, 'udf none', next);
    }";
    for _ in 0..2 {
        assert_eq!(run(&bench, body).await.unwrap(), "[1,2,400,400]");
    }
}

#[tokio::test]
async fn a_function_without_end_ends_with_the_script_that_asked_for_it() {
    let bench = Bench::new();
    let body = "function () {
        var until = Date.now() + 400;
        while (Date.now() < until);
        try { __.queryDocuments(__.getSelfLink(), 'udf forever'); } catch (e) { }
        for (;;);
    }";
    let failed = run(&bench, body).await.unwrap_err();
    assert!(matches!(failed.error, Error::TimedOut { .. }), "{failed:?}");
    assert_eq!(bench.runtime.n_lost_threads(), 0);
}

#[tokio::test]
async fn a_result_that_would_fill_the_memory_is_refused() {
    let body = "function () { return Array(1500).fill(Array(2000).fill(0)); }";
    let told = call(body, &[]).await.unwrap_err();
    assert!(told.contains("the result of the function is too large"), "{told}");
}

#[tokio::test]
async fn a_panic_in_the_work_is_contained() {
    let bench = Bench::new();
    let result = bench.runtime.with_udfs(Vec::new(), || panic!("in the work")).await;
    assert!(matches!(result, Err(Error::Engine(_))), "{result:?}");
    bench.body("function () {}").await;
}
