//! What a filter says about the terms of declared indexes: words and shapes.

use model::Value;

use super::condition::{Condition, Seek, all, item_path};
use super::filter::{Paths, SPANS_MAX};
use super::terms::{Constant, constant, printed};
use crate::ast::BinaryOp;
use crate::bind::tree::Expr;
use crate::full_text::language::Language;
use crate::functions::extent;
use crate::index::{Declared, PathStep, TermSpan, word_span};

impl<'s> Paths<'s> {
    /// Returns the declared index on the path of an expression for which `choose` returns something.
    fn declared<T>(
        &self,
        expr: &Expr,
        choose: impl Fn(&'s Declared) -> Option<T>,
    ) -> Option<(&'s str, T)> {
        let (_, path) = item_path(expr)?;
        let is_path = |names: &[String]| {
            let own = names.iter().map(|name| PathStep::Name(name.clone()));
            own.eq(path.steps().iter().cloned())
        };
        self.index?.declared().into_iter().find_map(|(name, declared)| {
            let index = choose(declared)?;
            declared.names().is_some_and(is_path).then_some((name, index))
        })
    }

    /// Makes a seek in a declared index; such seeks are never joined.
    fn declared_seek(
        &self,
        name: &str,
        expr: &Expr,
        spans: Vec<TermSpan>,
        text: impl FnOnce() -> String,
    ) -> Condition {
        let path = item_path(expr).map(|(_, path)| path).unwrap_or_default();
        if spans.len() > SPANS_MAX {
            return Condition::Anything;
        }
        let text = self.purpose.text(text);
        Condition::Seek(Seek::of_some_place(path, Some(name), spans, text))
    }

    /// Items whose text has all words of a term.
    pub(super) fn phrase(&self, text: &Expr, term: &Expr, language: Language) -> Condition {
        let is_words = |declared: &Declared| {
            matches!(declared, Declared::Words(_, own) if *own == language).then_some(())
        };
        let Some((name, ())) = self.declared(text, is_words) else { return Condition::Anything };
        let Some(Constant::Value(Value::String(term))) = constant(term) else {
            return Condition::Anything;
        };
        let words = language.words(term);
        if words.is_empty() {
            return Condition::Nothing;
        }
        all(words
            .iter()
            .map(|word| {
                let has = || format!("has {}", printed(&Value::from(word.as_str())));
                self.declared_seek(name, text, vec![word_span(word)], has)
            })
            .collect())
    }

    /// Items whose shape may share a point with another one, or be at most so far from it.
    pub(super) fn shape(
        &self,
        path: &Expr,
        shape: Constant<'_>,
        distance: Option<f64>,
    ) -> Condition {
        let is_spatial = |declared: &'s Declared| match declared {
            Declared::Spatial(index) => Some(index),
            Declared::Composite(_) | Declared::Words(..) | Declared::Vector(_) => None,
        };
        let Some((name, index)) = self.declared(path, is_spatial) else {
            return Condition::Anything;
        };
        let Constant::Value(shape) = shape else { return Condition::Anything };
        // What is no shape makes the function undefined.
        let Some(mut extent) = extent(shape) else { return Condition::Nothing };
        if let Some(distance) = distance {
            extent = index.around(&extent, distance);
        }
        match index.spans(&extent) {
            None => Condition::Anything,
            Some(spans) => self.declared_seek(name, path, spans, || "near a shape".to_string()),
        }
    }

    /// Items whose shape is nearer to another one than a distance.
    pub(super) fn distance(&self, op: BinaryOp, call: &Expr, value: &Value) -> Option<Condition> {
        let Expr::Call { function, arguments, .. } = call else { return None };
        let is_near = matches!(op, BinaryOp::Less | BinaryOp::LessEqual);
        let ("ST_DISTANCE", true, [left, right]) = (function.name, is_near, arguments.as_slice())
        else {
            return None;
        };
        let distance = Some(value.as_f64()?);
        match (constant(left), constant(right)) {
            (None, Some(shape)) => Some(self.shape(left, shape, distance)),
            (Some(shape), None) => Some(self.shape(right, shape, distance)),
            _ => None,
        }
    }
}
