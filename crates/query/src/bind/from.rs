//! Input sets.

use super::Binder;
use super::expression::unresolved;
use super::query::{Nesting, base_without_from};
use super::scope::Binding;
use super::tree::{Base, Collection, Expr, ITEM_LEVEL, Source};
use crate::ast;
use crate::error::Diagnostic;
use crate::value::Step;

/// The bound FROM clause.
pub(super) struct From {
    pub(super) base: Base,
    pub(super) sources: Vec<Source>,
    /// The variables that this FROM gives a value to.
    pub(super) row_levels: Vec<usize>,
}

impl Binder<'_> {
    pub(super) fn from(&mut self, sources: &[ast::Source], is_root: bool) -> From {
        let mut from =
            From { base: base_without_from(is_root), sources: Vec::new(), row_levels: Vec::new() };
        let first_name = self.scope.len();
        for (index, source) in sources.iter().enumerate() {
            if index == 0 && is_root {
                from.base = Base::Item;
                from.row_levels.push(ITEM_LEVEL);
            }
            self.n_joins += usize::from(index > 0);
            self.check_rank_source(source);
            self.source(source, index == 0 && is_root, &mut from);
            self.check_name(first_name, source);
        }
        from
    }

    fn source(&mut self, source: &ast::Source, is_root: bool, from: &mut From) {
        match &source.collection {
            ast::Collection::Path { name, steps } => {
                self.path_source(source, name, steps, is_root, from);
            }
            ast::Collection::Subquery(query) => {
                self.check_rank_subquery(source.collection_span);
                let aggregates_allowed = std::mem::replace(&mut self.aggregates_allowed, false);
                let place = if is_root { Nesting::FirstSource } else { Nesting::Row };
                let bound = self.query(query, place);
                self.aggregates_allowed = aggregates_allowed;
                let level = self.new_level();
                from.row_levels.push(level);
                // Over all items, rows that depend on other items must be computed as a whole; the
                // others are computed item by item like any subquery.
                let collection = if is_root && bound.needs_all_items() {
                    from.base = Base::Rows(Box::new(bound), level);
                    if !source.iterates {
                        self.scope.push(Binding { name: alias_of(source), level });
                        return;
                    }
                    Collection::Expr(Expr::Variable(level))
                } else {
                    Collection::Subquery(Box::new(bound))
                };
                let level = if source.iterates { self.new_level() } else { level };
                self.add_source(source, alias_of(source), collection, level, from);
            }
        }
    }

    fn path_source(
        &mut self,
        source: &ast::Source,
        name: &ast::Name,
        steps: &[ast::Step],
        is_root: bool,
        from: &mut From,
    ) {
        // The first name of the outermost FROM denotes the container, whatever it is: the item at hand.
        let base = match self.resolve(&name.text) {
            Some(level) => level,
            None if is_root => ITEM_LEVEL,
            None => {
                self.report(unresolved(&name.text, name.span));
                ITEM_LEVEL
            }
        };
        if steps.is_empty() && !source.iterates {
            let alias = alias_of(source).unwrap_or_else(|| name.text.clone());
            self.scope.push(Binding { name: Some(alias), level: base });
            return;
        }
        let inferred = match steps.last() {
            Some(ast::Step::Dot(name) | ast::Step::Name(name)) => Some(name.clone()),
            _ => None,
        };
        let expr = self.steps_below(base, steps);
        let level = self.new_level();
        let alias = alias_of(source).or(inferred);
        self.add_source(source, alias, Collection::Expr(expr), level, from);
    }

    fn steps_below(&mut self, level: usize, steps: &[ast::Step]) -> Expr {
        let (computed, rest) = match steps.split_first() {
            Some((ast::Step::Dot(name) | ast::Step::Name(name), rest)) if level == ITEM_LEVEL => {
                (self.computed_property(name), rest)
            }
            _ => (None, steps),
        };
        let bound = |steps: &[ast::Step]| -> Vec<Step> {
            steps.iter().map(|step| Step::from_ast(step).unwrap_or(Step::Never)).collect()
        };
        match computed {
            Some(expr) if rest.is_empty() => expr,
            Some(expr) => Expr::Path(Box::new(expr), bound(rest)),
            None if steps.is_empty() => Expr::Variable(level),
            None => Expr::VariablePath(level, bound(steps)),
        }
    }

    fn add_source(
        &mut self,
        source: &ast::Source,
        name: Option<String>,
        collection: Collection,
        level: usize,
        from: &mut From,
    ) {
        from.row_levels.push(level);
        from.sources.push(Source { level, collection, iterates: source.iterates });
        self.scope.push(Binding { name, level });
    }

    /// Reports a name that the same FROM already uses.
    fn check_name(&mut self, first_name: usize, source: &ast::Source) {
        let Some((last, earlier)) = self.scope.get(first_name..).and_then(<[Binding]>::split_last)
        else {
            return;
        };
        let Some(name) = &last.name else { return };
        if earlier.iter().any(|binding| binding.name.as_ref() == Some(name)) {
            let message = format!(
                "The input set name or alias '{name}' is specified more than once in the FROM clause."
            );
            let span = source.alias.as_ref().map_or(source.span, |alias| alias.span);
            self.report(Diagnostic::sc(2021, message, span));
        }
    }
}

fn alias_of(source: &ast::Source) -> Option<String> {
    source.alias.as_ref().map(|alias| alias.text.clone())
}
