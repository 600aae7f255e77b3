//! No function, literal, projection or operator takes more memory than a query may: each asks before it allocates.
//!
//! One test in a program of its own, because it measures what the whole program allocates. The bound of a query is made
//! small, so that values of ordinary length reach it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use model::{Env, Object, Value};
use peak_alloc::PeakAlloc;
use query::{
    Error, ItemSource, MemoryPool, PageRequest, PrepareOptions, Result, SourceItem, Statement,
};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const MIB: usize = 1024 * 1024;

/// What a query may hold in this test.
const QUERY_BYTES: usize = MIB / 4;

/// What may come on top: the row and its text, small things that nobody counts, rounding.
const SLACK: usize = MIB / 4;

/// A source of items that are all the same.
struct Same {
    item: Value,
    n_items: u64,
}

impl Same {
    fn of(members: &[(&str, &Value)]) -> Same {
        let mut item = Object::new();
        for (name, value) in members {
            item.insert(*name, (*value).clone());
        }
        Same { item: Value::Object(item), n_items: 1 }
    }
}

impl ItemSource for Same {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem>> + '_> {
        let first = after.map_or(1, |after| after + 1);
        let item = |number| Ok(SourceItem::new(number, self.item.clone(), 100));
        Box::new((first..=self.n_items).map(item))
    }

    fn index(&self) -> Option<&dyn query::ItemIndex> {
        None
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        None
    }

    fn parts(&self) -> Option<query::Parts<'_>> {
        None
    }
}

/// Runs a query, and checks how far the memory rises meanwhile. Copies of the parameters and of the item are known.
#[track_caller]
fn check(text: &str, parameters: &[(String, Value)], source: &Same) -> Result<()> {
    let memory = Some(MemoryPool::new(2 * QUERY_BYTES));
    let options = PrepareOptions { memory, ..PrepareOptions::new(Env::fixed(1, 1)) };
    let request = PageRequest {
        items_max: 100,
        bytes_max: MIB / 8,
        deadline: None,
        may_wait: true,
        continuation: None,
    };
    let copies = source.item.heap_bytes();
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let page = Statement::prepare(text, parameters, &options)
        .and_then(|statement| statement.run(source, &request))
        .map(drop);
    let risen = ALLOCATOR.peak_usage().saturating_sub(before);
    let shown: String = text.chars().take(160).collect();
    let bound = QUERY_BYTES + SLACK + copies;
    assert!(risen <= bound, "{shown} took {} KiB of {}: {page:?}", risen >> 10, bound >> 10);
    if let Err(error) = &page {
        let is_known = matches!(
            error,
            Error::Limit { .. } | Error::Invalid(_) | Error::Unplannable(_) | Error::NotFinite
        );
        assert!(is_known, "{shown}: {error:?}");
    }
    let pool = options.memory.as_ref().map(Arc::as_ref);
    assert_eq!(pool.map(MemoryPool::used), Some(0), "{shown} does not give back what it took");
    page
}

