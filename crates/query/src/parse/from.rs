//! The input sets of FROM.

use super::{JOINS_MAX, Parser};
use crate::ast::{Collection, Source, Step};
use crate::error::{Error, Result};
use crate::lex::{Keyword, Kind, Symbol};

impl Parser<'_> {
    pub(super) fn sources(&mut self) -> Result<Vec<Source>> {
        let mut list = vec![self.source()?];
        while self.take_keyword(Keyword::Join) {
            if list.len() > JOINS_MAX {
                return Err(Error::Limit { what: "the number of JOINs", limit: JOINS_MAX });
            }
            list.push(self.source()?);
        }
        Ok(list)
    }

    fn source(&mut self) -> Result<Source> {
        let start = self.peek().span;
        let iterates = self.is_name_at(0) && self.peek_at(1).kind == Kind::Keyword(Keyword::In);
        if iterates {
            let alias = Some(self.name()?);
            self.expect_keyword(Keyword::In)?;
            let collection = self.collection()?;
            return Ok(Source { collection, alias, iterates, span: start.to(self.last_span()) });
        }
        let collection = self.collection()?;
        let has_alias = self.take_keyword(Keyword::As) || self.is_name_at(0);
        let alias = if has_alias { Some(self.name()?) } else { None };
        Ok(Source { collection, alias, iterates, span: start.to(self.last_span()) })
    }

    fn collection(&mut self) -> Result<Collection> {
        if self.take_symbol(Symbol::OpenParen) {
            return Ok(Collection::Subquery(self.subquery()?));
        }
        let name = self.name()?;
        let mut steps = Vec::new();
        loop {
            if self.take_symbol(Symbol::Dot) {
                steps.push(Step::Dot(self.property()?));
            } else if self.take_symbol(Symbol::OpenBracket) {
                steps.push(self.constant_step()?);
                self.expect_symbol(Symbol::CloseBracket)?;
            } else {
                return Ok(Collection::Path { name, steps });
            }
        }
    }

    /// Reads an indexer that is a literal: FROM allows no parameters.
    fn constant_step(&mut self) -> Result<Step> {
        let token = self.peek();
        let step = match &token.kind {
            Kind::Text(name) => Step::Name(name.clone()),
            Kind::Number => match token.text.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => return Err(self.unexpected()),
            },
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(step)
    }
}
