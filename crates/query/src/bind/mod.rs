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
mod sort_path;
pub(crate) mod tree;

pub use computed::ComputedProperty;

use model::Value;

use crate::ast;
use crate::context::{Context, Patience};
use crate::error::{Diagnostic, Error, Result, Span};
use scope::{Binding, GroupScope};

/// Limit: JOINs of a whole text, subqueries included, as the service has it.
pub(crate) const JOINS_MAX: usize = 10;

/// Limit: calls of user-defined functions in a whole text, as the service has it.
pub(crate) const UDF_CALLS_MAX: usize = 10;

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
        n_joins: 0,
        n_udf_calls: 0,
        scope: Vec::new(),
        groups: Vec::new(),
        aggregates_allowed: false,
        next_level: tree::ITEM_LEVEL + 1,
        clause: Clause::Other,
        rank: false,
        diagnostics: Default::default(),
    };
    let bound = binder.root_query(query);
    binder.check_limits(query.span);
    // Later checks are made only of what earlier ones accept.
    let found = binder.diagnostics.into_iter().find(|list| !list.is_empty());
    found.map_or(Ok(bound), |list| Err(Error::Invalid(list)))
}

struct Binder<'b> {
    parameters: &'b [(String, Value)],
    computed: &'b [ComputedProperty],
    context: &'b Context,
    /// For constants.
    patience: Patience,
    /// How many regular expressions are compiled.
    n_regexes: usize,
    n_joins: usize,
    n_udf_calls: usize,
    /// The names in sight, innermost last.
    scope: Vec<Binding>,
    /// The groups whose keys and aggregates the current expression may use, innermost last.
    groups: Vec<GroupScope>,
    /// Whether an aggregate may stand here; it then belongs to the innermost group.
    aggregates_allowed: bool,
    /// Where the expression stands.
    clause: Clause,
    /// Whether the query is ranked.
    rank: bool,
    next_level: usize,
    /// By [`Stage`].
    diagnostics: [Vec<Diagnostic>; Stage::LAST + 1],
}

/// A clause of the innermost query.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Clause {
    Filter,
    OrderBy,
    Other,
}

/// When a mistake is looked for: only the first stage with mistakes is reported.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Names, counts and rules of clauses.
    Names,
    /// What has one value within a group.
    Groups,
    /// Too much of something.
    Limits,
    /// Sort keys that are no paths.
    Keys,
}

impl Stage {
    const LAST: usize = Stage::Keys as usize;
}

impl Binder<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.report_at(Stage::Names, diagnostic);
    }

    fn report_at(&mut self, stage: Stage, diagnostic: Diagnostic) {
        let Some(list) = self.diagnostics.get_mut(stage as usize) else { return };
        // The same mistake in a clause that is bound twice is one mistake.
        if !list.contains(&diagnostic) {
            list.push(diagnostic);
        }
    }

    /// Reports what the whole text has too many of.
    fn check_limits(&mut self, span: Span) {
        let counts = [
            (self.n_joins, JOINS_MAX, 3002, "joins"),
            (self.n_udf_calls, UDF_CALLS_MAX, 3005, "user-defined function calls"),
        ];
        for (count, limit, code, what) in counts {
            if count > limit {
                let message = format!(
                    "The SQL query exceeded the maximum number of {what}. The allowed limit is {limit}."
                );
                self.report_at(Stage::Limits, Diagnostic::sc(code, message, span));
            }
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
