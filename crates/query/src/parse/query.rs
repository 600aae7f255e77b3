//! Clauses, in their fixed order.

use super::Parser;
use crate::ast::{
    Count, CountKind, Direction, OffsetLimit, OrderBy, OrderItem, Query, Select, SelectItem,
    Selection,
};
use crate::error::Result;
use crate::lex::{Keyword, Kind, Symbol};

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Result<Query> {
        let start = self.peek().span;
        self.expect_keyword(Keyword::Select)?;
        let select = self.select()?;
        let from = if self.take_keyword(Keyword::From) { self.sources()? } else { Vec::new() };
        let filter =
            if self.take_keyword(Keyword::Where) { Some(self.expression()?) } else { None };
        let group_by = if self.take_keyword(Keyword::Group) {
            self.expect_keyword(Keyword::By)?;
            self.expressions()?
        } else {
            Vec::new()
        };
        let order_by = if self.at_keyword(Keyword::Order) { Some(self.order_by()?) } else { None };
        let offset_limit =
            if self.take_keyword(Keyword::Offset) { Some(self.offset_limit()?) } else { None };
        let span = start.to(self.last_span());
        Ok(Query { select, from, filter, group_by, order_by, offset_limit, span })
    }

    fn select(&mut self) -> Result<Select> {
        let distinct = self.take_keyword(Keyword::Distinct);
        let top = if self.take_keyword(Keyword::Top) { Some(self.count()?) } else { None };
        let selection = self.selection()?;
        Ok(Select { distinct, top, selection })
    }

    fn selection(&mut self) -> Result<Selection> {
        if self.at_symbol(Symbol::Star) {
            return Ok(Selection::All(self.advance().span));
        }
        if self.take_keyword(Keyword::Value) {
            return Ok(Selection::Value(self.expression()?));
        }
        let mut list = vec![self.select_item()?];
        while self.take_symbol(Symbol::Comma) {
            list.push(self.select_item()?);
        }
        Ok(Selection::List(list))
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        let expr = self.expression()?;
        let has_alias = self.take_keyword(Keyword::As) || self.is_name_at(0);
        let alias = if has_alias { Some(self.name()?) } else { None };
        Ok(SelectItem { expr, alias })
    }

    fn count(&mut self) -> Result<Count> {
        let token = self.peek();
        let kind = match token.kind {
            Kind::Number => CountKind::Literal(token.text.parse().ok()),
            Kind::Parameter => CountKind::Parameter(token.text.to_string()),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Count { kind, span: token.span })
    }

    fn order_by(&mut self) -> Result<OrderBy> {
        let start = self.advance().span;
        self.expect_keyword(Keyword::By)?;
        let rank = self.take_keyword(Keyword::Rank);
        let mut items = vec![self.order_item()?];
        while self.take_symbol(Symbol::Comma) {
            items.push(self.order_item()?);
        }
        Ok(OrderBy { rank, items, span: start.to(self.last_span()) })
    }

    fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expression()?;
        let direction = if self.take_keyword(Keyword::Asc) {
            Some(Direction::Ascending)
        } else if self.take_keyword(Keyword::Desc) {
            Some(Direction::Descending)
        } else {
            None
        };
        Ok(OrderItem { expr, direction })
    }

    fn offset_limit(&mut self) -> Result<OffsetLimit> {
        let offset = self.count()?;
        self.expect_keyword(Keyword::Limit)?;
        let limit = self.count()?;
        Ok(OffsetLimit { offset, limit })
    }
}
