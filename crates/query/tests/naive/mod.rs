//! A naive evaluator for generated queries: values, conditions and rows in the plainest words.
//!
//! It shares no code with the engine but the JSON parser that turns its answers into values to compare.
#![allow(dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::format_push_string)]
#![allow(clippy::cast_possible_truncation)]

use std::cmp::Ordering;

/// A value; undefined is `None`.
#[derive(Clone, Debug)]
pub enum V {
    Null,
    Bool(bool),
    Int(i64),
    Num(f64),
    Str(String),
    Arr(Vec<V>),
    Obj(Vec<(String, V)>),
}

impl V {
    pub fn json(&self) -> String {
        match self {
            V::Null => "null".into(),
            V::Bool(value) => value.to_string(),
            V::Int(value) => value.to_string(),
            V::Num(value) => format!("{value:?}"),
            V::Str(text) => {
                let mut json = String::from("\"");
                for unit in text.encode_utf16() {
                    json.push_str(&format!("\\u{unit:04x}"));
                }
                json + "\""
            }
            V::Arr(list) => format!("[{}]", list.iter().map(V::json).collect::<Vec<_>>().join(",")),
            V::Obj(members) => {
                let member = |(name, value): &(String, V)| format!("\"{name}\":{}", value.json());
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }

    pub fn rank(&self) -> u8 {
        match self {
            V::Null => 1,
            V::Bool(_) => 2,
            V::Int(_) | V::Num(_) => 3,
            V::Str(_) => 4,
            V::Arr(_) => 5,
            V::Obj(_) => 6,
        }
    }

    pub fn get(&self, path: &[&str]) -> Option<&V> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let V::Obj(members) = self else { return None };
        members.iter().find(|(name, _)| name == first)?.1.get(rest)
    }

    fn elements(&self) -> &[V] {
        match self {
            V::Arr(list) => list,
            _ => &[],
        }
    }
}

fn numbers(left: &V, right: &V) -> Ordering {
    // Every number here is far below 2^127, so a fraction is all that an i128 misses.
    let whole = |value: &V| match value {
        V::Int(value) => i128::from(*value),
        V::Num(value) => value.floor() as i128,
        _ => unreachable!(),
    };
    let fraction = |value: &V| match value {
        V::Num(value) => value - value.floor(),
        _ => 0.0,
    };
    whole(left).cmp(&whole(right)).then(fraction(left).partial_cmp(&fraction(right)).unwrap())
}

pub fn equal(left: &V, right: &V) -> bool {
    match (left, right) {
        (V::Arr(left), V::Arr(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r))
        }
        (V::Obj(left), V::Obj(right)) => {
            let has = |(name, value): &(String, V)| {
                right.iter().any(|(own, other)| own == name && equal(value, other))
            };
            left.len() == right.len() && left.iter().all(has)
        }
        _ => compare(left, right) == Some(Ordering::Equal),
    }
}

/// Orders two values of one type; arrays and objects have no order.
pub fn compare(left: &V, right: &V) -> Option<Ordering> {
    match (left, right) {
        (V::Null, V::Null) => Some(Ordering::Equal),
        (V::Bool(left), V::Bool(right)) => Some(left.cmp(right)),
        (V::Int(_) | V::Num(_), V::Int(_) | V::Num(_)) => Some(numbers(left, right)),
        (V::Str(left), V::Str(right)) => {
            let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            Some(units(left).cmp(&units(right)))
        }
        _ => None,
    }
}

/// The order of ORDER BY; arrays are equal to each other, and so are objects.
pub fn sorts(left: Option<&V>, right: Option<&V>) -> Ordering {
    let rank = |value: Option<&V>| value.map_or(0, V::rank);
    let by_rank = rank(left).cmp(&rank(right));
    match (left, right) {
        (Some(left), Some(right)) if by_rank.is_eq() => {
            compare(left, right).unwrap_or(Ordering::Equal)
        }
        _ => by_rank,
    }
}

