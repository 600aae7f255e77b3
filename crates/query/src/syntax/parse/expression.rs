//! Scalar expressions. The grammar, from the loosest to the tightest, as `docs/query-language.md` has it:
//!
//! ```text
//! expression  = coalesce [ "?" expression ":" expression ]
//! coalesce    = condition { "??" condition }                     to the right
//! condition   = comparison [NOT] BETWEEN comparison AND comparison | or
//! or          = and { OR and }
//! and         = predicate { AND predicate }
//! predicate   = comparison [ [NOT] IN "(" … ")" | [NOT] LIKE comparison [ESCAPE text] ]
//! comparison  = operators of four levels, by precedence climbing over `BinaryOp::level`
//! unary       = { NOT | "-" | "+" | "~" } postfix
//! let         = "(" LET name "=" comparison IN comparison ")"    a primary expression
//! ```

use model::{Number, Value};

use super::Parser;
use crate::ast::{BinaryOp, Expr, ExprKind, Query, Step, SubqueryKind, UnaryOp};
use crate::error::{Diagnostic, Error, Result, Span};
use crate::syntax::lex::{self, Keyword, Kind, Symbol};

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.deeper(Self::parenthesized)
    }

    /// Reads an expression and the parentheses in front of it in a loop: `((a OR b) OR c) OR d` is how clients
    /// write long conditions, and is no deeper than `a OR b OR c OR d`.
    fn parenthesized(&mut self) -> Result<Expr> {
        let first = self.position;
        while self.at_symbol(Symbol::OpenParen)
            && !self.is_keyword_at(1, Keyword::Select)
            && !self.is_let_at(1)
        {
            self.advance();
        }
        let mut n_open = self.position - first;
        let operand = self.unary()?;
        let mut expr = self.rest_of_expression(operand, self.position_start(first + n_open))?;
        while n_open > 0 {
            n_open -= 1;
            self.expect_symbol(Symbol::CloseParen)?;
            let start = self.position_start(first + n_open);
            let operand = self.steps(expr, start)?;
            expr = self.rest_of_expression(operand, start)?;
        }
        Ok(expr)
    }

    /// Returns the place of the token at a position.
    fn position_start(&self, position: usize) -> Span {
        self.tokens.get(position).map(|token| token.span).unwrap_or_default()
    }

    /// Goes on with an expression whose first operand was read. `start` is where it stands, parentheses included.
    fn rest_of_expression(&mut self, operand: Expr, start: Span) -> Result<Expr> {
        let condition = self.coalesce(operand, start)?;
        if !self.take_symbol(Symbol::Question) {
            return Ok(condition);
        }
        let then = self.expression()?;
        self.expect_symbol(Symbol::Colon)?;
        let otherwise = self.expression()?;
        let operands = Box::new([condition, then, otherwise]);
        Ok(Expr { kind: ExprKind::Conditional(operands), span: start.to(self.last_span()) })
    }

    pub(super) fn expressions(&mut self) -> Result<Vec<Expr>> {
        let mut list = vec![self.expression()?];
        while self.take_symbol(Symbol::Comma) {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    fn coalesce(&mut self, operand: Expr, start: Span) -> Result<Expr> {
        let first = self.condition(operand, start)?;
        if !self.at_symbol(Symbol::DoubleQuestion) {
            return Ok(first);
        }
        let mut rest = Vec::new();
        while self.take_symbol(Symbol::DoubleQuestion) {
            let start = self.peek().span;
            let operand = self.unary()?;
            rest.push((BinaryOp::Coalesce, self.condition(operand, start)?));
        }
        let kind = ExprKind::Chain { first: Box::new(first), rest };
        Ok(Expr { kind, span: start.to(self.last_span()) })
    }

    /// Reads BETWEEN, which takes no logic beside it, or AND and OR.
    fn condition(&mut self, operand: Expr, start: Span) -> Result<Expr> {
        let value = self.binary(operand, start, BinaryOp::COMPARISON_LEVEL)?;
        let negated = self.at_keyword(Keyword::Not);
        if self.is_keyword_at(usize::from(negated), Keyword::Between) {
            self.position += 1 + usize::from(negated);
            let low = self.comparison()?;
            self.expect_keyword(Keyword::And)?;
            let high = self.comparison()?;
            let kind = ExprKind::Between { operands: Box::new([value, low, high]), negated };
            return Ok(Expr { kind, span: start.to(self.last_span()) });
        }
        let mut left = self.conjunction(value, start)?;
        while self.take_keyword(Keyword::Or) {
            let right_start = self.peek().span;
            let value = self.comparison()?;
            let right = self.conjunction(value, right_start)?;
            left = self.chain(left, BinaryOp::Or, right, start);
        }
        Ok(left)
    }

    fn conjunction(&mut self, value: Expr, start: Span) -> Result<Expr> {
        let mut left = self.predicate(value, start)?;
        while self.take_keyword(Keyword::And) {
            let right_start = self.peek().span;
            let value = self.comparison()?;
            let right = self.predicate(value, right_start)?;
            left = self.chain(left, BinaryOp::And, right, start);
        }
        Ok(left)
    }

    fn predicate(&mut self, value: Expr, start: Span) -> Result<Expr> {
        let negated = self.take_keyword(Keyword::Not);
        let kind = if self.take_keyword(Keyword::In) {
            self.expect_symbol(Symbol::OpenParen)?;
            let list = self.expressions()?;
            self.expect_symbol(Symbol::CloseParen)?;
            ExprKind::In { needle: Box::new(value), list, negated }
        } else if self.take_keyword(Keyword::Like) {
            let pattern = Box::new(self.comparison()?);
            let escape = if self.take_keyword(Keyword::Escape) {
                if !matches!(self.peek().kind, Kind::Text(_)) {
                    return Err(self.unexpected());
                }
                Some(self.name_or_text()?)
            } else {
                None
            };
            ExprKind::Like { text: Box::new(value), pattern, escape, negated }
        } else if negated {
            return Err(self.unexpected());
        } else {
            return Ok(value);
        };
        Ok(Expr { kind, span: start.to(self.last_span()) })
    }

    fn comparison(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        let operand = self.unary()?;
        self.binary(operand, start, BinaryOp::COMPARISON_LEVEL)
    }

    /// Reads operators whose level is at least `level`.
    fn binary(&mut self, operand: Expr, start: Span, level: u8) -> Result<Expr> {
        let mut left = operand;
        while let Some(op) = self.binary_op().filter(|op| op.level() >= level) {
            self.advance();
            let right_start = self.peek().span;
            let operand = self.unary()?;
            let right = self.binary(operand, right_start, op.level() + 1)?;
            left = self.chain(left, op, right, start);
        }
        Ok(left)
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
        let at = self.peek();
        let operand = self.deeper(Self::unary)?;
        let span = start.to(self.last_span());
        // A sign right in front of digits belongs to the number.
        if op == UnaryOp::Minus
            && start.end == at.span.start
            && operand.span == at.span
            && let Some(kind) = negative(at.text, &at.kind)
        {
            return Ok(Expr { kind, span });
        }
        Ok(Expr { kind: ExprKind::Unary(op, Box::new(operand)), span })
    }

    fn binary_op(&self) -> Option<BinaryOp> {
        let Kind::Symbol(symbol) = self.peek().kind else { return None };
        Some(match symbol {
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
            _ => return None,
        })
    }

    /// Appends to a chain of the same level, so that long chains stay flat.
    fn chain(&self, left: Expr, op: BinaryOp, right: Expr, start: Span) -> Expr {
        let span = start.to(self.last_span());
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

    fn postfix(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        let base = self.primary()?;
        self.steps(base, start)
    }

    /// Reads the steps below a value, if there are any.
    fn steps(&mut self, base: Expr, start: Span) -> Result<Expr> {
        let mut steps = Vec::new();
        loop {
            if self.take_symbol(Symbol::Dot) {
                steps.push(Step::Dot(self.name()?.text));
            } else if self.take_symbol(Symbol::OpenBracket) {
                steps.push(step(self.expression()?));
                self.expect_symbol(Symbol::CloseBracket)?;
            } else if steps.is_empty() {
                return Ok(base);
            } else {
                let span = start.to(self.last_span());
                return Ok(Expr { kind: path(base, steps), span });
            }
        }
    }

    /// Reads a number token.
    pub(super) fn number(&mut self) -> Result<Expr> {
        let token = self.peek();
        let Some(value) = number(token.text) else { return Err(self.bad_number()) };
        self.advance();
        Ok(Expr { kind: ExprKind::Literal(value), span: token.span })
    }

    /// Makes the error for a number that no double can hold.
    pub(super) fn bad_number(&self) -> Error {
        let token = self.peek();
        let message =
            format!("Syntax error, invalid numeric value token '{}'.", lex::excerpt(token.text));
        Error::one(Diagnostic::sc(1011, message, token.span))
    }

    fn primary(&mut self) -> Result<Expr> {
        let token = self.peek();
        let start = token.span;
        let kind = match &token.kind {
            Kind::Number => return self.number(),
            Kind::Text(text) => {
                self.advance();
                ExprKind::Literal(Value::String(text.to_string()))
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
            Kind::Symbol(_) | Kind::Invalid(_) | Kind::End => return Err(self.unexpected()),
        };
        Ok(Expr { kind, span: start.to(self.last_span()) })
    }

    fn keyword_primary(&mut self, keyword: Keyword) -> Result<ExprKind> {
        let literal = match keyword {
            Keyword::True => ExprKind::Literal(Value::Bool(true)),
            Keyword::False => ExprKind::Literal(Value::Bool(false)),
            Keyword::Null => ExprKind::Literal(Value::Null),
            Keyword::Undefined => ExprKind::Undefined,
            Keyword::NaN => ExprKind::Special(f64::NAN),
            Keyword::Infinity => ExprKind::Special(f64::INFINITY),
            Keyword::Udf => return self.udf_call(),
            Keyword::Left | Keyword::Right => return self.call(false),
            Keyword::Exists => return self.subquery_call(SubqueryKind::Exists),
            Keyword::Array => return self.subquery_call(SubqueryKind::Array),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(literal)
    }

    fn subquery_call(&mut self, kind: SubqueryKind) -> Result<ExprKind> {
        self.advance();
        self.expect_symbol(Symbol::OpenParen)?;
        Ok(ExprKind::Subquery(kind, self.subquery()?))
    }

    /// Reads what is in parentheses. The value has its own place, without them.
    fn parenthesis(&mut self) -> Result<Expr> {
        let start = self.advance().span;
        if self.at_keyword(Keyword::Select) {
            let kind = ExprKind::Subquery(SubqueryKind::Scalar, self.subquery()?);
            return Ok(Expr { kind, span: start.to(self.last_span()) });
        }
        let inner = if self.is_let_at(0) { self.deeper(Self::let_in)? } else { self.expression()? };
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(inner)
    }

    /// Returns whether `LET name` stands `ahead` tokens from here; `LET` alone is a name.
    fn is_let_at(&self, ahead: usize) -> bool {
        self.is_word_at(ahead, "LET") && self.is_name_at(ahead + 1)
    }

    fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        self.is_name_at(ahead) && self.peek_at(ahead).text.eq_ignore_ascii_case(word)
    }

    /// Reads `LET name = value IN body`.
    fn let_in(&mut self) -> Result<Expr> {
        let start = self.advance().span;
        // These are names elsewhere.
        if self.is_word_at(0, "LET") || self.is_word_at(0, "RANK") {
            return Err(self.unexpected());
        }
        let name = self.name()?;
        self.expect_symbol(Symbol::Equal)?;
        let value = self.comparison()?;
        self.expect_keyword(Keyword::In)?;
        let body = self.comparison()?;
        let kind = ExprKind::Let { name, operands: Box::new([value, body]) };
        Ok(Expr { kind, span: start.to(self.last_span()) })
    }

    fn name_or_call(&mut self) -> Result<ExprKind> {
        if !matches!(self.peek_at(1).kind, Kind::Symbol(Symbol::OpenParen)) {
            return Ok(ExprKind::Identifier(self.advance().text.to_string()));
        }
        if !self.is_keyword_at(2, Keyword::Select) {
            return self.call(false);
        }
        let name = self.peek().text;
        let kinds = [
            ("ALL", SubqueryKind::Exists),
            ("FIRST", SubqueryKind::First),
            ("LAST", SubqueryKind::Last),
        ];
        let kind = kinds.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let start = self.peek().span;
        let subquery = self.subquery_call(kind.map_or(SubqueryKind::Scalar, |(_, kind)| *kind))?;
        match (kind, subquery) {
            // Only now is it clear that the name takes no subquery.
            (None, _) => {
                self.position -= 1;
                Err(self.unexpected())
            }
            (Some(("ALL", _)), ExprKind::Subquery(kind, query)) => {
                let span = start.to(self.last_span());
                Ok(no_row_fails(kind, query, span))
            }
            (Some(_), subquery) => Ok(subquery),
        }
    }

    /// Returns whether a call stands after this token.
    pub(super) fn is_call_ahead(&self) -> bool {
        matches!(
            self.peek_at(1).kind,
            Kind::Word | Kind::Keyword(Keyword::Left | Keyword::Right | Keyword::Udf)
        )
    }

    /// Reads the call after ORDER BY RANK; no other expression may stand there.
    pub(super) fn ranked_call(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        let kind = match self.peek().kind {
            Kind::Keyword(Keyword::Udf) => self.udf_call()?,
            _ => self.call(false)?,
        };
        Ok(Expr { kind, span: start.to(self.last_span()) })
    }

    fn udf_call(&mut self) -> Result<ExprKind> {
        self.advance();
        self.expect_symbol(Symbol::Dot)?;
        if !self.is_name_at(0) {
            return Err(self.unexpected());
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
            let name = self.name_or_text()?;
            self.expect_symbol(Symbol::Colon)?;
            members.push((name, self.expression()?));
            if !self.take_symbol(Symbol::Comma) {
                self.expect_symbol(Symbol::CloseBrace)?;
                return Ok(ExprKind::Object(members));
            }
        }
    }
}

/// `ALL(… WHERE x)` is `NOT EXISTS(… WHERE NOT x)`.
fn no_row_fails(kind: SubqueryKind, mut query: Box<Query>, span: Span) -> ExprKind {
    let not = |expr: Expr| {
        let span = expr.span;
        Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(expr)), span }
    };
    let always = Expr { kind: ExprKind::Literal(Value::Bool(true)), span };
    query.filter = Some(not(query.filter.take().unwrap_or(always)));
    not(Expr { kind: ExprKind::Subquery(kind, query), span }).kind
}

/// Makes a path; steps below a path in parentheses go on with it.
fn path(base: Expr, mut steps: Vec<Step>) -> ExprKind {
    match base.kind {
        ExprKind::Path { base, steps: mut first } => {
            first.append(&mut steps);
            ExprKind::Path { base, steps: first }
        }
        kind => {
            let base = Box::new(Expr { kind, span: base.span });
            ExprKind::Path { base, steps }
        }
    }
}

/// Returns what a number or `Infinity` is with a sign in front.
fn negative(text: &str, kind: &Kind<'_>) -> Option<ExprKind> {
    match kind {
        Kind::Keyword(Keyword::Infinity) => Some(ExprKind::Special(f64::NEG_INFINITY)),
        Kind::Keyword(Keyword::NaN) => Some(ExprKind::Special(f64::NAN)),
        Kind::Number => {
            let Some(Value::Number(number)) = number(text) else { return None };
            let negative = match (number.kept_integer(), number.as_f64()) {
                // The least integer has no positive counterpart.
                _ if text == "9223372036854775808" => Number::from_i64(i64::MIN),
                (Some(integer), _) => Number::from_i64(integer.checked_neg()?),
                (None, 0.0) => return Some(ExprKind::Special(-0.0)),
                (None, double) => Number::from_f64(-double)?,
            };
            Some(ExprKind::Literal(Value::Number(negative)))
        }
        _ => None,
    }
}

pub(super) fn step(index: Expr) -> Step {
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
pub(super) fn number(text: &str) -> Option<Value> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let bits = u64::from_str_radix(hex, 16).ok()?;
        return Some(Value::Number(Number::from_i64(bits.cast_signed())));
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Some(Value::Number(Number::from_i64(integer)));
    }
    Number::from_f64(text.parse().ok()?).map(Value::Number)
}
