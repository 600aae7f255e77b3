//! The table of functions: name, number of arguments, role, documentation.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{
    Body, LongBody, array, conversion, datetime, fulltext, item, math, regex, set, spatial,
};
use super::{string, string_search, types, vector};

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Arity {
    pub(crate) min: usize,
    /// `None` when there is no upper bound.
    pub(crate) max: Option<usize>,
}

/// The aggregates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AggregateKind {
    Count,
    CountIf,
    Sum,
    Average,
    Min,
    Max,
    MakeList,
    MakeSet,
}

/// What kind of function an entry is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// Computes a value; the same for the same arguments.
    Scalar(Body),
    /// As [`Role::Scalar`], and may take long.
    Long(LongBody),
    /// Computes a value that may differ each time: never folded.
    Volatile(Body),
    /// Computed once when the query is bound.
    Static(Body),
    /// Folds many rows.
    Aggregate(AggregateKind),
    /// Only legal in ORDER BY RANK.
    Rank,
}

/// One entry of the table.
#[derive(Debug)]
pub(crate) struct Function {
    /// The name in upper case.
    pub(crate) name: &'static str,
    pub(crate) arity: Arity,
    pub(crate) role: Role,
    /// One sentence for the function list.
    pub(crate) doc: &'static str,
}

/// Finds a function by its name in any case.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    static INDEX: LazyLock<HashMap<&'static str, &'static Function>> =
        LazyLock::new(|| FUNCTIONS.iter().map(|function| (function.name, function)).collect());
    let name = name.to_ascii_uppercase();
    INDEX.get(name.as_str()).or_else(|| INDEX.get(other_spelling(&name)?.as_str())).copied()
}

/// Wire: some names are known with and without the lines between their words.
fn other_spelling(name: &str) -> Option<String> {
    const WITH_LINES: [&str; 15] = [
        "STRING_EQUALS",
        "STRING_TO_ARRAY",
        "STRING_TO_BOOLEAN",
        "STRING_TO_NULL",
        "STRING_TO_NUMBER",
        "STRING_TO_OBJECT",
        "STRING_JOIN",
        "STRING_SPLIT",
        "SET_DIFFERENCE",
        "SET_EQUAL",
        "SET_INTERSECT",
        "SET_UNION",
        "TO_STRING",
        "FULLTEXT_CONTAINS_ALL",
        "FULLTEXT_CONTAINS_ANY",
    ];
    if WITH_LINES.contains(&name) || name == "FULLTEXT_CONTAINS" {
        return Some(name.replace('_', ""));
    }
    match name {
        "INDEXOF" => return Some("INDEX_OF".to_owned()),
        "ISFINITENUMBER" => return Some("IS_FINITE_NUMBER".to_owned()),
        "ARRAYCONTAINSALL" => return Some("ARRAY_CONTAINS_ALL".to_owned()),
        "ARRAYCONTAINSANY" => return Some("ARRAY_CONTAINS_ANY".to_owned()),
        _ => {}
    }
    let split = |prefix: &str| Some(format!("{prefix}_{}", name.strip_prefix(prefix)?));
    split("ARRAY").or_else(|| split("IS"))
}

/// Returns the whole table.
pub(crate) fn functions() -> &'static [Function] {
    FUNCTIONS
}

const fn exactly(n: usize) -> Arity {
    Arity { min: n, max: Some(n) }
}

const fn between(min: usize, max: usize) -> Arity {
    Arity { min, max: Some(max) }
}

const fn at_least(min: usize) -> Arity {
    Arity { min, max: None }
}

const fn entry(name: &'static str, arity: Arity, role: Role, doc: &'static str) -> Function {
    Function { name, arity, role, doc }
}

use Role::{Aggregate, Long, Rank, Scalar, Static, Volatile};

