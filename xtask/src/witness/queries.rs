//! Whole queries that are right, or nearly: every clause, joins, subqueries, groups, aggregates, sort keys.

use std::fmt::Write as _;

use model::{Object, Value};

use super::random::Random;

const PATHS: &[&str] = &["a", "b.d", "pk", "['x y']", "tags[0]", "id", "n"];

const LITERALS: &[&str] =
    &["1", "-2.5", "'x'", "true", "null", "undefined", "@p", "@q", "[1, c.a]", "{'a': c.b, b: 2}"];

const AGGREGATES: &[&str] =
    &["COUNT", "SUM", "MIN", "MAX", "AVG", "COUNTIF", "MAKELIST", "MAKESET", "count", "Avg"];

const CALLS: &[&str] = &["ABS", "lower", "IS_DEFINED", "ToString", "udf.f", "LENGTH", "Left"];

const OPERATORS: &[&str] =
    &["+", "-", "*", "||", "=", "!=", "<", ">=", "AND", "OR", "??", "&", "<<"];

/// Limit: subqueries in subqueries.
const DEPTH_MAX: usize = 2;

pub(crate) fn question(random: &mut Random) -> Value {
    let mut question = Object::new();
    question.insert("query", Writer { random, names: Vec::new(), depth: 0 }.query().as_str());
    let mut parameter = Object::new();
    parameter.insert("name", "@p");
    parameter.insert("value", random.pick(&[&0_i64, &1, &7]).to_owned());
    if random.is_one_in(2) {
        question.insert("parameters", Value::Array(vec![Value::Object(parameter)]));
    }
    Value::Object(question)
}

struct Writer<'r> {
    random: &'r mut Random,
    /// The names in sight.
    names: Vec<String>,
    depth: usize,
}

