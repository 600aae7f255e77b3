//! Where in an item a sort key is.

use super::tree::{Base, Collection, Expr, Grouping, ITEM_LEVEL, Projection, Query, Source};
use crate::ast::SubqueryKind;
use crate::value::Step;

/// Where a sort key is found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SortPath {
    /// At a path of the item.
    Item,
    /// At a path of an element of one of its arrays: there is more than one such key in an item.
    Element,
    /// Nowhere: it is computed.
    Computed,
}

/// The input sets in sight, innermost last.
pub(super) struct Inputs<'b> {
    pub(super) base: &'b Base,
    pub(super) sources: &'b [Source],
    pub(super) grouping: Option<&'b Grouping>,
    pub(super) outer: Option<&'b Inputs<'b>>,
}

impl Inputs<'_> {
    /// Follows steps below an expression to where they lead.
    pub(super) fn find(&self, expr: &Expr, steps: &[Step]) -> SortPath {
        match expr {
            Expr::Variable(level) => self.variable(*level, steps),
            Expr::VariablePath(level, own) => self.variable(*level, &[own, steps].concat()),
            Expr::Path(base, own) => self.find(base, &[own, steps].concat()),
            Expr::GroupKey { index, .. } => {
                let key = self.grouping.and_then(|grouping| grouping.keys.get(*index));
                key.map_or(SortPath::Item, |key| self.find(key, steps))
            }
            Expr::Object(members) => match steps.split_first() {
                Some((Step::Name(name), rest)) => self.member(members, name, rest),
                _ => SortPath::Computed,
            },
            Expr::Array(list) => match steps.split_first() {
                Some((Step::Index(index), rest)) => {
                    let element = list.get(*index);
                    element.map_or(SortPath::Computed, |element| self.find(element, rest))
                }
                _ => SortPath::Computed,
            },
            Expr::Subquery(SubqueryKind::Scalar, query) => self.row(query, steps),
            _ => SortPath::Computed,
        }
    }

    fn variable(&self, level: usize, steps: &[Step]) -> SortPath {
        if level == ITEM_LEVEL {
            return SortPath::Item;
        }
        if let Base::Rows(query, own) = self.base
            && *own == level
        {
            return self.row(query, steps);
        }
        let Some(source) = self.sources.iter().find(|source| source.level == level) else {
            return self.outer.map_or(SortPath::Computed, |outer| outer.variable(level, steps));
        };
        let found = match &source.collection {
            // The steps are below an element, which may be anything.
            Collection::Expr(expr) if source.iterates => self.find(expr, &[]),
            Collection::Subquery(query) if source.iterates => self.row(query, &[]),
            Collection::Expr(expr) => self.find(expr, steps),
            Collection::Subquery(query) => self.row(query, steps),
        };
        if source.iterates && found != SortPath::Computed { SortPath::Element } else { found }
    }

    /// Follows steps below the row of a subquery.
    fn row(&self, query: &Query, steps: &[Step]) -> SortPath {
        let inputs = Inputs {
            base: &query.base,
            sources: &query.sources,
            grouping: query.grouping.as_ref(),
            outer: Some(self),
        };
        match (&query.projection, steps.split_first()) {
            (Projection::Value(expr), _) => inputs.find(expr, steps),
            (Projection::List(members), Some((Step::Name(name), rest))) => {
                inputs.member(members, name, rest)
            }
            (Projection::List(_), _) => SortPath::Computed,
        }
    }

    fn member(&self, members: &[(String, Expr)], name: &str, rest: &[Step]) -> SortPath {
        let member = members.iter().find(|(own, _)| own == name);
        member.map_or(SortPath::Computed, |(_, expr)| self.find(expr, rest))
    }
}
