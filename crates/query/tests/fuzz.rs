//! No text makes the parser, the binder or the evaluator panic or hang.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use client::{MemorySource, run_all, stored};
use model::{Env, PartitionKeyDefinition, Value};
use proptest::prelude::*;
use query::{Features, PageRequest, PrepareOptions, Statement, parse};

fn sample() -> MemorySource {
    let texts = [
        r#"{"id":"1","a":1,"b":"x","c":[1,"2",null,{"d":true}],"e":{"f":1.5},"_rid":"AQAAAAEAAAABAAAAAAAAAA=="}"#,
        r#"{"id":"2","a":-7,"b":"ü😀","c":[],"e":{"type":"Point","coordinates":[1,2]}}"#,
        r#"{"id":"3","a":null,"b":"2030-01-02T03:04:05Z","c":"no","v":[1,2,3]}"#,
        r#"{"id":"4","a":1e308,"b":true,"c":[[1],[2,[3]]]}"#,
    ];
    let items = (1..).zip(texts).map(|(number, text)| stored(number, text));
    MemorySource { items: items.collect() }
}

fn parameters() -> Vec<(String, Value)> {
    vec![("@p".to_string(), Value::from(3)), ("@q".to_string(), Value::from("x"))]
}

/// Prepares, plans and runs a text, and checks that pages add up.
fn exercise(text: &str) {
    let options = PrepareOptions::new(Env::fixed(1, 1_700_000_000_000));
    let definition = PartitionKeyDefinition::new(&["/a", "/b"]).unwrap();
    let parameters = parameters();
    let _ = query::query_plan(text, &parameters, &options, &definition, &Features::all());
    let Ok(statement) = Statement::prepare(text, &parameters, &options) else { return };
    let _ = query::epk_ranges(&statement, &definition);
    let source = sample();
    let whole = run_all(&statement, &source, 1000);
    let paged = run_all(&statement, &source, 1);
    let is_volatile =
        ["RAND", "NOW", "CURRENT"].iter().any(|name| text.to_uppercase().contains(name));
    match (whole, paged) {
        (Ok(mut whole), Ok(mut paged)) if !is_volatile => {
            // Rows that are made of all items have one order in one page and another in several.
            if !text.to_uppercase().contains("ORDER BY") {
                whole.sort_by_key(Value::to_text);
                paged.sort_by_key(Value::to_text);
            }
            assert_eq!(whole, paged, "{text}");
        }
        _ => {}
    }
    for item in &source.items {
        let _ = statement.matches(&item.to_value().unwrap());
    }
}

/// Canonical text means the same: printing is a fixed point of parsing.
fn check_canonical(text: &str) {
    let Ok(tree) = parse(text) else { return };
    let printed = query::canonical_text(&tree);
    let again = match parse(&printed) {
        Ok(again) => again,
        // Printing adds parentheses, so only a text near the limit of depth can become too deep.
        Err(error)
            if text.len() > query::DEPTH_MAX
                && error.diagnostics().iter().any(|own| own.code.to_string() == "SC1030") =>
        {
            return;
        }
        Err(error) => panic!("{error}\n{text}\n{printed}"),
    };
    assert_eq!(printed, query::canonical_text(&again), "{text}");
}

const WORDS: &[&str] = &[
    "SELECT",
    "VALUE",
    "DISTINCT",
    "TOP",
    "*",
    "FROM",
    "c",
    "JOIN",
    "IN",
    "WHERE",
    "GROUP",
    "BY",
    "ORDER",
    "RANK",
    "ASC",
    "DESC",
    "OFFSET",
    "LIMIT",
    "AS",
    "AND",
    "OR",
    "NOT",
    "LIKE",
    "ESCAPE",
    "BETWEEN",
    "EXISTS",
    "ARRAY",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    ":",
    "?",
    "??",
    "+",
    "-",
    "/",
    "%",
    "~",
    "&",
    "|",
    "||",
    "^",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "!=",
    "<<",
    ">>",
    ">>>",
    "1",
    "0",
    "2.5",
    "'x'",
    "\"a\"",
    "@p",
    "@q",
    "null",
    "true",
    "undefined",
    "c.a",
    "c.b",
    "c.c",
    "t",
    "COUNT(1)",
    "SUM(c.a)",
    "udf.f(1)",
    "LEFT",
    "UPPER(c.b)",
    "c[0]",
    "t IN c.c",
    "root",
    "'!'",
];