impl Writer<'_> {
    fn is_one_in(&mut self, n: usize) -> bool {
        self.random.is_one_in(n)
    }

    fn query(&mut self) -> String {
        let n_names = self.names.len();
        // Names come from FROM, which is written behind.
        let from = self.from();
        let is_grouped = self.is_one_in(4);
        let keys = if is_grouped { self.list(2, Writer::key) } else { Vec::new() };
        let mut text = format!("SELECT {}", self.selection(&keys));
        text.push_str(&from);
        if self.is_one_in(3) {
            let _ = write!(text, " WHERE {}", self.expr(0));
        }
        if is_grouped {
            let _ = write!(text, " GROUP BY {}", keys.join(", "));
        }
        let is_ordered = self.is_one_in(if self.depth == 0 { 2 } else { 25 });
        if is_ordered && (!is_grouped || self.is_one_in(6)) {
            let keys = self.list(2, Writer::sort_key);
            let _ = write!(text, " ORDER BY {}", keys.join(", "));
        }
        if self.is_one_in(if self.depth == 0 { 6 } else { 30 }) {
            let (offset, limit) = (self.count(), self.count());
            let _ = write!(text, " OFFSET {offset} LIMIT {limit}");
        }
        self.names.truncate(n_names);
        text
    }

    fn list(&mut self, n_max: usize, part: fn(&mut Self) -> String) -> Vec<String> {
        (0..=self.random.below(n_max)).map(|_| part(self)).collect()
    }

    fn count(&mut self) -> String {
        self.random.pick(&["0", "1", "10", "@p", "4294967295", "1.0", "@q"]).to_owned()
    }

    fn from(&mut self) -> String {
        if self.is_one_in(if self.depth == 0 { 30 } else { 6 }) {
            return String::new();
        }
        let mut text = String::from(" FROM ");
        let n_sources = 1 + usize::from(self.is_one_in(4)) + usize::from(self.is_one_in(12));
        for index in 0..n_sources {
            if index > 0 {
                text.push_str(" JOIN ");
            }
            let source = self.source();
            text.push_str(&source);
        }
        text
    }

    fn source(&mut self) -> String {
        let name = self.random.pick(&["c", "r", "t", "x", "root"]).to_owned();
        let outer = self.names.last().cloned().unwrap_or_else(|| String::from("c"));
        let collection = match self.random.below(10) {
            0 if self.depth < DEPTH_MAX => self.subquery(),
            1..4 => format!("{outer}.tags"),
            _ if self.names.is_empty() => {
                self.names.push(name.clone());
                return name;
            }
            _ => format!("{outer}.{}", self.random.pick(&["a", "b.d", "tags[0]"])),
        };
        self.names.push(name.clone());
        match self.random.below(4) {
            0 => format!("{collection} {name}"),
            1 => format!("{collection} AS {name}"),
            _ => format!("{name} IN {collection}"),
        }
    }

    fn subquery(&mut self) -> String {
        self.depth += 1;
        let query = self.query();
        self.depth -= 1;
        format!("({query})")
    }

    fn selection(&mut self, keys: &[String]) -> String {
        let mut text = String::new();
        if self.is_one_in(6) {
            text.push_str("DISTINCT ");
        }
        if self.is_one_in(if self.depth == 0 { 7 } else { 30 }) {
            let _ = write!(text, "TOP {} ", self.count());
        }
        match self.random.below(8) {
            0 => text.push('*'),
            1..4 => {
                let value = self.selected(keys);
                let _ = write!(text, "VALUE {value}");
            }
            _ => {
                let mut items = Vec::new();
                for _ in 0..=self.random.below(3) {
                    let item = self.selected(keys);
                    items.push(match self.random.below(4) {
                        0 => format!("{item} AS {}", self.random.pick(&["v", "w", "a", "'o o'"])),
                        1 => format!("{item} {}", self.random.pick(&["v", "w"])),
                        _ => item,
                    });
                }
                text.push_str(&items.join(", "));
            }
        }
        text
    }

    fn selected(&mut self, keys: &[String]) -> String {
        if !keys.is_empty() && self.is_one_in(2) {
            return keys[self.random.below(keys.len())].clone();
        }
        if self.is_one_in(if keys.is_empty() { 6 } else { 2 }) {
            let name = self.random.pick(AGGREGATES);
            return format!("{name}({})", self.expr(1));
        }
        self.expr(0)
    }

    fn key(&mut self) -> String {
        if self.is_one_in(6) { self.expr(1) } else { self.path() }
    }

    fn sort_key(&mut self) -> String {
        let key = if self.is_one_in(8) { self.expr(1) } else { self.path() };
        format!("{key}{}", self.random.pick(&["", "", " ASC", " DESC"]))
    }

    fn path(&mut self) -> String {
        let name = match self.names.len() {
            0 => String::from("c"),
            n => self.names[self.random.below(n)].clone(),
        };
        let name = if self.is_one_in(60) { String::from("nobody") } else { name };
        let step = self.random.pick(PATHS);
        match self.random.below(7) {
            0 => name,
            _ if step.starts_with('[') => format!("{name}{step}"),
            _ => format!("{name}.{step}"),
        }
    }

    fn expr(&mut self, depth: usize) -> String {
        if depth >= 3 {
            return self.path();
        }
        match self.random.below(24) {
            0..11 => self.path(),
            11..14 => self.random.pick(LITERALS).to_owned(),
            14..17 => {
                let (left, right) = (self.expr(depth + 1), self.expr(depth + 1));
                format!("({left} {} {right})", self.random.pick(OPERATORS))
            }
            17 => {
                let name = self.random.pick(CALLS);
                let count = usize::from(*name == *"Left") + 1;
                let list: Vec<String> = (0..count).map(|_| self.expr(depth + 1)).collect();
                format!("{name}({})", list.join(", "))
            }
            18 => {
                let value = self.expr(depth + 1);
                let test = self.random.pick(&[
                    "IN (1, 'a')",
                    "NOT IN (1)",
                    "BETWEEN 1 AND 3",
                    "LIKE 'a%'",
                    "NOT LIKE 'a_'",
                    "? 1 : 2",
                ]);
                format!("({value} {test})")
            }
            19 => format!("{{'k': {}, j: {}}}", self.expr(depth + 1), self.expr(depth + 1)),
            20 => format!("[{}, {}]", self.expr(depth + 1), self.expr(depth + 1)),
            21 if self.depth < DEPTH_MAX => {
                let kind = self.random.pick(&["", "ARRAY", "EXISTS", "FIRST", "ALL"]);
                format!("{kind}{}", self.subquery())
            }
            22 => {
                let name = format!("l{depth}");
                let value = self.expr(depth + 1);
                self.names.push(name.clone());
                let body = self.expr(depth + 1);
                self.names.pop();
                format!("(LET {name} = {value} IN {body})")
            }
            _ => format!("{}{}", self.random.pick(&["NOT ", "-", "~"]), self.path()),
        }
    }
}