#[rustfmt::skip]
static FUNCTIONS: &[Function] = &[
    // Aggregates
    entry("COUNT", exactly(1), Aggregate(AggregateKind::Count), "Number of defined values."),
    entry("COUNTIF", exactly(1), Aggregate(AggregateKind::CountIf), "Number of rows where the value is true."),
    entry("SUM", exactly(1), Aggregate(AggregateKind::Sum), "Sum; undefined if any value is not a number."),
    entry("AVG", exactly(1), Aggregate(AggregateKind::Average), "Mean; undefined if any value is not a number."),
    entry("MIN", exactly(1), Aggregate(AggregateKind::Min), "Smallest primitive by type order."),
    entry("MAX", exactly(1), Aggregate(AggregateKind::Max), "Largest primitive by type order."),
    entry("MAKELIST", exactly(1), Aggregate(AggregateKind::MakeList), "Array of all defined values."),
    entry("MAKESET", exactly(1), Aggregate(AggregateKind::MakeSet), "Array of distinct defined values."),
    // Arrays
    entry("ARRAY_CONCAT", at_least(2), Scalar(array::concat), "Joins arrays."),
    entry("ARRAY_CONTAINS", between(2, 3), Scalar(array::contains), "Whether an array has a value; a third true matches objects partially."),
    entry("_TRY_ARRAY_CONTAINS", between(2, 3), Scalar(array::contains), "ARRAY_CONTAINS as the planner writes it."),
    entry("ARRAY_CONTAINS_ALL", at_least(2), Scalar(array::contains_all), "Whether an array has every value."),
    entry("ARRAY_CONTAINS_ANY", at_least(2), Scalar(array::contains_any), "Whether an array has one of the values."),
    entry("ARRAY_LENGTH", exactly(1), Scalar(array::length), "Number of elements."),
    entry("ARRAY_SLICE", between(2, 3), Scalar(array::slice), "Part of an array; a negative start counts from the end."),
    entry("ARRAY_SUM", exactly(1), Scalar(array::sum), "Sum of a number array."),
    entry("ARRAY_AVG", exactly(1), Scalar(array::avg), "Mean of a number array."),
    entry("ARRAY_MEDIAN", exactly(1), Scalar(array::median), "Median of a number array."),
    entry("ARRAY_MIN", exactly(1), Scalar(array::min), "Smallest element by type order."),
    entry("ARRAY_MAX", exactly(1), Scalar(array::max), "Largest element by type order."),
    entry("CHOOSE", at_least(2), Scalar(array::choose), "The n-th expression, counted from 1."),
    entry("OBJECTTOARRAY", between(1, 3), Scalar(array::object_to_array), "Members of an object as name and value pairs."),
    entry("SETINTERSECT", exactly(2), Scalar(set::intersect), "Values in both arrays."),
    entry("SETUNION", exactly(2), Scalar(set::union), "Values in either array."),
    entry("SETDIFFERENCE", exactly(2), Scalar(set::difference), "Values of the first array that the second lacks."),
    entry("SETEQUAL", exactly(2), Scalar(set::equal), "Whether two arrays have the same values."),
    // Conditional and item
    entry("IIF", exactly(3), Scalar(item::iif), "The second value if the first is true, else the third."),
    entry("DOCUMENTID", exactly(1), Scalar(item::document_id), "Number of the item within its physical partition."),
    // Mathematics
    entry("ABS", exactly(1), Scalar(math::abs), "Absolute value."),
    entry("ACOS", exactly(1), Scalar(math::acos), "Arc cosine."),
    entry("ASIN", exactly(1), Scalar(math::asin), "Arc sine."),
    entry("ATAN", exactly(1), Scalar(math::atan), "Arc tangent."),
    entry("ATN2", exactly(2), Scalar(math::atn2), "Angle of the point (x, y), arguments y, x."),
    entry("CEILING", exactly(1), Scalar(math::ceiling), "Smallest integer not below."),
    entry("COS", exactly(1), Scalar(math::cos), "Cosine."),
    entry("COT", exactly(1), Scalar(math::cot), "Cotangent."),
    entry("DEGREES", exactly(1), Scalar(math::degrees), "Radians to degrees."),
    entry("EXP", exactly(1), Scalar(math::exp), "Exponential."),
    entry("FLOOR", exactly(1), Scalar(math::floor), "Largest integer not above."),
    entry("LOG", between(1, 2), Scalar(math::log), "Natural logarithm, or to a base."),
    entry("LOG10", exactly(1), Scalar(math::log10), "Decimal logarithm."),
    entry("NUMBERBIN", between(1, 2), Scalar(math::number_bin), "Rounds down to a multiple."),
    entry("PI", exactly(0), Scalar(math::pi), "The constant."),
    entry("POWER", exactly(2), Scalar(math::power), "Power."),
    entry("RADIANS", exactly(1), Scalar(math::radians), "Degrees to radians."),
    entry("RAND", exactly(0), Volatile(math::rand), "A random number in [0, 1)."),
    entry("ROUND", between(1, 2), Scalar(math::round), "Nearest integer, halves away from zero."),
    entry("SIGN", exactly(1), Scalar(math::sign), "-1, 0 or 1."),
    entry("SIN", exactly(1), Scalar(math::sin), "Sine."),
    entry("SQRT", exactly(1), Scalar(math::sqrt), "Square root."),
    entry("SQUARE", exactly(1), Scalar(math::square), "Square."),
    entry("TAN", exactly(1), Scalar(math::tan), "Tangent."),
    entry("TRUNC", exactly(1), Scalar(math::trunc), "Cuts the fraction."),
    entry("INTADD", exactly(2), Scalar(math::int_add), "64-bit sum, wrapping."),
    entry("INTSUB", exactly(2), Scalar(math::int_sub), "64-bit difference, wrapping."),
    entry("INTMUL", exactly(2), Scalar(math::int_mul), "64-bit product, wrapping."),
    entry("INTDIV", exactly(2), Scalar(math::int_div), "64-bit quotient."),
    entry("INTMOD", exactly(2), Scalar(math::int_mod), "64-bit remainder with the sign of the dividend."),
    entry("INTBITAND", exactly(2), Scalar(math::int_and), "64-bit and."),
    entry("INTBITOR", exactly(2), Scalar(math::int_or), "64-bit or."),
    entry("INTBITXOR", exactly(2), Scalar(math::int_xor), "64-bit exclusive or."),
    entry("INTBITNOT", exactly(1), Scalar(math::int_not), "64-bit complement."),
    entry("INTBITLEFTSHIFT", exactly(2), Scalar(math::int_shift_left), "64-bit left shift."),
    entry("INTBITRIGHTSHIFT", exactly(2), Scalar(math::int_shift_right), "64-bit right shift."),
    // Strings
    entry("CONCAT", at_least(2), Scalar(string::concat), "Joins texts."),
    entry("CONTAINS", between(2, 3), Scalar(string_search::contains), "Whether a text has a part; a third true ignores case."),
    entry("CONTAINS_ALL_CI", at_least(2), Scalar(string_search::contains_all_ci), "Whether a text has all parts, ignoring case."),
    entry("CONTAINS_ALL_CS", at_least(2), Scalar(string_search::contains_all_cs), "Whether a text has all parts."),
    entry("CONTAINS_ANY_CI", at_least(2), Scalar(string_search::contains_any_ci), "Whether a text has one of the parts, ignoring case."),
    entry("CONTAINS_ANY_CS", at_least(2), Scalar(string_search::contains_any_cs), "Whether a text has one of the parts."),
    entry("CONTAINSALLCI", at_least(2), Scalar(string_search::contains_all_ci), "CONTAINS_ALL_CI as SDKs spell it."),
    entry("CONTAINSALLCS", at_least(2), Scalar(string_search::contains_all_cs), "CONTAINS_ALL_CS as SDKs spell it."),
    entry("CONTAINSANYCI", at_least(2), Scalar(string_search::contains_any_ci), "CONTAINS_ANY_CI as SDKs spell it."),
    entry("CONTAINSANYCS", at_least(2), Scalar(string_search::contains_any_cs), "CONTAINS_ANY_CS as SDKs spell it."),
    entry("STARTSWITH", between(2, 3), Scalar(string_search::starts_with), "Whether a text starts with a part; a third true ignores case."),
    entry("ENDSWITH", between(2, 3), Scalar(string_search::ends_with), "Whether a text ends with a part; a third true ignores case."),
    entry("STRINGEQUALS", between(2, 3), Scalar(string_search::string_equals), "Whether two texts are equal; a third true ignores case."),
    entry("INDEX_OF", between(2, 3), Scalar(string_search::index_of), "First position of a part, or -1."),
    entry("LASTINDEXOF", between(2, 3), Scalar(string_search::last_index_of), "Last position of a part, or -1."),
    entry("REGEXMATCH", between(2, 3), Long(regex::matches), "Whether a regular expression matches; options m, s, i, x."),
    entry("REGEXEXTRACT", between(2, 4), Long(regex::extract), "First match of a regular expression, or a group of it."),
    entry("REGEXEXTRACTALL", between(2, 4), Long(regex::extract_all), "All matches of a regular expression, or a group of each."),
    entry("REGEXREPLACE", between(3, 4), Long(regex::replace), "Replaces the first match of a regular expression."),
    entry("REGEXREPLACEALL", between(3, 4), Long(regex::replace_all), "Replaces all matches of a regular expression."),
    entry("LEFT", exactly(2), Scalar(string::left), "First characters."),
    entry("RIGHT", exactly(2), Scalar(string::right), "Last characters."),
    entry("SUBSTRING", exactly(3), Scalar(string::substring), "Characters from a position."),
    entry("LENGTH", exactly(1), Scalar(string::length), "Number of UTF-16 units."),
    entry("LOWER", exactly(1), Scalar(string::lower), "Lower case."),
    entry("UPPER", exactly(1), Scalar(string::upper), "Upper case."),
    entry("TRIM", between(1, 2), Scalar(string::trim), "Cuts blanks, or characters of a set, at both ends."),
    entry("LTRIM", between(1, 2), Scalar(string::trim_left), "TRIM at the start."),
    entry("RTRIM", between(1, 2), Scalar(string::trim_right), "TRIM at the end."),
    entry("REPLACE", exactly(3), Scalar(string::replace), "Replaces all occurrences."),
    entry("REPLICATE", exactly(2), Scalar(string::replicate), "Repeats a text."),
    entry("REVERSE", exactly(1), Scalar(string::reverse), "Reverses a text."),
    entry("STRINGJOIN", exactly(2), Scalar(string::join), "Joins an array of texts with a separator."),
    entry("STRINGSPLIT", exactly(2), Scalar(string::split), "Splits a text at a separator."),
    entry("SUBSTRINGAFTER", exactly(2), Scalar(string::after_first), "Text after the first delimiter."),
    entry("SUBSTRINGBEFORE", exactly(2), Scalar(string::before_first), "Text before the first delimiter."),
    entry("LASTSUBSTRINGAFTER", exactly(2), Scalar(string::after_last), "Text after the last delimiter."),
    entry("LASTSUBSTRINGBEFORE", exactly(2), Scalar(string::before_last), "Text before the last delimiter."),
    entry("TOSTRING", exactly(1), Scalar(conversion::to_text), "The value as text."),
    entry("STRINGTOARRAY", exactly(1), Scalar(conversion::to_array), "Reads a JSON array."),
    entry("STRINGTOOBJECT", exactly(1), Scalar(conversion::to_object), "Reads a JSON object."),
    entry("STRINGTOBOOLEAN", exactly(1), Scalar(conversion::to_boolean), "Reads true or false."),
    entry("STRINGTONULL", exactly(1), Scalar(conversion::to_null), "Reads null."),
    entry("STRINGTONUMBER", exactly(1), Scalar(conversion::to_number), "Reads a number."),
    // Dates
    entry("DATETIMEADD", exactly(3), Scalar(datetime::add), "Moves a date by a number of parts."),
    entry("DATETIMEDIFF", exactly(3), Scalar(datetime::diff), "Counts boundaries of a part between two dates."),
    entry("DATETIMEPART", exactly(2), Scalar(datetime::part), "One part of a date."),
    entry("DATETIMEFROMPARTS", between(3, 7), Scalar(datetime::from_parts), "A date of its parts."),
    entry("DATETIMEBIN", between(2, 4), Scalar(datetime::bin), "Rounds a date down."),
    entry("DATETIMEFORMAT", exactly(2), Scalar(datetime::format_date), "Prints a date by a pattern."),
    entry("DATETIMETOTICKS", exactly(1), Scalar(datetime::to_ticks), "100-nanosecond ticks since 1970."),
    entry("TICKSTODATETIME", between(1, 2), Scalar(datetime::from_ticks), "A date of ticks, printed by a pattern."),
    entry("DATETIMETOTIMESTAMP", exactly(1), Scalar(datetime::to_timestamp), "Milliseconds since 1970."),
    entry("TIMESTAMPTODATETIME", between(1, 2), Scalar(datetime::from_timestamp), "A date of milliseconds, printed by a pattern."),
    entry("YEAR", exactly(1), Scalar(datetime::year), "Year of a date."),
    entry("MONTH", exactly(1), Scalar(datetime::month), "Month of a date."),
    entry("DAY", exactly(1), Scalar(datetime::day), "Day of a date."),
    entry("GETCURRENTDATETIME", exactly(0), Volatile(datetime::now_text), "The time now, as a date."),
    entry("GETCURRENTTICKS", exactly(0), Volatile(datetime::now_ticks), "The time now, in ticks."),
    entry("GETCURRENTTIMESTAMP", exactly(0), Volatile(datetime::now_timestamp), "The time now, in milliseconds."),
    entry("GETCURRENTDATETIMESTATIC", exactly(0), Static(datetime::now_text), "The time at the start of the query, as a date."),
    entry("GETCURRENTTICKSSTATIC", exactly(0), Static(datetime::now_ticks), "The time at the start of the query, in ticks."),
    entry("GETCURRENTTIMESTAMPSTATIC", exactly(0), Static(datetime::now_timestamp), "The time at the start of the query, in milliseconds."),
    entry("NOW", between(0, 2), Volatile(datetime::now_plus), "The time now, plus a number of parts."),
    entry("AGO", exactly(2), Volatile(datetime::ago), "The time now, minus a number of parts."),
    // Type checks
    entry("IS_ARRAY", exactly(1), Scalar(types::is_array), "Whether the value is an array."),
    entry("IS_BOOL", exactly(1), Scalar(types::is_bool), "Whether the value is a boolean."),
    entry("IS_BOOLEAN", exactly(1), Scalar(types::is_bool), "IS_BOOL as resume filters spell it."),
    entry("IS_DATETIME", exactly(1), Scalar(types::is_datetime), "Whether the value is a date text."),
    entry("IS_DEFINED", exactly(1), Scalar(types::is_defined), "Whether there is a value."),
    entry("IS_FINITE_NUMBER", exactly(1), Scalar(types::is_finite_number), "Whether the value is a finite number."),
    entry("IS_INTEGER", exactly(1), Scalar(types::is_integer), "Whether the value is a 64-bit integer."),
    entry("IS_NULL", exactly(1), Scalar(types::is_null), "Whether the value is null."),
    entry("IS_NUMBER", exactly(1), Scalar(types::is_number), "Whether the value is a number."),
    entry("IS_OBJECT", exactly(1), Scalar(types::is_object), "Whether the value is an object."),
    entry("IS_PRIMITIVE", exactly(1), Scalar(types::is_primitive), "Whether the value is null, boolean, number or text."),
    entry("IS_STRING", exactly(1), Scalar(types::is_string), "Whether the value is a text."),
    // Spatial
    entry("ST_AREA", exactly(1), Scalar(spatial::area), "Area in square metres."),
    entry("ST_DISTANCE", exactly(2), Scalar(spatial::distance), "Distance in metres."),
    entry("ST_INTERSECTS", exactly(2), Scalar(spatial::intersects), "Whether two shapes share a point."),
    entry("ST_ISVALID", exactly(1), Scalar(spatial::is_valid), "Whether a shape is valid."),
    entry("ST_ISVALIDDETAILED", exactly(1), Scalar(spatial::is_valid_detailed), "Whether a shape is valid, and why not."),
    entry("ST_WITHIN", exactly(2), Scalar(spatial::within), "Whether a shape lies in another."),
    // Full text, vectors, ranking
    entry("FULLTEXTCONTAINS", exactly(2), Scalar(fulltext::contains), "Whether a text has a word or phrase."),
    entry("FULLTEXTCONTAINSALL", at_least(2), Scalar(fulltext::contains_all), "Whether a text has all words or phrases."),
    entry("FULLTEXTCONTAINSANY", at_least(2), Scalar(fulltext::contains_any), "Whether a text has one of the words or phrases."),
    entry("_FULLTEXTWORDCOUNT", exactly(1), Scalar(fulltext::word_count), "Number of words."),
    entry("_FULLTEXTSCORE", exactly(5), Scalar(fulltext::score), "BM25 with given statistics."),
    entry("FULLTEXTSCORE", at_least(2), Rank, "BM25, in ORDER BY RANK only."),
    entry("RRF", at_least(2), Rank, "Fuses ranks, in ORDER BY RANK only."),
    entry("VECTORDISTANCE", between(2, 4), Scalar(vector::distance), "Similarity of two vectors."),
    entry("_VECTORSCORE", between(2, 4), Scalar(vector::distance), "VECTORDISTANCE in component queries."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_other_spellings() {
        for (spelling, name) in [
            ("ArrayContains", "ARRAY_CONTAINS"),
            ("arraycontainsall", "ARRAY_CONTAINS_ALL"),
            ("IsDefined", "IS_DEFINED"),
            ("isfinitenumber", "IS_FINITE_NUMBER"),
            ("IndexOf", "INDEX_OF"),
            ("String_To_Array", "STRINGTOARRAY"),
            ("Set_Union", "SETUNION"),
            ("To_String", "TOSTRING"),
            ("FullText_Contains", "FULLTEXTCONTAINS"),
        ] {
            assert_eq!(find(spelling).map(|function| function.name), Some(name), "{spelling}");
        }
        for unknown in
            ["LAST_INDEX_OF", "STARTS_WITH", "ARRAY__SUM", "INTBITWISEAND", "IS", "ARRAY"]
        {
            assert!(find(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn names_are_upper_case_and_unique() {
        for function in functions() {
            assert_eq!(function.name, function.name.to_ascii_uppercase());
            assert!(std::ptr::eq(find(function.name).unwrap(), function), "{}", function.name);
            assert!(function.doc.ends_with('.'), "{}", function.name);
        }
    }
}
