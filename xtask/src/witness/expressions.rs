//! Constant expressions over all functions and operators, with right and wrong arguments.
//!
//! Left out, for `docs/compatibility.md` names them: U+0000 in texts, objects with a name twice, NaN among the numbers of a
//! median.

use model::{Object, Value};

use super::random::Random;

/// Functions, and the kinds of their arguments: a letter of [`constant`] each; those after `?` may be missing, the last one
/// is repeated after `+`.
const FUNCTIONS: &[(&str, &str)] = &[
    ("ABS", "n"),
    ("ACOS", "n"),
    ("ASIN", "n"),
    ("ATAN", "n"),
    ("ATN2", "nn"),
    ("CEILING", "n"),
    ("COS", "n"),
    ("COT", "n"),
    ("DEGREES", "n"),
    ("EXP", "n"),
    ("FLOOR", "n"),
    ("LOG", "n?n"),
    ("LOG10", "n"),
    ("NUMBERBIN", "n?n"),
    ("PI", ""),
    ("POWER", "nn"),
    ("RADIANS", "n"),
    ("ROUND", "n?i"),
    ("SIGN", "n"),
    ("SIN", "n"),
    ("SQRT", "n"),
    ("SQUARE", "n"),
    ("TAN", "n"),
    ("TRUNC", "n"),
    ("INTADD", "ii"),
    ("INTSUB", "ii"),
    ("INTMUL", "ii"),
    ("INTDIV", "ii"),
    ("INTMOD", "ii"),
    ("INTBITAND", "ii"),
    ("INTBITOR", "ii"),
    ("INTBITXOR", "ii"),
    ("INTBITNOT", "i"),
    ("INTBITLEFTSHIFT", "ii"),
    ("INTBITRIGHTSHIFT", "ii"),
    ("CONCAT", "ss+"),
    ("CONTAINS", "ss?b"),
    ("ContainsAllCi", "ss+"),
    ("ContainsAllCs", "ss+"),
    ("ContainsAnyCi", "ss+"),
    ("ContainsAnyCs", "ss+"),
    ("STARTSWITH", "ss?b"),
    ("ENDSWITH", "ss?b"),
    ("STRINGEQUALS", "ss?b"),
    ("INDEX_OF", "ss?i"),
    ("LASTINDEXOF", "ss?i"),
    ("LEFT", "si"),
    ("RIGHT", "si"),
    ("SUBSTRING", "sii"),
    ("LENGTH", "s"),
    ("LOWER", "s"),
    ("UPPER", "s"),
    ("TRIM", "s?s"),
    ("LTRIM", "s?s"),
    ("RTRIM", "s?s"),
    ("REPLACE", "sss"),
    ("REPLICATE", "si"),
    ("REVERSE", "s"),
    ("STRINGJOIN", "as"),
    ("STRINGSPLIT", "ss"),
    ("SUBSTRINGAFTER", "ss"),
    ("SUBSTRINGBEFORE", "ss"),
    ("LASTSUBSTRINGAFTER", "ss"),
    ("LASTSUBSTRINGBEFORE", "ss"),
    ("TOSTRING", "*"),
    ("STRINGTOARRAY", "j"),
    ("STRINGTOOBJECT", "j"),
    ("STRINGTOBOOLEAN", "j"),
    ("STRINGTONULL", "j"),
    ("STRINGTONUMBER", "j"),
    ("ARRAY_CONCAT", "aa+"),
    ("ARRAY_CONTAINS", "a*?b"),
    ("ARRAY_CONTAINS_ALL", "a*+"),
    ("ARRAY_CONTAINS_ANY", "a*+"),
    ("ARRAY_LENGTH", "a"),
    ("ARRAY_SLICE", "ai?i"),
    ("ARRAY_SUM", "a"),
    ("ARRAY_AVG", "a"),
    ("ARRAY_MEDIAN", "a"),
    ("ARRAY_MIN", "a"),
    ("ARRAY_MAX", "a"),
    ("CHOOSE", "i*+"),
    ("OBJECTTOARRAY", "o?ss"),
    ("SETINTERSECT", "aa"),
    ("SETUNION", "aa"),
    ("SETDIFFERENCE", "aa"),
    ("SETEQUAL", "aa"),
    ("IIF", "b**"),
    ("DATETIMEADD", "pid"),
    ("DATETIMEDIFF", "pdd"),
    ("DATETIMEPART", "pd"),
    ("DATETIMEFROMPARTS", "iii?iiii"),
    ("DATETIMEBIN", "dp?id"),
    ("DATETIMEFORMAT", "df"),
    ("DATETIMETOTICKS", "d"),
    ("TICKSTODATETIME", "i?f"),
    ("DATETIMETOTIMESTAMP", "d"),
    ("TIMESTAMPTODATETIME", "i?f"),
    ("YEAR", "d"),
    ("MONTH", "d"),
    ("DAY", "d"),
    ("IS_ARRAY", "*"),
    ("IS_BOOL", "*"),
    ("IS_DATETIME", "d"),
    ("IS_DEFINED", "*"),
    ("IS_FINITE_NUMBER", "n"),
    ("IS_INTEGER", "n"),
    ("IS_NULL", "*"),
    ("IS_NUMBER", "*"),
    ("IS_OBJECT", "*"),
    ("IS_PRIMITIVE", "*"),
    ("IS_STRING", "*"),
    ("ST_DISTANCE", "gg"),
    ("ST_WITHIN", "gg"),
    ("ST_INTERSECTS", "gg"),
    ("ST_ISVALID", "g"),
    ("ST_ISVALIDDETAILED", "g"),
    ("ST_AREA", "g"),
];

