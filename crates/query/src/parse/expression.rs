//! Scalar expressions: precedence climbing over the levels of `BinaryOp::level`.

use model::{Number, Value};

use super::{Parser, UDFS_MAX};
use crate::ast::{BinaryOp, Expr, ExprKind, Step, SubqueryKind, UnaryOp};
use crate::error::{Error, Result, Span};
use crate::lex::{Keyword, Kind, Symbol};

/// The level of IN, LIKE and BETWEEN, between concatenation and AND.
const PREDICATE_LEVEL: u8 = 4;

/// The lowest level: everything but the conditional.
const LOWEST_LEVEL: u8 = 1;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.deeper(|parser| {
            let condition = parser.binary(LOWEST_LEVEL)?;
            if !parser.take_symbol(Symbol::Question) {
                return Ok(condition);
            }
            let then = parser.expression()?;
            parser.expect_symbol(Symbol::Colon)?;
            let otherwise = parser.expression()?;
            let span = condition.span.to(otherwise.span);
            let operands = Box::new([condition, then, otherwise]);
            Ok(Expr { kind: ExprKind::Conditional(operands), span })
        })
    }

    pub(super) fn expressions(&mut self) -> Result<Vec<Expr>> {
        let mut list = vec![self.expression()?];
        while self.take_symbol(Symbol::Comma) {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    /// Reads operators whose level is at least `level`.
    fn binary(&mut self, level: u8) -> Result<Expr> {
        let mut left = self.operand(level)?;
        loop {
            if level <= PREDICATE_LEVEL
                && let Some(negated) = self.predicate_ahead()
            {
                left = self.predicate(left, negated)?;
                continue;
            }
            let Some(op) = self.binary_op().filter(|op| op.level() >= level) else {
                return Ok(left);
            };
            self.advance();
            let right = self.binary(op.level() + 1)?;
            left = chain(left, op, right);
        }
    }

    /// Reads one operand. NOT takes a whole comparison when it stands where one may stand:
    /// `NOT c.a = 1` is `NOT (c.a = 1)`.
    fn operand(&mut self, level: u8) -> Result<Expr> {
        if level <= PREDICATE_LEVEL && self.at_keyword(Keyword::Not) {
            let start = self.advance().span;
            let operand = self.deeper(|parser| parser.binary(PREDICATE_LEVEL))?;
            return Ok(unary(UnaryOp::Not, start, operand));
        }
        self.unary()
    }

    fn unary(&mut self) -> Result<Expr> {
        let op = match self.peek().kind {
            Kind::Keyword(Keyword::Not) => UnaryOp::Not,
            Kind::Symbol(Symbol::Minus) => UnaryOp::Minus,
            Kind::Symbol(Symbol::Plus) => UnaryOp::Plus,
            Kind::Symbol(Symbol::Tilde) => UnaryOp::BitNot,
            _ => return self.postfix(),
        };
        let start = self.advance().span;
        let operand = self.deeper(Self::unary)?;
        Ok(unary(op, start, operand))
    }

    fn binary_op(&self) -> Option<BinaryOp> {
        Some(match self.peek().kind {
            Kind::Keyword(Keyword::And) | Kind::Symbol(Symbol::DoubleAmpersand) => BinaryOp::And,
            Kind::Keyword(Keyword::Or) => BinaryOp::Or,
            Kind::Symbol(symbol) => match symbol {
                Symbol::Star => BinaryOp::Multiply,
                Symbol::Slash => BinaryOp::Divide,
                Symbol::Percent => BinaryOp::Modulo,
                Symbol::Plus => BinaryOp::Add,
                Symbol::Minus => BinaryOp::Subtract,
                Symbol::ShiftLeft => BinaryOp::ShiftLeft,
                Symbol::ShiftRight => BinaryOp::ShiftRight,
                Symbol::ShiftRightZero => BinaryOp::ShiftRightZero,
                Symbol::Less => BinaryOp::Less,
                Symbol::LessEqual => BinaryOp::LessEqual,
                Symbol::Greater => BinaryOp::Greater,
                Symbol::GreaterEqual => BinaryOp::GreaterEqual,
                Symbol::Equal => BinaryOp::Equal,
                Symbol::NotEqual => BinaryOp::NotEqual,
                Symbol::Ampersand => BinaryOp::BitAnd,
                Symbol::Caret => BinaryOp::BitXor,
                Symbol::Bar => BinaryOp::BitOr,
                Symbol::DoubleBar => BinaryOp::Concat,
                Symbol::DoubleQuestion => BinaryOp::Coalesce,
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Returns whether `[NOT] IN|LIKE|BETWEEN` stands here, and whether NOT does.
    fn predicate_ahead(&self) -> Option<bool> {
        let negated = self.at_keyword(Keyword::Not);
        match self.peek_at(usize::from(negated)).kind {
            Kind::Keyword(Keyword::In | Keyword::Like | Keyword::Between) => Some(negated),
            _ => None,
        }
    }

    fn predicate(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        self.take_keyword(Keyword::Not);
        let keyword = self.advance().kind.clone();
        let start = left.span;
        let kind = match keyword {
            Kind::Keyword(Keyword::In) => {
                self.expect_symbol(Symbol::OpenParen)?;
                let list = self.expressions()?;
                self.expect_symbol(Symbol::CloseParen)?;
                ExprKind::In { needle: Box::new(left), list, negated }
            }
            Kind::Keyword(Keyword::Like) => {
                let pattern = Box::new(self.binary(PREDICATE_LEVEL + 1)?);
                let escape = self.escape()?;
                ExprKind::Like { text: Box::new(left), pattern, escape, negated }
            }
            _ => {
                let low = self.binary(PREDICATE_LEVEL + 1)?;
                self.expect_keyword(Keyword::And)?;
                let high = self.binary(PREDICATE_LEVEL + 1)?;
                ExprKind::Between { operands: Box::new([left, low, high]), negated }
            }
        };
        Ok(Expr { kind, span: start.to(self.last_span()) })
    }

    /// Reads `ESCAPE 's'`. The service refuses a backslash and longer texts.
    fn escape(&mut self) -> Result<Option<char>> {
        if !self.take_keyword(Keyword::Escape) {
            return Ok(None);
        }
        let Kind::Text(text) = &self.peek().kind else { return Err(self.unexpected()) };
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) if c != '\\' => {
                self.advance();
                Ok(Some(c))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn postfix(&mut self) -> Result<Expr> {
        let base = self.primary()?;
        let start = base.span;
        let mut steps = Vec::new();
        loop {
            if self.take_symbol(Symbol::Dot) {
                steps.push(Step::Dot(self.property()?));
            } else if self.take_symbol(Symbol::OpenBracket) {
                steps.push(step(self.expression()?));
                self.expect_symbol(Symbol::CloseBracket)?;
            } else if steps.is_empty() {
                return Ok(base);
            } else {
                let span = start.to(self.last_span());
                return Ok(Expr { kind: ExprKind::Path { base: Box::new(base), steps }, span });
            }
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        let token = self.peek();
        let start = token.span;
        let kind = match &token.kind {
            Kind::Number => {
                let Some(value) = number(token.text) else { return Err(self.unexpected()) };
                self.advance();
                ExprKind::Literal(value)
            }
            Kind::Text(text) => {
                self.advance();
                ExprKind::Literal(Value::String(text.clone()))
            }
            Kind::Parameter => {
                self.advance();
                ExprKind::Parameter(token.text.to_string())
            }
            Kind::Word => self.name_or_call()?,
            Kind::Keyword(keyword) => self.keyword_primary(*keyword)?,
            Kind::Symbol(Symbol::OpenParen) => return self.parenthesis(),
            Kind::Symbol(Symbol::OpenBracket) => self.array()?,
            Kind::Symbol(Symbol::OpenBrace) => self.object()?,
            Kind::Symbol(_) | Kind::End => return Err(self.unexpected()),
        };
        Ok(Expr { kind, span: start.to(self.last_span()) })
    }

    fn keyword_primary(&mut self, keyword: Keyword) -> Result<ExprKind> {
        let literal = match keyword {
            Keyword::True => ExprKind::Literal(Value::Bool(true)),
            Keyword::False => ExprKind::Literal(Value::Bool(false)),
            Keyword::Null => ExprKind::Literal(Value::Null),
            Keyword::Undefined => ExprKind::Undefined,
            Keyword::Udf => return self.udf_call(),
            Keyword::Left | Keyword::Right => return self.call(false),
            Keyword::Exists => return self.subquery_call(SubqueryKind::Exists),
            Keyword::Array => return self.subquery_call(SubqueryKind::Array),
            Keyword::All if self.is_subquery_call() => {
                return self.subquery_call(SubqueryKind::All);
            }
            Keyword::First if self.is_subquery_call() => {
                return self.subquery_call(SubqueryKind::First);
            }
            Keyword::Last if self.is_subquery_call() => {
                return self.subquery_call(SubqueryKind::Last);
            }
            Keyword::All | Keyword::First | Keyword::Last => return self.name_or_call(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(literal)
    }

    fn is_subquery_call(&self) -> bool {
        self.peek_at(1).kind == Kind::Symbol(Symbol::OpenParen)
            && self.peek_at(2).kind == Kind::Keyword(Keyword::Select)
    }

    fn subquery_call(&mut self, kind: SubqueryKind) -> Result<ExprKind> {
        self.advance();
        self.expect_symbol(Symbol::OpenParen)?;
        Ok(ExprKind::Subquery(kind, self.subquery()?))
    }

    fn parenthesis(&mut self) -> Result<Expr> {
        let start = self.advance().span;
        if self.at_keyword(Keyword::Select) {
            let kind = ExprKind::Subquery(SubqueryKind::Scalar, self.subquery()?);
            return Ok(Expr { kind, span: start.to(self.last_span()) });
        }
        let inner = self.expression()?;
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(Expr { kind: inner.kind, span: start.to(self.last_span()) })
    }

    fn name_or_call(&mut self) -> Result<ExprKind> {
        if self.peek_at(1).kind == Kind::Symbol(Symbol::OpenParen) {
            return self.call(false);
        }
        Ok(ExprKind::Identifier(self.advance().text.to_string()))
    }

    fn udf_call(&mut self) -> Result<ExprKind> {
        self.advance();
        self.expect_symbol(Symbol::Dot)?;
        if !matches!(self.peek().kind, Kind::Word | Kind::Keyword(_)) {
            return Err(self.unexpected());
        }
        self.udfs.insert(self.peek().text);
        if self.udfs.len() > UDFS_MAX {
            let what = "the number of user-defined functions";
            return Err(Error::Limit { what, limit: UDFS_MAX });
        }
        self.call(true)
    }

    fn call(&mut self, udf: bool) -> Result<ExprKind> {
        let name = self.advance().text.to_string();
        self.expect_symbol(Symbol::OpenParen)?;
        let mut arguments = Vec::new();
        if !self.at_symbol(Symbol::CloseParen) {
            arguments = self.expressions()?;
        }
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(ExprKind::Call { name, udf, arguments })
    }

    fn array(&mut self) -> Result<ExprKind> {
        self.advance();
        let mut list = Vec::new();
        if !self.at_symbol(Symbol::CloseBracket) {
            list = self.expressions()?;
        }
        self.expect_symbol(Symbol::CloseBracket)?;
        Ok(ExprKind::Array(list))
    }

    fn object(&mut self) -> Result<ExprKind> {
        self.advance();
        let mut members = Vec::new();
        if self.take_symbol(Symbol::CloseBrace) {
            return Ok(ExprKind::Object(members));
        }
        loop {
            let token = self.peek();
            let name = match &token.kind {
                Kind::Text(text) => text.clone(),
                Kind::Word | Kind::Keyword(_) => token.text.to_string(),
                _ => return Err(self.unexpected()),
            };
            self.advance();
            self.expect_symbol(Symbol::Colon)?;
            members.push((name, self.expression()?));
            if !self.take_symbol(Symbol::Comma) {
                self.expect_symbol(Symbol::CloseBrace)?;
                return Ok(ExprKind::Object(members));
            }
        }
    }
}

fn unary(op: UnaryOp, start: Span, operand: Expr) -> Expr {
    let span = start.to(operand.span);
    // A signed number is a literal, so that `-1` prints and targets like one.
    if let (UnaryOp::Minus, ExprKind::Literal(Value::Number(number))) = (op, &operand.kind)
        && let Some(negative) = negate(number)
    {
        return Expr { kind: ExprKind::Literal(Value::Number(negative)), span };
    }
    Expr { kind: ExprKind::Unary(op, Box::new(operand)), span }
}

fn negate(number: &Number) -> Option<Number> {
    /// 2^63, whose opposite is the least integer.
    const LEAST_SIZE: f64 = 9_223_372_036_854_775_808.0;
    match (number.kept_integer(), number.as_f64()) {
        (Some(integer), _) => integer.checked_neg().map(Number::from_i64),
        // A number has no negative zero; an expression has.
        (None, 0.0) => None,
        (None, LEAST_SIZE) => Some(Number::from_i64(i64::MIN)),
        (None, double) => Number::from_f64(-double),
    }
}

/// Appends to a chain of the same level, so that long chains stay flat.
fn chain(left: Expr, op: BinaryOp, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    let kind = match left.kind {
        ExprKind::Chain { first, mut rest }
            if rest.last().is_some_and(|(last, _)| last.level() == op.level()) =>
        {
            rest.push((op, right));
            ExprKind::Chain { first, rest }
        }
        kind => {
            let first = Box::new(Expr { kind, span: left.span });
            ExprKind::Chain { first, rest: vec![(op, right)] }
        }
    };
    Expr { kind, span }
}

fn step(index: Expr) -> Step {
    match index.kind {
        ExprKind::Literal(Value::String(name)) => Step::Name(name),
        ExprKind::Literal(Value::Number(ref number)) => {
            match number.as_i64().and_then(|index| u64::try_from(index).ok()) {
                Some(index) => Step::Index(index),
                None => Step::Computed(Box::new(index)),
            }
        }
        _ => Step::Computed(Box::new(index)),
    }
}

/// Reads the text of a number token; `None` when it overflows.
fn number(text: &str) -> Option<Value> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let integer = u64::from_str_radix(hex, 16).ok()?;
        return number_value(integer, integer.to_string().parse().ok()?);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(integer) = text.parse::<u64>()
    {
        return number_value(integer, text.parse().ok()?);
    }
    Number::from_f64(text.parse().ok()?).map(Value::Number)
}

fn number_value(integer: u64, double: f64) -> Option<Value> {
    match i64::try_from(integer) {
        Ok(integer) => Some(Value::Number(Number::from_i64(integer))),
        Err(_) => Number::from_f64(double).map(Value::Number),
    }
}
