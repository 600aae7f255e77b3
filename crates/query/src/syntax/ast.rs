//! The syntax tree, as close to the text as later stages allow.
//!
//! Invariant: the depth of a tree is bounded by the parser (`parse::DEPTH_MAX`), because chains of
//! left-associative operators and path steps are flat lists. Every walk over the tree may recurse.

use model::Value;

use crate::error::Span;

/// One query: the text as a whole, or a subquery.
#[derive(Clone, Debug)]
pub struct Query {
    /// What each row becomes.
    pub select: Select,
    /// The input sets, in order; empty when there is no FROM.
    pub from: Vec<Source>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY keys.
    pub group_by: Vec<Expr>,
    /// Where GROUP BY stands.
    pub group_by_span: Span,
    /// ORDER BY.
    pub order_by: Option<OrderBy>,
    /// OFFSET and LIMIT.
    pub offset_limit: Option<OffsetLimit>,
    /// Where the query stands.
    pub span: Span,
}

/// A name in the text, or a text that is used as a name.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name itself.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// The SELECT clause.
#[derive(Clone, Debug)]
pub struct Select {
    /// Whether equal rows are merged.
    pub distinct: bool,
    /// TOP.
    pub top: Option<Top>,
    /// The selection.
    pub selection: Selection,
    /// Where the clause stands.
    pub span: Span,
}

/// TOP n.
#[derive(Clone, Debug)]
pub struct Top {
    /// How many rows.
    pub count: Count,
    /// Where the clause stands.
    pub span: Span,
}

/// What is selected.
#[derive(Clone, Debug)]
pub enum Selection {
    /// `*`
    All(Span),
    /// `VALUE expr`
    Value(Expr),
    /// A list of expressions with names.
    List(Vec<SelectItem>),
}

/// One member of a select list.
#[derive(Clone, Debug)]
pub struct SelectItem {
    /// The expression.
    pub expr: Expr,
    /// The name given with AS.
    pub alias: Option<Name>,
}

/// The operand of TOP, OFFSET or LIMIT.
#[derive(Clone, Debug)]
pub struct Count {
    /// Its kind.
    pub kind: CountKind,
    /// Where it stands.
    pub span: Span,
}

/// A number or a parameter.
#[derive(Clone, Debug)]
pub enum CountKind {
    /// A literal; `None` when it is no integer or too large.
    Literal(Option<u32>),
    /// A parameter, with the `@`.
    Parameter(String),
}

/// OFFSET m LIMIT n.
#[derive(Clone, Debug)]
pub struct OffsetLimit {
    /// Rows to skip.
    pub offset: Count,
    /// Rows to return.
    pub limit: Count,
    /// Where the clause stands.
    pub span: Span,
}

/// One input set of FROM.
#[derive(Clone, Debug)]
pub struct Source {
    /// The values that are enumerated.
    pub collection: Collection,
    /// The name of each value, if one was written.
    pub alias: Option<Name>,
    /// Whether the source is written `alias IN collection`: the elements of an array.
    pub iterates: bool,
    /// Where the collection stands.
    pub collection_span: Span,
    /// Where the source stands.
    pub span: Span,
}

/// What a source enumerates.
#[derive(Clone, Debug)]
pub enum Collection {
    /// A name and steps below it.
    Path {
        /// The container or an earlier alias.
        name: Name,
        /// Steps below it.
        steps: Vec<Step>,
    },
    /// A subquery.
    Subquery(Box<Query>),
}

/// ORDER BY, or ORDER BY RANK.
#[derive(Clone, Debug)]
pub struct OrderBy {
    /// Whether RANK was written.
    pub rank: bool,
    /// The keys; at least one.
    pub items: Vec<OrderItem>,
    /// Where the clause stands.
    pub span: Span,
}

/// One sort key.
#[derive(Clone, Debug)]
pub struct OrderItem {
    /// The key.
    pub expr: Expr,
    /// The direction, if one was written.
    pub direction: Option<Direction>,
    /// Where the key and its direction stand.
    pub span: Span,
}

/// A sort direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// A scalar expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its kind.
    pub kind: ExprKind,
    /// Where it stands, without parentheses around it.
    pub span: Span,
}