pub type Path = Vec<&'static str>;

/// A condition of a query.
#[derive(Clone, Debug)]
pub enum Cond {
    Compare(Operand, &'static str, V, bool),
    In(Operand, Vec<V>),
    Between(Operand, V, V),
    Starts(Operand, String),
    Type(&'static str, Operand),
    True(Operand),
    Contains(Path, V),
    Exists(Path, Box<Cond>),
    Not(Box<Cond>),
    And(Vec<Cond>),
    Or(Vec<Cond>),
}

/// A path of the item, or of the element at hand.
#[derive(Clone, Debug)]
pub enum Operand {
    Item(Path),
    Element(Path),
}

/// What a row is made of.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    pub item: &'r V,
    pub element: Option<&'r V>,
}

impl Operand {
    pub fn of<'r>(&self, row: Row<'r>) -> Option<&'r V> {
        match self {
            Operand::Item(path) => row.item.get(path),
            Operand::Element(path) => row.element?.get(path),
        }
    }

    fn text(&self) -> String {
        match self {
            Operand::Item(path) => format!("c.{}", path.join(".")),
            Operand::Element(path) if path.is_empty() => "e".into(),
            Operand::Element(path) => format!("e.{}", path.join(".")),
        }
    }
}

/// Collects the constants of a query text.
#[derive(Debug, Default)]
pub struct Constants(pub Vec<V>);

impl Constants {
    fn text(&mut self, value: &V) -> String {
        self.0.push(value.clone());
        format!("@p{}", self.0.len() - 1)
    }
}

impl Cond {
    /// Returns true, false, or `None` for undefined.
    pub fn holds(&self, row: Row<'_>) -> Option<bool> {
        match self {
            Cond::Compare(operand, op, value, _) => {
                let own = operand.of(row)?;
                match *op {
                    "=" => return Some(equal(own, value)),
                    "!=" => return Some(!equal(own, value)),
                    _ => {}
                }
                let order = compare(own, value)?;
                Some(match *op {
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    _ => order.is_ge(),
                })
            }
            Cond::In(operand, values) => {
                let own = operand.of(row)?;
                Some(values.iter().any(|value| equal(own, value)))
            }
            Cond::Between(operand, low, high) => {
                let own = operand.of(row)?;
                let (low, high) = (compare(own, low), compare(own, high));
                match (low.map(Ordering::is_ge), high.map(Ordering::is_le)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }
            }
            Cond::Starts(operand, prefix) => match operand.of(row)? {
                V::Str(text) => Some(text.starts_with(prefix.as_str())),
                _ => None,
            },
            Cond::Type(name, operand) => {
                let rank = operand.of(row).map_or(0, V::rank);
                Some(match *name {
                    "IS_DEFINED" => rank > 0,
                    "IS_NULL" => rank == 1,
                    "IS_BOOL" => rank == 2,
                    "IS_NUMBER" => rank == 3,
                    "IS_STRING" => rank == 4,
                    "IS_ARRAY" => rank == 5,
                    "IS_OBJECT" => rank == 6,
                    _ => (1..5).contains(&rank),
                })
            }
            Cond::True(operand) => match operand.of(row)? {
                V::Bool(value) => Some(*value),
                _ => None,
            },
            Cond::Contains(path, value) => match row.item.get(path)? {
                V::Arr(list) => Some(list.iter().any(|own| equal(own, value))),
                _ => None,
            },
            Cond::Exists(path, inner) => {
                let list = row.item.get(path).map_or(&[][..], V::elements);
                let holds =
                    |element| inner.holds(Row { element: Some(element), ..row }) == Some(true);
                Some(list.iter().any(holds))
            }
            Cond::Not(inner) => inner.holds(row).map(|holds| !holds),
            Cond::And(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part.holds(row)).collect();
                if parts.contains(&Some(false)) {
                    Some(false)
                } else if parts.contains(&None) {
                    None
                } else {
                    Some(true)
                }
            }
            Cond::Or(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part.holds(row)).collect();
                if parts.contains(&Some(true)) {
                    Some(true)
                } else if parts.contains(&None) {
                    None
                } else {
                    Some(false)
                }
            }
        }
    }

    pub fn text(&self, constants: &mut Constants) -> String {
        let join = |parts: &[Cond], word: &str, constants: &mut Constants| {
            let parts: Vec<String> = parts.iter().map(|part| part.text(constants)).collect();
            format!("({})", parts.join(word))
        };
        match self {
            Cond::Compare(operand, op, value, false) => {
                format!("{} {op} {}", operand.text(), constants.text(value))
            }
            Cond::Compare(operand, op, value, true) => {
                let op = match *op {
                    "<" => ">",
                    "<=" => ">=",
                    ">" => "<",
                    ">=" => "<=",
                    op => op,
                };
                format!("{} {op} {}", constants.text(value), operand.text())
            }
            Cond::In(operand, values) => {
                let values: Vec<String> =
                    values.iter().map(|value| constants.text(value)).collect();
                format!("{} IN ({})", operand.text(), values.join(", "))
            }
            Cond::Between(operand, low, high) => {
                let (low, high) = (constants.text(low), constants.text(high));
                format!("({} BETWEEN {low} AND {high})", operand.text())
            }
            Cond::Starts(operand, prefix) => {
                let prefix = constants.text(&V::Str(prefix.clone()));
                format!("STARTSWITH({}, {prefix})", operand.text())
            }
            Cond::Type(name, operand) => format!("{name}({})", operand.text()),
            Cond::True(operand) => operand.text(),
            Cond::Contains(path, value) => {
                format!("ARRAY_CONTAINS(c.{}, {})", path.join("."), constants.text(value))
            }
            Cond::Exists(path, inner) => {
                let inner = inner.text(constants);
                format!("EXISTS(SELECT VALUE e FROM e IN c.{} WHERE {inner})", path.join("."))
            }
            Cond::Not(inner) => format!("(NOT ({}))", inner.text(constants)),
            Cond::And(parts) => join(parts, " AND ", constants),
            Cond::Or(parts) => join(parts, " OR ", constants),
        }
    }
}

