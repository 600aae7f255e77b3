//! The input sets of FROM.

use super::Parser;
use super::expression::step;
use crate::ast::{Collection, Source, Step};
use crate::error::Result;
use crate::syntax::lex::{Keyword, Kind, Symbol};

impl Parser<'_> {
    pub(super) fn sources(&mut self) -> Result<Vec<Source>> {
        let mut list = vec![self.source()?];
        while self.take_keyword(Keyword::Join) {
            list.push(self.source()?);
        }
        Ok(list)
    }

    fn source(&mut self) -> Result<Source> {
        let start = self.peek().span;
        let iterates = self.is_name_at(0) && self.is_keyword_at(1, Keyword::In);
        if iterates {
            let alias = Some(self.name()?);
            self.expect_keyword(Keyword::In)?;
            let collection_start = self.peek().span;
            let collection = self.collection()?;
            let collection_span = collection_start.to(self.last_span());
            let span = start.to(collection_span);
            return Ok(Source { collection, alias, iterates, collection_span, span });
        }
        let collection = self.collection()?;
        let collection_span = start.to(self.last_span());
        let has_alias = self.take_keyword(Keyword::As) || self.is_name_at(0);
        let alias = if has_alias { Some(self.name()?) } else { None };
        let span = start.to(self.last_span());
        Ok(Source { collection, alias, iterates, collection_span, span })
    }

    fn collection(&mut self) -> Result<Collection> {
        if self.take_symbol(Symbol::OpenParen) {
            return Ok(Collection::Subquery(self.subquery()?));
        }
        let name = self.name()?;
        let mut steps = Vec::new();
        loop {
            if self.take_symbol(Symbol::Dot) {
                steps.push(Step::Dot(self.name()?.text));
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
        match &self.peek().kind {
            Kind::Text(name) => {
                self.advance();
                Ok(Step::Name(name.to_string()))
            }
            Kind::Number => Ok(step(self.number()?)),
            _ => Err(self.unexpected()),
        }
    }
}
