//! Tree to bound tree: resolves names and parameters, checks the rules of the language, folds constants.
//!
//! Mistakes are collected, not returned one by one: the service reports several in one answer.

mod aggregate;
mod computed;
mod expression;
mod fold;
mod from;
mod let_in;
pub(crate) mod query;
pub(crate) mod rank;
mod scope;
mod sort_path;
mod timespan;
pub(crate) mod tree;
mod vector_options;

pub use computed::ComputedProperty;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use model::Value;

use crate::ast;
use crate::context::{Budget, Context};
use crate::error::{Diagnostic, Error, Result, Span};
use scope::{Binding, GroupScope};

/// Limit: JOINs of a whole text, subqueries included, as the service has it.
pub(crate) const JOINS_MAX: usize = 10;

/// Limit: calls of user-defined functions in a whole text, as the service has it.
pub(crate) const UDF_CALLS_MAX: usize = 10;

/// Limit: memory of the constants of a query, and of what is prepared with them.
const CONSTANTS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Binds a whole query.
pub(crate) fn bind(
    text: &str,
    query: &ast::Query,
    parameters: &[(String, Arc<Value>)],
    computed: &[ComputedProperty],
    context: &Context,
) -> Result<tree::Query> {
    let mut binder = Binder {
        text,
        // The first of two with one name counts.
        parameters: parameters.iter().rev().map(|(name, value)| (&**name, value)).collect(),
        constants_bytes: Cell::new(0),
        computed,
        context,
        budget: Budget::for_constants(context),
        n_regexes: 0,
        n_joins: 0,
        n_udf_calls: 0,
        scope: Vec::new(),
        groups: Vec::new(),
        aggregates_allowed: false,
        next_level: tree::ITEM_LEVEL + 1,
        clause: Clause::Other,
        rank: false,
        shown_scores: Vec::new(),
        diagnostics: Default::default(),
    };
    let bound = binder.root_query(query);
    binder.check_limits(query.span);
    // Later checks are made only of what earlier ones accept.
    let found = binder.diagnostics.into_iter().find(|list| !list.is_empty());
    found.map_or(Ok(bound), |list| Err(Error::Invalid(list)))
}

struct Binder<'b> {
    /// The text of the query, for messages that quote it.
    text: &'b str,
    parameters: HashMap<&'b str, &'b Arc<Value>>,
    /// What constants hold so far.
    constants_bytes: Cell<usize>,
    computed: &'b [ComputedProperty],
    context: &'b Context,
    /// For constants.
    budget: Budget,
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
    /// The scores of texts in the clauses of a ranked query that were bound last.
    shown_scores: Vec<tree::Score>,
    next_level: usize,
    /// By [`Stage`].
    diagnostics: [Vec<Diagnostic>; Stage::LAST + 1],
}

/// A clause of the innermost query.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Clause {
    Filter,
    GroupBy,
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

    /// Reports mistakes of which each counts, even if they are the same.
    fn report_each(&mut self, list: Vec<Diagnostic>) {
        if let Some(own) = self.diagnostics.get_mut(Stage::Names as usize) {
            own.extend(list);
        }
    }

    fn report_at(&mut self, stage: Stage, diagnostic: Diagnostic) {
        let Some(list) = self.diagnostics.get_mut(stage as usize) else { return };
        // The same mistake in a clause that is bound twice is one mistake.
        if !list.contains(&diagnostic) {
            list.push(diagnostic);
        }
    }

    fn n_reports(&self, stage: Stage) -> usize {
        self.diagnostics.get(stage as usize).map_or(0, Vec::len)
    }

    fn take_reports(&mut self, stage: Stage) -> Vec<Diagnostic> {
        self.diagnostics.get_mut(stage as usize).map(std::mem::take).unwrap_or_default()
    }

    /// Returns what stands at a place of the text.
    fn quote(&self, span: Span) -> &str {
        let mut units = 0;
        let mut byte_at = |place: u32| {
            let mut chars = self.text.char_indices().skip_while(|(_, c)| {
                let is_before = units < place;
                units += if is_before { u32::try_from(c.len_utf16()).unwrap_or(1) } else { 0 };
                is_before
            });
            let found = chars.next().map_or(self.text.len(), |(at, _)| at);
            units = 0;
            found
        };
        let (start, end) = (byte_at(span.start), byte_at(span.end));
        self.text.get(start..end).unwrap_or_default()
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

    fn parameter(&self, name: &str) -> Option<&Arc<Value>> {
        self.parameters.get(name).copied()
    }

    /// Takes memory for what is kept as long as the query; `false` when there is none left for it, and it has to be
    /// computed with the rows.
    fn keep(&self, bytes: usize) -> bool {
        let total = self.constants_bytes.get().saturating_add(bytes);
        let is_kept =
            total <= CONSTANTS_BYTES_MAX && self.context.memory.take(bytes, false).is_ok();
        if is_kept {
            self.constants_bytes.set(total);
        }
        is_kept
    }
}