const OPERATORS: &[&str] = &[
    "*", "/", "%", "+", "-", "<<", ">>", ">>>", "<", "<=", ">", ">=", "=", "!=", "&", "^", "|",
    "||", "AND", "OR", "??",
];

const NUMBERS: &[&str] = &[
    "0",
    "-0.0",
    "1",
    "-1",
    "2",
    "3.5",
    "-2.5",
    "0.1",
    "0.2",
    "0.5",
    "1e10",
    "1e15",
    "1e21",
    "1e308",
    "-1e308",
    "5e-324",
    "1.7976931348623157e308",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551616",
    "2147483648",
    "4294967296",
    "4294967295",
    "0x1F",
    "NaN",
    "Infinity",
    "-Infinity",
    "1000000007",
    "0.30000000000000004",
    "123456.789",
    "1e-7",
    "100",
];

const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'A'",
    "'abc'",
    "'ABC'",
    "'abcabc'",
    "'  trim  '",
    "'Hello World'",
    "'b'",
    "'c'",
    "' '",
    "'ß'",
    "'ÄÖÜ'",
    "'İi'",
    "'\\u00e9'",
    "'e\\u0301'",
    "'Σσς'",
    "'\\n\\t'",
    "'1'",
    "'-0'",
    "'a,b,,c'",
    "','",
    "'\\\"'",
    "'\\\\'",
    "'xxxx'",
    "'xx'",
    "'日本語'",
    "'K'",
];

const JSONS: &[&str] = &[
    "'1'",
    "'-0'",
    "'1.50'",
    "' 1 '",
    "'1e3'",
    "'1e400'",
    "'0x1F'",
    "'01'",
    "'.5'",
    "'5.'",
    "'+1'",
    "'NaN'",
    "'Infinity'",
    "'true'",
    "' false '",
    "'True'",
    "'null'",
    "'Null'",
    "'[]'",
    "'[1,2]'",
    "'[1,]'",
    "' [ 1 , \\\"a\\\" ] '",
    "'[[1]]'",
    "'{}'",
    "'{\\\"a\\\":1}'",
    "'{a:1}'",
    "\"{'a':1}\"",
    "'[1.0, 2e1]'",
    "'9007199254740993'",
    "'[9223372036854775808]'",
    "'\\\"a\\\"'",
    "'undefined'",
    "''",
    "'[undefined]'",
    "'[NaN]'",
];

const DATES: &[&str] = &[
    "'2021-06-15'",
    "'2021-06-15T12:34:56Z'",
    "'2021-06-15T12:34:56.7Z'",
    "'2021-06-15T12:34:56.7654321Z'",
    "'2021-06-15T12:34:56.76543210Z'",
    "'2021-06-15T24:00:00Z'",
    "'2021-06-15T23:59:60Z'",
    "'2020-02-29T00:00:00'",
    "'2021-02-29'",
    "'2021-13-01'",
    "'1601-01-01T00:00:00Z'",
    "'1600-12-31T23:59:59Z'",
    "'0001-01-01'",
    "'9999-12-31T23:59:59.9999999Z'",
    "'1970-01-01T00:00:00.0000000Z'",
    "'1969-12-31T23:59:59.9999999Z'",
    "'2021-06-15 12:34:56'",
    "'2021-06-15T12:34Z'",
    "'2021-06-15T12:34:56+01:00'",
    "'2021-6-15'",
    "'2021-06-15Z'",
    "'abc'",
    "'2000-01-31T10:20:30.4000000Z'",
    "'2024-12-31T23:59:59.9Z'",
];

const PARTS: &[&str] = &[
    "'year'",
    "'yyyy'",
    "'yy'",
    "'month'",
    "'mm'",
    "'m'",
    "'day'",
    "'dd'",
    "'d'",
    "'hour'",
    "'hh'",
    "'minute'",
    "'mi'",
    "'n'",
    "'second'",
    "'ss'",
    "'s'",
    "'millisecond'",
    "'ms'",
    "'microsecond'",
    "'mcs'",
    "'nanosecond'",
    "'ns'",
    "'Day'",
    "'week'",
    "'quarter'",
    "''",
];

