//! The queries, in both languages, and the items they are about.

use serde_json::Value;

use crate::bench::setup::{ITEM_BYTES, key_of};

/// Items with the same customer.
const OF_ONE_CUSTOMER: u64 = 10;
/// One item in this many has a given share.
const SHARES: u64 = 10;
const CITIES: u64 = 50;
/// A prime: multiplying by it scatters neighbours.
const SCATTER: u64 = 7_919;

/// One query with a number as its parameter.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// With `@x`.
    pub(super) sql: &'static str,
    /// With `$1`; one column of text for each row.
    pub(super) postgres: &'static str,
    /// How many values the parameter takes among `n` items.
    n_values: fn(u64) -> u64,
    merge: Merge,
    /// Its cost should not depend on the number of items.
    pub(super) is_flat: bool,
    pub(super) is_scan: bool,
}

/// How the answers of ranges become one.
#[derive(Debug, Clone, Copy)]
enum Merge {
    All,
    /// The ten with the lowest `total`.
    Ten,
    Sum,
    Groups,
}

pub(super) const ALL: &[Workload] = &[
    Workload {
        name: "equality filter returning 10",
        sql: "SELECT * FROM c WHERE c.customer = @x",
        postgres: "SELECT doc::text FROM items WHERE (doc->>'customer')::float8 = $1",
        n_values: |n| n / OF_ONE_CUSTOMER,
        merge: Merge::All,
        is_flat: true,
        is_scan: false,
    },
    Workload {
        name: "range filter, ORDER BY, TOP 10",
        sql: "SELECT TOP 10 c.id, c.total FROM c WHERE c.total >= @x ORDER BY c.total",
        postgres: "SELECT jsonb_build_object('id', doc->'id', 'total', doc->'total')::text FROM items \
                   WHERE (doc->>'total')::float8 >= $1 ORDER BY (doc->>'total')::float8 LIMIT 10",
        n_values: |n| n - 10,
        merge: Merge::Ten,
        is_flat: true,
        is_scan: false,
    },
    Workload {
        name: "COUNT of a tenth by index",
        sql: "SELECT VALUE COUNT(1) FROM c WHERE c.share = @x",
        postgres: "SELECT count(*)::text FROM items WHERE (doc->>'share')::float8 = $1",
        n_values: |_| SHARES,
        merge: Merge::Sum,
        is_flat: false,
        is_scan: false,
    },
    Workload {
        name: "GROUP BY over a tenth",
        sql: "SELECT c.city, COUNT(1) AS n, SUM(c.total) AS s FROM c WHERE c.share = @x GROUP BY c.city",
        postgres: "SELECT jsonb_build_object('city', doc->>'city', 'n', count(*), \
                   's', sum((doc->>'total')::float8)::int8)::text \
                   FROM items WHERE (doc->>'share')::float8 = $1 GROUP BY doc->>'city'",
        n_values: |_| SHARES,
        merge: Merge::Groups,
        is_flat: false,
        is_scan: false,
    },
    Workload {
        name: "full scan filter",
        sql: "SELECT VALUE COUNT(1) FROM c WHERE c.address.zip * 2 = @x * 2",
        postgres: "SELECT count(*)::text FROM items WHERE (doc->'address'->>'zip')::float8 * 2 = $1::float8 * 2",
        n_values: |_| 1_000,
        merge: Merge::Sum,
        is_flat: false,
        is_scan: true,
    },
];

/// The expressions that PostgreSQL gets an index for.
pub(super) const INDEXED: [&str; 3] = ["customer", "total", "share"];

impl Workload {
    /// How many values the parameter takes: as many calls, one after the other, have them all.
    pub(super) fn n_values(&self, n_items: u64) -> u64 {
        (self.n_values)(n_items)
    }

    /// The parameter of a call: another one each time, and none outside the data.
    pub(super) fn value(&self, call: u64, n_items: u64) -> u64 {
        call.wrapping_mul(SCATTER) % self.n_values(n_items)
    }