/// A generated query.
#[derive(Clone, Debug)]
pub struct Query {
    pub shape: Shape,
    pub join: Option<Path>,
    pub filter: Option<Cond>,
    /// Path and whether it descends.
    pub order: Vec<(Path, bool)>,
    /// OFFSET and LIMIT.
    pub window: Option<(usize, usize)>,
}

/// What a query returns.
#[derive(Clone, Debug)]
pub enum Shape {
    /// The id of each row's item.
    Ids,
    /// An aggregate over a path, or over 1.
    Aggregate(&'static str, Option<Path>),
    Distinct(Path),
    /// The key and the number of rows of each group.
    Group(Path),
}

impl Query {
    pub fn text(&self, constants: &mut Constants) -> String {
        let select = match &self.shape {
            Shape::Ids => "VALUE c.id".to_string(),
            Shape::Aggregate(name, None) => format!("VALUE {name}(1)"),
            Shape::Aggregate(name, Some(path)) => format!("VALUE {name}(c.{})", path.join(".")),
            Shape::Distinct(path) => format!("DISTINCT VALUE c.{}", path.join(".")),
            Shape::Group(path) => {
                format!("VALUE {{\"k\": c.{}, \"n\": COUNT(1)}}", path.join("."))
            }
        };
        let mut text = format!("SELECT {select} FROM c");
        if let Some(path) = &self.join {
            text += &format!(" JOIN e IN c.{}", path.join("."));
        }
        if let Some(filter) = &self.filter {
            text += &format!(" WHERE {}", filter.text(constants));
        }
        if let Shape::Group(path) = &self.shape {
            text += &format!(" GROUP BY c.{}", path.join("."));
        }
        let keys = self.order.iter().map(|(path, descends)| {
            format!("c.{} {}", path.join("."), if *descends { "DESC" } else { "ASC" })
        });
        let keys: Vec<String> = keys.collect();
        if !keys.is_empty() {
            text += &format!(" ORDER BY {}", keys.join(", "));
        }
        if let Some((offset, limit)) = &self.window {
            text += &format!(" OFFSET {offset} LIMIT {limit}");
        }
        text
    }

