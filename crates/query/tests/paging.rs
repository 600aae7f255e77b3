//! Pages end on rows, bytes and time, and add up to the whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod indexed;

use std::cell::Cell;
use std::time::Duration;

use client::{MemorySource, run_all, stored};
use indexed::IndexedSource;
use model::{Env, Rid, Value};
use query::index::IndexPolicy;
use query::{
    Error, ItemSource, Page, PageRequest, PrepareOptions, ResumeFilter, Row, SourceItem, Statement,
};

fn source(n_items: u64) -> MemorySource {
    let parent = Rid::container(1, 1);
    let items = (1..=n_items).map(|number| {
        let text = format!(
            r#"{{"id":"{number}","n":{},"g":{},"tags":["a","b","c"],"_rid":"{}"}}"#,
            number * 7 % 11,
            number % 3,
            Rid::item(&parent, number)
        );
        stored(number, &text)
    });
    MemorySource { items: items.collect() }
}

fn prepare(text: &str) -> Statement {
    Statement::prepare(text, &[], &PrepareOptions::new(Env::fixed(1, 1))).unwrap()
}

fn page(
    statement: &Statement,
    source: &dyn ItemSource,
    bytes_max: usize,
    continuation: Option<&str>,
) -> Page {
    let request =
        PageRequest { items_max: 1000, bytes_max, deadline: None, may_wait: true, continuation };
    statement.run(source, &request).unwrap()
}

const QUERIES: &[&str] = &[
    "SELECT * FROM c",
    "SELECT VALUE c.id FROM c WHERE c.n > 3",
    "SELECT c.id, t FROM c JOIN t IN c.tags JOIN u IN c.tags WHERE t != u",
    "SELECT * FROM c OFFSET 5 LIMIT 9",
    "SELECT TOP 8 c.id, t FROM c JOIN t IN c.tags",
    "SELECT DISTINCT VALUE c.n FROM c",
    "SELECT DISTINCT c.g, t FROM c JOIN t IN c.tags OFFSET 2 LIMIT 5",
    "SELECT VALUE c.id FROM c ORDER BY c.n",
    "SELECT VALUE c.id FROM c ORDER BY c.n DESC, c.g ASC",
    "SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c.g DESC OFFSET 4 LIMIT 30",
    "SELECT TOP 7 * FROM c ORDER BY c.g",
    "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n",
    "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 4",
    "SELECT VALUE r FROM (SELECT DISTINCT VALUE c.n FROM c) AS r WHERE r > 2",
    "SELECT VALUE COUNT(1) FROM c",
];

/// Rows that are made of all items have one order in one page and another in several.
fn comparable(text: &str, mut rows: Vec<Value>) -> Vec<Value> {
    if text.contains("GROUP BY") || text.contains("FROM (") {
        rows.sort_by_key(Value::to_text);
    }
    rows
}

#[test]
fn pages_of_any_size_add_up_to_the_whole() {
    let source = source(40);
    for text in QUERIES {
        let statement = prepare(text);
        let run = |source: &dyn ItemSource, items_max| {
            comparable(text, run_all(&statement, source, items_max).unwrap())
        };
        let whole = run(&source, 100_000);
        assert!(!whole.is_empty(), "{text}");
        for items_max in [1, 2, 3, 7, 39, 40, 41] {
            assert_eq!(run(&source, items_max), whole, "{text} {items_max}");
        }
        let indexed = IndexedSource::new(&source.items, IndexPolicy::all());
        for items_max in [1, 3, 40] {
            assert_eq!(run(&indexed, items_max), whole, "{text} {items_max} with an index");
        }
        for (bytes_max, is_indexed) in [
            (1, true),
            (60, true),
            (500, true),
            (1, false),
            (60, false),
            (500, false),
            (5000, false),
        ] {
            let source: &dyn ItemSource = if is_indexed { &indexed } else { &source };
            let mut rows = Vec::new();
            let mut continuation: Option<String> = None;
            loop {
                let page = page(&statement, source, bytes_max, continuation.as_deref());
                assert!(
                    page.rows.len() <= 1 || page.metrics.row_bytes <= bytes_max as u64,
                    "{text}"
                );
                rows.extend(page.rows.into_iter().map(Row::into_value));
                continuation = page.continuation;
                if continuation.is_none() {
                    break;
                }
            }
            assert_eq!(comparable(text, rows), whole, "{text} {bytes_max} bytes");
        }
    }
}

