//! JSON values in and out of the engine, for user-defined functions. `None` is undefined.

use model::{Number, Value as Json};
use rquickjs::{Ctx, Exception, IntoJs, Result, String as JsString, Type, Value};

// Limit: text of what a function gives. Parsed it takes many times the memory, which is not the engine's.
const RESULT_BYTES_MAX: usize = 4 << 20;

/// Makes a JavaScript value; scalars directly, everything else through JSON text.
pub(crate) fn to_js<'js>(ctx: &Ctx<'js>, value: Option<&Json>) -> Result<Value<'js>> {
    match value {
        None => Ok(Value::new_undefined(ctx.clone())),
        Some(Json::Null) => Ok(Value::new_null(ctx.clone())),
        Some(Json::Bool(flag)) => Ok(Value::new_bool(ctx.clone(), *flag)),
        Some(Json::Number(number)) => Ok(Value::new_number(ctx.clone(), number.as_f64())),
        Some(Json::String(text)) => JsString::from_str(ctx.clone(), text)?.into_js(ctx),
        Some(composite @ (Json::Array(_) | Json::Object(_))) => {
            let mut text = Vec::new();
            composite.write_to(&mut text);
            ctx.json_parse(text)
        }
    }
}

/// Takes a JavaScript value back. What JSON cannot say (functions, symbols) is undefined, as in `JSON.stringify`.
pub(crate) fn from_js<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Option<Json>> {
    match value.type_of() {
        Type::Undefined | Type::Uninitialized => return Ok(None),
        Type::Null => return Ok(Some(Json::Null)),
        Type::Bool => return Ok(value.as_bool().map(Json::Bool)),
        Type::Int | Type::Float => {
            let number = value.as_number().and_then(number);
            return Ok(Some(number.map_or(Json::Null, Json::Number)));
        }
        _ => {}
    }
    let Some(text) = ctx.json_stringify(value)? else { return Ok(None) };
    let text = text.to_string()?;
    if text.len() > RESULT_BYTES_MAX {
        return Err(Exception::throw_range(ctx, "the result of the function is too large"));
    }
    Ok(model::json::parse(text.as_bytes()).ok())
}

/// Integers get the spelling of integers.
#[expect(clippy::cast_possible_truncation, reason = "checked to be an integer within 53 bits")]
fn number(double: f64) -> Option<Number> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if double.fract() == 0.0 && double.abs() <= EXACT_MAX {
        return Some(Number::from_i64(double as i64));
    }
    Number::from_f64(double)
}
