//! Computed properties: values of an item that a container defines by a query.

use super::Binder;
use super::scope::Binding;
use super::tree::{Expr, ITEM_LEVEL};
use crate::ast::{self, Collection, ExprKind, Selection};
use crate::bind::query::{each_operand, is_aggregate};
use crate::error::{Error, Result};
use crate::functions::{self, Role};
use crate::syntax::parse;

/// One computed property of a container, checked.
#[derive(Clone, Debug)]
pub struct ComputedProperty {
    name: String,
    alias: String,
    expr: ast::Expr,
}

impl ComputedProperty {
    /// Reads a definition: `SELECT VALUE expr FROM alias` and nothing more.
    ///
    /// # Errors
    /// The mistake in the text, or [`Error::Unplannable`] when a rule of computed properties is broken.
    pub fn parse(name: &str, query: &str) -> Result<ComputedProperty> {
        let refuse = |reason: &str| Error::Unplannable(reason.to_owned());
        if matches!(name, "" | "id" | "_rid" | "_ts" | "_etag" | "_self" | "_attachments") {
            return Err(refuse("the name is reserved"));
        }
        let query = parse::parse(query)?;
        let is_plain = query.filter.is_none()
            && query.group_by.is_empty()
            && query.order_by.is_none()
            && query.offset_limit.is_none()
            && query.select.top.is_none()
            && !query.select.distinct;
        if !is_plain {
            return Err(refuse("only SELECT VALUE and FROM are allowed"));
        }
        let Selection::Value(expr) = query.select.selection else {
            return Err(refuse("the query must be SELECT VALUE"));
        };
        let [source] = query.from.as_slice() else {
            return Err(refuse("the query must have one FROM without JOIN"));
        };
        let alias = match &source.collection {
            Collection::Path { name, steps } if steps.is_empty() && !source.iterates => {
                source.alias.as_ref().unwrap_or(name).text.clone()
            }
            Collection::Path { .. } | Collection::Subquery(_) => {
                return Err(refuse("FROM must name the container"));
            }
        };
        if !is_allowed(&expr) {
            return Err(refuse("it uses a construct that depends on more than the item"));
        }
        Ok(ComputedProperty { name: name.to_string(), alias, expr })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Returns whether an expression depends on the item alone and is cheap enough to index.
fn is_allowed(expr: &ast::Expr) -> bool {
    let own = match &expr.kind {
        ExprKind::Subquery(..) | ExprKind::Parameter(_) => false,
        ExprKind::Call { name, udf, .. } => {
            let is_volatile = functions::find(name).is_some_and(|function| {
                matches!(function.role, Role::Volatile(_) | Role::Static(_) | Role::Rank)
            });
            let is_spatial = name.to_ascii_uppercase().starts_with("ST_");
            !udf && !is_volatile && !is_spatial && !is_aggregate(name)
        }
        _ => true,
    };
    let mut operands_allowed = true;
    each_operand(expr, &mut |operand| operands_allowed &= is_allowed(operand));
    own && operands_allowed
}

impl Binder<'_> {
    /// Returns the expression of a computed property of the item.
    pub(super) fn computed_property(&mut self, name: &str) -> Option<Expr> {
        let property = self.computed.iter().find(|property| property.name == name)?;
        // Only the item is in sight, and no other computed property.
        let scope = vec![Binding::of_input(Some(property.alias.clone()), ITEM_LEVEL)];
        let outer_scope = std::mem::replace(&mut self.scope, scope);
        let computed = std::mem::take(&mut self.computed);
        let groups = std::mem::take(&mut self.groups);
        let expr = self.expr(&property.expr);
        self.groups = groups;
        self.computed = computed;
        self.scope = outer_scope;
        Some(expr)
    }
}
