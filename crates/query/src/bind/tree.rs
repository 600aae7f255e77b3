//! The bound tree: names are levels, parameters are constants, functions are table entries.
//!
//! A *level* is the number of a variable. Level 0 is the item; each source and each group takes the next
//! free one, subqueries included, so a level means one thing in the whole query.

use std::collections::HashSet;

use crate::ast::{BinaryOp, SubqueryKind};
use crate::eval::LikePattern;
use crate::full_text::language::Language;
use crate::functions::{AggregateKind, Function, Prepared};
use crate::value::{Maybe, Step};

/// The level of the item.
pub(crate) const ITEM_LEVEL: usize = 0;

/// A bound scalar expression.
#[derive(Debug)]
pub(crate) enum Expr {
    Constant(Maybe<'static>),
    Variable(usize),
    /// Steps below a variable; the common case, kept flat.
    VariablePath(usize, Vec<Step>),
    Path(Box<Expr>, Vec<Step>),
    /// The key of the current group.
    GroupKey {
        level: usize,
        index: usize,
    },
    /// The result of an aggregate over the current group.
    Aggregate {
        level: usize,
        index: usize,
    },
    Array(Vec<Expr>),
    Object(Vec<(String, Expr)>),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    Plus(Box<Expr>),
    BitNot(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Coalesce(Vec<Expr>),
    Chain(Box<Expr>, Vec<(BinaryOp, Expr)>),
    In(Box<Expr>, Vec<Expr>),
    /// IN over constants, by canonical key.
    InSet {
        needle: Box<Expr>,
        keys: HashSet<Vec<u8>>,
        values: Vec<model::Value>,
    },
    Like(Box<Expr>, LikePattern),
    /// LIKE whose pattern differs by row.
    LikeComputed {
        text: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<char>,
    },
    Between(Box<[Expr; 3]>),
    Conditional(Box<[Expr; 3]>),
    /// A variable with a value of its own, and the body that sees it.
    Let {
        level: usize,
        operands: Box<[Expr; 2]>,
    },
    Call {
        function: &'static Function,
        arguments: Vec<Expr>,
        prepared: Prepared,
    },
    Udf(String, Vec<Expr>),
    Subquery(SubqueryKind, Box<Query>),
}

/// A bound query.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) base: Base,
    pub(crate) sources: Vec<Source>,
    pub(crate) filter: Option<Expr>,
    pub(crate) grouping: Option<Grouping>,
    pub(crate) projection: Projection,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<OrderKey>,
    /// Whether a sort key is of an element of an array of the item.
    pub(crate) orders_elements: bool,
    pub(crate) rank: Option<Rank>,
    pub(crate) offset: u64,
    /// The least of TOP and LIMIT.
    pub(crate) take: Option<u64>,
}

/// Where the rows of a query start from.
#[derive(Debug)]
pub(crate) enum Base {
    /// No FROM: one row without variables.
    Nothing,
    /// Each item at level 0; for a subquery, the row around it.
    Item,
    /// The rows of a whole query over all items, at the given level.
    Rows(Box<Query>, usize),
}

/// One input set beyond the base.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) level: usize,
    pub(crate) collection: Collection,
    /// Whether each value is an array whose elements are enumerated.
    pub(crate) iterates: bool,
}

#[derive(Debug)]
pub(crate) enum Collection {
    Expr(Expr),
    Subquery(Box<Query>),
}

/// GROUP BY keys and the aggregates of the select list.
#[derive(Debug)]
pub(crate) struct Grouping {
    pub(crate) level: usize,
    pub(crate) keys: Vec<Expr>,
    pub(crate) aggregates: Vec<Aggregate>,
}

#[derive(Debug)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) argument: Expr,
}

/// What a row becomes.
#[derive(Debug)]
pub(crate) enum Projection {
    Value(Expr),
    List(Vec<(String, Expr)>),
}

#[derive(Debug)]
pub(crate) struct OrderKey {
    pub(crate) expr: Expr,
    pub(crate) descending: bool,
    /// Whether rows without a key come last whatever the direction (vector order).
    pub(crate) undefined_last: bool,
}

/// ORDER BY RANK: components to be fused.
#[derive(Debug)]
pub(crate) struct Rank {
    pub(crate) components: Vec<Component>,
    pub(crate) fusion: Fusion,
    /// The scores of texts in SELECT and WHERE, in this order.
    pub(crate) shown: Vec<Score>,
}

/// How the scores of several components become one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fusion {
    /// `RRF`: by the places that a row has in the order of each.
    Ranks,
    /// `COMBINEDSCORE`: by their weighted sum.
    Scores,
}

/// One component of a rank.
#[derive(Debug)]
pub(crate) struct Component {
    pub(crate) score: Score,
    /// The weight; a negative one turns the order of the component around.
    pub(crate) weight: f64,
}

/// How a component scores a row.
#[derive(Debug)]
pub(crate) enum Score {
    /// BM25 of terms over a text, with statistics of the rows at hand.
    FullText { text: Expr, terms: Vec<model::Value>, language: Language },
    /// A vector comparison.
    Vector { expr: Expr, larger_closer: bool },
}

impl Query {
    /// Returns whether no row is known before all items were seen, or rows depend on earlier ones.
    pub(crate) fn needs_all_items(&self) -> bool {
        self.distinct || self.grouping.is_some() || self.has_row_base()
    }

    /// Returns whether the rows start from the rows of another query.
    pub(crate) fn has_row_base(&self) -> bool {
        matches!(self.base, Base::Rows(..))
    }

    /// Returns whether each row is the unchanged item.
    pub(crate) fn returns_item(&self) -> bool {
        matches!(self.projection, Projection::Value(Expr::Variable(ITEM_LEVEL)))
            && self.sources.is_empty()
            && self.grouping.is_none()
    }
}
