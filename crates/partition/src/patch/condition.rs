//! The condition of a patch: a FROM and WHERE clause that the item must satisfy.

use model::Env;
use query::{PrepareOptions, Statement};

use crate::{Error, Result};

/// The text of a condition, of which it is known that it is a query.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    query: String,
}

impl Condition {
    /// Wire: clients send `from c where …`, with any alias; a whole query is taken too.
    pub(super) fn parse(text: &str) -> Result<Condition> {
        let is_whole =
            text.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"));
        let query = if is_whole { text.to_owned() } else { format!("SELECT * {text}") };
        query::parse(&query)?;
        Ok(Condition { query })
    }

    /// Makes the condition ready to be asked.
    pub(crate) fn prepare(&self, env: &Env) -> Result<Statement> {
        Ok(Statement::prepare(&self.query, &[], &PrepareOptions::new(env.clone()))?)
    }
}

/// Says whether the item, as a client would read it, meets the condition.
pub(crate) fn holds(condition: &Statement, item: &[u8]) -> Result<bool> {
    let item = model::json::parse(item).map_err(|_| Error::Corrupt("a stored item is not JSON"))?;
    Ok(condition.matches(&item)?)
}
