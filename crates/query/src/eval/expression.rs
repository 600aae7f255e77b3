//! One function per form of expression.

use std::collections::HashSet;

use model::json::{ELEMENT_BYTES, MEMBER_BYTES};
use model::{Object, Value};

use super::like::LikePattern;
use super::rows::{Flow, subquery_rows};
use super::{Frame, operator};
use crate::ast::{BinaryOp, SubqueryKind};
use crate::bind::tree::{Expr, Query};
use crate::context::Run;
use crate::error::{Error, Result};
use crate::functions::Call;
use crate::value::{Datum, Maybe, Step, boolean, equal, is_finite, key_bytes_max, value_key};

/// Computes an expression over a row.
pub(crate) fn eval<'e>(
    expr: &'e Expr,
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    Ok(match expr {
        Expr::Constant(constant) => constant.as_ref().map(borrowed),
        Expr::Variable(level) => frame.value(*level).map(Datum::Borrowed),
        Expr::VariablePath(level, steps) => {
            frame.value(*level).and_then(|value| follow(value, steps)).map(Datum::Borrowed)
        }
        Expr::Path(base, steps) => {
            let mut value = eval(base, frame, run)?;
            for step in steps {
                value = value.and_then(|value| value.child(step));
            }
            value
        }
        Expr::GroupKey { level, index } => {
            let key = frame.group(*level).and_then(|group| group.keys.get(*index));
            key.and_then(Option::as_ref).map(Datum::Borrowed)
        }
        Expr::Aggregate { level, index } => {
            let result = frame.group(*level).and_then(|group| group.aggregates.get(*index));
            result.and_then(Option::as_ref).map(borrowed)
        }
        Expr::Array(list) => array(list, frame, run)?,
        Expr::Object(members) => object(members, frame, run)?,
        Expr::Not(operand) => not(eval(operand, frame, run)?),
        Expr::Minus(operand) => {
            eval(operand, frame, run)?.and_then(|datum| operator::minus(&datum))
        }
        Expr::Plus(operand) => eval(operand, frame, run)?.filter(|datum| datum.as_f64().is_some()),
        Expr::BitNot(operand) => {
            eval(operand, frame, run)?.and_then(|datum| operator::bit_not(&datum))
        }
        Expr::And(list) => logic(list, false, frame, run)?,
        Expr::Or(list) => logic(list, true, frame, run)?,
        Expr::Coalesce(list) => coalesce(list, frame, run)?,
        Expr::Chain(first, rest) => chain(first, rest, frame, run)?,
        Expr::In(needle, list) => is_in(needle, list, frame, run)?,
        Expr::InSet { needle, keys, .. } => match eval(needle, frame, run)? {
            None => None,
            Some(needle) => boolean(is_among(keys, &needle, run)?),
        },
        Expr::Like(text, pattern) => {
            eval(text, frame, run)?.and_then(|text| boolean(pattern.matches(text.as_text()?)))
        }
        Expr::LikeComputed { text, pattern, escape } => {
            like(&eval(text, frame, run)?, &eval(pattern, frame, run)?, *escape, run)?
        }
        Expr::Between(operands) => {
            let [value, low, high] = &**operands;
            operator::between(
                &eval(value, frame, run)?,
                &eval(low, frame, run)?,
                &eval(high, frame, run)?,
            )
        }
        Expr::Conditional(operands) => {
            let [condition, then, otherwise] = &**operands;
            let holds = is_true(&eval(condition, frame, run)?);
            eval(if holds { then } else { otherwise }, frame, run)?
        }
        Expr::Let { level, operands } => let_in(*level, operands, frame, run)?,
        Expr::Call { function, arguments, prepared } => {
            let before = run.built();
            let values = evaluated(arguments, frame, run)?;
            function.call(&Call { context: run.context, prepared }, run, before, values)?
        }
        Expr::Udf(name, arguments) => udf(name, arguments, frame, run)?,
        Expr::Subquery(kind, query) => subquery(*kind, query, frame, run)?,
    })
}