fn soup() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS);
    prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "))
}

fn leaf() -> impl Strategy<Value = String> {
    prop::sample::select(
        &[
            "c",
            "c.a",
            "c.b",
            "c.c",
            "c.e",
            "c.v",
            "c.missing",
            "c.c[0]",
            "c['b']",
            "1",
            "-3",
            "0",
            "2.5",
            "1e300",
            "9223372036854775807",
            "'x'",
            "''",
            "'ü😀'",
            "'2030-01-02T03:04:05Z'",
            "'dd'",
            "'ns'",
            "'[a-z'",
            "'(x+)+$'",
            "'yyyy-MM-dd'",
            "true",
            "false",
            "null",
            "undefined",
            "NaN",
            "[]",
            "[1,2,3]",
            "['a',null]",
            "{}",
            "{'a':1}",
            "@p",
            "@q",
            "'%_[^a]'",
            "10000",
            "-1",
            "{'type':'Polygon','coordinates':[[[0,0],[2,0],[2,2],[0,0]]]}",
            "{'type':'LineString','coordinates':[[0,0],[179,89]]}",
            "{'type':'Point','coordinates':[0,0]}",
        ][..],
    )
    .prop_map(str::to_string)
}

fn scalar() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> =
        query::function_list().into_iter().map(|(name, _)| name).collect();
    let operators = prop::sample::select(
        &[
            "+", "-", "*", "/", "%", "=", "!=", "<", ">=", "AND", "OR", "||", "&", "|", "^", "<<",
            ">>>", "??",
        ][..],
    );
    leaf().prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            4 => (prop::sample::select(names.clone()), prop::collection::vec(inner.clone(), 0..5))
                .prop_map(|(name, arguments)| format!("{name}({})", arguments.join(", "))),
            3 => (inner.clone(), operators.clone(), inner.clone())
                .prop_map(|(left, op, right)| format!("({left} {op} {right})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} NOT LIKE {b})")),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} BETWEEN {b} AND {c})")),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            1 => (inner.clone(), prop::collection::vec(inner.clone(), 1..10))
                .prop_map(|(a, list)| format!("({a} IN ({}))", list.join(", "))),
            1 => inner.clone().prop_map(|a| format!("(SELECT VALUE {a})")),
            1 => inner.clone().prop_map(|a| format!("ARRAY(SELECT DISTINCT VALUE t FROM t IN {a})")
                .replace("IN c.c[0]", "IN c.c")),
            1 => inner.prop_map(|a| format!("EXISTS(SELECT VALUE t FROM t IN c.c WHERE t = {a})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,200}") {
        let _ = parse(&text);
        let _ = parse(&format!("SELECT {text}"));
    }

    #[test]
    fn word_soup_is_run_or_refused(text in soup()) {
        exercise(&format!("SELECT {text}"));
        exercise(&format!("SELECT VALUE c.a FROM c WHERE {text}"));
        exercise(&format!("SELECT c.a FROM c {text}"));
        check_canonical(&format!("SELECT c.a FROM c {text}"));
    }

    #[test]
    fn expressions_are_computed_or_refused(left in scalar(), right in scalar()) {
        exercise(&format!("SELECT VALUE {left} FROM c WHERE {right}"));
        exercise(&format!("SELECT {left}, COUNT({right}) AS n FROM c GROUP BY {left}"));
        exercise(&format!("SELECT DISTINCT VALUE {left} FROM c ORDER BY c.a"));
        exercise(&format!("SELECT VALUE MAX({left}) FROM c JOIN t IN c.c"));
        check_canonical(&format!("SELECT VALUE {left} FROM c WHERE {right}"));
    }

    #[test]
    fn any_continuation_is_accepted_or_refused(token in "(O1\\.)?\\PC{0,60}") {
        let options = PrepareOptions::new(Env::fixed(1, 1));
        for text in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.a", "SELECT COUNT(1) FROM c"] {
            let statement = Statement::prepare(text, &[], &options).unwrap();
            let request = PageRequest {
                items_max: 2, bytes_max: 1000, deadline: None, may_wait: true, continuation: Some(&token),
            };
            let _ = statement.run(&sample(), &request);
        }
    }
}