const FORMATS: &[&str] = &[
    "'yyyy-MM-dd'",
    "'HH:mm:ss'",
    "'fff'",
    "'FFF'",
    "'fffffff'",
    "'FFFFFFF'",
    "'y'",
    "'yy'",
    "'yyy'",
    "'yyyyy'",
    "'M'",
    "'MMM'",
    "'MMMM'",
    "'d'",
    "'ddd'",
    "'dddd'",
    "'h'",
    "'hh'",
    "'H'",
    "'m'",
    "'s'",
    "'t'",
    "'tt'",
    "'K'",
    "'z'",
    "'zzz'",
    "'\\\\y'",
    "'%d'",
    "''",
    "'T'",
    "'yyyyMMddTHHmmss.FFFZ'",
    "'g'",
    "\"'q'\"",
    "'ffffffff'",
    "'q'",
    "'MM/dd/yyyy'",
];

const LISTS: &[&str] = &[
    "[]",
    "[1]",
    "[1,2,3]",
    "[3,1,2]",
    "[1,1,2]",
    "['a','b']",
    "['b','a','b']",
    "[null]",
    "[1,undefined,2]",
    "[undefined]",
    "[[1],[1]]",
    "[{'a':1},{'a':1,'b':2}]",
    "[true,false]",
    "[1,'a',null,true]",
    "[0.1,0.2,0.3]",
    "[9007199254740993,1]",
    "[NaN]",
    "[1e308,1e308]",
    "[-0.0,0]",
    "[1.0,1]",
    "[1,2,3,4]",
    "[9223372036854775807,1]",
    "['',' ']",
];

const OBJECTS: &[&str] = &[
    "{}",
    "{'a':1}",
    "{'a':1,'b':2}",
    "{'b':2,'a':1}",
    "{'a':undefined}",
    "{'a':null}",
    "{'a':{'b':[1]}}",
    "{'':''}",
    "{'x':'y'}",
    "{'a':0.1}",
];

const SHAPES: &[&str] = &[
    "{'type':'Point','coordinates':[0,0]}",
    "{'type':'Point','coordinates':[1,1]}",
    "{'type':'Point','coordinates':[31.9,-4.8]}",
    "{'type':'Point','coordinates':[181,0]}",
    "{'type':'Point','coordinates':[0,91]}",
    "{'type':'Point','coordinates':[0]}",
    "{'type':'Point'}",
    "{'type':'point','coordinates':[0,0]}",
    "{'type':'Point','coordinates':['0',0]}",
    "{'type':'LineString','coordinates':[[0,0],[2,2]]}",
    "{'type':'LineString','coordinates':[[0,0],[0,2],[2,2]]}",
    "{'type':'LineString','coordinates':[[0,0]]}",
    "{'type':'LineString','coordinates':[[0,0],[0,0]]}",
    "{'type':'Polygon','coordinates':[[[0,0],[2,0],[2,2],[0,2],[0,0]]]}",
    "{'type':'Polygon','coordinates':[[[0,0],[0,2],[2,2],[2,0],[0,0]]]}",
    "{'type':'Polygon','coordinates':[[[0,0],[2,0],[2,2],[0,2]]]}",
    "{'type':'Polygon','coordinates':[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}",
    "{'type':'Polygon','coordinates':[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[1,2],[2,2],[2,1],[1,1]]]}",
    "{'type':'Polygon','coordinates':[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[5,5],[5,6],[6,6],[6,5],[5,5]]]}",
    "{'type':'Polygon','coordinates':[[[0,0],[1,1],[0,0]]]}",
    "{'type':'Polygon','coordinates':[]}",
    "{'type':'MultiPolygon','coordinates':[[[[0,0],[2,0],[2,2],[0,2],[0,0]]]]}",
    "{'type':'MultiPoint','coordinates':[[0,0],[1,1]]}",
    "{'type':'Feature'}",
    "{'type':'GeometryCollection','geometries':[]}",
    "null",
    "{}",
];

/// A question about the value of an expression: `expression`, and `query`, whose range is that value as text.
pub(crate) fn question(random: &mut Random) -> Value {
    ask(&expression(random, 0))
}

pub(crate) fn ask(expression: &str) -> Value {
    let mut question = Object::new();
    question.insert("expression", expression);
    let query = format!("SELECT * FROM c WHERE c.pk = ToString({expression})");
    question.insert("query", query.as_str());
    Value::Object(question)
}

