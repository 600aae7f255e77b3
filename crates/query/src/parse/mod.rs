//! Tokens to tree: a recursive-descent parser with bounded depth.
//!
//! `query.rs` reads clauses, `from.rs` input sets, `expression.rs` scalar expressions. The first mistake
//! ends the parse, as in the service.

mod expression;
mod from;
mod query;

use std::collections::BTreeSet;

use crate::ast;
use crate::error::{Diagnostic, Error, Result, Span};
use crate::lex::{self, Keyword, Kind, Symbol, Token};

/// Limit: nesting of expressions and subqueries; keeps every recursive walk far from the stack's end.
pub const DEPTH_MAX: usize = 128;

/// Limit: subqueries within subqueries; each costs several stack frames when rows are computed.
pub const SUBQUERY_DEPTH_MAX: usize = 16;

/// Limit: input sets of one FROM beyond the first.
pub const JOINS_MAX: usize = 10;

/// Limit: different user-defined functions of one query, as the service has it.
pub const UDFS_MAX: usize = 10;

/// Parses a query text.
///
/// # Errors
/// [`Error::Invalid`] with the first mistake, [`Error::Limit`] for a text that is too long or too deep.
pub fn parse(text: &str) -> Result<ast::Query> {
    let tokens = lex::tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        position: 0,
        depth: 0,
        n_subqueries_deep: 0,
        udfs: BTreeSet::new(),
    };
    let query = parser.query()?;
    parser.expect_end()?;
    Ok(query)
}

struct Parser<'p> {
    /// Invariant: not empty, the last one is `End`.
    tokens: &'p [Token<'p>],
    position: usize,
    depth: usize,
    n_subqueries_deep: usize,
    /// The user-defined functions met so far.
    udfs: BTreeSet<&'p str>,
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

    fn at_keyword(&self, keyword: Keyword) -> bool {
        self.peek().kind == Kind::Keyword(keyword)
    }

    fn at_symbol(&self, symbol: Symbol) -> bool {
        self.peek().kind == Kind::Symbol(symbol)
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
        if self.peek().kind == Kind::End { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Returns whether a name stands `ahead` tokens from here.
    fn is_name_at(&self, ahead: usize) -> bool {
        match self.peek_at(ahead).kind {
            Kind::Word => true,
            Kind::Keyword(keyword) => keyword.is_name(),
            _ => false,
        }
    }

    fn name(&mut self) -> Result<String> {
        if self.is_name_at(0) {
            Ok(self.advance().text.to_string())
        } else {
            Err(self.unexpected())
        }
    }

    /// Reads the name after a dot.
    fn property(&mut self) -> Result<String> {
        let allowed = match self.peek().kind {
            Kind::Word => true,
            Kind::Keyword(keyword) => keyword.is_property(),
            _ => false,
        };
        if allowed { Ok(self.advance().text.to_string()) } else { Err(self.unexpected()) }
    }

    /// Makes the error for the token that stands here.
    fn unexpected(&self) -> Error {
        let token = self.peek();
        Error::one(match token.kind {
            Kind::End => Diagnostic::sc(1002, "Syntax error, unexpected end-of-file.", token.span),
            _ => lex::near_diagnostic(token.text, token.span),
        })
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::Limit { what: "the nesting of the query", limit: DEPTH_MAX });
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads `query )` after the opening parenthesis.
    fn subquery(&mut self) -> Result<Box<ast::Query>> {
        if self.n_subqueries_deep >= SUBQUERY_DEPTH_MAX {
            let limit = SUBQUERY_DEPTH_MAX;
            return Err(Error::Limit { what: "the nesting of subqueries", limit });
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
