//! Tree to bound tree: resolves names and parameters, checks the rules of the language, folds constants.
//!
//! Mistakes are collected, not returned one by one: the service reports several in one answer.

mod aggregate;
mod computed;
mod expression;
mod fold;
mod from;
pub(crate) mod query;
pub(crate) mod rank;
mod scope;
pub(crate) mod tree;

pub use computed::ComputedProperty;

use model::Value;

use crate::ast;
use crate::context::{Context, Patience};
use crate::error::{Diagnostic, Error, Result};
use scope::{Binding, GroupScope};

/// Binds a whole query.
pub(crate) fn bind(
    query: &ast::Query,
    parameters: &[(String, Value)],
    computed: &[ComputedProperty],
    context: &Context,
) -> Result<tree::Query> {
    let mut binder = Binder {
        parameters,
        computed,
        context,
        patience: Patience::for_constants(context),
        n_regexes: 0,
        scope: Vec::new(),
        groups: Vec::new(),
        aggregates_allowed: false,
        next_level: tree::ITEM_LEVEL + 1,
        diagnostics: Vec::new(),
    };
    let bound = binder.root_query(query);
    if binder.diagnostics.is_empty() { Ok(bound) } else { Err(Error::Invalid(binder.diagnostics)) }
}

struct Binder<'b> {
    parameters: &'b [(String, Value)],
    computed: &'b [ComputedProperty],
    context: &'b Context,
    /// For constants.
    patience: Patience,
    /// How many regular expressions are compiled.
    n_regexes: usize,
    /// The names in sight, innermost last.
    scope: Vec<Binding>,
    /// The groups whose keys and aggregates the current expression may use, innermost last.
    groups: Vec<GroupScope>,
    /// Whether an aggregate may stand here; it then belongs to the innermost group.
    aggregates_allowed: bool,
    next_level: usize,
    diagnostics: Vec<Diagnostic>,
}

impl Binder<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        // The same mistake in a clause that is bound twice is one mistake.
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    fn new_level(&mut self) -> usize {
        let level = self.next_level;
        self.next_level += 1;
        level
    }

    fn parameter(&self, name: &str) -> Option<&Value> {
        self.parameters.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }
}
