//! The range index: what queries find through it, and that it follows every write and every policy.

use std::fmt::Write as _;
use std::sync::Arc;

use model::{Env, EpkRange, Value};
use partition::{Scope, Settings};
use query::index::IndexPolicy;
use query::{FullTextPolicy, ItemSource, PageRequest, PrepareOptions, SourceItem, Statement};

use crate::support::*;

/// A source without its index.
struct Bare<'s>(&'s dyn ItemSource);

impl ItemSource for Bare<'_> {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        self.0.scan(after)
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

fn statement(text: &str) -> Statement {
    Statement::prepare(text, &[], &PrepareOptions::new(Env::fixed(1, START_MS))).unwrap()
}

fn rows(source: &dyn ItemSource, text: &str, items_max: usize) -> (Vec<Value>, u64) {
    let (mut rows, mut n_read) = (Vec::new(), 0);
    let mut continuation: Option<String> = None;
    loop {
        let request = PageRequest {
            items_max,
            bytes_max: 4 << 20,
            deadline: None,
            may_wait: true,
            continuation: continuation.as_deref(),
        };
        let page = statement(text).run(source, &request).unwrap();
        rows.extend(page.rows.into_iter().map(query::Row::into_value));
        n_read += page.metrics.n_items_read;
        continuation = page.continuation;
        if continuation.is_none() {
            return (rows, n_read);
        }
    }
}

/// Runs a query with and without the index; returns the items read with it.
#[track_caller]
fn agree(world: &World, scope: &Scope, text: &str) -> u64 {
    let source = world.partition.source(scope);
    for items_max in [2, 1000] {
        // Groups have one order in one page and another in several.
        let (expected, _) = rows(&Bare(&source), text, items_max);
        let (found, _) = rows(&source, text, items_max);
        assert_eq!(found, expected, "{text}\n{}", statement(text).explain(&source).unwrap());
    }
    rows(&source, text, 1000).1
}

const QUERIES: &[&str] = &[
    "SELECT VALUE c.id FROM c WHERE c.n = 3",
    "SELECT VALUE c.id FROM c WHERE c.n > 3 AND c.n <= 6",
    "SELECT VALUE c.id FROM c WHERE c.n IN (1, 5, 'x') OR c.o.k = 'b'",
    "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.s, 'te') AND c.n > 1",
    "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 'red')",
    "SELECT VALUE c.id FROM c JOIN t IN c.tags WHERE t = 'blue'",
    "SELECT VALUE c.id FROM c WHERE IS_DEFINED(c.rare)",
    "SELECT VALUE c.id FROM c ORDER BY c.n",
    "SELECT VALUE c.id FROM c ORDER BY c.n DESC",
    "SELECT TOP 4 VALUE c.id FROM c ORDER BY c.rare",
    "SELECT VALUE c.id FROM c ORDER BY c.rare DESC",
    "SELECT VALUE c.id FROM c WHERE c.n > 2 ORDER BY c.o.k DESC OFFSET 1 LIMIT 5",
    "SELECT VALUE c.id FROM c ORDER BY c.nowhere",
    "SELECT VALUE c.id FROM c ORDER BY c.n, c.rare DESC",
    "SELECT VALUE c.id FROM c WHERE c.n = 3 ORDER BY c.rare DESC OFFSET 1 LIMIT 9",
    "SELECT VALUE c.id FROM c WHERE c.o.k = 'a' AND c.n > 2 ORDER BY c.o.k, c.n DESC, c.id DESC",
    "SELECT VALUE COUNT(1) FROM c WHERE c.n > 2",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT MIN(c.n) AS low, MAX(c.s) AS high, COUNT(c.rare) AS k FROM c",
    "SELECT c.n, COUNT(1) AS k FROM c WHERE c.n < 4 GROUP BY c.n",
];