    /// Returns the items of all rows, in order, before the window.
    pub fn rows<'i>(&self, items: &'i [V]) -> Vec<&'i V> {
        let mut rows = Vec::new();
        for item in items {
            let passes = |row: Row<'_>| {
                self.filter.as_ref().is_none_or(|filter| filter.holds(row) == Some(true))
            };
            match &self.join {
                None => rows.extend(passes(Row { item, element: None }).then_some(item)),
                Some(path) => {
                    let list = item.get(path).map_or(&[][..], V::elements);
                    let own = list.iter().filter(|e| passes(Row { item, element: Some(e) }));
                    rows.extend(own.map(|_| item));
                }
            }
        }
        if self.order.first().is_some_and(|(_, descends)| *descends) {
            // Ties come in the reverse order of items, rows of one item keep theirs: ids are all we return.
            rows.reverse();
        }
        rows.sort_by(|left, right| {
            self.order.iter().fold(Ordering::Equal, |order, (path, descends)| {
                let own = sorts(left.get(path), right.get(path));
                order.then(if *descends { own.reverse() } else { own })
            })
        });
        rows
    }

    /// Returns the values of a query that is no list of ids.
    pub fn values(&self, items: &[V]) -> Vec<V> {
        let rows = self.rows(items);
        match &self.shape {
            Shape::Ids => rows.iter().map(|item| item.get(&["id"]).unwrap().clone()).collect(),
            Shape::Distinct(path) => {
                let mut seen: Vec<V> = Vec::new();
                for value in rows.iter().filter_map(|item| item.get(path)) {
                    if !seen.iter().any(|own| equal(own, value)) {
                        seen.push(value.clone());
                    }
                }
                seen
            }
            Shape::Group(path) => {
                let mut groups: Vec<(Option<V>, i64)> = Vec::new();
                for item in rows {
                    let key = item.get(path);
                    let same = |(own, _): &&mut (Option<V>, i64)| match (own, key) {
                        (None, None) => true,
                        (Some(own), Some(key)) => equal(own, key),
                        _ => false,
                    };
                    match groups.iter_mut().find(same) {
                        Some((_, n)) => *n += 1,
                        None => groups.push((key.cloned(), 1)),
                    }
                }
                let group = |(key, n): (Option<V>, i64)| {
                    let mut members: Vec<(String, V)> =
                        key.into_iter().map(|key| ("k".to_string(), key)).collect();
                    members.push(("n".into(), V::Int(n)));
                    V::Obj(members)
                };
                groups.into_iter().map(group).collect()
            }
            Shape::Aggregate(name, path) => {
                let own = |item: &V| match path {
                    None => Some(V::Int(1)),
                    Some(path) => item.get(path).cloned(),
                };
                let values: Vec<V> = rows.iter().filter_map(|item| own(item)).collect();
                let has_composite = values.iter().any(|value| value.rank() > 4);
                let least = |wanted: Ordering| {
                    let mut best: Option<&V> = None;
                    for value in &values {
                        if best.is_none_or(|best| sorts(Some(value), Some(best)) == wanted) {
                            best = Some(value);
                        }
                    }
                    best.filter(|_| !has_composite).cloned()
                };
                match *name {
                    "COUNT" => vec![V::Int(i64::try_from(values.len()).unwrap())],
                    "MIN" => least(Ordering::Less).into_iter().collect(),
                    _ => least(Ordering::Greater).into_iter().collect(),
                }
            }
        }
    }
}
