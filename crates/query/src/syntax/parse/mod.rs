//! Tokens to tree: a recursive-descent parser with bounded depth.
//!
//! `query.rs` reads clauses, `from.rs` input sets, `expression.rs` scalar expressions. The first mistake
//! ends the parse, as in the service.

mod expression;
mod from;
mod query;

use crate::ast::{self, Name};
use crate::error::{Diagnostic, Error, Result, Span};
use crate::syntax::lex::{self, Keyword, Kind, Symbol, Token};

/// Limit: nesting of expressions and subqueries; keeps every recursive walk far from the stack's end.
pub const DEPTH_MAX: usize = 128;

/// Limit: subqueries within subqueries; each costs several stack frames when rows are computed.
pub const SUBQUERY_DEPTH_MAX: usize = 16;

/// Parses a query text.
///
/// # Errors
/// [`Error::Invalid`] with the first mistake, [`Error::Limit`] for a text that is too long or too deep.
pub fn parse(text: &str) -> Result<ast::Query> {
    let tokens = lex::tokens(text)?;
    let mut parser = Parser { tokens: &tokens, position: 0, depth: 0, n_subqueries_deep: 0 };
    let query = parser.query()?;
    parser.expect_end()?;
    Ok(query)
}

struct Parser<'p> {
    /// Invariant: not empty, the last one is `End` or `Invalid`.
    tokens: &'p [Token<'p>],
    position: usize,
    depth: usize,
    n_subqueries_deep: usize,
}

impl<'p> Parser<'p> {
    fn peek_at(&self, ahead: usize) -> &'p Token<'p> {
        const END: &Token<'static> =
            &Token { kind: Kind::End, text: "", span: Span { start: 0, end: 0 } };
        self.tokens.get(self.position + ahead).or(self.tokens.last()).unwrap_or(END)
    }

    fn peek(&self) -> &'p Token<'p> {
        self.peek_at(0)
    }

    fn advance(&mut self) -> &'p Token<'p> {
        let token = self.peek();
        self.position += 1;
        token
    }

    /// Returns the span of the token read last.
    fn last_span(&self) -> Span {
        let index = self.position.saturating_sub(1);
        self.tokens.get(index).map(|token| token.span).unwrap_or_default()
    }

    /// Returns whether a keyword stands `ahead` tokens from here.
    fn is_keyword_at(&self, ahead: usize, keyword: Keyword) -> bool {
        matches!(self.peek_at(ahead).kind, Kind::Keyword(own) if own == keyword)
    }

    fn at_keyword(&self, keyword: Keyword) -> bool {
        self.is_keyword_at(0, keyword)
    }

    fn at_symbol(&self, symbol: Symbol) -> bool {
        matches!(self.peek().kind, Kind::Symbol(own) if own == symbol)
    }

    fn take_keyword(&mut self, keyword: Keyword) -> bool {
        let found = self.at_keyword(keyword);
        self.position += usize::from(found);
        found
    }

    fn take_symbol(&mut self, symbol: Symbol) -> bool {
        let found = self.at_symbol(symbol);
        self.position += usize::from(found);
        found
    }

    fn expect_keyword(&mut self, keyword: Keyword) -> Result<()> {
        if self.take_keyword(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_symbol(&mut self, symbol: Symbol) -> Result<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_end(&self) -> Result<()> {
        if matches!(self.peek().kind, Kind::End) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Returns whether a name stands `ahead` tokens from here.
    fn is_name_at(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead).kind, Kind::Word)
    }

    fn name(&mut self) -> Result<Name> {
        if !self.is_name_at(0) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        Ok(Name { text: token.text.to_string(), span: token.span })
    }

    fn is_name_or_text(&self) -> bool {
        matches!(self.peek().kind, Kind::Word | Kind::Text(_))
    }

    fn name_or_text(&mut self) -> Result<Name> {
        let token = self.peek();
        let Kind::Text(text) = &token.kind else { return self.name() };
        self.advance();
        Ok(Name { text: text.to_string(), span: token.span })
    }

    /// Makes the error for the token that stands here.
    fn unexpected(&self) -> Error {
        let token = self.peek();
        Error::one(match &token.kind {
            Kind::End => Diagnostic::sc(1002, "Syntax error, unexpected end-of-file.", token.span),
            Kind::Invalid(diagnostic) => Diagnostic::clone(diagnostic),
            _ => lex::near_diagnostic(token.text, token.span),
        })
    }

    fn too_complex(&self) -> Error {
        let message = "The query is too complex to be processed. To resolve this issue, please consider \
                       breaking the query into multiple smaller queries, simplifying the complex \
                       expression, and/or using Computed Properties.";
        Error::one(Diagnostic::sc(1030, message, self.peek().span))
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(self.too_complex());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads `query )` after the opening parenthesis.
    fn subquery(&mut self) -> Result<Box<ast::Query>> {
        if self.n_subqueries_deep >= SUBQUERY_DEPTH_MAX {
            return Err(self.too_complex());
        }
        self.n_subqueries_deep += 1;
        let query = self.deeper(Self::query)?;
        self.n_subqueries_deep -= 1;
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(Box::new(query))
    }
}

#[cfg(test)]
mod tests;
