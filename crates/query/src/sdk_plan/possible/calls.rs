//! What functions return, as far as their names tell.

use super::values::Kinds;

/// Returns the kinds of what a function returns beside undefined, and the kind that its first argument must have for that;
/// `None` for functions that can return anything.
pub(super) fn result(name: &str) -> Option<(Kinds, Kinds)> {
    let (result, argument) = match name {
        "ABS" | "ACOS" | "ASIN" | "ATAN" | "ATN2" | "CEILING" | "COS" | "COT" | "DEGREES"
        | "EXP" | "FLOOR" | "LOG" | "LOG10" | "NUMBERBIN" | "POWER" | "RADIANS" | "ROUND"
        | "SIGN" | "SIN" | "SQRT" | "SQUARE" | "TAN" | "TRUNC" | "INTADD" | "INTSUB" | "INTMUL"
        | "INTDIV" | "INTMOD" | "INTBITAND" | "INTBITOR" | "INTBITXOR" | "INTBITNOT"
        | "INTBITLEFTSHIFT" | "INTBITRIGHTSHIFT" => (Kinds::NUMBER, Kinds::NUMBER),
        "LENGTH"
        | "INDEX_OF"
        | "DATETIMETOTICKS"
        | "DATETIMETOTIMESTAMP"
        | "STRINGTONUMBER"
        | "YEAR"
        | "MONTH"
        | "DAY" => (Kinds::NUMBER, Kinds::TEXT),
        "LOWER" | "UPPER" | "TRIM" | "LTRIM" | "RTRIM" | "CONCAT" | "LEFT" | "RIGHT"
        | "SUBSTRING" | "REPLACE" | "REPLICATE" | "REVERSE" => (Kinds::TEXT, Kinds::TEXT),
        "CONTAINS" | "STARTSWITH" | "ENDSWITH" | "STRINGEQUALS" | "REGEXMATCH"
        | "STRINGTOBOOLEAN" => (Kinds::BOOL, Kinds::TEXT),
        "STRINGTONULL" => (Kinds::NULL, Kinds::TEXT),
        "STRINGTOARRAY" | "STRINGSPLIT" => (Kinds::ARRAY, Kinds::TEXT),
        "STRINGTOOBJECT" => (Kinds::OBJECT, Kinds::TEXT),
        "ARRAY_LENGTH" => (Kinds::NUMBER, Kinds::ARRAY),
        "ARRAY_CONTAINS" => (Kinds::BOOL, Kinds::ARRAY),
        "ARRAY_CONCAT" | "ARRAY_SLICE" | "SETINTERSECT" | "SETUNION" => {
            (Kinds::ARRAY, Kinds::ARRAY)
        }
        "TOSTRING" => (Kinds::TEXT, Kinds::DEFINED),
        _ => return None,
    };
    Some((result, argument))
}

/// Returns the kinds that a type check is true for; exactly for these if the second is true.
pub(super) fn type_check(name: &str) -> Option<(Kinds, bool)> {
    Some(match name {
        "IS_DEFINED" => (Kinds::DEFINED, true),
        "IS_NULL" => (Kinds::NULL, true),
        "IS_BOOL" | "IS_BOOLEAN" => (Kinds::BOOL, true),
        "IS_NUMBER" => (Kinds::NUMBER, true),
        "IS_STRING" => (Kinds::TEXT, true),
        "IS_ARRAY" => (Kinds::ARRAY, true),
        "IS_OBJECT" => (Kinds::OBJECT, true),
        "IS_PRIMITIVE" => (Kinds::NULL.or(Kinds::BOOL).or(Kinds::NUMBER).or(Kinds::TEXT), true),
        "IS_INTEGER" | "IS_FINITE_NUMBER" => (Kinds::NUMBER, false),
        "IS_DATETIME" => (Kinds::TEXT, false),
        _ => return None,
    })
}
