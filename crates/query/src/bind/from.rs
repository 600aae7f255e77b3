//! Input sets.

use super::expression::unresolved;
use super::query::{Nesting, base_without_from};
use super::scope::{Binding, Meaning};
use super::tree::{Base, Collection, Expr, ITEM_LEVEL, Query, Source};
use super::{Binder, Stage};
use crate::ast;
use crate::error::{Diagnostic, Span};
use crate::value::Step;

/// The bound FROM clause.
pub(super) struct From {
    pub(super) base: Base,
    pub(super) sources: Vec<Source>,
}

impl Binder<'_> {
    pub(super) fn from(&mut self, sources: &[ast::Source], is_root: bool) -> From {
        let mut from = From { base: base_without_from(is_root), sources: Vec::new() };
        for (index, source) in sources.iter().enumerate() {
            if index == 0 && is_root {
                from.base = Base::Item;
            }
            self.n_joins += usize::from(index > 0);
            self.check_rank_source(source);
            let is_known = self.source(source, index == 0 && is_root, &mut from);
            if is_known {
                self.check_name(source);
            }
        }
        from
    }

    /// Binds an input set. Returns whether it is one.
    fn source(&mut self, source: &ast::Source, is_root: bool, from: &mut From) -> bool {
        match &source.collection {
            ast::Collection::Path { name, steps } => {
                let is_known = is_root || self.resolve(&name.text).is_some();
                self.path_source(source, name, steps, is_root, from);
                is_known
            }
            ast::Collection::Subquery(query) => {
                self.check_rank_subquery(source.collection_span);
                let aggregates_allowed = std::mem::replace(&mut self.aggregates_allowed, false);
                let place = if is_root { Nesting::FirstSource } else { Nesting::Row };
                let bound = self.whole_query(query, place);
                self.aggregates_allowed = aggregates_allowed;
                let level = self.new_level();
                // Over all items, rows that depend on other items must be computed as a whole; the
                // others are computed item by item like any subquery.
                let collection = if is_root && bound.needs_all_items() {
                    from.base = Base::Rows(Box::new(bound), level);
                    if !source.iterates {
                        self.scope.push(Binding::of_input(alias_of(source), level));
                        return true;
                    }
                    Collection::Expr(Expr::Variable(level))
                } else {
                    Collection::Subquery(Box::new(bound))
                };
                let level = if source.iterates { self.new_level() } else { level };
                self.add_source(source, alias_of(source), collection, level, from);
                true
            }
        }
    }

    /// Binds a query whose mistakes are all found before what is around it is looked at.
    fn whole_query(&mut self, query: &ast::Query, place: Nesting) -> Query {
        let outer = self.take_reports(Stage::Groups);
        let n_before = self.n_reports(Stage::Names);
        let bound = self.query(query, place);
        let groups = self.take_reports(Stage::Groups);
        if self.n_reports(Stage::Names) == n_before {
            self.report_each(groups);
        }
        for diagnostic in outer {
            self.report_at(Stage::Groups, diagnostic);
        }
        bound
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
            Some((_, Meaning::Input(level))) => *level,
            Some((_, Meaning::Let(value))) => {
                let base = value.to_expr();
                self.let_source(source, name, base, steps, from);
                return;
            }
            None if is_root => ITEM_LEVEL,
            None => {
                self.report(unresolved(&name.text, name.span));
                ITEM_LEVEL
            }
        };
        if self.varies_in_group(base) {
            let key = self.key_of_path(&name.text, &bound_steps(steps));
            if key.is_none() {
                self.report_ungrouped(source.collection_span, &[]);
            }
            let expr = key.unwrap_or(Expr::Constant(None));
            let level = self.new_level();
            let alias = alias_of(source).or_else(|| {
                if steps.is_empty() { Some(name.text.clone()) } else { inferred_name(steps) }
            });
            self.add_source(source, alias, Collection::Expr(expr), level, from);
            return;
        }
        if steps.is_empty() && !source.iterates {
            let alias = alias_of(source).unwrap_or_else(|| name.text.clone());
            self.scope.push(Binding::of_input(Some(alias), base));
            return;
        }
        let expr = self.steps_below(base, steps);
        let level = self.new_level();
        let alias = alias_of(source).or_else(|| inferred_name(steps));
        self.add_source(source, alias, Collection::Expr(expr), level, from);
    }

    /// Adds an input set below the name of a LET.
    fn let_source(
        &mut self,
        source: &ast::Source,
        name: &ast::Name,
        base: Expr,
        steps: &[ast::Step],
        from: &mut From,
    ) {
        let (own, inferred) = match (base, steps) {
            (base, []) => (base, (!source.iterates).then(|| name.text.clone())),
            (Expr::Variable(level), steps) => {
                (self.steps_below(level, steps), inferred_name(steps))
            }
            (base, steps) => (Expr::Path(Box::new(base), bound_steps(steps)), inferred_name(steps)),
        };
        let expr = self.fold(own);
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
        match computed {
            Some(expr) if rest.is_empty() => expr,
            Some(expr) => Expr::Path(Box::new(expr), bound_steps(rest)),
            None if steps.is_empty() => Expr::Variable(level),
            None => Expr::VariablePath(level, bound_steps(steps)),
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
        from.sources.push(Source { level, collection, iterates: source.iterates });
        self.scope.push(Binding::of_input(name, level));
    }

    /// Reports a name that is in sight already, in this FROM or around it.
    fn check_name(&mut self, source: &ast::Source) {
        let Some((last, earlier)) = self.scope.split_last() else { return };
        let Some(name) = &last.name else { return };
        if is_unchecked(source) || is_reference(source) {
            return;
        }
        if earlier.iter().any(|binding| binding.name.as_ref() == Some(name)) {
            let message = format!(
                "The input set name or alias '{name}' is specified more than once in the FROM clause."
            );
            self.report(Diagnostic::sc(2021, message, name_span(source)));
        }
    }
}

/// Returns where the name of a source stands: its alias, or the last step of its path.
fn name_span(source: &ast::Source) -> Span {
    if let Some(alias) = &source.alias {
        return alias.span;
    }
    let last = match &source.collection {
        ast::Collection::Path { steps, .. } => steps.last(),
        ast::Collection::Subquery(_) => None,
    };
    last.and_then(|step| step.span(source.collection_span.end)).unwrap_or(source.span)
}

/// Returns whether a source is only the name of something in sight.
fn is_reference(source: &ast::Source) -> bool {
    match &source.collection {
        ast::Collection::Path { name, steps } => {
            steps.is_empty()
                && !source.iterates
                && source.alias.as_ref().is_none_or(|alias| alias.text == name.text)
        }
        ast::Collection::Subquery(_) => false,
    }
}

/// Wire: the service does not compare the name of a subquery that enumerates an array.
fn is_unchecked(source: &ast::Source) -> bool {
    match &source.collection {
        ast::Collection::Subquery(query) => {
            !source.iterates && query.from.iter().any(|source| source.iterates)
        }
        ast::Collection::Path { .. } => false,
    }
}

fn bound_steps(steps: &[ast::Step]) -> Vec<Step> {
    steps.iter().map(|step| Step::from_ast(step).unwrap_or(Step::Never)).collect()
}

/// Returns the name that the last step gives to an input set.
fn inferred_name(steps: &[ast::Step]) -> Option<String> {
    match steps.last() {
        Some(ast::Step::Dot(name) | ast::Step::Name(name)) => Some(name.clone()),
        _ => None,
    }
}

fn alias_of(source: &ast::Source) -> Option<String> {
    source.alias.as_ref().map(|alias| alias.text.clone())
}