fn expression(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 21 } else { 63 }) {
        0..12 => call(random, depth),
        12..16 => {
            let left = operand(random, depth);
            let right = operand(random, depth);
            format!("({left} {} {right})", random.pick(OPERATORS))
        }
        16 => {
            let operator = random.pick(&["-", "+", "~", "NOT "]);
            format!("({operator}{})", operand(random, depth))
        }
        17 => {
            let word = random.pick(&["IN", "NOT IN"]);
            let needle = operand(random, depth);
            format!("({needle} {word} ({}, {}))", operand(random, depth), operand(random, depth))
        }
        18 => {
            let value = operand(random, depth);
            format!("({value} BETWEEN {} AND {})", operand(random, depth), operand(random, depth))
        }
        19 => {
            let condition = operand(random, depth);
            format!("({condition} ? {} : {})", operand(random, depth), operand(random, depth))
        }
        20 => {
            let name = format!("v{depth}");
            let value = operand(random, depth);
            let other = operand(random, depth);
            let body = match random.below(4) {
                0 => format!("{name} {} {other}", random.pick(&["+", "=", "||", "<"])),
                1 => format!("[{name}, {other}, {name}]"),
                2 => format!("IS_DEFINED({name})"),
                _ => format!("({name} ?? {other})"),
            };
            format!("(LET {name} = {value} IN {body})")
        }
        _ => constant(random, '*'),
    }
}

fn operand(random: &mut Random, depth: usize) -> String {
    if depth < 2 && random.is_one_in(4) {
        return expression(random, depth + 1);
    }
    let kind = if random.is_one_in(2) { 'n' } else { '*' };
    constant(random, kind)
}

fn call(random: &mut Random, depth: usize) -> String {
    let (name, kinds) = FUNCTIONS[random.below(FUNCTIONS.len())];
    let mut arguments: Vec<String> = Vec::new();
    let mut is_optional = false;
    let mut last = '*';
    for kind in kinds.chars() {
        match kind {
            '?' => is_optional = true,
            '+' => {
                for _ in 0..random.below(3) {
                    arguments.push(argument(random, depth, last));
                }
            }
            _ if is_optional && random.is_one_in(3) => break,
            _ => arguments.push(argument(random, depth, kind)),
        }
        last = kind;
    }
    if random.is_one_in(200) {
        arguments.pop();
    }
    format!("{name}({})", arguments.join(", "))
}

fn argument(random: &mut Random, depth: usize, kind: char) -> String {
    if depth < 2 && random.is_one_in(6) {
        return expression(random, depth + 1);
    }
    let kind = if random.is_one_in(12) { '*' } else { kind };
    constant(random, kind)
}

fn constant(random: &mut Random, kind: char) -> String {
    let list = match kind {
        'n' if random.is_one_in(2) => return number(random, false),
        'n' => NUMBERS,
        'i' if random.is_one_in(12) => NUMBERS,
        'i' => return number(random, true),
        's' => TEXTS,
        'j' => JSONS,
        'd' if random.is_one_in(2) => return date(random),
        'd' => DATES,
        'p' => PARTS,
        'f' => FORMATS,
        'a' => LISTS,
        'o' => OBJECTS,
        'g' => SHAPES,
        'b' => &["true", "false", "true", "false", "null", "1", "undefined"],
        _ => match random.below(9) {
            0 | 1 => return constant(random, 'n'),
            2 => TEXTS,
            3 => LISTS,
            4 => OBJECTS,
            5 => JSONS,
            6 => DATES,
            _ => &["true", "false", "null", "undefined"],
        },
    };
    random.pick(list).to_owned()
}

fn number(random: &mut Random, is_integer: bool) -> String {
    let sign = if random.is_one_in(3) { "-" } else { "" };
    let magnitude = match random.below(6) {
        0 => random.below(4),
        1 | 2 => random.below(30),
        3 => random.below(5000),
        4 => random.below(1 << 40),
        _ => random.below(1 << 62),
    };
    if is_integer || random.is_one_in(3) {
        return format!("{sign}{magnitude}");
    }
    let magnitude = magnitude % 100_000;
    let n_digits = 1 + random.below(5);
    format!("{sign}{magnitude}.{:0n_digits$}", random.below(10_usize.pow(5)))
}

fn date(random: &mut Random) -> String {
    let year = match random.below(4) {
        0 => 1590 + random.below(30),
        1 => 1960 + random.below(20),
        2 => 1 + random.below(9999),
        _ => 2000 + random.below(30),
    };
    let n_days = if random.is_one_in(9) { 31 } else { 28 };
    let (month, day) = (1 + random.below(12), 1 + random.below(n_days));
    if random.is_one_in(4) {
        return format!("'{year:04}-{month:02}-{day:02}'");
    }
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    let fraction = match random.below(4) {
        0 => String::new(),
        n => format!(".{}", random.below(10_usize.pow(u32::try_from(2 * n).unwrap_or(2)))),
    };
    let zone = if random.is_one_in(5) { "" } else { "Z" };
    format!("'{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}'")
}