fn body(n: u64) -> String {
    let mut text = format!(r#"{{"id":"{n}","pk":"{}","n":{}"#, n % 3, n % 8);
    let tags = ["red", "green", "blue"];
    let _ = write!(text, r#","tags":["{}","{}"]"#, tags[(n % 3) as usize], tags[(n % 2) as usize]);
    let _ = write!(text, r#","s":"text {}","o":{{"k":"{}"}}"#, n % 5, ["a", "b"][(n % 2) as usize]);
    if n.is_multiple_of(7) {
        let _ = write!(text, r#","rare":{n}"#);
    }
    text + "}"
}

/// A quick look, for tests that look often.
fn check_some(world: &World) {
    world.check();
    let source = world.partition.source(&Scope::All);
    for text in QUERIES.iter().step_by(3) {
        let (expected, _) = rows(&Bare(&source), text, 1000);
        assert_eq!(rows(&source, text, 1000).0, expected, "{text}");
    }
}

fn check_all(world: &World) {
    world.check();
    let scopes = [Scope::All, Scope::Logical(world.at(r#"["1"]"#))];
    for scope in &scopes {
        for text in QUERIES {
            agree(world, scope, text);
        }
    }
}

#[tokio::test]
async fn the_index_follows_every_write() {
    let world = World::new();
    for n in 0..60 {
        world.create(&body(n)).await.unwrap();
    }
    check_all(&world);
    for n in (0..60).step_by(4) {
        let pk = n % 3;
        let text = format!(r#"{{"id":"{n}","pk":"{pk}","n":"{n}","tags":["red",[1]],"new":null}}"#);
        world.upsert(&text).await.unwrap();
    }
    for n in (1..60).step_by(5) {
        world.delete(&format!(r#"["{}"]"#, n % 3), &n.to_string()).await.unwrap();
    }
    check_all(&world);
    world.partition.delete_logical(&world.at(r#"["2"]"#)).await.unwrap();
    while world.partition.expire(7).await.unwrap() > 0 {}
    check_all(&world);
    for pk in 0..3 {
        world.partition.delete_logical(&world.at(&format!(r#"["{pk}"]"#))).await.unwrap();
    }
    assert_eq!(world.check().n_terms, 0, "no item, no entry");
}

#[tokio::test]
async fn dead_items_are_not_found() {
    let world = World::with(with_ttl(10));
    for n in 0..20 {
        world.create(&body(n)).await.unwrap();
    }
    world.advance(6);
    for n in 20..30 {
        world.create(&body(n)).await.unwrap();
    }
    world.advance(6);
    check_all(&world);
    let (found, _) = rows(&world.partition.source(&Scope::All), "SELECT VALUE COUNT(1) FROM c", 10);
    assert_eq!(found, [Value::from(10)]);
    while world.partition.expire(7).await.unwrap() > 0 {}
    check_all(&world);
}

#[tokio::test]
async fn an_indexed_query_reads_only_what_it_needs() {
    let world = World::new();
    for n in 0..200 {
        world.create(&body(n)).await.unwrap();
    }
    for (text, n_read_max) in [
        ("SELECT * FROM c WHERE c.id = '77'", 1),
        ("SELECT * FROM c WHERE c.rare > 190", 1),
        ("SELECT TOP 5 * FROM c ORDER BY c.n", 5),
        ("SELECT TOP 5 * FROM c ORDER BY c.n DESC", 5),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 2", 0),
    ] {
        let n_read = agree(&world, &Scope::All, text);
        assert!(n_read <= n_read_max, "{text} read {n_read}");
    }
}

fn with_policy(text: &str) -> Settings {
    Settings { index_policy: IndexPolicy::from_policy(&json(text.as_bytes())), ..settings() }
}

const SOME: &str = r#"{"includedPaths":[{"path":"/n/?"},{"path":"/tags/[]/?"}],
    "excludedPaths":[{"path":"/*"}]}"#;
const OTHERS: &str =
    r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/tags/*"},{"path":"/s/?"}]}"#;
const NONE: &str = r#"{"indexingMode":"none"}"#;
const COMPOSITE: &str = r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/s/?"}],
    "compositeIndexes":[[{"path":"/n"},{"path":"/rare","order":"descending"}],
        [{"path":"/o/k","order":"descending"},{"path":"/n"},{"path":"/id"}]]}"#;

#[tokio::test]
async fn a_policy_says_what_is_indexed() {
    let world = World::with(with_policy(SOME));
    for n in 0..30 {
        world.create(&body(n)).await.unwrap();
    }
    check_all(&world);
    let plan = |text: &str| statement(text).explain(&world.partition.source(&Scope::All)).unwrap();
    assert_eq!(plan("SELECT * FROM c WHERE c.n = 1"), "stream\n  seek /n = 1\n");
    assert_eq!(plan("SELECT * FROM c WHERE c.s = 'x'"), "stream\n  scan\n");
    let none = World::with(with_policy(NONE));
    none.create(&body(1)).await.unwrap();
    check_all(&none);
    assert_eq!(none.check().n_terms, 0);
}

#[tokio::test]
async fn a_new_policy_is_reached_step_by_step_and_queries_stay_right() {
    let world = World::new();
    for n in 0..50 {
        world.create(&body(n)).await.unwrap();
    }
    assert_eq!(world.partition.index_progress(), 100);
    let mut next = 100;
    for policy in [SOME, COMPOSITE, OTHERS, COMPOSITE, NONE, "{}"] {
        world.partition.set_settings(Arc::new(with_policy(policy)));
        assert!(world.partition.index_progress() < 100);
        check_some(&world);
        let mut n_steps = 0;
        loop {
            let has_more = world.partition.rebuild_index(11).await.unwrap();
            check_some(&world);
            if !has_more {
                break;
            }
            n_steps += 1;
            // Writes go on meanwhile, on both sides of the place that the rebuild has reached.
            world.create(&body(next)).await.unwrap();
            world.upsert(&body(next % 50).replace("text", "word")).await.unwrap();
            let gone = next - 60;
            drop(world.delete(&format!(r#"["{}"]"#, gone % 3), &gone.to_string()).await);
            check_some(&world);
            next += 1;
        }
        assert!(n_steps > 2, "{n_steps}");
        assert_eq!(world.partition.index_progress(), 100);
    }
    let plan = statement("SELECT * FROM c WHERE c.s = 'x'");
    let plan = plan.explain(&world.partition.source(&Scope::All)).unwrap();
    assert_eq!(plan, "stream\n  seek /s = \"x\"\n");
}

#[tokio::test]
async fn a_full_text_index_of_another_language_is_made_anew() {
    let full_text = |language: &str| {
        let policy = format!(r#"{{"defaultLanguage":"{language}","fullTextPaths":[]}}"#);
        FullTextPolicy::from_policy(&json(policy.as_bytes()))
    };
    let with_language = |language: &str| {
        let policy = json(br#"{"fullTextIndexes":[{"path":"/text"}]}"#);
        let index_policy = IndexPolicy::of_container(&policy, &full_text(language));
        Arc::new(Settings { index_policy, ..settings() })
    };
    let world = World::with(Settings::clone(&with_language("en-US")));
    for (id, text) in [("1", "Häuser am Fluss"), ("2", "des Hauses"), ("3", "nichts")] {
        world.create(&format!(r#"{{"id":"{id}","pk":1,"text":"{text}"}}"#)).await.unwrap();
    }
    let mut options = PrepareOptions::new(Env::fixed(1, START_MS));
    options.full_text = full_text("de-DE");
    let text = "SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, 'Häusern')";
    let query = Statement::prepare(text, &[], &options).unwrap();
    let check = |plan: &str| {
        let source = world.partition.source(&Scope::All);
        assert_eq!(query.explain(&source).unwrap(), format!("stream\n  {plan}\n"));
        let request = PageRequest {
            items_max: 9,
            bytes_max: 1 << 20,
            deadline: None,
            may_wait: true,
            continuation: None,
        };
        let rows = query.run(&source, &request).unwrap().rows;
        let rows: Vec<Value> = rows.into_iter().map(query::Row::into_value).collect();
        assert_eq!(rows, [Value::from("1"), Value::from("2")], "{plan}");
    };
    check("scan");
    world.partition.set_settings(with_language("de-DE"));
    check("scan");
    while world.partition.rebuild_index(1).await.unwrap() {}
    check("seek /text has \"haus\"");
}

#[tokio::test]
async fn a_policy_can_change_before_the_last_one_is_reached() {
    let world = World::new();
    for n in 0..40 {
        world.create(&body(n)).await.unwrap();
    }
    for (round, policy) in
        [SOME, COMPOSITE, NONE, "{}", SOME, OTHERS, COMPOSITE, SOME, NONE, OTHERS, COMPOSITE]
            .into_iter()
            .enumerate()
    {
        world.partition.set_settings(Arc::new(with_policy(policy)));
        world.partition.rebuild_index(9).await.unwrap();
        world.upsert(&body(round as u64 * 3)).await.unwrap();
        check_some(&world);
    }
    while world.partition.rebuild_index(9).await.unwrap() {}
    check_all(&world);
}

#[tokio::test]
async fn a_rebuild_goes_on_after_a_restart() {
    let world = World::with(with_policy(SOME));
    for n in 0..40 {
        world.create(&body(n)).await.unwrap();
    }
    world.partition.set_settings(Arc::new(settings()));
    assert!(world.partition.rebuild_index(10).await.unwrap());
    let World { store, env, .. } = world;
    let world = World::open(store, settings(), env);
    assert!((20..100).contains(&world.partition.index_progress()));
    check_all(&world);
    let mut n_steps = 0;
    while world.partition.rebuild_index(10).await.unwrap() {
        n_steps += 1;
    }
    assert_eq!(n_steps, 2, "the first ten items are not done again");
    check_all(&world);
}

/// An order by a path that few items lack needs no look at the others.
#[tokio::test]
async fn items_without_a_path_are_listed_while_they_are_few() {
    let world = World::new();
    for n in 0..100_u64 {
        let has = if n % 20 == 3 { "" } else { r#","k":1"# };
        world.create(&format!(r#"{{"id":"{n}","pk":1{has}}}"#)).await.unwrap();
    }
    assert!(agree(&world, &Scope::All, "SELECT TOP 7 VALUE c.id FROM c ORDER BY c.k") <= 8);
    world.upsert(r#"{"id":"3","pk":1,"k":0}"#).await.unwrap();
    world.delete("[1]", "23").await.unwrap();
    world.check();
    let (found, _) = rows(
        &world.partition.source(&Scope::All),
        "SELECT TOP 4 VALUE c.id FROM c ORDER BY c.k",
        10,
    );
    assert_eq!(found, ["43", "63", "83", "3"].map(Value::from));
    for n in 100..200 {
        world.create(&format!(r#"{{"id":"{n}","pk":1}}"#)).await.unwrap();
    }
    world.check();
    agree(&world, &Scope::All, "SELECT VALUE c.id FROM c ORDER BY c.k");
}

/// A policy that is reached later has the lists too, and one that leaves a path alone keeps its list.
#[tokio::test]
async fn items_without_a_path_are_listed_after_a_change_of_policy() {
    let world = World::with(with_policy(SOME));
    for n in 0..100_u64 {
        let has = if n % 20 == 3 { "" } else { r#","k":1,"n":2"# };
        world.create(&format!(r#"{{"id":"{n}","pk":1{has}}}"#)).await.unwrap();
    }
    let n_read = |key: &str| {
        let text = format!("SELECT TOP 7 VALUE c.id FROM c ORDER BY c.{key}");
        agree(&world, &Scope::All, &text)
    };
    assert_eq!(n_read("k"), 100, "not indexed");
    assert!(n_read("n") <= 8);
    world.partition.set_settings(Arc::new(with_policy(OTHERS)));
    assert!(n_read("n") <= 8);
    assert!(world.partition.rebuild_index(10).await.unwrap());
    world.upsert(r#"{"id":"3","pk":1,"k":1,"n":2}"#).await.unwrap();
    world.upsert(r#"{"id":"99","pk":1}"#).await.unwrap();
    while world.partition.rebuild_index(10).await.unwrap() {}
    world.check();
    assert!(n_read("n") <= 8);
    assert!(n_read("k") <= 8);
    let World { store, env, .. } = world;
    let world = World::open(store, with_policy(OTHERS), env);
    world.check();
    let text = "SELECT TOP 7 VALUE c.id FROM c ORDER BY c.k";
    assert!(agree(&world, &Scope::All, text) <= 8, "the lists are saved");
}

#[tokio::test]
async fn several_keys_stream_from_a_composite_index() {
    let world = World::with(with_policy(COMPOSITE));
    for n in 0..120 {
        world.create(&body(n)).await.unwrap();
    }
    for n in (0..120).step_by(3) {
        let pk = n % 3;
        let text = format!(r#"{{"id":"{n}","pk":"{pk}","n":[{n}],"rare":{{"r":{n}}}}}"#);
        world.upsert(&text).await.unwrap();
        if n % 2 == 0 {
            world.delete(&format!(r#"["{pk}"]"#), &n.to_string()).await.unwrap();
        }
    }
    check_all(&world);
    for (text, n_read_max) in [
        ("SELECT TOP 5 VALUE c.id FROM c ORDER BY c.n, c.rare DESC", 5),
        ("SELECT TOP 5 VALUE c.id FROM c WHERE c.n = 4 ORDER BY c.rare DESC", 20),
        ("SELECT TOP 5 VALUE c.id FROM c WHERE c.o.k = 'b' ORDER BY c.n DESC, c.id DESC", 5),
    ] {
        let n_read = agree(&world, &Scope::All, text);
        assert!(n_read <= n_read_max, "{text} read {n_read}");
    }
}

/// The feed is in time order, so that it serves as the index of `_ts`.
#[tokio::test]
async fn the_time_of_the_last_write_is_indexed() {
    let world = World::new();
    for n in 0..60 {
        world.create(&body(n)).await.unwrap();
        if n % 4 == 3 {
            world.advance(1);
        }
    }
    for n in [50, 3, 17] {
        world.upsert(&body(n)).await.unwrap();
    }
    let start = START_MS / 1000;
    for (text, n_read_max) in [
        (format!("SELECT VALUE c.id FROM c WHERE c._ts = {}", start + 3), 4),
        (format!("SELECT VALUE c.id FROM c WHERE c._ts >= {}", start + 14), 7),
        (format!("SELECT VALUE c.id FROM c WHERE c._ts > {start}.5 AND c._ts < {}", start + 2), 4),
        ("SELECT TOP 5 VALUE c.id FROM c ORDER BY c._ts DESC".to_owned(), 5),
        ("SELECT TOP 5 VALUE c.id FROM c ORDER BY c._ts".to_owned(), 5),
        ("SELECT VALUE c.id FROM c ORDER BY c._ts".to_owned(), 60),
        ("SELECT MIN(c._ts) AS low, MAX(c._ts) AS high, COUNT(c._ts) AS k FROM c".to_owned(), 2),
        ("SELECT VALUE c.id FROM c WHERE IS_STRING(c._ts)".to_owned(), 0),
        ("SELECT VALUE c.id FROM c WHERE c._ts > 99999999999".to_owned(), 0),
        ("SELECT VALUE c.id FROM c WHERE c._ts < 0 OR c._ts = '1'".to_owned(), 0),
    ] {
        let n_read = agree(&world, &Scope::All, &text);
        assert!(n_read <= n_read_max, "{text} read {n_read}");
        agree(&world, &Scope::Logical(world.at(r#"["1"]"#)), &text);
    }
}

const DECLARED: &str = r#"{"fullTextIndexes":[{"path":"/text"}],
    "spatialIndexes":[{"path":"/loc/*","types":["Point"]}],
    "vectorIndexes":[{"path":"/v","type":"flat"}]}"#;

/// An item with a text, a place and a vector; some lack one of them.
fn rich(n: u64) -> String {
    let words = ["red", "green", "blue", "apple", "pear", "plum", "running", "swims"];
    let text: Vec<&str> = (0..n % 11).map(|i| words[((n * 7 + i * i) % 8) as usize]).collect();
    let mut body = format!(r#"{{"id":"{n}","pk":"{}","n":{}"#, n % 3, n % 5);
    if !n.is_multiple_of(7) {
        let _ = write!(body, r#","text":"{}""#, text.join(" "));
    }
    if n % 5 != 1 {
        let (x, y) = ((n * 37 % 340).cast_signed() - 170, (n * 53 % 160).cast_signed() - 80);
        let _ = write!(body, r#","loc":{{"type":"Point","coordinates":[{x},{y}]}}"#);
    }
    if n % 6 != 2 {
        let v: Vec<String> = (0..4)
            .map(|i| format!("{}.{}", (n * (i + 3)) % 17 / 10, (n * (i + 3)) % 17 % 10))
            .collect();
        let _ = write!(body, r#","v":[{}]"#, v.join(","));
    }
    body + "}"
}

const DECLARED_QUERIES: &[(&str, u64)] = &[
    ("SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, 'run')", 80),
    ("SELECT VALUE c.id FROM c WHERE FullTextContainsAll(c.text, 'apples', 'blue pear')", 80),
    (
        "SELECT COUNT(1) AS n, SUM(_FullTextWordCount(c.text)) AS w, COUNTIF(FullTextContains(c.text, 'plum')) AS h FROM c",
        0,
    ),
    ("SELECT TOP 9 c.id FROM c ORDER BY RANK FullTextScore(c.text, 'apple', 'swim')", 120),
    (
        "SELECT TOP 9 VALUE c.id FROM c ORDER BY _FullTextScore(c.text, ['apple', 'red'], 200, 900, [60, 60]) DESC",
        120,
    ),
    (
        "SELECT TOP 150 VALUE c.id FROM c ORDER BY _FullTextScore(c.text, ['apple'], 200, 900, [60]) DESC",
        250,
    ),
    (
        "SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.loc, {'type':'Point','coordinates':[10,20]}) < 2000000",
        60,
    ),
    (
        "SELECT VALUE c.id FROM c WHERE ST_WITHIN(c.loc, {'type':'Polygon','coordinates':[[[0,0],[40,0],[40,40],[0,40],[0,0]]]})",
        60,
    ),
    ("SELECT TOP 5 VALUE c.id FROM c ORDER BY VectorDistance(c.v, [1,0.5,0,0.2])", 5),
    (
        "SELECT TOP 8 VALUE c.id FROM c WHERE c.n != 2 ORDER BY VectorDistance(c.v, [1,0.5,0,0.2])",
        160,
    ),
    ("SELECT TOP 300 VALUE c.id FROM c ORDER BY VectorDistance(c.v, [1,0.5,0,0.2])", 400),
];

#[tokio::test]
async fn declared_indexes_follow_writes_and_find_what_a_scan_finds() {
    let world = World::with(with_policy(DECLARED));
    for n in 0..200 {
        world.create(&rich(n)).await.unwrap();
    }
    for n in (0..200).step_by(9) {
        let text =
            rich(n + 1000).replace(&format!(r#""id":"{}""#, n + 1000), &format!(r#""id":"{n}""#));
        let text =
            text.replace(&format!(r#""pk":"{}""#, (n + 1000) % 3), &format!(r#""pk":"{}""#, n % 3));
        world.upsert(&text).await.unwrap();
    }
    for n in (4..200).step_by(17) {
        world.delete(&format!(r#"["{}"]"#, n % 3), &n.to_string()).await.unwrap();
    }
    world.check();
    for (text, n_read_max) in DECLARED_QUERIES {
        let n_read = agree(&world, &Scope::All, text);
        assert!(n_read <= *n_read_max, "{text} read {n_read}");
        agree(&world, &Scope::Logical(world.at(r#"["1"]"#)), text);
    }
    // Another policy, and back: what is not declared any more is gone, and comes again.
    for policy in ["{}", DECLARED] {
        world.partition.set_settings(Arc::new(with_policy(policy)));
        while world.partition.rebuild_index(90).await.unwrap() {
            for (text, _) in DECLARED_QUERIES.iter().step_by(4) {
                agree(&world, &Scope::All, text);
            }
        }
        world.check();
    }
    for (text, n_read_max) in DECLARED_QUERIES {
        let n_read = agree(&world, &Scope::All, text);
        assert!(n_read <= *n_read_max, "{text} read {n_read}");
    }
}

/// One key without a key in the request: its members are read, not the range.
#[tokio::test]
async fn narrow_spans_read_only_their_logical_partitions() {
    let world = World::with(with_policy(NONE));
    for n in 0..300_u64 {
        world
            .create(&format!(r#"{{"id":"{n}","pk":"p{}","n":{}}}"#, n % 100, n % 7))
            .await
            .unwrap();
    }
    let span = |key: &str| EpkRange::point(world.at(key).epk);
    let one = [span(r#"["p7"]"#)];
    let mut two = [span(r#"["p7"]"#), span(r#"["p50"]"#)];
    two.sort_by(|left, right| left.min().cmp(right.min()));
    let all = [EpkRange::full()];
    for (spans, n_read, ids) in [
        (&one[..], 3, vec!["7", "107", "207"]),
        (&two[..], 6, vec!["7", "50", "107", "150", "207", "250"]),
    ] {
        let source = world.partition.source_in(spans);
        for items_max in [2, 100] {
            let (found, n) = rows(&source, "SELECT VALUE c.id FROM c", items_max);
            assert_eq!(found, ids.iter().copied().map(Value::from).collect::<Vec<_>>());
            assert_eq!(n, n_read);
        }
    }
    assert_eq!(rows(&world.partition.source_in(&all), "SELECT VALUE 1 FROM c", 1000).1, 300);
    assert_eq!(rows(&world.partition.source_in(&[]), "SELECT VALUE 1 FROM c", 1000).1, 0);
}

/// Prints what the default index costs a typical item.
#[tokio::test]
async fn the_entries_of_a_typical_item_are_small() {
    let world = World::new();
    let item = |n: u64| {
        let padding = "lorem ipsum dolor sit amet ".repeat(16);
        format!(
            r#"{{"id":"6f1ed002-ab12-4c5e-9d3f-{n:012}","pk":"tenant-{}","type":"order","status":"open",
            "createdAt":"2026-01-12T10:15:{:02}Z","updatedAt":1700000{n:03},"total":{}.25,"currency":"EUR",
            "customer":{{"id":"c-{n}","name":"Ada Lovelace","email":"ada{n}@example.com"}},
            "lines":[{{"sku":"A-{n}","quantity":2,"price":9.99}},{{"sku":"B-{n}","quantity":1,"price":19.5}}],
            "tags":["new","gift"],"isPaid":true,"note":"{padding}"}}"#,
            n % 4,
            n % 60,
            n * 3
        )
    };
    let n_items = 100;
    let mut item_bytes = 0;
    for n in 0..n_items {
        item_bytes += item(n).len();
        world.create(&item(n)).await.unwrap();
    }
    let snapshot = world.store.snapshot();
    let mut prefix = INCARNATION.to_be_bytes().to_vec();
    prefix.push(0x0A);
    let range = store::KeyRange::prefix(&prefix);
    let keys: Vec<usize> = snapshot
        .scan(range, store::Direction::Forward)
        .map(|entry| entry.unwrap().0.len())
        .collect();
    let (n_keys, key_bytes) = (keys.len(), keys.iter().sum::<usize>());
    let n_items = usize::try_from(n_items).unwrap();
    println!(
        "item {} bytes: {} entries, {} key bytes ({} without the prefix of the family), {} per entry",
        item_bytes / n_items,
        n_keys / n_items,
        key_bytes / n_items,
        (key_bytes - 9 * n_keys) / n_items,
        key_bytes / n_keys
    );
    assert!(key_bytes / n_keys < 48, "an entry has {} bytes", key_bytes / n_keys);
    assert!(n_keys / n_items < 40);
}