#[test]
fn groups_come_by_their_first_items_in_one_page_and_by_value_in_several() {
    let plain = source(12);
    let indexed = IndexedSource::new(&plain.items, IndexPolicy::all());
    let by_value: Vec<i64> = (0..11).collect();
    let by_appearance = [7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0];
    for (text, is_counted) in [
        ("SELECT VALUE c.n FROM c GROUP BY c.n", false),
        ("SELECT VALUE n FROM (SELECT DISTINCT VALUE c.n FROM c) AS n", false),
        ("SELECT DISTINCT VALUE n FROM (SELECT VALUE c.n FROM c GROUP BY c.n, c.id) AS n", false),
        ("SELECT TOP 20 VALUE c.n FROM c GROUP BY c.n", true),
        ("SELECT VALUE c.n FROM c GROUP BY c.n OFFSET 0 LIMIT 20", true),
    ] {
        let statement = prepare(text);
        for source in [&plain as &dyn ItemSource, &indexed] {
            let run = |items_max| -> Vec<i64> {
                let rows = run_all(&statement, source, items_max).unwrap();
                rows.iter().map(|row| row.as_i64().unwrap()).collect()
            };
            // What TOP and OFFSET count must not depend on the size of pages.
            let whole = if is_counted { by_value.clone() } else { by_appearance.to_vec() };
            assert_eq!(run(11), whole, "{text}");
            assert_eq!(run(100), whole, "{text}");
            assert_eq!(run(10), by_value, "{text}");
        }
    }
    // A page that is full of bytes is one of several, too.
    let statement = prepare("SELECT VALUE c.n FROM c GROUP BY c.n");
    let first = page(&statement, &plain, 6, None);
    assert!(first.continuation.is_some());
    assert_eq!(first.rows[0].clone().into_value(), Value::from(0));
}

#[test]
fn a_deleted_item_does_not_lose_the_place() {
    for text in ["SELECT VALUE c.id FROM c", "SELECT VALUE c.id FROM c ORDER BY c.id"] {
        let statement = prepare(text);
        let mut source = source(9);
        let request = |continuation| PageRequest {
            items_max: 3,
            bytes_max: 1 << 20,
            deadline: None,
            may_wait: true,
            continuation,
        };
        let first = statement.run(&source, &request(None)).unwrap();
        source.items.retain(|item| item.number != 3);
        let second = statement.run(&source, &request(first.continuation.as_deref())).unwrap();
        let rows: Vec<Value> = second.rows.into_iter().map(Row::into_value).collect();
        assert_eq!(rows, ["4", "5", "6"].map(Value::from), "{text}");
    }
}

/// A source on which time passes.
struct SlowSource<'s>(&'s MemorySource, &'s Env, Cell<usize>);