fn let_in<'e>(
    level: usize,
    operands: &'e [Expr; 2],
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    let [value, body] = operands;
    let before = run.built();
    // A variable that nobody has set is undefined.
    let Some(value) = eval(value, frame, run)? else { return eval(body, frame, run) };
    let own;
    let value = match value {
        Datum::Borrowed(value) => value,
        value => {
            own = run.own_element(value)?;
            &own
        }
    };
    let inner = frame.with_value(level, value);
    let result = eval(body, &inner, run)?;
    let result = result.map(|result| run.own_element(result)).transpose()?;
    run.settle_to(before, result.as_ref().map_or(0, Value::heap_bytes))?;
    Ok(result.map(Datum::Owned))
}

/// Returns whether a value is exactly true.
pub(super) fn is_true(value: &Maybe<'_>) -> bool {
    value.as_ref().and_then(Datum::as_bool) == Some(true)
}

fn borrowed<'e>(datum: &'e Datum<'_>) -> Datum<'e> {
    match datum {
        Datum::Borrowed(value) => Datum::Borrowed(value),
        Datum::Owned(value) => Datum::Borrowed(value),
        Datum::Shared(value) => Datum::Borrowed(value),
        Datum::Special(double) => Datum::Special(*double),
    }
}

fn follow<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| step.of(value))
}

fn evaluated<'e>(
    list: &'e [Expr],
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Vec<Maybe<'e>>> {
    let each = |expr| {
        run.part()?;
        eval(expr, frame, run)
    };
    list.iter().map(each).collect()
}

fn array<'e>(list: &'e [Expr], frame: &'e Frame<'e>, run: &'e Run<'e>) -> Result<Maybe<'e>> {
    run.reserve(list.len() * ELEMENT_BYTES)?;
    let mut elements = Vec::with_capacity(list.len());
    for expr in list {
        run.part()?;
        if let Some(element) = eval(expr, frame, run)? {
            elements.push(run.own_element(element)?);
        }
    }
    Ok(Some(Datum::Owned(Value::Array(elements))))
}

pub(super) fn object<'e>(
    members: &'e [(String, Expr)],
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    run.reserve(members.len() * MEMBER_BYTES)?;
    let mut object = Object::with_capacity(members.len());
    for (name, expr) in members {
        run.part()?;
        if let Some(value) = eval(expr, frame, run)? {
            let value = run.own_element(value)?;
            run.reserve(name.len())?;
            object.insert(name.as_str(), value);
        }
    }
    Ok(Some(Datum::Owned(Value::Object(object))))
}

fn not(value: Maybe<'_>) -> Maybe<'_> {
    boolean(!value?.as_bool()?)
}

/// AND and OR: `decisive` wins, then undefined, then the opposite. Non-booleans count as undefined.
fn logic<'e>(
    list: &'e [Expr],
    decisive: bool,
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    let mut is_undefined = false;
    for expr in list {
        run.part()?;
        match eval(expr, frame, run)?.as_ref().and_then(Datum::as_bool) {
            Some(value) if value == decisive => return Ok(boolean(decisive)),
            Some(_) => {}
            None => is_undefined = true,
        }
    }
    Ok(if is_undefined { None } else { boolean(!decisive) })
}

fn coalesce<'e>(list: &'e [Expr], frame: &'e Frame<'e>, run: &'e Run<'e>) -> Result<Maybe<'e>> {
    for expr in list {
        run.part()?;
        let value = eval(expr, frame, run)?;
        if value.is_some() {
            return Ok(value);
        }
    }
    Ok(None)
}

fn chain<'e>(
    first: &'e Expr,
    rest: &'e [(BinaryOp, Expr)],
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    let before = run.built();
    let mut left = eval(first, frame, run)?;
    for (op, operand) in rest {
        run.part()?;
        let right = eval(operand, frame, run)?;
        let length = |side: &Maybe<'_>| side.as_ref().and_then(Datum::as_text).map_or(0, str::len);
        if *op == BinaryOp::Concat {
            run.scratch(length(&left).saturating_add(length(&right)))?;
        }
        left = operator::binary(*op, &left, &right);
        run.settle_to(before, length(&left))?;
    }
    Ok(left)
}