/// Values of which functions make much.
fn hostile() -> Vec<(&'static str, Value)> {
    const N: usize = 1 << 11;
    let parse = |text: String| model::json::parse(text.as_bytes()).unwrap();
    let list = |element: &str, n: usize| parse(format!("[{}]", vec![element; n].join(",")));
    let members = |n: usize| (0..n).map(|i| format!("\"m{i}\":{i}")).collect::<Vec<_>>().join(",");
    let ring = (0..=1000_i32).map(|i| {
        let angle = f64::from(i % 1000) / 1000.0 * std::f64::consts::TAU;
        format!("[{},{}]", angle.cos(), angle.sin())
    });
    let ring = ring.collect::<Vec<_>>().join(",");
    let numbers = (0..N).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    vec![
        ("plain", Value::from("ab cd,".repeat(N))),
        ("wide", Value::from("\u{250}b ".repeat(N))),
        ("commas", Value::from(",".repeat(2 * N))),
        ("json", Value::from(format!("[{}0]", "0,".repeat(2 * N)))),
        ("nested", Value::from(format!("[{}0]", "[],".repeat(N)))),
        ("object", Value::from(format!("{{{}}}", members(N / 2)))),
        ("control", Value::from("\u{1}".repeat(4 * N))),
        ("numbers", parse(format!("[{numbers}]"))),
        ("texts", list("\"x\"", N)),
        ("lists", list("[1]", N / 2)),
        ("members", parse(format!("{{{}}}", members(N / 4)))),
        ("shape", parse(format!(r#"{{"type":"Polygon","coordinates":[[{ring}]]}}"#))),
        ("fuzzy", parse(format!(r#"{{"term":"{}","distance":2}}"#, "ab cd,".repeat(N)))),
        (
            "rings",
            parse(format!(r#"{{"type":"Polygon","coordinates":{}}}"#, list("[]", N).to_text())),
        ),
    ]
}

/// Values that tell functions how much to make.
fn small() -> Vec<(&'static str, Value)> {
    vec![
        ("comma", Value::from(",")),
        ("pattern", Value::from("(a|b|.)*".repeat(20))),
        ("many", Value::from(100_000)),
        ("date", Value::from("2020-01-02T03:04:05.0000000Z")),
    ]
}

#[test]
fn nothing_takes_more_memory_than_a_query_may() {
    let (values, small) = (hostile(), small());
    every_function(&values, &small);
    literals_and_operators(&values);
    nesting(&values);
    constants(&values);
    rows();
}

/// How a function is called: two values that vary, and others.
const CALLS: [&str; 12] = [
    "c.a",
    "c.b",
    "c.a, c.b",
    "c.b, c.a",
    "c.a, c.b, c.t",
    "c.a, c.b, c.c",
    "c.a, c.b, 1",
    "c.a, c.b, 0, 7",
    "c.a, c.a, c.a, c.a",
    "c.a, c.b, c.c, 'i'",
    "c.a, 1000, 50, 100, 5",
    "c.a, [c.b], 50, 100, [5]",
];

/// Calls every function of the table with hostile values in the first places.
fn every_function(values: &[(&str, Value)], small: &[(&str, Value)]) {
    let mut n_refused = 0;
    let plain = &values[0].1;
    let yes = Value::from(true);
    let nothing = Same { item: Value::Null, n_items: 0 };
    for (function, _) in query::function_list() {
        let text = |arguments: &str| format!("SELECT VALUE {function}({arguments}) FROM c");
        let fits =
            |call: &&str| !matches!(check(&text(call), &[], &nothing), Err(Error::Invalid(_)));
        let calls: Vec<&str> = CALLS.into_iter().filter(fits).collect();
        let is_without =
            matches!(function, "PI" | "RAND" | "RRF" | "COMBINEDSCORE" | "FULLTEXTSCORE")
                || function.starts_with("GETCURRENT");
        assert!(!calls.is_empty() || is_without, "{function} is never called");
        for (_, first) in values.iter().chain(small.last()) {
            let others = small.iter().take(3).map(|(_, value)| value);
            for (index, second) in [first, plain].into_iter().chain(others).enumerate() {
                let is_first = index == 0;
                let source = Same::of(&[("a", first), ("b", second), ("c", plain), ("t", &yes)]);
                for call in calls.iter().filter(|call| is_first || call.contains("c.b")) {
                    let done = check(&text(call), &[], &source);
                    n_refused += usize::from(matches!(done, Err(Error::Limit { .. })));
                }
            }
        }
    }
    assert!(n_refused > 100, "the values are not hostile: {n_refused}");
}

fn literals_and_operators(values: &[(&str, Value)]) {
    for (_, value) in values {
        let source = Same::of(&[("a", value), ("l", &Value::Array(vec![Value::from(1); 1000]))]);
        for form in [
            format!("[{}]", vec!["c.a"; 200].join(",")),
            format!("{{{}}}", (0..200).map(|i| format!("m{i}: c.a")).collect::<Vec<_>>().join(",")),
            vec!["c.a"; 200].join(" || "),
            "ARRAY(SELECT VALUE c.a FROM x IN c.l)".to_owned(),
            "(SELECT COUNT(1) FROM (SELECT DISTINCT VALUE [RAND(), c.a] FROM x IN c.l))".to_owned(),
            "(SELECT VALUE MAKELIST(c.a) FROM x IN c.l)".to_owned(),
            "(SELECT VALUE MAKESET([RAND(), c.a]) FROM x IN c.l)".to_owned(),
            "ARRAY(SELECT COUNT(1) FROM x IN c.l GROUP BY [RAND(), c.a])".to_owned(),
            "'x' LIKE (c.a || '%')".to_owned(),
            "c.a IN (1,2,3,4,5,6,7,8,9,10)".to_owned(),
            "[c.a, c.a][1]".to_owned(),
        ] {
            let _ = check(&format!("SELECT VALUE {form} FROM c"), &[], &source);
            let _ = check(&format!("SELECT VALUE 1 FROM c WHERE IS_DEFINED({form})"), &[], &source);
        }
        let named: Vec<String> = (0..200).map(|i| format!("c.a AS n{i}")).collect();
        let _ = check(&format!("SELECT {} FROM c", named.join(",")), &[], &source);
    }
}

/// Doubles a value as often as a text may say.
fn nesting(values: &[(&str, Value)]) {
    for (function, name) in [
        ("ARRAY_CONCAT", "numbers"),
        ("CONCAT", "plain"),
        ("SETUNION", "texts"),
        ("SETUNION", "numbers"),
        ("STRINGJOIN", "texts"),
    ] {
        let value = values.iter().find(|(own, _)| *own == name).map(|(_, value)| value).unwrap();
        let source = Same::of(&[("a", value)]);
        let mut text = "c.a".to_owned();
        for _ in 0..8 {
            text = format!("{function}({text}, {text})");
        }
        let _ = check(&format!("SELECT VALUE {text} FROM c"), &[], &source);
    }
    let source = Same::of(&[("a", &Value::Array(vec![Value::from(1); 1000]))]);
    let text = format!("SELECT VALUE [{}] FROM c", vec!["ARRAY_SLICE(c.a, 0)"; 500].join(","));
    assert!(matches!(check(&text, &[], &source), Err(Error::Limit { .. })));
}

/// Parameters are shared, and what is made of them when the query is planned has a bound.
fn constants(values: &[(&str, Value)]) {
    let source = Same { item: Value::Null, n_items: 1 };
    for (_, value) in values {
        let parameters = [("@p".to_owned(), value.clone())];
        for form in [
            vec!["@p"; 300].join(","),
            vec!["[@p]"; 300].join(","),
            vec!["UPPER(@p)"; 300].join(","),
            vec!["STRINGTOARRAY(@p)"; 50].join(","),
            vec!["ARRAY_CONCAT(@p,@p)"; 50].join(","),
            vec!["c.x LIKE @p"; 50].join(","),
            vec!["FULLTEXTCONTAINS(c.x, @p)"; 50].join(","),
            vec!["ST_WITHIN(c.x, @p)"; 50].join(","),
            format!("c.x IN ({})", vec!["@p"; 50].join(",")),
        ] {
            let _ = check(&format!("SELECT VALUE [{form}] FROM c"), &parameters, &source);
        }
        let filter = vec!["c.x = @p"; 100].join(" OR ");
        let _ = check(&format!("SELECT VALUE 1 FROM c WHERE {filter}"), &parameters, &source);
    }
}

/// Groups, sets and rows to sort stay within the bound of a query, whatever they are made of.
fn rows() {
    let item = r#"{"a":[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]],"t":"x","r":1}"#;
    let source = Same { item: model::json::parse(item.as_bytes()).unwrap(), n_items: 6_000 };
    for text in [
        "SELECT VALUE MAKELIST(c.a) FROM c",
        "SELECT VALUE MAKESET([RAND(), c.a]) FROM c",
        "SELECT COUNT(1) AS n FROM c GROUP BY [c.t, RAND()]",
        "SELECT DISTINCT VALUE [RAND(), c.a] FROM c OFFSET 5000 LIMIT 1",
        "SELECT c.a FROM c ORDER BY c.t OFFSET 5000 LIMIT 1",
        "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE [RAND(), c.a] FROM c)",
        "SELECT VALUE c.a FROM c ORDER BY RANK FullTextScore(c.t, 'x')",
    ] {
        let done = check(text, &[], &source);
        assert!(matches!(done, Err(Error::Limit { .. })), "{text}: {done:?}");
    }
}
