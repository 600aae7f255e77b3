//! The table of functions: name, number of arguments, role, memory, documentation.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Prepared;
use super::footprint::{self, Footprint};
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
    pub(super) footprint: Footprint,
    /// One sentence for the function list.
    pub(crate) doc: &'static str,
}

impl Function {
    /// Returns whether a call takes no longer than to go over its arguments once or twice.
    pub(crate) fn is_cheap(&self, prepared: &Prepared) -> bool {
        let is_small = matches!(self.footprint, Footprint::Small | Footprint::Argument);
        is_small && matches!(prepared, Prepared::Nothing) && !matches!(self.role, Role::Long(_))
    }
}

/// Returns whether a name, in any case, is that of an aggregate.
pub fn is_aggregate(name: &str) -> bool {
    find(name).is_some_and(|function| matches!(function.role, Role::Aggregate(_)))
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

const fn entry(
    name: &'static str,
    arity: Arity,
    role: Role,
    footprint: Footprint,
    doc: &'static str,
) -> Function {
    Function { name, arity, role, footprint, doc }
}

use Footprint::{Argument, Bytes, Counted, Folded, Small};
use Role::{Aggregate, Long, Rank, Scalar, Static, Volatile};

#[rustfmt::skip]
static FUNCTIONS: &[Function] = &[
    // Aggregates
    entry("COUNT", exactly(1), Aggregate(AggregateKind::Count), Folded, "Number of defined values."),
    entry("COUNTIF", exactly(1), Aggregate(AggregateKind::CountIf), Folded, "Number of rows where the value is true."),
    entry("SUM", exactly(1), Aggregate(AggregateKind::Sum), Folded, "Sum; undefined if any value is not a number."),
    entry("AVG", exactly(1), Aggregate(AggregateKind::Average), Folded, "Mean; undefined if any value is not a number."),
    entry("MIN", exactly(1), Aggregate(AggregateKind::Min), Folded, "Smallest primitive by type order."),
    entry("MAX", exactly(1), Aggregate(AggregateKind::Max), Folded, "Largest primitive by type order."),
    entry("MAKELIST", exactly(1), Aggregate(AggregateKind::MakeList), Folded, "Array of all defined values."),
    entry("MAKESET", exactly(1), Aggregate(AggregateKind::MakeSet), Folded, "Array of distinct defined values."),
    // Arrays
    entry("ARRAY_CONCAT", at_least(2), Scalar(array::concat), Bytes(footprint::array_concat), "Joins arrays."),
    entry("ARRAY_CONTAINS", between(2, 3), Scalar(array::contains), Small, "Whether an array has a value; a third true matches objects partially."),
    entry("_TRY_ARRAY_CONTAINS", between(2, 3), Scalar(array::contains), Small, "ARRAY_CONTAINS as the planner writes it."),
    entry("ARRAY_CONTAINS_ALL", at_least(2), Scalar(array::contains_all), Small, "Whether an array has every value."),
    entry("ARRAY_CONTAINS_ANY", at_least(2), Scalar(array::contains_any), Small, "Whether an array has one of the values."),
    entry("ARRAY_LENGTH", exactly(1), Scalar(array::length), Small, "Number of elements."),
    entry("ARRAY_SLICE", between(2, 3), Scalar(array::slice), Bytes(footprint::array_slice), "Part of an array; a negative start counts from the end."),
    entry("ARRAY_SUM", exactly(1), Scalar(array::sum), Small, "Sum of a number array."),
    entry("ARRAY_AVG", exactly(1), Scalar(array::avg), Small, "Mean of a number array."),
    entry("ARRAY_MEDIAN", exactly(1), Scalar(array::median), Bytes(footprint::numbers_of_array), "Median of a number array."),
    entry("ARRAY_MIN", exactly(1), Scalar(array::min), Bytes(footprint::element), "Smallest element by type order."),
    entry("ARRAY_MAX", exactly(1), Scalar(array::max), Bytes(footprint::element), "Largest element by type order."),
    entry("CHOOSE", at_least(2), Scalar(array::choose), Argument, "The n-th expression, counted from 1."),
    entry("OBJECTTOARRAY", between(1, 3), Scalar(array::object_to_array), Bytes(footprint::pairs), "Members of an object as name and value pairs."),
    entry("SETINTERSECT", exactly(2), Scalar(set::intersect), Bytes(footprint::sets), "Values in both arrays."),
    entry("SETUNION", exactly(2), Scalar(set::union), Bytes(footprint::sets), "Values in either array."),
    entry("SETDIFFERENCE", exactly(2), Scalar(set::difference), Bytes(footprint::sets), "Values of the first array that the second lacks."),
    entry("SETEQUAL", exactly(2), Scalar(set::equal), Bytes(footprint::sets), "Whether two arrays have the same values."),
    // Conditional and item
    entry("IIF", exactly(3), Scalar(item::iif), Argument, "The second value if the first is true, else the third."),
    entry("DOCUMENTID", exactly(1), Scalar(item::document_id), Small, "Number of the item within its physical partition."),
    // Mathematics
    entry("ABS", exactly(1), Scalar(math::abs), Small, "Absolute value."),
    entry("ACOS", exactly(1), Scalar(math::acos), Small, "Arc cosine."),
    entry("ASIN", exactly(1), Scalar(math::asin), Small, "Arc sine."),
    entry("ATAN", exactly(1), Scalar(math::atan), Small, "Arc tangent."),
    entry("ATN2", exactly(2), Scalar(math::atn2), Small, "Angle of the point (x, y), arguments y, x."),
    entry("CEILING", exactly(1), Scalar(math::ceiling), Small, "Smallest integer not below."),
    entry("COS", exactly(1), Scalar(math::cos), Small, "Cosine."),
    entry("COT", exactly(1), Scalar(math::cot), Small, "Cotangent."),
    entry("DEGREES", exactly(1), Scalar(math::degrees), Small, "Radians to degrees."),
    entry("EXP", exactly(1), Scalar(math::exp), Small, "Exponential."),
    entry("FLOOR", exactly(1), Scalar(math::floor), Small, "Largest integer not above."),
    entry("LOG", between(1, 2), Scalar(math::log), Small, "Natural logarithm, or to a base."),
    entry("LOG10", exactly(1), Scalar(math::log10), Small, "Decimal logarithm."),
    entry("NUMBERBIN", between(1, 2), Scalar(math::number_bin), Small, "Rounds down to a multiple."),
    entry("PI", exactly(0), Scalar(math::pi), Small, "The constant."),
    entry("POWER", exactly(2), Scalar(math::power), Small, "Power."),
    entry("RADIANS", exactly(1), Scalar(math::radians), Small, "Degrees to radians."),
    entry("RAND", exactly(0), Volatile(math::rand), Small, "A random number in [0, 1)."),
    entry("ROUND", between(1, 2), Scalar(math::round), Small, "Nearest integer, halves away from zero."),
    entry("SIGN", exactly(1), Scalar(math::sign), Small, "-1, 0 or 1."),
    entry("SIN", exactly(1), Scalar(math::sin), Small, "Sine."),
    entry("SQRT", exactly(1), Scalar(math::sqrt), Small, "Square root."),
    entry("SQUARE", exactly(1), Scalar(math::square), Small, "Square."),
    entry("TAN", exactly(1), Scalar(math::tan), Small, "Tangent."),
    entry("TRUNC", exactly(1), Scalar(math::trunc), Small, "Cuts the fraction."),
    entry("INTADD", exactly(2), Scalar(math::int_add), Small, "64-bit sum, wrapping."),
    entry("INTSUB", exactly(2), Scalar(math::int_sub), Small, "64-bit difference, wrapping."),
    entry("INTMUL", exactly(2), Scalar(math::int_mul), Small, "64-bit product, wrapping."),
    entry("INTDIV", exactly(2), Scalar(math::int_div), Small, "64-bit quotient."),
    entry("INTMOD", exactly(2), Scalar(math::int_mod), Small, "64-bit remainder with the sign of the dividend."),
    entry("INTBITAND", exactly(2), Scalar(math::int_and), Small, "64-bit and."),
    entry("INTBITOR", exactly(2), Scalar(math::int_or), Small, "64-bit or."),
    entry("INTBITXOR", exactly(2), Scalar(math::int_xor), Small, "64-bit exclusive or."),
    entry("INTBITNOT", exactly(1), Scalar(math::int_not), Small, "64-bit complement."),
    entry("INTBITLEFTSHIFT", exactly(2), Scalar(math::int_shift_left), Small, "64-bit left shift."),
    entry("INTBITRIGHTSHIFT", exactly(2), Scalar(math::int_shift_right), Small, "64-bit right shift."),
    // Strings
    entry("CONCAT", at_least(2), Scalar(string::concat), Bytes(footprint::concat), "Joins texts."),
    entry("CONTAINS", between(2, 3), Scalar(string_search::contains), Bytes(footprint::folded_texts), "Whether a text has a part; a third true ignores case."),
    entry("CONTAINS_ALL_CI", at_least(2), Scalar(string_search::contains_all_ci), Bytes(footprint::folded_texts), "Whether a text has all parts, ignoring case."),
    entry("CONTAINS_ALL_CS", at_least(2), Scalar(string_search::contains_all_cs), Bytes(footprint::folded_texts), "Whether a text has all parts."),
    entry("CONTAINS_ANY_CI", at_least(2), Scalar(string_search::contains_any_ci), Bytes(footprint::folded_texts), "Whether a text has one of the parts, ignoring case."),
    entry("CONTAINS_ANY_CS", at_least(2), Scalar(string_search::contains_any_cs), Bytes(footprint::folded_texts), "Whether a text has one of the parts."),
    entry("CONTAINSALLCI", at_least(2), Scalar(string_search::contains_all_ci), Bytes(footprint::folded_texts), "CONTAINS_ALL_CI as SDKs spell it."),
    entry("CONTAINSALLCS", at_least(2), Scalar(string_search::contains_all_cs), Bytes(footprint::folded_texts), "CONTAINS_ALL_CS as SDKs spell it."),
    entry("CONTAINSANYCI", at_least(2), Scalar(string_search::contains_any_ci), Bytes(footprint::folded_texts), "CONTAINS_ANY_CI as SDKs spell it."),
    entry("CONTAINSANYCS", at_least(2), Scalar(string_search::contains_any_cs), Bytes(footprint::folded_texts), "CONTAINS_ANY_CS as SDKs spell it."),
    entry("STARTSWITH", between(2, 3), Scalar(string_search::starts_with), Bytes(footprint::folded_texts), "Whether a text starts with a part; a third true ignores case."),
    entry("ENDSWITH", between(2, 3), Scalar(string_search::ends_with), Bytes(footprint::folded_texts), "Whether a text ends with a part; a third true ignores case."),
    entry("STRINGEQUALS", between(2, 3), Scalar(string_search::string_equals), Bytes(footprint::folded_texts), "Whether two texts are equal; a third true ignores case."),
    entry("INDEX_OF", between(2, 3), Scalar(string_search::index_of), Small, "First position of a part, or -1."),
    entry("LASTINDEXOF", between(2, 3), Scalar(string_search::last_index_of), Small, "Last position of a part, or -1."),
    entry("REGEXMATCH", between(2, 3), Long(regex::matches), Bytes(footprint::pattern), "Whether a regular expression matches; options m, s, i, x."),
    entry("REGEXEXTRACT", between(2, 4), Long(regex::extract), Bytes(footprint::regex_extract), "First match of a regular expression, or a group of it."),
    entry("REGEXEXTRACTALL", between(2, 4), Long(regex::extract_all), Counted, "All matches of a regular expression, or a group of each."),
    entry("REGEXREPLACE", between(3, 4), Long(regex::replace), Bytes(footprint::regex_replace), "Replaces the first match of a regular expression."),
    entry("REGEXREPLACEALL", between(3, 4), Long(regex::replace_all), Bytes(footprint::regex_replace), "Replaces all matches of a regular expression."),
    entry("LEFT", exactly(2), Scalar(string::left), Bytes(footprint::part_of_text), "First characters."),
    entry("RIGHT", exactly(2), Scalar(string::right), Bytes(footprint::part_of_text), "Last characters."),
    entry("SUBSTRING", exactly(3), Scalar(string::substring), Bytes(footprint::part_of_text), "Characters from a position."),
    entry("LENGTH", exactly(1), Scalar(string::length), Small, "Number of UTF-16 units."),
    entry("LOWER", exactly(1), Scalar(string::lower), Bytes(footprint::mapped_text), "Lower case."),
    entry("UPPER", exactly(1), Scalar(string::upper), Bytes(footprint::mapped_text), "Upper case."),
    entry("TRIM", between(1, 2), Scalar(string::trim), Bytes(footprint::cut_text), "Cuts blanks, or characters of a set, at both ends."),
    entry("LTRIM", between(1, 2), Scalar(string::trim_left), Bytes(footprint::cut_text), "TRIM at the start."),
    entry("RTRIM", between(1, 2), Scalar(string::trim_right), Bytes(footprint::cut_text), "TRIM at the end."),
    entry("REPLACE", exactly(3), Scalar(string::replace), Bytes(footprint::replace), "Replaces all occurrences."),
    entry("REPLICATE", exactly(2), Scalar(string::replicate), Bytes(footprint::replicate), "Repeats a text."),
    entry("REVERSE", exactly(1), Scalar(string::reverse), Bytes(footprint::mapped_text), "Reverses a text."),
    entry("STRINGJOIN", exactly(2), Scalar(string::join), Bytes(footprint::join), "Joins an array of texts with a separator."),
    entry("STRINGSPLIT", exactly(2), Scalar(string::split), Bytes(footprint::split), "Splits a text at a separator."),
    entry("SUBSTRINGAFTER", exactly(2), Scalar(string::after_first), Bytes(footprint::cut_text), "Text after the first delimiter."),
    entry("SUBSTRINGBEFORE", exactly(2), Scalar(string::before_first), Bytes(footprint::cut_text), "Text before the first delimiter."),
    entry("LASTSUBSTRINGAFTER", exactly(2), Scalar(string::after_last), Bytes(footprint::cut_text), "Text after the last delimiter."),
    entry("LASTSUBSTRINGBEFORE", exactly(2), Scalar(string::before_last), Bytes(footprint::cut_text), "Text before the last delimiter."),
    entry("TOSTRING", exactly(1), Scalar(conversion::to_text), Bytes(footprint::written), "The value as text."),
    entry("STRINGTOARRAY", exactly(1), Scalar(conversion::to_array), Bytes(footprint::tree), "Reads a JSON array."),
    entry("STRINGTOOBJECT", exactly(1), Scalar(conversion::to_object), Bytes(footprint::tree), "Reads a JSON object."),
    entry("STRINGTOBOOLEAN", exactly(1), Scalar(conversion::to_boolean), Small, "Reads true or false."),
    entry("STRINGTONULL", exactly(1), Scalar(conversion::to_null), Small, "Reads null."),
    entry("STRINGTONUMBER", exactly(1), Scalar(conversion::to_number), Bytes(footprint::few_texts), "Reads a number."),
    // Dates
    entry("DATETIMEADD", between(2, 3), Scalar(datetime::add), Bytes(footprint::few_texts), "Moves a date by a number of parts."),
    entry("DATETIMEDIFF", exactly(3), Scalar(datetime::diff), Bytes(footprint::few_texts), "Counts boundaries of a part between two dates."),
    entry("DATETIMEPART", exactly(2), Scalar(datetime::part), Bytes(footprint::few_texts), "One part of a date."),
    entry("DATETIMEFROMPARTS", between(3, 7), Scalar(datetime::from_parts), Bytes(footprint::few_texts), "A date of its parts."),
    entry("DATETIMEBIN", between(2, 4), Scalar(datetime::bin), Bytes(footprint::few_texts), "Rounds a date down."),
    entry("DATETIMEFORMAT", exactly(2), Scalar(datetime::format_date), Bytes(footprint::few_texts), "Prints a date by a pattern."),
    entry("DATETIMETOTICKS", exactly(1), Scalar(datetime::to_ticks), Bytes(footprint::few_texts), "100-nanosecond ticks since 1970."),
    entry("TICKSTODATETIME", between(1, 2), Scalar(datetime::from_ticks), Bytes(footprint::few_texts), "A date of ticks, printed by a pattern."),
    entry("DATETIMETOTIMESTAMP", exactly(1), Scalar(datetime::to_timestamp), Bytes(footprint::few_texts), "Milliseconds since 1970."),
    entry("TIMESTAMPTODATETIME", between(1, 2), Scalar(datetime::from_timestamp), Bytes(footprint::few_texts), "A date of milliseconds, printed by a pattern."),
    entry("YEAR", exactly(1), Scalar(datetime::year), Bytes(footprint::few_texts), "Year of a date."),
    entry("MONTH", exactly(1), Scalar(datetime::month), Bytes(footprint::few_texts), "Month of a date."),
    entry("DAY", exactly(1), Scalar(datetime::day), Bytes(footprint::few_texts), "Day of a date."),
    entry("GETCURRENTDATETIME", exactly(0), Volatile(datetime::now_text), Small, "The time now, as a date."),
    entry("GETCURRENTTICKS", exactly(0), Volatile(datetime::now_ticks), Small, "The time now, in ticks."),
    entry("GETCURRENTTIMESTAMP", exactly(0), Volatile(datetime::now_timestamp), Small, "The time now, in milliseconds."),
    entry("GETCURRENTDATETIMESTATIC", exactly(0), Static(datetime::now_text), Small, "The time at the start of the query, as a date."),
    entry("GETCURRENTTICKSSTATIC", exactly(0), Static(datetime::now_ticks), Small, "The time at the start of the query, in ticks."),
    entry("GETCURRENTTIMESTAMPSTATIC", exactly(0), Static(datetime::now_timestamp), Small, "The time at the start of the query, in milliseconds."),
    entry("NOW", between(0, 2), Volatile(datetime::now_plus), Bytes(footprint::few_texts), "The time now, plus a number of parts."),
    entry("AGO", between(1, 2), Volatile(datetime::ago), Bytes(footprint::few_texts), "The time now, minus a number of parts."),
    // Type checks
    entry("IS_ARRAY", exactly(1), Scalar(types::is_array), Small, "Whether the value is an array."),
    entry("IS_BOOL", exactly(1), Scalar(types::is_bool), Small, "Whether the value is a boolean."),
    entry("IS_BOOLEAN", exactly(1), Scalar(types::is_bool), Small, "IS_BOOL as resume filters spell it."),
    entry("IS_DATETIME", exactly(1), Scalar(types::is_datetime), Small, "Whether the value is a date text."),
    entry("IS_DEFINED", exactly(1), Scalar(types::is_defined), Small, "Whether there is a value."),
    entry("IS_FINITE_NUMBER", exactly(1), Scalar(types::is_finite_number), Small, "Whether the value is a finite number."),
    entry("IS_INTEGER", exactly(1), Scalar(types::is_integer), Small, "Whether the value is a 64-bit integer."),
    entry("IS_NULL", exactly(1), Scalar(types::is_null), Small, "Whether the value is null."),
    entry("IS_NUMBER", exactly(1), Scalar(types::is_number), Small, "Whether the value is a number."),
    entry("IS_OBJECT", exactly(1), Scalar(types::is_object), Small, "Whether the value is an object."),
    entry("IS_PRIMITIVE", exactly(1), Scalar(types::is_primitive), Small, "Whether the value is null, boolean, number or text."),
    entry("IS_STRING", exactly(1), Scalar(types::is_string), Small, "Whether the value is a text."),
    // Spatial
    entry("ST_AREA", exactly(1), Scalar(spatial::area), Bytes(footprint::shapes), "Area in square metres."),
    entry("ST_DISTANCE", exactly(2), Scalar(spatial::distance), Bytes(footprint::shapes), "Distance in metres."),
    entry("ST_INTERSECTS", exactly(2), Scalar(spatial::intersects), Bytes(footprint::shapes), "Whether two shapes share a point."),
    entry("ST_ISVALID", exactly(1), Scalar(spatial::is_valid), Bytes(footprint::shapes), "Whether a shape is valid."),
    entry("ST_ISVALIDDETAILED", exactly(1), Scalar(spatial::is_valid_detailed), Bytes(footprint::shapes), "Whether a shape is valid, and why not."),
    entry("ST_WITHIN", exactly(2), Scalar(spatial::within), Bytes(footprint::shapes), "Whether a shape lies in another."),
    // Full text, vectors, ranking
    entry("FULLTEXTCONTAINS", exactly(2), Scalar(fulltext::contains), Bytes(footprint::words), "Whether a text has a word or phrase."),
    entry("FULLTEXTCONTAINSALL", at_least(2), Scalar(fulltext::contains_all), Bytes(footprint::words), "Whether a text has all words or phrases."),
    entry("FULLTEXTCONTAINSANY", at_least(2), Scalar(fulltext::contains_any), Bytes(footprint::words), "Whether a text has one of the words or phrases."),
    entry("_FULLTEXTWORDCOUNT", exactly(1), Scalar(fulltext::word_count), Bytes(footprint::words), "Number of words."),
    entry("_FULLTEXTSCORE", exactly(5), Scalar(fulltext::score), Bytes(footprint::words), "BM25 with given statistics."),
    entry("FULLTEXTSCORE", at_least(2), Rank, Folded, "BM25, in ORDER BY RANK only."),
    entry("COMBINEDSCORE", at_least(2), Rank, Folded, "Sums scores of texts, in ORDER BY RANK only."),
    entry("RRF", at_least(2), Rank, Folded, "Fuses ranks, in ORDER BY RANK only."),
    entry("VECTORDISTANCE", between(2, 4), Scalar(vector::distance), Bytes(footprint::numbers_of_array), "Similarity of two vectors."),
    entry("_VECTORSCORE", between(2, 4), Scalar(vector::distance), Bytes(footprint::numbers_of_array), "VECTORDISTANCE in component queries."),
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