#[test]
fn the_deepest_texts_run_on_a_small_stack() {
    let depth = query::DEPTH_MAX;
    let texts = [
        ("(", "c.a", ")", 1),
        ("[", "1", "]", 1),
        ("{a:", "1", "}", 1),
        ("- ", "c.a", "", 1),
        ("NOT ", "c.a", "", 1),
        ("UPPER(", "c.b", ")", 1),
        ("true ? ", "c.b", " : 1", 1),
        ("(c.a + ", "1", ")", 1),
        ("(SELECT VALUE ", "c.a", ")", 8),
        ("ARRAY(SELECT VALUE ", "c.a", " FROM c)", 8),
        ("EXISTS(SELECT 1 FROM c WHERE ", "c.a", ")", 8),
    ];
    for (open, core, close, divisor) in texts {
        let mut n_runs = 0;
        for n in 1..=depth {
            let n = n / divisor;
            let text = format!("SELECT VALUE {}{core}{} FROM c", open.repeat(n), close.repeat(n));
            let run = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
                exercise(&text);
                check_canonical(&text);
                parse(&text).is_ok()
            });
            n_runs += usize::from(run.unwrap().join().expect("no overflow"));
            if divisor > 1 && n > 20 {
                break;
            }
        }
        assert!(n_runs > 10, "{open}");
    }
}

#[test]
fn huge_cross_products_end() {
    let options = PrepareOptions::new(Env::fixed(1, 1));
    let list: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let text = format!(
        "SELECT VALUE COUNT(1) FROM c JOIN a IN (SELECT VALUE [{0}]) JOIN b IN (SELECT VALUE [{0}]) \
         JOIN d IN (SELECT VALUE [{0}]) WHERE a = -1",
        list.join(",")
    );
    let statement = Statement::prepare(&text, &[], &options).unwrap();
    assert!(matches!(run_all(&statement, &sample(), 10), Err(query::Error::Limit { .. })));
}

#[test]
fn growing_values_end() {
    let options = PrepareOptions::new(Env::fixed(1, 1));
    let mut text = "SELECT VALUE [1,2,3,4,5,6,7,8,9,10]".to_string();
    for level in 0..12 {
        text = format!(
            "SELECT VALUE [a{level},a{level},a{level},a{level},a{level},a{level}] FROM ({text}) a{level}"
        );
    }
    let statement = Statement::prepare(&text, &[], &options).unwrap();
    assert!(matches!(run_all(&statement, &sample(), 10), Err(query::Error::Limit { .. })));
}

/// Each match is looked for up to the end of the text, so that all of them would take hours.
#[test]
fn quadratic_searches_end() {
    let env = Env::fixed(1, 1);
    let subject = ("@t".to_string(), Value::from("A".repeat(200_000)));
    let (stop, stopped) = sync_channel::<()>(1);
    let clock = env.clone();
    let hours = std::thread::spawn(move || {
        while stopped.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
            clock.advance(Duration::from_secs(20));
        }
    });
    for call in [
        "REGEXREPLACEALL(@t, '.*[^A-Z]|[A-Z]', '')",
        "REGEXEXTRACTALL(@t, '.*[^A-Z]|[A-Z]')",
        "REGEXEXTRACTALL(@t, '(.*[^A-Z])|([A-Z])', '', 2)",
    ] {
        let text = format!("SELECT VALUE 1 FROM c WHERE LENGTH(ToString({call})) > 1");
        let options = PrepareOptions::new(env.clone());
        let statement =
            Statement::prepare(&text, std::slice::from_ref(&subject), &options).unwrap();
        let request = PageRequest {
            items_max: 2,
            bytes_max: 1000,
            deadline: Some(env.monotonic() + Duration::from_secs(1)),
            may_wait: true,
            continuation: None,
        };
        let page = statement.run(&sample(), &request);
        assert!(matches!(page, Err(query::Error::Timeout)), "{call}");
        let is_match = statement.matches(&Value::Null);
        assert!(matches!(is_match, Err(query::Error::Timeout)), "{call}");
    }
    drop(stop);
    hours.join().unwrap();
}

