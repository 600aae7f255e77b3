//! One function per form of expression.

use model::{Object, Value};

use super::like::LikePattern;
use super::rows::{Flow, subquery_rows};
use super::{Frame, operator};
use crate::ast::{BinaryOp, SubqueryKind};
use crate::bind::tree::{Expr, Query};
use crate::context::{Run, estimated_bytes};
use crate::error::{Error, Result};
use crate::functions::{Call, Role};
use crate::value::{Datum, Maybe, Step, boolean, equal, value_key};

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
        Expr::InSet { needle, keys, .. } => eval(needle, frame, run)?.and_then(|needle| {
            boolean(needle.value().is_some_and(|needle| keys.contains(&value_key(Some(needle)))))
        }),
        Expr::Like(text, pattern) => {
            eval(text, frame, run)?.and_then(|text| boolean(pattern.matches(text.as_text()?)))
        }
        Expr::LikeComputed { text, pattern, escape } => {
            like(&eval(text, frame, run)?, &eval(pattern, frame, run)?, *escape)
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
        Expr::Call { function, arguments, prepared } => {
            let mut values = evaluated(arguments, frame, run)?;
            let call = Call { context: run.context, prepared };
            match function.role {
                Role::Scalar(body) | Role::Volatile(body) | Role::Static(body) => {
                    body(&call, &mut values)
                }
                Role::Long(body) => body(&call, run, &mut values)?,
                Role::Aggregate(_) | Role::Rank => None,
            }
        }
        Expr::Udf(name, arguments) => udf(name, arguments, frame, run)?,
        Expr::Subquery(kind, query) => subquery(*kind, query, frame, run)?,
    })
}

/// Returns whether a value is exactly true.
pub(super) fn is_true(value: &Maybe<'_>) -> bool {
    value.as_ref().and_then(Datum::as_bool) == Some(true)
}

fn borrowed<'e>(datum: &'e Datum<'_>) -> Datum<'e> {
    match datum {
        Datum::Borrowed(value) => Datum::Borrowed(value),
        Datum::Owned(value) => Datum::Borrowed(value),
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
    list.iter().map(|expr| eval(expr, frame, run)).collect()
}

fn array<'e>(list: &'e [Expr], frame: &'e Frame<'e>, run: &'e Run<'e>) -> Result<Maybe<'e>> {
    let mut elements = Vec::with_capacity(list.len());
    for expr in list {
        if let Some(element) = eval(expr, frame, run)? {
            let element = element.into_json()?;
            run.built(estimated_bytes(&element))?;
            elements.push(element);
        }
    }
    Ok(Some(Datum::Owned(Value::Array(elements))))
}

pub(super) fn object<'e>(
    members: &'e [(String, Expr)],
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    let mut object = Object::with_capacity(members.len());
    for (name, expr) in members {
        if let Some(value) = eval(expr, frame, run)? {
            let value = value.into_json()?;
            run.built(name.len() + estimated_bytes(&value))?;
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
    let mut left = eval(first, frame, run)?;
    for (op, operand) in rest {
        let right = eval(operand, frame, run)?;
        left = operator::binary(*op, &left, &right);
        if *op == BinaryOp::Concat
            && let Some(text) = left.as_ref().and_then(Datum::as_text)
        {
            run.built(text.len())?;
        }
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
        if eval(expr, frame, run)?.is_some_and(|candidate| equal(&needle, &candidate)) {
            return Ok(boolean(true));
        }
    }
    Ok(boolean(false))
}

fn like<'e>(text: &Maybe<'e>, pattern: &Maybe<'e>, escape: Option<char>) -> Maybe<'e> {
    let (text, pattern) = (text.as_ref()?.as_text()?, pattern.as_ref()?.as_text()?);
    boolean(LikePattern::new(pattern, escape).matches(text))
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
    let values = evaluated(arguments, frame, run)?;
    let values: Vec<Option<Value>> =
        values.into_iter().map(|value| value.and_then(Datum::into_value)).collect();
    let result = host.call(name, &values).map_err(Error::Udf)?;
    if let Some(value) = &result {
        run.built(estimated_bytes(value))?;
    }
    Ok(result.map(Datum::Owned))
}

fn subquery<'e>(
    kind: SubqueryKind,
    query: &'e Query,
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    let mut rows: Vec<Value> = Vec::new();
    let mut n_rows = 0_usize;
    subquery_rows(query, frame, run, &mut |row| {
        n_rows += 1;
        let Some(value) = row.into_value() else { return Ok(Flow::Continue) };
        run.built(estimated_bytes(&value))?;
        match kind {
            SubqueryKind::Exists => return Ok(Flow::Stop),
            SubqueryKind::First => {
                rows.push(value);
                return Ok(Flow::Stop);
            }
            SubqueryKind::Last => {
                rows.clear();
                rows.push(value);
            }
            SubqueryKind::Scalar | SubqueryKind::Array => rows.push(value),
        }
        Ok(Flow::Continue)
    })?;
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