impl ItemSource for SlowSource<'_> {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem, Error>> + '_> {
        Box::new(self.0.scan(after).inspect(|_| {
            self.1.advance(Duration::from_millis(100));
            self.2.set(self.2.get() + 1);
        }))
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

#[test]
fn a_page_ends_in_time_and_still_gets_ahead() {
    let env = Env::fixed(1, 1);
    let whole = source(20);
    for text in [
        "SELECT VALUE c.id FROM c WHERE c.n = 99",
        "SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n < 99 AND t = 'a'",
    ] {
        let statement = Statement::prepare(text, &[], &PrepareOptions::new(env.clone())).unwrap();
        let slow = SlowSource(&whole, &env, Cell::new(0));
        let mut continuation: Option<String> = None;
        let mut n_pages = 0;
        let mut n_rows = 0;
        loop {
            let request = PageRequest {
                items_max: 100,
                bytes_max: 1 << 20,
                deadline: Some(env.monotonic() + Duration::from_millis(250)),
                may_wait: true,
                continuation: continuation.as_deref(),
            };
            let page = statement.run(&slow, &request).unwrap();
            n_rows += page.rows.len();
            n_pages += 1;
            assert!(n_pages < 100, "every page gets ahead");
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
        }
        assert!(n_pages > 4, "{n_pages}");
        assert_eq!(n_rows, if text.contains("JOIN") { 20 } else { 0 });
    }
}

#[test]
fn an_index_that_comes_or_goes_between_pages_changes_nothing() {
    let plain = source(60);
    let indexed = IndexedSource::new(&plain.items, IndexPolicy::all());
    for text in [
        "SELECT VALUE c.id FROM c WHERE c.n > 3",
        "SELECT VALUE c.id FROM c WHERE c.g = 1 AND c.n < 9 OFFSET 2 LIMIT 9",
        "SELECT VALUE c.id FROM c ORDER BY c.n",
        "SELECT VALUE c.id FROM c WHERE c.n > 2 ORDER BY c.n DESC",
        "SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c.g DESC OFFSET 4 LIMIT 30",
    ] {
        let statement = prepare(text);
        let whole = run_all(&statement, &plain, 1000).unwrap();
        let mut rows = Vec::new();
        let mut continuation: Option<String> = None;
        for n_pages in 0.. {
            let source: &dyn ItemSource = if n_pages % 2 == 0 { &indexed } else { &plain };
            let request = PageRequest {
                items_max: 4,
                bytes_max: 1 << 20,
                deadline: None,
                may_wait: true,
                continuation: continuation.as_deref(),
            };
            let page = statement.run(source, &request).unwrap();
            rows.extend(page.rows.into_iter().map(Row::into_value));
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
        }
        assert_eq!(rows, whole, "{text}");
    }
}

#[test]
fn writes_between_pages_do_not_lose_the_place() {
    for (text, direction) in [
        ("SELECT VALUE c.id FROM c WHERE c.k >= 0", 1),
        ("SELECT VALUE c.id FROM c ORDER BY c.k", 1),
        ("SELECT VALUE c.id FROM c WHERE c.k < 1000 ORDER BY c.k DESC", -1),
    ] {
        let statement = prepare(text);
        let item = |number: u64, k: i64| {
            let text = format!(r#"{{"id":"{number}","k":{k}}}"#);
            stored(number, &text)
        };
        let numbers = 1..=30_u64;
        let key = |number: u64| direction * i64::try_from(number).unwrap() + 100;
        let items: Vec<SourceItem> =
            numbers.clone().map(|number| item(number * 10, key(number))).collect();
        let mut source = IndexedSource::new(&items, IndexPolicy::all());
        let mut rows = Vec::new();
        let mut continuation: Option<String> = None;
        for n_pages in 1_u64.. {
            let page = page_of(&statement, &source, 5, continuation.as_deref());
            rows.extend(page.rows.into_iter().map(Row::into_value));
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
            // The last row of the page goes, and behind the place something new appears.
            source.remove(n_pages * 50);
            source.put(item(n_pages, key(0)));
        }
        let expected: Vec<Value> =
            numbers.map(|number| Value::from((number * 10).to_string())).collect();
        assert_eq!(rows, expected, "{text}");
    }
}

fn page_of(
    statement: &Statement,
    source: &dyn ItemSource,
    items_max: usize,
    continuation: Option<&str>,
) -> Page {
    let request =
        PageRequest { items_max, bytes_max: 1 << 20, deadline: None, may_wait: true, continuation };
    statement.run(source, &request).unwrap()
}

#[test]
fn an_indexed_query_reads_what_it_returns() {
    let plain = source(2000);
    let indexed = IndexedSource::new(&plain.items, IndexPolicy::all());
    for (text, n_read_max) in [
        ("SELECT * FROM c WHERE c.id = '77'", 1),
        ("SELECT * FROM c WHERE c.id IN ('1', '2', '3', 'x')", 3),
        ("SELECT TOP 10 * FROM c ORDER BY c.n", 10),
        ("SELECT TOP 10 * FROM c WHERE c.n < 5 ORDER BY c.n DESC", 10),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n > 5", 0),
        ("SELECT VALUE MAX(c.id) FROM c", 0),
    ] {
        let page = page_of(&prepare(text), &indexed, 100, None);
        assert!(page.metrics.n_items_read <= n_read_max, "{text}: {:?}", page.metrics);
        assert!(!page.rows.is_empty(), "{text}");
    }
}

/// A page of these has no row before all items were seen: it may take longer than others, and still not for ever.
#[test]
fn what_needs_all_items_is_given_up_in_time() {
    let env = Env::fixed(1, 1);
    let whole = source(2_000);
    for text in [
        "SELECT VALUE c.id FROM c ORDER BY c.n",
        "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n",
        "SELECT VALUE SUM(c.n) FROM c",
        "SELECT DISTINCT VALUE c.n FROM c",
        "SELECT VALUE COUNT(1) FROM c WHERE REGEXMATCH(c.id, '1')",
        "SELECT VALUE COUNT(1) FROM c WHERE REGEXREPLACEALL(REPLICATE(c.id, 20), '1', '') = ''",
    ] {
        let statement = Statement::prepare(text, &[], &PrepareOptions::new(env.clone())).unwrap();
        let run = |page_time| {
            let slow = SlowSource(&whole, &env, Cell::new(0));
            let deadline = Some(env.monotonic() + page_time);
            let request = PageRequest {
                items_max: 100,
                bytes_max: 1 << 20,
                deadline,
                may_wait: true,
                continuation: None,
            };
            statement.run(&slow, &request).map(|page| page.rows.len())
        };
        // All items take 200 s.
        let result = run(Duration::from_secs(4));
        assert!(matches!(result, Err(Error::Timeout)), "{text}: {result:?}");
        assert!(run(Duration::from_secs(190)).unwrap() > 0, "{text}");
    }
}

/// Many items that an index finds are grouped by several threads.
#[test]
fn groups_of_many_items_are_those_of_one_thread() {
    let plain = source(25_000);
    let mut indexed = IndexedSource::new(&plain.items, IndexPolicy::all());
    for text in [
        "SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s, MIN(c.id) AS l FROM c WHERE c.n IN (3, 5) GROUP BY c.g",
        "SELECT VALUE AVG(c.n) FROM c WHERE c.n IN (3, 5)",
        "SELECT t, COUNT(1) AS k FROM c JOIN t IN c.tags WHERE c.n IN (3, 5) GROUP BY t",
    ] {
        let statement = prepare(text);
        let explained = statement.explain(&indexed).unwrap();
        assert!(explained.contains("seek"), "{explained}");
        let expected = run_all(&statement, &plain, 2).unwrap();
        assert_eq!(run_all(&statement, &indexed, 2).unwrap(), expected, "{text}");
        assert!(!expected.is_empty(), "{text}");
    }
    // An error on one of the threads is the error of the query.
    indexed.break_at(24_000);
    let statement = prepare("SELECT VALUE SUM(c.n) FROM c WHERE c.n IN (3, 5)");
    assert!(matches!(run_all(&statement, &indexed, 2), Err(Error::Source { .. })));
}

fn short_page(source: &IndexedSource, text: &str) -> Option<String> {
    let request = PageRequest {
        items_max: 100,
        bytes_max: 1 << 20,
        deadline: None,
        may_wait: true,
        continuation: None,
    };
    let page = prepare(text).run_short(source, &request).unwrap();
    page.map(|page| format!("{:?}", page.rows))
}

/// A few items can take long, too: when they are long, when each of them has many rows, when functions or expressions are
/// long.
#[test]
fn a_short_page_reads_no_long_items_and_computes_little() {
    let item =
        |number: u64, member: &str| stored(number, &format!(r#"{{"id":"{number}",{member}}}"#));
    let is_short = |items: &[SourceItem], text: &str| {
        short_page(&IndexedSource::new(items, IndexPolicy::all()), text).is_some()
    };
    let long = |n_bytes| vec![item(1, &format!(r#""text":"{}""#, "x".repeat(n_bytes)))];
    for text in [
        "SELECT VALUE LENGTH(c.text) FROM c",
        "SELECT VALUE LENGTH(c.text) FROM c WHERE c.id = '1'",
    ] {
        assert!(!is_short(&long(2 << 20), text), "{text}");
        assert!(is_short(&long(1 << 10), text), "{text}");
    }
    let list = format!(r#""list":[{}]"#, ["1"; 32].join(","));
    let items: Vec<SourceItem> = (1..=10).map(|number| item(number, &list)).collect();
    for text in [
        "SELECT VALUE REGEXREPLACEALL(c.text, 'xx', 'y') FROM c",
        "SELECT VALUE REGEXMATCH(c.text, c.id) FROM c",
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list",
        "SELECT VALUE ARRAY(SELECT VALUE a + b FROM a IN c.list JOIN b IN c.list) FROM c",
        "SELECT VALUE ST_DISTANCE(c.here, {'type': 'Point', 'coordinates': [1, 2]}) FROM c",
    ] {
        assert!(!is_short(&items, text), "{text}");
    }
    let sum = |n: usize| format!("SELECT VALUE c.n{} FROM c", " + c.m".repeat(n));
    assert!(is_short(&items, &sum(100)));
    assert!(!is_short(&items, &sum(4_000)));
}

/// A page that is said to be short is the same page; what reads many items is not short, and planning it reads little.
#[test]
fn a_short_page_is_whole() {
    let (few, many) = (source(50), source(5_000));
    let few = IndexedSource::new(&few.items, IndexPolicy::all());
    let mut many = IndexedSource::new(&many.items, IndexPolicy::all());
    many.is_exact = true;
    for (text, is_short_in_many) in [
        ("SELECT VALUE c.id FROM c WHERE c.id = '7'", true),
        ("SELECT TOP 3 VALUE c.id FROM c ORDER BY c.id", true),
        ("SELECT * FROM c", true),
        ("SELECT VALUE COUNT(1) FROM c", true),
        ("SELECT VALUE MAX(c.n) FROM c", true),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.id = '7'", true),
        ("SELECT VALUE c.id FROM c WHERE c.id IN ('7', '8') ORDER BY c.n", true),
        ("SELECT VALUE c.id FROM c WHERE LENGTH(c.id) = 99", false),
        ("SELECT VALUE c.id FROM c WHERE LENGTH(c.id) = 99 ORDER BY c.n", false),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0", false),
        ("SELECT VALUE SUM(c.n) FROM c", false),
        ("SELECT DISTINCT VALUE c.n FROM c", false),
        ("SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n", false),
        ("SELECT VALUE x.n FROM (SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n) AS x", false),
        ("SELECT * FROM c OFFSET 4000 LIMIT 10", false),
    ] {
        for (source, is_short) in [(&few, true), (&many, is_short_in_many)] {
            let whole = PageRequest {
                items_max: 100,
                bytes_max: 1 << 20,
                deadline: None,
                may_wait: true,
                continuation: None,
            };
            let whole = format!("{:?}", prepare(text).run(source, &whole).unwrap().rows);
            let page = short_page(source, text);
            assert_eq!(page.is_some(), is_short, "{text}");
            assert!(page.is_none_or(|page| page == whole), "{text}");
        }
    }
}

#[test]
fn following_an_index_ends_in_time_and_still_gets_ahead() {
    let env = Env::fixed(1, 1);
    let indexed = SlowIndex(IndexedSource::new(&source(50).items, IndexPolicy::all()), env.clone());
    let text = "SELECT VALUE c.id FROM c WHERE LENGTH(c.id) = 1 ORDER BY c.n";
    let statement = Statement::prepare(text, &[], &PrepareOptions::new(env.clone())).unwrap();
    let (mut n_pages, mut n_rows) = (0, 0);
    let mut continuation: Option<String> = None;
    loop {
        let request = PageRequest {
            items_max: 100,
            bytes_max: 1 << 20,
            deadline: Some(env.monotonic() + Duration::from_millis(450)),
            may_wait: true,
            continuation: continuation.as_deref(),
        };
        let page = statement.run(&indexed, &request).unwrap();
        n_rows += page.rows.len();
        n_pages += 1;
        assert!(n_pages < 100, "every page gets ahead");
        continuation = page.continuation;
        if continuation.is_none() {
            break;
        }
    }
    assert!(n_pages > 4, "{n_pages}");
    assert_eq!(n_rows, 9);
}

/// An index on which time passes with each item.
struct SlowIndex(IndexedSource, Env);

impl ItemSource for SlowIndex {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem, Error>> + '_> {
        self.0.scan(after)
    }

    fn index(&self) -> Option<&dyn query::ItemIndex> {
        Some(self)
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        None
    }

    fn parts(&self) -> Option<query::Parts<'_>> {
        None
    }
}

impl query::ItemIndex for SlowIndex {
    fn declared(&self) -> Vec<(&str, &query::index::Declared)> {
        self.0.declared()
    }

    fn prefetch(&self, numbers: &[u64]) {
        self.0.prefetch(numbers);
    }

    fn n_items(&self) -> Option<u64> {
        None
    }

    fn n_indexed(&self) -> Option<u64> {
        None
    }

    fn item_bytes(&self) -> u64 {
        self.0.item_bytes()
    }

    fn is_exact(&self) -> bool {
        false
    }

    fn counts_exactly(&self) -> bool {
        false
    }

    fn covers(&self, path: &query::index::IndexPath) -> bool {
        self.0.covers(path)
    }

    fn seek_in(
        &self,
        name: &str,
        span: &query::index::TermSpan,
        after: Option<(&[u8], u64)>,
        direction: query::Direction,
    ) -> query::Entries<'_> {
        self.0.seek_in(name, span, after, direction)
    }

    fn each_packed(
        &self,
        name: &str,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<(), Error> {
        self.0.each_packed(name, visit)
    }

    fn fetch(&self, number: u64) -> Result<Option<SourceItem>, Error> {
        self.1.advance(Duration::from_millis(100));
        self.0.fetch(number)
    }

    fn without(
        &self,
        path: &query::index::IndexPath,
        after: Option<u64>,
        direction: query::Direction,
    ) -> Option<query::Numbers<'_>> {
        self.0.without(path, after, direction)
    }
}

#[test]
fn a_continuation_of_another_kind_is_refused() {
    let source = source(9);
    let sorted = prepare("SELECT * FROM c ORDER BY c.n");
    let plain = prepare("SELECT * FROM c");
    let two_keys = prepare("SELECT * FROM c ORDER BY c.n, c.id");
    let token = |statement: &Statement| {
        let request = PageRequest {
            items_max: 2,
            bytes_max: 1 << 20,
            deadline: None,
            may_wait: true,
            continuation: None,
        };
        statement.run(&source, &request).unwrap().continuation.unwrap()
    };
    for (giver, taker) in [(&sorted, &plain), (&plain, &sorted), (&sorted, &two_keys)] {
        let continuation = token(giver);
        let request = PageRequest {
            items_max: 2,
            bytes_max: 1 << 20,
            deadline: None,
            may_wait: true,
            continuation: Some(&continuation),
        };
        assert!(matches!(taker.run(&source, &request), Err(Error::Continuation)));
    }
}

#[test]
fn a_resume_filter_starts_at_the_rid_inclusively() {
    let source = source(12);
    let rid = Rid::item(&Rid::container(1, 1), 7).to_string();
    let filter = format!(r#"{{"value":[1],"rid":"{rid}","exclude":false}}"#);
    let filter = model::json::parse(filter.as_bytes()).unwrap();
    for (direction, expected) in [
        ("ASC", vec!["7", "10", "2", "5", "8", "11"]),
        ("DESC", vec!["7", "4", "1", "12", "9", "6", "3"]),
    ] {
        let mut options = PrepareOptions::new(Env::fixed(1, 1));
        options.resume_filter = Some(ResumeFilter::from_wire(&filter).unwrap());
        let text = format!("SELECT VALUE c.id FROM c ORDER BY c.g {direction}");
        let statement = Statement::prepare(&text, &[], &options).unwrap();
        for items_max in [2, 100] {
            let rows = run_all(&statement, &source, items_max).unwrap();
            let rows: Vec<&str> = rows.iter().map(|row| row.as_str().unwrap()).collect();
            assert_eq!(rows, expected);
        }
    }
}

#[test]
fn conditions_match_single_items() {
    let item = &source(1).items[0].to_value().unwrap().into_owned();
    for (text, expected) in [
        ("SELECT * FROM c WHERE c.id = '1'", true),
        ("from c where c.id = '1'", true),
        ("FROM c WHERE c.n > 100", false),
        ("FROM c JOIN t IN c.tags WHERE t = 'b'", true),
    ] {
        let options = PrepareOptions::new(Env::fixed(1, 1));
        let statement = Statement::prepare_condition(text, &[], &options).unwrap();
        assert_eq!(statement.matches(item).unwrap(), expected, "{text}");
    }
}