#[test]
fn results_of_searches_are_bounded() {
    let subject = ("@t".to_string(), Value::from("x".repeat(1 << 20)));
    for (call, expected) in [
        ("LENGTH(REGEXREPLACEALL(@t, 'x', '123'))", Some((3 << 20).to_string())),
        ("LENGTH(REGEXREPLACEALL(@t, 'x', '12345'))", None),
        ("LENGTH(REGEXREPLACE(@t, 'x', @t))", Some(((2 << 20) - 1).to_string())),
        ("ARRAY_LENGTH(REGEXEXTRACTALL(@t, ''))", Some(((1 << 20) + 1).to_string())),
        ("ARRAY_LENGTH(REGEXEXTRACTALL(CONCAT(@t, 'x'), 'x'))", None),
    ] {
        let options = PrepareOptions::new(Env::fixed(1, 1));
        let text = format!("SELECT VALUE {call}");
        let statement =
            Statement::prepare(&text, std::slice::from_ref(&subject), &options).unwrap();
        let rows = run_all(&statement, &sample(), 10).unwrap();
        assert_eq!(rows.first().map(Value::to_text), expected, "{call}");
    }
}

/// Only some of many patterns are kept compiled; all of them are looked for.
#[test]
fn many_patterns_are_all_looked_for() {
    let calls = |pattern: &str| {
        let call = |n| format!("REGEXMATCH(CONCAT(c.id, '-{n}'), '^1-{n}{pattern}$')");
        (0..100).map(call).collect::<Vec<_>>().join(" AND ")
    };
    let options = PrepareOptions::new(Env::fixed(1, 1));
    for (pattern, n_found) in [("", 1), ("x?", 1), ("x", 0), ("(", 0)] {
        let text = format!("SELECT VALUE c.id FROM c WHERE {}", calls(pattern));
        let statement = Statement::prepare(&text, &[], &options).unwrap();
        assert_eq!(run_all(&statement, &sample(), 10).unwrap().len(), n_found, "{pattern}");
    }
}

/// Nothing ends a single search: it is refused when it could take minutes, and only then.
#[test]
fn long_patterns_on_long_texts_are_refused() {
    let options = PrepareOptions::new(Env::fixed(1, 1));
    let long = || vec![("@t".to_string(), Value::from("ab".repeat(1 << 19)))];
    let words: Vec<String> = (0..500).map(|n| format!("{n}whatever")).collect();
    let (words, literal) = (words.join("|"), format!("{}[bc]", "a".repeat(8000)));
    for (pattern, is_run) in [
        (r"[ab]*a[ab]{8000}c", false),
        (r"(((b?){10}){20}){30}c", false),
        (r"[ab]{100}$", true),
        (r"\\w{50}$", true),
        (words.as_str(), true),
        (literal.as_str(), false),
    ] {
        let text = format!("SELECT VALUE REGEXREPLACE(@t, '{pattern}', '')");
        let statement = Statement::prepare(&text, &long(), &options).unwrap();
        let rows = run_all(&statement, &sample(), 10);
        assert_eq!(rows.is_ok(), is_run, "{pattern}");
        assert!(rows.is_ok() || matches!(rows, Err(query::Error::Limit { .. })), "{pattern}");
    }
    let statement = Statement::prepare(
        "SELECT VALUE REGEXMATCH(c.b, '[ab]*a[ab]{8000}c') FROM c",
        &[],
        &options,
    );
    assert_eq!(run_all(&statement.unwrap(), &sample(), 10).unwrap().len(), 3);
}