fn is_in<'e>(
    needle: &'e Expr,
    list: &'e [Expr],
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    let Some(needle) = eval(needle, frame, run)? else { return Ok(None) };
    for expr in list {
        run.part()?;
        if eval(expr, frame, run)?.is_some_and(|candidate| equal(&needle, &candidate)) {
            return Ok(boolean(true));
        }
    }
    Ok(boolean(false))
}

/// Looks a value up in the keys of a set.
fn is_among(keys: &HashSet<Vec<u8>>, needle: &Datum<'_>, run: &Run<'_>) -> Result<bool> {
    let Some(needle) = needle.value() else { return Ok(false) };
    run.scratch(key_bytes_max(needle))?;
    Ok(keys.contains(&value_key(Some(needle))))
}

fn like<'e>(
    text: &Maybe<'e>,
    pattern: &Maybe<'e>,
    escape: Option<char>,
    run: &Run<'_>,
) -> Result<Maybe<'e>> {
    let (Some(text), Some(pattern)) = (text, pattern) else { return Ok(None) };
    let (Some(text), Some(pattern)) = (text.as_text(), pattern.as_text()) else { return Ok(None) };
    run.scratch(LikePattern::bytes_max(pattern))?;
    Ok(boolean(LikePattern::new(pattern, escape).matches(text)))
}

fn udf<'e>(
    name: &str,
    arguments: &'e [Expr],
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    let Some(host) = &run.context.udf_host else {
        return Err(Error::Udf(format!("user-defined function '{name}' cannot run here")));
    };
    if !host.exists(name) {
        return Err(Error::Udf(format!("User-defined-function '{name}' could not be resolved.")));
    }
    let before = run.built();
    let values = evaluated(arguments, frame, run)?;
    let own = |value: Maybe<'e>| -> Result<Option<Value>> {
        let value = value.map_or(Ok(None), |value| run.own(value))?;
        Ok(value.filter(is_finite))
    };
    let values: Vec<Option<Value>> = values.into_iter().map(own).collect::<Result<_>>()?;
    let result = host.call(name, &values).map_err(Error::Udf)?;
    drop(values);
    // The limits of scripts bound what it was while it was built.
    run.settle_to(before, result.as_ref().map_or(0, Value::heap_bytes))?;
    Ok(result.map(Datum::Owned))
}

fn subquery<'e>(
    kind: SubqueryKind,
    query: &'e Query,
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    let before = run.built();
    let mut rows: Vec<Value> = Vec::new();
    let mut n_rows = 0_usize;
    subquery_rows(query, frame, run, &mut |row| {
        n_rows += 1;
        if kind == SubqueryKind::Exists {
            return Ok(Flow::Stop);
        }
        // The list may be moved to another place while it grows.
        run.reserve(2 * ELEMENT_BYTES)?;
        let value = run.own_element(row)?;
        match kind {
            SubqueryKind::Exists | SubqueryKind::First => {
                rows.push(value);
                return Ok(Flow::Stop);
            }
            SubqueryKind::Last => {
                run.settle(before, value.heap_bytes());
                rows.clear();
                rows.push(value);
            }
            SubqueryKind::Scalar | SubqueryKind::Array => rows.push(value),
        }
        Ok(Flow::Continue)
    })?;
    if kind == SubqueryKind::Exists {
        run.settle(before, 0);
    }
    Ok(match kind {
        SubqueryKind::Exists => boolean(n_rows > 0),
        SubqueryKind::Array => Some(Datum::Owned(Value::Array(rows))),
        SubqueryKind::Scalar if rows.len() > 1 => {
            let message =
                "The cardinality of a scalar subquery result set cannot be greater than one.";
            return Err(Error::Evaluation(message.to_string()));
        }
        SubqueryKind::Scalar | SubqueryKind::First | SubqueryKind::Last => {
            rows.pop().map(Datum::Owned)
        }
    })
}