/// The kinds of scalar expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A JSON literal.
    Literal(Value),
    /// `undefined`
    Undefined,
    /// A number that JSON lacks: `NaN`, `Infinity`, `-Infinity` or `-0.0`
    Special(f64),
    /// `@name`, with the `@`.
    Parameter(String),
    /// A name.
    Identifier(String),
    /// Steps below an expression; at least one.
    Path {
        /// What the steps start from.
        base: Box<Expr>,
        /// The steps.
        steps: Vec<Step>,
    },
    /// `[a, b]`
    Array(Vec<Expr>),
    /// `{a: b}`
    Object(Vec<(Name, Expr)>),
    /// A prefix operator.
    Unary(UnaryOp, Box<Expr>),
    /// Operators of one level: `first op a op b`. At least one operator. They associate to the left,
    /// but for `??`, which stands alone and associates to the right.
    Chain {
        /// The leftmost operand.
        first: Box<Expr>,
        /// Operators with their right operands.
        rest: Vec<(BinaryOp, Expr)>,
    },
    /// `needle [NOT] IN (list)`
    In {
        /// What is looked for.
        needle: Box<Expr>,
        /// Where; at least one.
        list: Vec<Expr>,
        /// Whether NOT was written.
        negated: bool,
    },
    /// `text [NOT] LIKE pattern [ESCAPE 's']`
    Like {
        /// The text.
        text: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The text that should be one escape character.
        escape: Option<Name>,
        /// Whether NOT was written.
        negated: bool,
    },
    /// `value [NOT] BETWEEN low AND high`
    Between {
        /// The three operands: value, low, high.
        operands: Box<[Expr; 3]>,
        /// Whether NOT was written.
        negated: bool,
    },
    /// `condition ? then : otherwise`
    Conditional(Box<[Expr; 3]>),
    /// `(LET name = value IN body)`
    Let {
        /// The name.
        name: Name,
        /// What it stands for, and the body in which it does.
        operands: Box<[Expr; 2]>,
    },
    /// A built-in function, an aggregate, or `udf.name(…)`.
    Call {
        /// The name as written, without `udf.`.
        name: String,
        /// Whether `udf.` was written.
        udf: bool,
        /// The arguments.
        arguments: Vec<Expr>,
    },
    /// A subquery used as a value.
    Subquery(SubqueryKind, Box<Query>),
}

/// One step of a path.
#[derive(Clone, Debug)]
pub enum Step {
    /// `.name`
    Dot(String),
    /// `["name"]`
    Name(String),
    /// `[3]`
    Index(u64),
    /// `[expr]`
    Computed(Box<Expr>),
}

impl Step {
    /// Returns where the name stands in a step that ends at `end`; `None` for one without a name.
    pub(crate) fn span(&self, end: u32) -> Option<Span> {
        let (name, quote, bracket) = match self {
            Step::Dot(name) => (name, 0, 0),
            Step::Name(name) => (name, 2, 1),
            Step::Index(_) | Step::Computed(_) => return None,
        };
        let end = end - bracket;
        let length = u32::try_from(name.encode_utf16().count() + quote).unwrap_or_default();
        Some(Span { start: end.saturating_sub(length), end })
    }
}

/// How the rows of a subquery become one value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SubqueryKind {
    /// The only row, undefined if there is none.
    Scalar,
    /// Whether there is a row.
    Exists,
    /// All rows as an array.
    Array,
    /// The first row.
    First,
    /// The last row.
    Last,
}

/// A prefix operator.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UnaryOp {
    /// `NOT`
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    BitNot,
}

/// A binary operator.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BinaryOp {
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `>>>`
    ShiftRightZero,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `=`
    Equal,
    /// `!=` or `<>`
    NotEqual,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `||`
    Concat,
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `??`
    Coalesce,
}

impl BinaryOp {
    /// Returns the operator as written in canonical text.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Modulo => "%",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::ShiftRightZero => ">>>",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::Equal => "=",
            BinaryOp::NotEqual => "!=",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::BitOr => "|",
            BinaryOp::Concat => "||",
            BinaryOp::And => "AND",
            BinaryOp::Or => "OR",
            BinaryOp::Coalesce => "??",
        }
    }

    /// Returns how tightly the operator binds; a larger level binds tighter. `docs/query-language.md` has the table.
    pub(crate) fn level(self) -> u8 {
        match self {
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => 7,
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::BitAnd
            | BinaryOp::BitXor
            | BinaryOp::BitOr => 6,
            BinaryOp::Concat => 5,
            BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::ShiftRightZero => BinaryOp::COMPARISON_LEVEL,
            // Between these two are IN and LIKE, and beside OR is BETWEEN.
            BinaryOp::And => 3,
            BinaryOp::Or => 2,
            BinaryOp::Coalesce => 1,
        }
    }

    /// The level of comparisons, the loosest operands that IN, LIKE and BETWEEN take.
    pub(crate) const COMPARISON_LEVEL: u8 = 4;
}

impl Query {
    /// Returns the names of the select list in output order, with `$1`, `$2`… for unnamed members.
    pub(crate) fn output_names(list: &[SelectItem]) -> Vec<String> {
        let mut n_unnamed = 0;
        let mut name = |item: &SelectItem| {
            if let Some(alias) = &item.alias {
                return alias.text.clone();
            }
            inferred_name(&item.expr).unwrap_or_else(|| {
                n_unnamed += 1;
                format!("${n_unnamed}")
            })
        };
        list.iter().map(&mut name).collect()
    }
}

/// Returns the name a property reference gives to its value.
fn inferred_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Identifier(name) => Some(name.clone()),
        ExprKind::Path { steps, .. } => match steps.last()? {
            Step::Dot(name) | Step::Name(name) => Some(name.clone()),
            Step::Index(_) | Step::Computed(_) => None,
        },
        _ => None,
    }
}
