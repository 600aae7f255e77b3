//! Clauses, in their fixed order.

use model::Value;

use super::Parser;
use super::expression::number;
use crate::ast::{
    Count, CountKind, Direction, Expr, OffsetLimit, OrderBy, OrderItem, Query, Select, SelectItem,
    Selection, Top,
};
use crate::error::{Result, Span};
use crate::syntax::lex::{Keyword, Kind, Symbol};

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Result<Query> {
        let start = self.peek().span;
        self.expect_keyword(Keyword::Select)?;
        let select = self.select(start)?;
        let from = if self.take_keyword(Keyword::From) { self.sources()? } else { Vec::new() };
        let filter =
            if self.take_keyword(Keyword::Where) { Some(self.expression()?) } else { None };
        let group_start = self.peek().span;
        let group_by = if self.take_keyword(Keyword::Group) {
            self.expect_keyword(Keyword::By)?;
            self.expressions()?
        } else {
            Vec::new()
        };
        let group_by_span = group_start.to(self.last_span());
        let order_by = if self.at_keyword(Keyword::Order) { Some(self.order_by()?) } else { None };
        let offset_limit =
            if self.at_keyword(Keyword::Offset) { Some(self.offset_limit()?) } else { None };
        let span = start.to(self.last_span());
        Ok(Query { select, from, filter, group_by, group_by_span, order_by, offset_limit, span })
    }

    fn select(&mut self, start: Span) -> Result<Select> {
        let distinct = self.take_keyword(Keyword::Distinct);
        let top = if self.at_keyword(Keyword::Top) { Some(self.top()?) } else { None };
        let selection = self.selection()?;
        Ok(Select { distinct, top, selection, span: start.to(self.last_span()) })
    }

    fn top(&mut self) -> Result<Top> {
        let start = self.advance().span;
        let count = self.count()?;
        Ok(Top { span: start.to(count.span), count })
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
        let has_alias = self.take_keyword(Keyword::As) || self.is_name_or_text();
        let alias = if has_alias { Some(self.name_or_text()?) } else { None };
        Ok(SelectItem { expr, alias })
    }

    fn count(&mut self) -> Result<Count> {
        let token = self.peek();
        let kind = match token.kind {
            Kind::Number => {
                let Some(Value::Number(number)) = number(token.text) else {
                    return Err(self.bad_number());
                };
                CountKind::Literal(number.as_i64().and_then(|count| u32::try_from(count).ok()))
            }
            Kind::Parameter => CountKind::Parameter(token.text.to_string()),
            // These are numbers too, if none that counts.
            Kind::Keyword(Keyword::Infinity | Keyword::NaN) => CountKind::Literal(None),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Count { kind, span: token.span })
    }

    fn order_by(&mut self) -> Result<OrderBy> {
        let start = self.advance().span;
        self.expect_keyword(Keyword::By)?;
        // RANK is a name like any other unless a call follows.
        let rank = self.peek().text.eq_ignore_ascii_case("RANK") && self.is_call_ahead();
        let mut items = Vec::new();
        if rank {
            self.advance();
            items.push(self.order_item(Self::ranked_call)?);
        } else {
            items.push(self.order_item(Self::expression)?);
            while self.take_symbol(Symbol::Comma) {
                items.push(self.order_item(Self::expression)?);
            }
        }
        Ok(OrderBy { rank, items, span: start.to(self.last_span()) })
    }

    fn order_item(&mut self, read: impl FnOnce(&mut Self) -> Result<Expr>) -> Result<OrderItem> {
        let start = self.peek().span;
        let expr = read(self)?;
        let direction = if self.take_keyword(Keyword::Asc) {
            Some(Direction::Ascending)
        } else if self.take_keyword(Keyword::Desc) {
            Some(Direction::Descending)
        } else {
            None
        };
        Ok(OrderItem { expr, direction, span: start.to(self.last_span()) })
    }

    fn offset_limit(&mut self) -> Result<OffsetLimit> {
        let start = self.advance().span;
        let offset = self.whole_count()?;
        self.expect_keyword(Keyword::Limit)?;
        let limit = self.whole_count()?;
        Ok(OffsetLimit { offset, limit, span: start.to(self.last_span()) })
    }

    /// Reads a count that is an integer, if perhaps too large; TOP is less strict.
    fn whole_count(&mut self) -> Result<Count> {
        let token = self.peek();
        let is_integer = |text: &str| {
            text.starts_with("0x") || text.starts_with("0X") || text.parse::<i64>().is_ok()
        };
        if !matches!(token.kind, Kind::Number | Kind::Parameter)
            || matches!(token.kind, Kind::Number) && !is_integer(token.text)
        {
            return Err(self.unexpected());
        }
        self.count()
    }
}
