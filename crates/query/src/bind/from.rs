//! Input sets.

use super::Binder;
use super::query::base_without_from;
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
            self.source(source, index == 0 && is_root, &mut from);
            self.check_name(first_name, source);
        }
        from
    }

    fn source(&mut self, source: &ast::Source, is_root: bool, from: &mut From) {
        match &source.collection {
            ast::Collection::Path { name, steps } => self.path_source(source, name, steps, from),
            ast::Collection::Subquery(query) => {
                self.check_subquery(query);
                let aggregates_allowed = std::mem::replace(&mut self.aggregates_allowed, false);
                let bound = self.query(query, is_root);
                self.aggregates_allowed = aggregates_allowed;
                let level = self.new_level();
                from.row_levels.push(level);
                // Over all items, rows that depend on other items must be computed as a whole; the
                // others are computed item by item like any subquery.
                let collection = if is_root && bound.needs_all_items() {
                    from.base = Base::Rows(Box::new(bound), level);
                    if !source.iterates {
                        self.scope.push(Binding { name: source.alias.clone(), level });
                        return;
                    }
                    Collection::Expr(Expr::Variable(level))
                } else {
                    Collection::Subquery(Box::new(bound))
                };
                let level = if source.iterates { self.new_level() } else { level };
                self.add_source(source, source.alias.clone(), collection, level, from);
            }
        }
    }

    fn path_source(
        &mut self,
        source: &ast::Source,
        name: &str,
        steps: &[ast::Step],
        from: &mut From,
    ) {
        // A name that is not in sight denotes the container: the item at hand.
        let base = self.resolve(name).unwrap_or(ITEM_LEVEL);
        if steps.is_empty() && !source.iterates {
            let alias = source.alias.clone().unwrap_or_else(|| name.to_string());
            self.scope.push(Binding { name: Some(alias), level: base });
            return;
        }
        let inferred = match steps.last() {
            Some(ast::Step::Dot(name) | ast::Step::Name(name)) => Some(name.clone()),
            _ => None,
        };
        let expr = self.steps_below(base, steps);
        let level = self.new_level();
        let alias = source.alias.clone().or(inferred);
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
            let message =
                format!("The input alias '{name}' is specified more than once in the FROM clause.");
            self.report(Diagnostic::plain(message, source.span));
        }
    }
}
