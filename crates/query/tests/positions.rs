//! A continuation is a place among items and values: what is written between two pages, and where the items lie by
//! then, neither loses nor doubles a row that is there all the time.
//!
//! A failure prints its seed; `ORRERY_SEED=<seed> cargo test -p orrery-query --test positions` repeats it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod indexed;

use client::MemorySource;
use indexed::IndexedSource;
use model::{Env, Rid, Value};
use query::index::IndexPolicy;
use query::{ItemSource, PageRequest, PrepareOptions, Row, SourceItem, Statement};

/// Queries, each with a page size, on data of one seed.
#[cfg(not(feature = "slow"))]
const SEEDS: u64 = 2;
#[cfg(feature = "slow")]
const SEEDS: u64 = 200;
const PAGES_MAX: usize = 1000;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// What a row must be told apart by, and whether its items stay.
struct Class {
    text: &'static str,
    /// The member by which the rows of items that stay are known; the row itself if empty.
    identity: &'static str,
    is_ordered: bool,
}

const fn class(text: &'static str, identity: &'static str, is_ordered: bool) -> Class {
    Class { text, identity, is_ordered }
}

/// Values of items that stay are not negative, those of the others are.
const CLASSES: &[Class] = &[
    class("SELECT c.id, c.v FROM c", "id", false),
    class("SELECT c.id, c.v, t FROM c JOIN t IN c.tags WHERE t = 'b'", "id", false),
    class("SELECT c.id, c.v FROM c ORDER BY c.v", "id", true),
    class("SELECT c.id, c.v FROM c ORDER BY c.v DESC", "id", true),
    class("SELECT c.id, c.v FROM c ORDER BY c.g, c.v DESC", "id", true),
    class("SELECT c.id, c.v FROM c ORDER BY c.mixed DESC", "id", true),
    class("SELECT c.id, c.v FROM c ORDER BY c.mixed, c.long", "id", true),
    class("SELECT DISTINCT VALUE c.g FROM c", "", false),
    class("SELECT DISTINCT VALUE c.mixed FROM c WHERE c.v >= 0", "", false),
    class("SELECT DISTINCT c.g, t FROM c JOIN t IN c.tags WHERE c.v >= 0", "", false),
    class("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g DESC", "", true),
    class("SELECT DISTINCT VALUE c.long FROM c", "", false),
    class("SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g", "g", false),
    class(
        "SELECT c.g, c.mixed, SUM(c.v) AS n FROM c WHERE c.v >= 0 GROUP BY c.g, c.mixed",
        "",
        false,
    ),
    class("SELECT VALUE r FROM (SELECT DISTINCT VALUE c.g FROM c) AS r", "", false),
    class(
        "SELECT c.id, c.v FROM c ORDER BY RANK FullTextScore(c.text, 'river', 'land')",
        "id",
        true,
    ),
    class("SELECT * FROM c ORDER BY RANK FullTextScore(c.text, 'deep river', 'sea')", "id", true),
    class(
        "SELECT c.id, c.v FROM c WHERE c.v > -5 ORDER BY RANK FullTextScore(c.text, 'sea')",
        "id",
        true,
    ),
    class("SELECT c.id, c.v FROM c ORDER BY RANK VectorDistance(c.vector, [1, 0])", "id", true),
];

/// Texts longer than a continuation can name: different ones begin differently.
fn long(n: u64) -> String {
    format!("{n:02}{}", "x".repeat(1500))
}

