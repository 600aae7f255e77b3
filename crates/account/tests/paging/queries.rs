//! The queries, one or more for each class, and what makes an answer right.

use model::{Value, order};

use crate::support::Client;

pub(crate) struct Class {
    pub(crate) text: &'static str,
    /// The members of the rows that ORDER BY sorts by, and whether they descend.
    pub(crate) keys: &'static [(&'static str, bool)],
    /// For a query that returns any rows up to a number: the query without that limit.
    pub(crate) pool: Option<&'static str>,
}

impl Class {
    /// Says whether it has aggregates that are no `VALUE`.
    pub(crate) fn has_bare_aggregate(&self) -> bool {
        let has_aggregate =
            ["COUNT(", "SUM(", "MIN(", "AVG("].iter().any(|it| self.text.contains(it));
        has_aggregate && !self.text.starts_with("SELECT VALUE")
    }
}

const fn rows(text: &'static str) -> Class {
    Class { text, keys: &[], pool: None }
}

const fn sorted(text: &'static str, keys: &'static [(&'static str, bool)]) -> Class {
    Class { text, keys, pool: None }
}

const fn some(text: &'static str, pool: &'static str) -> Class {
    Class { text, keys: &[], pool: Some(pool) }
}

const ALL: &str = "SELECT c.id, c.n FROM c WHERE c.s";

#[rustfmt::skip]
pub(crate) const CLASSES: &[Class] = &[
    rows(ALL),
    rows("SELECT * FROM c WHERE c.s AND c.n > 2"),
    rows("SELECT c.id, t FROM c JOIN t IN c.tags WHERE c.s"),
    rows("SELECT c.id, t, u FROM c JOIN t IN c.tags JOIN u IN c.tags WHERE c.s AND t != u"),
    some("SELECT TOP 17 c.id, c.n FROM c WHERE c.s", ALL),
    some("SELECT c.id, c.n FROM c WHERE c.s OFFSET 6 LIMIT 20", ALL),
    sorted("SELECT c.id, c.n FROM c WHERE c.s ORDER BY c.n", &[("n", false)]),
    sorted("SELECT c.id, c.n FROM c WHERE c.s ORDER BY c.n DESC", &[("n", true)]),
    sorted("SELECT c.id, c.mixed FROM c WHERE c.s ORDER BY c.mixed", &[("mixed", false)]),
    sorted("SELECT c.id, c.mixed FROM c WHERE c.s ORDER BY c.mixed DESC", &[("mixed", true)]),
    sorted("SELECT c.id, c.long FROM c WHERE c.s ORDER BY c.long", &[("long", false)]),
    sorted("SELECT c.id, c.long FROM c WHERE c.s ORDER BY c.long DESC", &[("long", true)]),
    sorted("SELECT c.id, c.n, c.mixed FROM c WHERE c.s ORDER BY c.n, c.mixed DESC", &[("n", false), ("mixed", true)]),
    sorted("SELECT c.id, c.n, c.mixed FROM c WHERE c.s ORDER BY c.n DESC, c.mixed", &[("n", true), ("mixed", false)]),
    sorted("SELECT c.id, c.n, t FROM c JOIN t IN c.tags WHERE c.s ORDER BY c.n", &[("n", false)]),
    sorted("SELECT TOP 23 c.id, c.u FROM c WHERE c.s ORDER BY c.u DESC", &[("u", true)]),
    sorted("SELECT c.id, c.u FROM c WHERE c.s ORDER BY c.u OFFSET 7 LIMIT 30", &[("u", false)]),
    rows("SELECT DISTINCT VALUE c.n FROM c WHERE c.s"),
    rows("SELECT DISTINCT VALUE c.mixed FROM c WHERE c.s"),
    rows("SELECT DISTINCT c.n, t FROM c JOIN t IN c.tags WHERE c.s"),
    some("SELECT DISTINCT TOP 4 VALUE c.n FROM c WHERE c.s", "SELECT DISTINCT VALUE c.n FROM c WHERE c.s"),
    rows("SELECT DISTINCT VALUE c.long FROM c WHERE c.s"),
    sorted("SELECT DISTINCT c.n FROM c WHERE c.s ORDER BY c.n DESC", &[("n", true)]),
    rows("SELECT c.n, COUNT(1) AS k, SUM(c.u) AS total FROM c WHERE c.s GROUP BY c.n"),
    rows("SELECT c.mixed, MIN(c.u) AS low, MAX(c.u) AS high FROM c WHERE c.s GROUP BY c.mixed"),
    rows("SELECT c.n, t, COUNT(1) AS k FROM c JOIN t IN c.tags WHERE c.s GROUP BY c.n, t"),
    rows("SELECT VALUE COUNT(1) FROM c WHERE c.s"),
    rows("SELECT VALUE AVG(c.u) FROM c WHERE c.s"),
];

/// Clients that merge ranges themselves read these without continuations.
#[rustfmt::skip]
pub(crate) const RANKED: &[Class] = &[
    rows("SELECT c.id, c.words FROM c WHERE c.s ORDER BY RANK FullTextScore(c.words, 'oak', 'elm')"),
    rows("SELECT TOP 17 * FROM c WHERE c.s ORDER BY RANK FullTextScore(c.words, 'elm')"),
    rows("SELECT c.id FROM c WHERE c.s ORDER BY RANK FullTextScore(c.words, 'oak') OFFSET 3 LIMIT 11"),
];

impl Class {
    /// What the container answers at once; `None` if it cannot.
    pub(crate) async fn expected(&self, client: &Client, key: Option<&str>) -> Option<Vec<Value>> {
        let text = self.pool.unwrap_or(self.text);
        let client = client.with_options(|options| options.items_max = Some(100_000));
        let items = match key {
            Some(key) => client.items().key(key).query(text).await,
            None => client.items().query_merged(text, 2).await,
        };
        let answer = items.expect(200);
        assert!(answer.facts.continuation.is_none(), "one page holds all");
        Some(answer.rows)
    }

    #[track_caller]
    pub(crate) fn check(&self, expected: &[Value], found: &[Value], label: &str) {
        let keys = |rows: &[Value]| -> Vec<String> {
            let of_row = |row: &Value| {
                let key = |(name, _): &(&str, bool)| row.get(name).map(Value::to_text);
                format!("{:?}", self.keys.iter().map(key).collect::<Vec<_>>())
            };
            rows.iter().map(of_row).collect()
        };
        let bag = |rows: &[Value]| {
            let mut bag: Vec<String> = rows.iter().map(canonical).collect();
            bag.sort();
            bag
        };
        assert!(self.is_sorted(found), "{label}: not in order: {:?}", keys(found));
        let (expected_bag, mut found_bag) = (bag(expected), bag(found));
        let Some(_) = self.pool else {
            let (missing, extra) =
                (less(&expected_bag, &found_bag), less(&found_bag, &expected_bag));
            assert!(
                missing.is_empty() && extra.is_empty(),
                "{label}: lost {missing:?}, not wanted {extra:?}"
            );
            return;
        };
        let n_wanted = self.n_wanted(expected.len());
        assert_eq!(found.len(), n_wanted, "{label}");
        found_bag.dedup();
        assert_eq!(found_bag.len(), n_wanted, "{label}: a row twice");
        assert!(found_bag.iter().all(|row| expected_bag.contains(row)), "{label}");
    }

    /// How many rows of a pool the query returns.
    fn n_wanted(&self, n_pool: usize) -> usize {
        let number = |word: &str| {
            let (_, rest) = self.text.split_once(word)?;
            rest.split_whitespace().next()?.parse::<usize>().ok()
        };
        let take = number("TOP ").or_else(|| number("LIMIT ")).unwrap_or(usize::MAX);
        n_pool.saturating_sub(number("OFFSET ").unwrap_or(0)).min(take)
    }

    fn is_sorted(&self, rows: &[Value]) -> bool {
        rows.windows(2).all(|pair| {
            for (name, is_descending) in self.keys {
                let by_key = order(pair[0].get(name), pair[1].get(name));
                let by_key = if *is_descending { by_key.reverse() } else { by_key };
                // Arrays and objects have an order of their own, which only the service knows.
                let is_known = |row: &Value| {
                    !matches!(row.get(name), Some(Value::Array(_) | Value::Object(_)))
                };
                if by_key.is_ne() {
                    return by_key.is_lt() || !(is_known(&pair[0]) || is_known(&pair[1]));
                }
            }
            true
        })
    }
}

/// The rows of one bag that another does not have, shortened.
fn less(bag: &[String], other: &[String]) -> Vec<String> {
    let mut other = other.to_vec();
    let is_missing = |row: &&String| match other.iter().position(|own| own == *row) {
        Some(at) => {
            other.swap_remove(at);
            false
        }
        None => true,
    };
    let missing: Vec<&String> = bag.iter().filter(is_missing).collect();
    missing
        .iter()
        .map(|row| format!("{} ({} bytes)", row.chars().take(80).collect::<String>(), row.len()))
        .collect()
}

/// The text of a value with numbers as the client's merge makes them.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) if number.as_f64().abs() < 1e15 => format!("{:.6}", number.as_f64()),
        Value::Array(list) => {
            format!("[{}]", list.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        Value::Object(object) => {
            let mut members: Vec<String> =
                object.iter().map(|(name, value)| format!("{name}:{}", canonical(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_text(),
    }
}