    /// The one answer that ranges make together.
    pub(super) fn merge(&self, mut parts: Vec<Vec<Value>>) -> Vec<Value> {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let mut rows: Vec<Value> = parts.into_iter().flatten().collect();
        match self.merge {
            Merge::All => rows,
            Merge::Ten => {
                rows.sort_by_key(|row| row["total"].as_u64());
                rows.truncate(10);
                rows
            }
            Merge::Sum => vec![rows.iter().filter_map(Value::as_u64).sum::<u64>().into()],
            Merge::Groups => merge_groups(rows),
        }
    }

    /// An answer as texts that can be compared: in order where the query has one.
    pub(super) fn normal(&self, rows: &[Value]) -> Vec<String> {
        let text = |row: &Value| match self.merge {
            Merge::All | Merge::Ten => row["id"].to_string(),
            Merge::Sum => row.to_string(),
            Merge::Groups => format!("{} {} {}", row["city"], row["n"], row["s"]),
        };
        let mut texts: Vec<String> = rows.iter().map(text).collect();
        if !matches!(self.merge, Merge::Ten) {
            texts.sort();
        }
        texts
    }
}

fn merge_groups(rows: Vec<Value>) -> Vec<Value> {
    let mut groups: std::collections::BTreeMap<String, Value> = std::collections::BTreeMap::new();
    for row in rows {
        let name = row["city"].to_string();
        match groups.get_mut(&name) {
            None => drop(groups.insert(name, row)),
            Some(group) => {
                for part in ["n", "s"] {
                    let sum = group[part].as_u64().unwrap_or(0) + row[part].as_u64().unwrap_or(0);
                    group[part] = sum.into();
                }
            }
        }
    }
    groups.into_values().collect()
}

/// Item number `n` of `n_items`: 1 KiB of JSON.
pub(super) fn item(n: u64, n_items: u64) -> String {
    let customers = (n_items / OF_ONE_CUSTOMER).max(1);
    let mut text = format!(
        r#"{{"id":"i{n}","pk":"{}","customer":{},"total":{},"share":{},"city":"city-{}","paid":{},"lines":[{{"sku":"a-{}","n":{}}},{{"sku":"b-{}","n":1}}],"address":{{"street":"Street {}","zip":{}}},"tags":["new","bench"],"note":""#,
        key_of(n),
        n % customers,
        n.wrapping_mul(SCATTER) % n_items,
        n % SHARES,
        n / SHARES % CITIES,
        n.is_multiple_of(2),
        n % 77,
        n % 9,
        n % 33,
        n % 200,
        n % 1_000,
    );
    let room = ITEM_BYTES.saturating_sub(text.len() + 2);
    text.extend(std::iter::repeat_n('x', room));
    text.push_str("\"}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_json_of_the_promised_size() {
        for n in [0, 7, 999_999] {
            let text = item(n, 1_000_000);
            assert_eq!(text.len(), ITEM_BYTES);
            serde_json::from_str::<Value>(&text).unwrap();
        }
    }

    #[test]
    fn ten_items_have_the_customer_of_any_value() {
        let customers = |value| {
            let texts = (0..1_000).map(|n| item(n, 1_000));
            let items = texts.map(|text| serde_json::from_str::<Value>(&text).unwrap());
            items.filter(|item| item["customer"] == value).count()
        };
        for call in [0, 1, 50] {
            assert_eq!(customers(ALL[0].value(call, 1_000)), 10);
        }
    }

    #[test]
    fn ranges_merge_to_one_answer() {
        let parts = |rows: [&str; 2]| {
            rows.map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap()).to_vec()
        };
        let ten = ALL[1].merge(parts([r#"[{"id":"b","total":2}]"#, r#"[{"id":"a","total":1}]"#]));
        assert_eq!(ALL[1].normal(&ten), [r#""a""#, r#""b""#]);
        assert_eq!(ALL[2].merge(parts(["[3]", "[4]"])), [Value::from(7)]);
        let row = r#"[{"city":"x","n":1,"s":5}]"#;
        assert_eq!(ALL[3].normal(&ALL[3].merge(parts([row, row]))), [r#""x" 2 10"#]);
    }
}