fn item(number: u64, v: i64, g: u64, random: &mut Random) -> SourceItem {
    let rid = Rid::item(&Rid::container(1, 1), number);
    let sign = if v < 0 { "-" } else { "" };
    let mixed = [
        "",
        r#","mixed":null"#,
        r#","mixed":true"#,
        r#","mixed":3"#,
        r#","mixed":3.5"#,
        r#","mixed":"ä""#,
        r#","mixed":[1,2]"#,
        r#","mixed":{"a":[]}"#,
        r#","mixed":9007199254740993"#,
        r#","mixed":9007199254740992"#,
    ][usize::try_from(random.below(10)).unwrap()];
    let long = format!("{sign}{}", long(random.below(12)));
    let words = ["river", "land", "sea", "deep", "hill", "town"];
    let word = |n| words[usize::try_from(n).unwrap()];
    let text: Vec<&str> = (0..random.below(9)).map(|_| word(random.below(6))).collect();
    let text = match text.join(" ") {
        empty if empty.is_empty() => String::new(),
        text => format!(r#","text":"{text}""#),
    };
    let vector = format!("[{},{}]", random.below(3), random.below(4));
    let text = format!(
        r#"{{"id":"{number}","v":{v},"g":"{sign}{g}","long":"{long}","tags":["a","b"],"vector":{vector},"_rid":"{rid}"{mixed}{text}}}"#
    );
    let value = model::json::parse(text.as_bytes()).unwrap();
    SourceItem::new(number, value, text.len())
}

fn v(item: &SourceItem) -> i64 {
    item.to_value().unwrap().get("v").unwrap().as_i64().unwrap()
}

/// Items that stay have even numbers, others come and go between them.
fn items(random: &mut Random) -> Vec<SourceItem> {
    let mut items = Vec::new();
    for number in 2..80 {
        let value = i64::try_from(random.below(20)).unwrap();
        let g = random.below(9);
        items.push(item(number, if number % 2 == 0 { value } else { -1 - value }, g, random));
    }
    items
}

/// Writes and deletes items that do not stay.
fn disturb(items: &mut Vec<SourceItem>, random: &mut Random) {
    items.retain(|item| v(item) >= 0 || random.below(3) > 0);
    for _ in 0..4 {
        let number = random.below(40) * 2 + 1;
        items.retain(|item| item.number != number);
        let value = -1 - i64::try_from(random.below(20)).unwrap();
        let g = random.below(9);
        items.push(item(number, value, g, random));
    }
    items.sort_by_key(|item| item.number);
}

fn identity(class: &Class, row: &Row) -> Option<String> {
    let row = &row.clone().into_value();
    let value = if class.identity.is_empty() { row } else { row.get(class.identity)? };
    let text = value.to_text();
    let is_of_other = row.get("v").and_then(Value::as_i64).is_some_and(|v| v < 0);
    (!is_of_other && !text.starts_with("\"-")).then_some(text)
}

/// Whether an index is there.
#[derive(Clone, Copy, Debug)]
enum Index {
    Never,
    Always,
    /// It comes and goes between pages.
    Sometimes,
}

fn run(class: &Class, seed: u64, index: Index) {
    let mut random = Random(seed);
    let mut items = items(&mut random);
    let statement =
        Statement::prepare(class.text, &[], &PrepareOptions::new(Env::fixed(1, 1))).unwrap();
    let policy = IndexPolicy::from_policy(
        &model::json::parse(br#"{"fullTextIndexes":[{"path":"/text"}]}"#).unwrap(),
    );
    let mut n_pages = 0;
    let mut page = |items: &[SourceItem], items_max: usize, continuation: Option<&str>| {
        n_pages += 1;
        let is_indexed = match index {
            Index::Never => false,
            Index::Always => true,
            Index::Sometimes => n_pages % 2 == 0,
        };
        let memory = MemorySource { items: items.to_vec() };
        let indexed;
        let source: &dyn ItemSource = if is_indexed {
            indexed = IndexedSource::new(&memory.items, policy.clone());
            &indexed
        } else {
            &memory
        };
        let request = PageRequest {
            items_max,
            bytes_max: 1 << 20,
            deadline: None,
            may_wait: true,
            continuation,
        };
        statement.run(source, &request).unwrap()
    };
    let whole = page(&items, usize::MAX, None);
    let mut expected: Vec<String> =
        whole.rows.iter().filter_map(|row| identity(class, row)).collect();
    assert!(expected.len() > 4, "{}", class.text);
    let items_max = usize::try_from(1 + random.below(7)).unwrap();
    let (mut found, mut continuation) = (Vec::new(), None);
    for n_pages in 0.. {
        assert!(n_pages < PAGES_MAX, "{} does not end", class.text);
        let next = page(&items, items_max, continuation.as_deref());
        assert!(next.rows.len() <= items_max);
        found.extend(next.rows.iter().filter_map(|row| identity(class, row)));
        continuation = next.continuation;
        if continuation.is_none() {
            break;
        }
        disturb(&mut items, &mut random);
    }
    if !class.is_ordered {
        expected.sort();
        found.sort();
    }
    assert_eq!(found, expected, "ORRERY_SEED={seed} {} index: {index:?}", class.text);
}

#[test]
fn what_is_written_between_pages_neither_loses_nor_doubles_a_row() {
    let wanted = std::env::var("ORRERY_SEED").ok().map(|seed| seed.parse().unwrap());
    for seed in wanted.map_or(0..SEEDS, |seed: u64| seed..seed + 1) {
        for class in CLASSES {
            for index in [Index::Never, Index::Always, Index::Sometimes] {
                run(class, seed, index);
            }
        }
    }
}
