//! Where the index answers a filter exactly nobody looks at the item again; where a term stands for several values
//! somebody must.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod indexed;

use client::{MemorySource, run_all, stored};
use indexed::IndexedSource;
use model::{Env, Value};
use query::index::{IndexPolicy, TERM_TEXT_BYTES_MAX};
use query::{ItemSource, PrepareOptions, SourceItem, Statement, UnionSource};

/// Values of which some have one term, some are equal and spelled differently, and some are just not equal.
fn values() -> Vec<String> {
    let long = "l".repeat(TERM_TEXT_BYTES_MAX);
    let cut = format!("{}é", "l".repeat(TERM_TEXT_BYTES_MAX - 1));
    let mut values: Vec<String> = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-0.0",
        "1e-400",
        "1",
        "1.0",
        "10e-1",
        "1.5",
        "-1.5",
        "2",
        "9007199254740991",
        "9007199254740992",
        "9007199254740992.0",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740994",
        "-9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "1e20",
        "1.0000000000000002",
        "5e-324",
        r#""""#,
        r#""a""#,
        r#""\u0061""#,
        r#""A""#,
        r#""ab""#,
        r#""a\u0000""#,
        r#""a\u0001""#,
        r#""é""#,
        r#""\ud83d\ude00""#,
        r#""\uffff""#,
        "[]",
        "[1]",
        "[2]",
        "[[1]]",
        r#"["a"]"#,
        "{}",
        r#"{"x":1}"#,
        r#"{"x":2}"#,
    ]
    .map(str::to_string)
    .into();
    for end in ["", "x", "y", "xx"] {
        values.push(format!(r#""{long}{end}""#));
        values.push(format!(r#""{cut}{end}""#));
    }
    values
}

fn items() -> Vec<SourceItem> {
    let mut items = vec![stored(1, r#"{"id":"none"}"#)];
    for (at, value) in values().iter().enumerate() {
        let text =
            format!(r#"{{"id":"{at}","v":{value},"o":{{"v":{value}}},"l":[{value},7],"w":{at}}}"#);
        items.push(stored(2 + at as u64, &text));
    }
    items
}

fn statement(text: &str, value: &str) -> Statement {
    let value: Value = model::json::parse(value.as_bytes()).unwrap();
    let options = PrepareOptions::new(Env::fixed(1, 0));
    Statement::prepare(text, &[("@x".to_string(), value)], &options).unwrap()
}

/// Checks that a query returns with an index what it returns without, in one range and in three.
#[track_caller]
fn check(sources: &[&dyn ItemSource], plain: &MemorySource, text: &str, value: &str) {
    let statement = statement(text, value);
    let expected = run_all(&statement, plain, 1000).unwrap();
    let texts = |rows: &[Value]| rows.iter().map(Value::to_text).collect::<Vec<_>>();
    for source in sources {
        for items_max in [2, 1000] {
            let rows = run_all(&statement, *source, items_max).unwrap();
            assert_eq!(texts(&rows), texts(&expected), "{text} with {value}");
        }
    }
}

const FILTERS: &[&str] = &[
    "c.v = @x",
    "c.v != @x",
    "c.v < @x",
    "c.v <= @x",
    "c.v > @x",
    "c.v >= @x",
    "@x = c.o.v",
    "@x < c.o.v",
    "NOT (c.v = @x)",
    "c.v IN (@x, 1, 'a')",
    "c.v NOT IN (@x, 1, 'a')",
    "c.v BETWEEN @x AND 1e30",
    "c.v BETWEEN 'a' AND @x",
    "c.v >= @x AND c.v <= @x",
    "c.v > @x AND c.w > 10",
    "c.v > @x AND LENGTH(c.id) = 1",
    "c.v = @x OR c.v = 1",
    "c.v = @x OR c.w = 3",
    "c.l[0] = @x",
    "c.l[1] = 7 AND c.v >= @x",
    "STARTSWITH(c.v, @x)",
    "STRINGEQUALS(c.v, @x)",
    "ARRAY_CONTAINS(c.v, @x)",
    "ARRAY_CONTAINS(c.l, @x)",
    "ARRAY_CONTAINS([@x, 2], c.v)",
    "IS_DEFINED(c.v) AND c.v != @x",
    "EXISTS(SELECT VALUE x FROM x IN c.l WHERE x = @x)",
    "EXISTS(SELECT VALUE 1 WHERE c.v = @x AND c.w > 10)",
    "(c.v = @x OR c.w = 1) AND LENGTH(c.id) = 2",
];

const FORMS: &[&str] = &[
    "SELECT * FROM c WHERE {filter}",
    "SELECT c.id, c.v FROM c WHERE {filter}",
    "SELECT c.id, c.v FROM c WHERE {filter} ORDER BY c.v",
    "SELECT c.v, c.o.v AS w FROM c WHERE {filter} ORDER BY c.v DESC",
    "SELECT * FROM c WHERE {filter} ORDER BY c.w DESC",
    "SELECT VALUE e FROM c JOIN e IN c.l WHERE {filter}",
];

#[test]
fn an_index_finds_what_a_scan_finds() {
    let items = items();
    let plain = MemorySource { items: items.clone() };
    let part = |k: usize| -> Vec<SourceItem> { items.iter().skip(k).step_by(3).cloned().collect() };
    let indexed = IndexedSource::new(&items, IndexPolicy::all());
    let parts = (0..3).map(|k| IndexedSource::new(&part(k), IndexPolicy::all()));
    let merged = UnionSource::new(parts.collect(), 1);
    let sources: [&dyn ItemSource; 2] = [&indexed, &merged];
    // Each filter meets each value, and each form of a query several values.
    for (at, value) in values().iter().enumerate() {
        for (n, filter) in FILTERS.iter().enumerate() {
            let form = FORMS[(at + n) % FORMS.len()];
            check(&sources, &plain, &form.replace("{filter}", filter), value);
        }
    }
}

/// Says whether a query looks at the value of an item again: one that has changed behind the back of the index.
#[track_caller]
fn looks_again(condition: &str, value: &str, text: &str) -> bool {
    let policy = r#"{"compositeIndexes":[[{"path":"/v"},{"path":"/w"}]]}"#;
    let policy = IndexPolicy::from_policy(&model::json::parse(policy.as_bytes()).unwrap());
    let mut source = IndexedSource::new(&items(), policy);
    let statement = statement(&format!("{text} WHERE {condition}"), value);
    let n_rows = run_all(&statement, &source, 1000).unwrap().len();
    assert!(n_rows > 0, "{condition}");
    for item in items() {
        source.put_unnoticed(stored(item.number, r#"{"id":"changed"}"#));
    }
    let n_left = run_all(&statement, &source, 1000).unwrap().len();
    assert!(n_left == 0 || n_left == n_rows, "{condition}");
    n_left == 0
}

#[test]
fn filters_are_checked_again_where_terms_stand_for_several_values() {
    let long = format!(r#""{}x""#, "l".repeat(TERM_TEXT_BYTES_MAX));
    let longest = format!(r#""{}""#, "l".repeat(TERM_TEXT_BYTES_MAX));
    for (condition, value, expected) in [
        ("c.v = @x", "1", false),
        ("c.v = @x", "9007199254740993", false),
        ("c.v = @x", r#""a""#, false),
        ("c.v = @x", longest.as_str(), false),
        ("c.v > @x", longest.as_str(), false),
        ("c.o.v = @x", "null", false),
        ("c.v >= @x", "1", false),
        ("c.v IN (1, 2)", "0", false),
        ("c.v = 1 OR c.v = 2", "0", false),
        ("STARTSWITH(c.v, @x)", r#""a""#, false),
        ("IS_STRING(c.v)", "0", false),
        // A long text, an array and an object have terms that others have too.
        ("c.v = @x", long.as_str(), true),
        ("c.v >= @x", long.as_str(), true),
        ("c.v IN (1, @x)", long.as_str(), true),
        ("STARTSWITH(c.v, @x)", long.as_str(), true),
        ("c.v = @x", "[1]", true),
        ("c.v != @x", "[1]", true),
        ("c.v = @x", r#"{"x":1}"#, true),
        ("c.v IN (1, @x)", "[1]", true),
        // The elements of an array have no place in it.
        ("c.l[0] = @x", "1", true),
        ("ARRAY_CONTAINS(c.l, @x)", "1", true),
        // Several conditions are left to the item, and so is what no index knows.
        ("c.v >= @x AND c.w >= 0", "1", true),
        ("c.v = @x OR c.w = 3", "1", true),
        ("c.v = @x AND LENGTH(c.id) > 0", "1", true),
        ("(c.v = @x OR c.w = 3) AND LENGTH(c.id) > 0", "1", true),
        ("EXISTS(SELECT VALUE 1 WHERE c.v = @x)", "1", true),
    ] {
        let found = looks_again(condition, value, "SELECT * FROM c");
        assert_eq!(found, expected, "{condition} with {value}");
    }
    assert!(looks_again("c.v = @x", "1", "SELECT VALUE l FROM c JOIN l IN c.l"));
    assert!(looks_again("l = @x", "1", "SELECT VALUE l FROM c JOIN l IN c.l"));
}

#[test]
fn an_order_that_an_index_has_answers_its_own_condition_only() {
    let order = |condition: &str, rest: &str| {
        looks_again(&format!("{condition} {rest}"), "1", "SELECT c.id, c.v FROM c")
    };
    assert!(!order("c.w >= @x", "ORDER BY c.w"));
    assert!(!order("c.w < 30 AND c.w > @x", "ORDER BY c.w DESC"));
    assert!(order("c.v >= @x AND c.w >= 0", "ORDER BY c.w"));
    assert!(order("c.w >= @x AND LENGTH(c.id) > 0", "ORDER BY c.w"));
    // Sorted, because few items match.
    assert!(order("c.v = @x", "ORDER BY c.w"));
    assert!(order("c.v >= @x", "ORDER BY c.v, c.w"));
}
