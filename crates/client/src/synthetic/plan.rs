//! How to read by a synthetic key.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{JsonPath, Statement};

/// Which logical partitions a read has to visit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadPlan {
    /// One: a point read, or a query within it.
    Point(String),
    /// Each of several: parallel point reads, or one query with `IN`.
    FanOut(Vec<String>),
    /// Unknown: a query over all partitions. A synthetic key has no prefix search.
    CrossPartition,
}

impl ReadPlan {
    /// Returns the keys to visit; none if they are unknown.
    pub fn keys(&self) -> &[String] {
        match self {
            ReadPlan::Point(key) => std::slice::from_ref(key),
            ReadPlan::FanOut(keys) => keys,
            ReadPlan::CrossPartition => &[],
        }
    }

    /// Returns a query for the items of the plan, with `alias` as the name of an item in it.
    ///
    /// `condition` is a further condition, for example `c.id = @id`; its parameters are added by the caller.
    pub fn query(&self, alias: &str, property: &JsonPath, condition: Option<&str>) -> Statement {
        let mut statement = Statement::new(format!("SELECT * FROM {alias}"));
        let mut clauses = Vec::new();
        let place: String = property.names().iter().fold(alias.to_owned(), |mut place, name| {
            // Writing to a String cannot fail.
            let _ = write!(place, "[{}]", Value::from(name.as_str()));
            place
        });
        match self.keys() {
            [] => {}
            [key] => {
                clauses.push(format!("{place} = @key0"));
                statement = statement.parameter("@key0", key.as_str());
            }
            keys => {
                let names: Vec<String> = (0..keys.len()).map(|it| format!("@key{it}")).collect();
                clauses.push(format!("{place} IN ({})", names.join(", ")));
                for (name, key) in names.into_iter().zip(keys) {
                    statement = statement.parameter(name, key.as_str());
                }
            }
        }
        clauses.extend(condition.map(|it| format!("({it})")));
        if !clauses.is_empty() {
            let _ = write!(statement.text, " WHERE {}", clauses.join(" AND "));
        }
        statement
    }
}
