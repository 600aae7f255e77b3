//! Random documents and random queries: the engine with an index, the engine without, and a naive evaluator agree.
//!
//! A failure prints its seed; `ORRERY_SEED=<seed> cargo test -p orrery-query --test differential` repeats it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod indexed;
mod naive;

use client::{MemorySource, run_all, stored};
use indexed::IndexedSource;
use model::{Env, Value};
use naive::{Cond, Constants, Operand, Path, Query, Shape, V};
use query::index::IndexPolicy;
use query::{ItemSource, MeteredSource, PrepareOptions, SourceItem, Statement, UnionSource};

/// Sets of documents, and queries on each.
#[cfg(not(feature = "slow"))]
const ROUNDS: (u64, usize) = (40, 40);
#[cfg(feature = "slow")]
const ROUNDS: (u64, usize) = (2_000, 100);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn scalar(&mut self) -> V {
        match self.below(12) {
            0 => V::Null,
            1 => V::Bool(self.one_in(2)),
            2..=5 => V::Int(i64::try_from(self.below(7)).unwrap() - 3),
            6 => {
                V::Num(self.pick(&[0.5, -0.5, 1.0, 1.5, 2.0, 1e20, -1e20, 9_007_199_254_740_992.0]))
            }
            7 => V::Int(self.pick(&[
                9_007_199_254_740_991,
                9_007_199_254_740_992,
                9_007_199_254_740_993,
                -9_007_199_254_740_993,
                i64::MAX,
                i64::MIN,
            ])),
            _ => V::Str(self.string()),
        }
    }

    fn string(&mut self) -> String {
        let short = [
            "",
            "a",
            "ab",
            "abc",
            "b",
            "A",
            "\0",
            "a\0",
            "a\u{1}",
            "é",
            "e\u{301}",
            "\u{10000}",
            "\u{10FFFF}",
            "\u{FFFF}",
            "\u{E000}",
            "\u{D7FF}",
            "\"",
            "\\",
        ];
        if self.one_in(6) {
            // Longer than a term, so that only the item tells them apart.
            return format!("{}{}", "long ".repeat(20), self.pick(&["", "a", "b", "\u{FFFF}"]));
        }
        self.pick(&short).to_string()
    }

    fn value(&mut self, depth: usize) -> V {
        match self.below(10) {
            0 if depth > 0 => V::Arr((0..self.below(4)).map(|_| self.value(depth - 1)).collect()),
            1 if depth > 0 => self.object(depth - 1),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: usize) -> V {
        let mut members = Vec::new();
        for name in ["x", "y", "a"] {
            if !self.one_in(3) {
                members.push((name.to_string(), self.value(depth)));
            }
        }
        V::Obj(members)
    }

    fn item(&mut self, number: usize) -> V {
        let mut members = vec![("id".to_string(), V::Str(format!("{number:03}")))];
        for name in ["a", "b"] {
            if !self.one_in(5) {
                members.push((name.to_string(), self.value(2)));
            }
        }
        if !self.one_in(4) {
            members.push(("o".to_string(), self.object(1)));
        }
        if !self.one_in(4) {
            let element = |random: &mut Random| {
                if random.one_in(2) { random.object(0) } else { random.scalar() }
            };
            members.push((
                "l".to_string(),
                V::Arr((0..self.below(4)).map(|_| element(self)).collect()),
            ));
        }
        V::Obj(members)
    }

    fn path(&mut self) -> Path {
        self.pick(&[
            vec!["a"],
            vec!["a"],
            vec!["b"],
            vec!["o", "x"],
            vec!["o"],
            vec!["id"],
            vec!["none"],
        ])
    }

    fn operand(&mut self, in_element: bool) -> Operand {
        if in_element && !self.one_in(4) {
            return Operand::Element(self.pick(&[vec![], vec!["x"], vec!["y"]]));
        }
        Operand::Item(self.path())
    }

    fn condition(&mut self, depth: usize, in_element: bool) -> Cond {
        if depth > 0 && self.one_in(2) {
            let parts =
                (0..2 + self.below(2)).map(|_| self.condition(depth - 1, in_element)).collect();
            return match self.below(5) {
                0 => Cond::Not(Box::new(self.condition(depth - 1, in_element))),
                1 | 2 => Cond::And(parts),
                _ => Cond::Or(parts),
            };
        }
        let operand = self.operand(in_element);
        match self.below(14) {
            0..=5 => {
                let op = self.pick(&["=", "=", "=", "!=", "<", "<=", ">", ">="]);
                let value = if self.one_in(8) { self.value(1) } else { self.scalar() };
                Cond::Compare(operand, op, value, self.one_in(4))
            }
            6 => {
                let n = 1 + self.below(10);
                Cond::In(operand, (0..n).map(|_| self.scalar()).collect())
            }
            7 => Cond::Between(operand, self.scalar(), self.scalar()),
            8 => Cond::Starts(operand, self.string()),
            9 | 10 => {
                let name = self.pick(&[
                    "IS_DEFINED",
                    "IS_NULL",
                    "IS_BOOL",
                    "IS_NUMBER",
                    "IS_STRING",
                    "IS_ARRAY",
                    "IS_OBJECT",
                    "IS_PRIMITIVE",
                ]);
                Cond::Type(name, operand)
            }
            11 => Cond::True(operand),
            12 => Cond::Contains(self.pick(&[vec!["l"], vec!["a"]]), self.value(1)),
            _ if in_element => Cond::True(operand),
            _ => Cond::Exists(vec!["l"], Box::new(self.condition(1, true))),
        }
    }

    fn query(&mut self) -> Query {
        let shape = match self.below(10) {
            0 => Shape::Aggregate("COUNT", None),
            1 => {
                let name = self.pick(&["COUNT", "MIN", "MAX"]);
                Shape::Aggregate(name, Some(self.path()))
            }
            2 => Shape::Distinct(self.path()),
            3 => Shape::Group(self.path()),
            _ => Shape::Ids,
        };
        let is_list = matches!(shape, Shape::Ids);
        let join = (is_list && self.one_in(5)).then(|| vec!["l"]);
        let filter = (!self.one_in(6)).then(|| self.condition(2, join.is_some()));
        let order = if is_list { self.order() } else { Vec::new() };
        let window = (is_list && self.one_in(4)).then(|| (self.below(4), self.below(12)));
        Query { shape, join, filter, order, window }
    }

    /// No key, one key, or several of those that composite indexes have.
    fn order(&mut self) -> Vec<(Path, bool)> {
        match self.below(6) {
            0 | 1 => Vec::new(),
            2 | 3 => vec![(self.path(), self.one_in(2))],
            _ => {
                let mut keys = self.pick(&[
                    vec![(vec!["a"], false), (vec!["b"], false)],
                    vec![(vec!["b"], false), (vec!["a"], true)],
                    vec![(vec!["a"], false), (vec!["o", "x"], true), (vec!["b"], false)],
                    vec![(vec!["o", "x"], false), (vec!["id"], false)],
                ]);
                if self.one_in(2) {
                    for (_, descends) in &mut keys {
                        *descends = !*descends;
                    }
                }
                keys
            }
        }
    }

    fn policy(&mut self) -> IndexPolicy {
        let text = match self.below(6) {
            0 => {
                r#"{"includedPaths":[{"path":"/a/?"},{"path":"/l/[]/*"}],"excludedPaths":[{"path":"/*"}]}"#
            }
            1 => {
                r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/o/*"},{"path":"/b/?"}]}"#
            }
            2 | 3 => {
                r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b"}],
                    [{"path":"/b"},{"path":"/a","order":"descending"}],
                    [{"path":"/a","order":"descending"},{"path":"/o/x"},{"path":"/b","order":"descending"}]]}"#
            }
            _ => "{}",
        };
        IndexPolicy::from_policy(&json(text))
    }
}

fn json(text: &str) -> Value {
    model::json::parse(text.as_bytes()).unwrap()
}

/// One set of documents with and without an index.
struct World {
    values: Vec<V>,
    plain: MemorySource,
    /// The same items as values, of which nothing can be left unread.
    whole: MemorySource,
    indexed: IndexedSource,
    /// The same items in three parts, with and without an index, merged as the server does it.
    merged: UnionSource<IndexedSource>,
    merged_plain: UnionSource<MemorySource>,
}

impl World {
    fn new(random: &mut Random) -> World {
        let n_items = 1 + random.below(40);
        let values: Vec<V> = (1..=n_items).map(|number| random.item(number)).collect();
        let items: Vec<SourceItem> =
            (1..).zip(&values).map(|(number, value)| stored(number, &value.json())).collect();
        let policy = random.policy();
        let mut indexed = IndexedSource::new(&items, policy.clone());
        indexed.is_exact = !random.one_in(3);
        indexed.finds_undefined = !random.one_in(3);
        let part = |part: u64| -> Vec<SourceItem> {
            items.iter().filter(|item| item.number % 3 == part).cloned().collect()
        };
        let parts = (0..3).map(|own| IndexedSource::new(&part(own), policy.clone())).collect();
        let merged = UnionSource::new(parts, 1 + random.below(2));
        let plain_parts = (0..3).map(|own| MemorySource { items: part(own) }).collect();
        let merged_plain = UnionSource::new(plain_parts, 1);
        let whole = items.iter().map(|item| {
            SourceItem::new(item.number, item.to_value().unwrap().into_owned(), item.bytes)
        });
        let whole = MemorySource { items: whole.collect() };
        World { values, plain: MemorySource { items }, whole, indexed, merged, merged_plain }
    }

    fn check(&self, query: &Query, random: &mut Random) {
        let mut constants = Constants::default();
        let text = query.text(&mut constants);
        let parameters: Vec<(String, Value)> = (0..)
            .zip(&constants.0)
            .map(|(index, value): (usize, _)| (format!("@p{index}"), json(&value.json())))
            .collect();
        let context = || format!("{text}\n{parameters:?}");
        let options = PrepareOptions::new(Env::fixed(1, 1));
        let statement = Statement::prepare(&text, &parameters, &options)
            .unwrap_or_else(|error| panic!("{error}: {}", context()));
        let plain = run_all(&statement, &self.plain, 1000).unwrap();
        let texts = |rows: &[Value]| rows.iter().map(Value::to_text).collect::<Vec<_>>();
        let whole = run_all(&statement, &self.whole, 1000).unwrap();
        assert_eq!(texts(&plain), texts(&whole), "parts of items: {}", context());
        let page = 1 + random.below(5);
        // Groups have one order in one page and another in several, and in parts that of the parts.
        let in_pages = |rows: &[Value]| {
            let mut rows = rows.to_vec();
            if matches!(query.shape, Shape::Group(_)) {
                rows.sort_by_key(Value::to_text);
            }
            rows
        };
        let expected = in_pages(&plain);
        let timed = run_all(&statement, &MeteredSource::timed(&self.indexed, &options.env), page);
        assert_eq!(in_pages(&timed.unwrap()), expected, "timed: {}", context());
        let explained = || statement.explain(&self.indexed).unwrap();
        let found = run_all(&statement, &self.indexed, 1000).unwrap();
        assert_eq!(found, plain, "index, one page: {}\n{}", context(), explained());
        let found = in_pages(&run_all(&statement, &self.indexed, page).unwrap());
        assert_eq!(found, expected, "index, pages of {page}: {}\n{}", context(), explained());
        for merged in [&self.merged as &dyn ItemSource, &self.merged_plain] {
            let found = run_all(&statement, merged, page).unwrap();
            assert_eq!(in_pages(&found), expected, "merged, pages of {page}: {}", context());
        }
        self.check_naively(query, &plain, &context);
    }

    fn check_naively(&self, query: &Query, found: &[Value], context: &dyn Fn() -> String) {
        let expected: Vec<Value> =
            query.values(&self.values).iter().map(|value| json(&value.json())).collect();
        let (offset, limit) = query.window.unwrap_or((0, usize::MAX));
        let in_window: Vec<Value> = expected.iter().skip(offset).take(limit).cloned().collect();
        let is_list = matches!(query.shape, Shape::Ids);
        // Arrays and objects come in an order of their own; all else is known exactly.
        let has_hashed = query.order.iter().any(|(path, _)| {
            query.rows(&self.values).iter().any(|item| item.get(path).is_some_and(|v| v.rank() > 4))
        });
        if is_list && !has_hashed {
            assert_eq!(found, in_window, "{}", context());
            return;
        }
        assert_eq!(found.len(), in_window.len(), "{}", context());
        if query.window.is_none() {
            let mut left = expected;
            for row in found {
                let at = left.iter().position(|own| own == row);
                left.remove(at.unwrap_or_else(|| panic!("{row} is not expected: {}", context())));
            }
        }
    }
}

#[test]
fn index_scan_and_naive_evaluator_agree() {
    let (n_worlds, n_queries) = ROUNDS;
    let seeds = match std::env::var("ORRERY_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().expect("ORRERY_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..n_worlds,
    };
    let mut n_pairs = 0;
    for seed in seeds {
        let run = std::panic::catch_unwind(|| {
            let mut random = Random(seed);
            let world = World::new(&mut random);
            for _ in 0..n_queries {
                let query = random.query();
                world.check(&query, &mut random);
            }
        });
        assert!(run.is_ok(), "repeat with ORRERY_SEED={seed}");
        n_pairs += n_queries;
    }
    println!("{n_pairs} pairs of documents and query agree");
}

/// An order-by test in which rows of one item tie: they keep their own order whatever the direction.
#[test]
fn the_naive_evaluator_sees_what_it_should() {
    let items = [
        V::Obj(vec![("id".into(), V::Str("1".into())), ("a".into(), V::Int(2))]),
        V::Obj(vec![("id".into(), V::Str("2".into())), ("a".into(), V::Str("x".into()))]),
        V::Obj(vec![("id".into(), V::Str("3".into()))]),
    ];
    let operand = Operand::Item(vec!["a"]);
    let filter = Cond::Compare(operand, ">", V::Int(1), false);
    let mut query = Query {
        shape: Shape::Ids,
        join: None,
        filter: Some(filter),
        order: vec![(vec!["a"], true)],
        window: None,
    };
    let ids = |query: &Query| query.values(&items).iter().map(V::json).collect::<String>();
    assert_eq!(ids(&query), V::Str("1".into()).json());
    query.filter = None;
    let all = ["2", "1", "3"].map(|id| V::Str(id.into()).json()).concat();
    assert_eq!(ids(&query), all);
}
