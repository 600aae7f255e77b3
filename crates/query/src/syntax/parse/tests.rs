//! The parser: what is accepted, what is refused, and where the refusal points.

use super::*;
use crate::syntax::format;

#[track_caller]
fn check(text: &str, canonical: &str) {
    assert_eq!(format::query(&parse(text).unwrap()), canonical);
}

#[track_caller]
fn check_error(text: &str, code: &str, span: (u32, u32)) {
    let error = parse(text).unwrap_err();
    let diagnostic = &error.diagnostics()[0];
    assert_eq!(diagnostic.code.to_string(), code, "{error}");
    assert_eq!((diagnostic.span.start, diagnostic.span.end), span, "{error}");
}

#[test]
fn operators_bind_by_level() {
    for (text, canonical) in [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("a OR b AND c", "(a OR (b AND c))"),
        ("NOT a = 1 AND b", "(((NOT a) = 1) AND b)"),
        ("NOT a IN (1)", "((NOT a) IN (1))"),
        ("NOT a BETWEEN 1 AND 2", "((NOT a) BETWEEN 1 AND 2)"),
        ("a = NOT b = c", "((a = (NOT b)) = c)"),
        ("a = 1 | 2", "(a = (1 | 2))"),
        ("5 & 3 = 1", "((5 & 3) = 1)"),
        ("1 ^ 3 & 2", "((1 ^ 3) & 2)"),
        ("1 | 2 + 3 * 4", "((1 | 2) + (3 * 4))"),
        ("a || b = c || d", "((a || b) = (c || d))"),
        ("a || b + c", "(a || (b + c))"),
        ("1 << 2 < 3", "((1 << 2) < 3)"),
        ("1 < 2 << 3 + 1", "((1 < 2) << (3 + 1))"),
        ("a = b < c", "((a = b) < c)"),
        ("a + 1 NOT IN (1, 2)", "((a + 1) NOT  IN (1, 2))"),
        ("a = b IN (1) AND c", "(((a = b) IN (1)) AND c)"),
        ("a = b LIKE c = d", "((a = b) LIKE (c = d))"),
        ("a BETWEEN 1 = 2 AND 3 & 4", "(a BETWEEN (1 = 2) AND (3 & 4))"),
        ("a BETWEEN 1 AND 2 ?? b", "((a BETWEEN 1 AND 2) ?? b)"),
        ("a ?? b ?? c OR d", "(a ?? (b ?? (c OR d)))"),
        ("(a ?? b) ?? c", "((a ?? b) ?? c)"),
        ("1 ? 2 ?? 3 : 4", "(1 ? (2 ?? 3) : 4)"),
        ("a ?? b ? c : d ? e : f", "((a ?? b) ? c : (d ? e : f))"),
        ("a LIKE 'x!%' ESCAPE '!' OR b", "((a LIKE \"x!%\" ESCAPE \"!\") OR b)"),
        ("-a.b[0]['c']", "(- a.b[0][\"c\"])"),
        ("a <> 1", "(a != 1)"),
        ("(-a).b + (1).c", "((- a).b + (1).c)"),
        ("a+1+2+3+4+5", "(((((a + 1) + 2) + 3) + 4) + 5)"),
        ("- 1 - -1 - -2.50", "(((- 1) - -1) - -2.5)"),
        ("(a).b", "a.b"),
        ("0x1F + 1e2 + 1e21 + 0.1", "(((31 + 100) + 1e+21) + 0.1)"),
        (
            "9223372036854775808 - -9223372036854775808",
            "(9.2233720368547758e+18 - -9223372036854775808)",
        ),
        ("-Infinity + NaN", "(-Infinity + NaN)"),
        ("udf.f(left(a, 1))", "udf.f(LEFT(a, 1))"),
    ] {
        check(&format!("SELECT VALUE {text}"), &format!("SELECT VALUE {canonical}"));
    }
}

#[test]
fn between_in_and_like_stand_alone() {
    for (text, near, start) in [
        ("a BETWEEN 1 AND 2 AND b", "AND", 18),
        ("a BETWEEN 1 AND 2 OR b", "OR", 18),
        ("a AND b BETWEEN 1 AND 2", "BETWEEN", 8),
        ("a AND b NOT BETWEEN 1 AND 2", "BETWEEN", 12),
        ("a IN (1) = true", "=", 9),
        ("a IN (1) IN (2)", "IN", 9),
        ("a LIKE 'x' LIKE 'y'", "LIKE", 11),
        ("a NOT 1", "1", 6),
        ("a BETWEEN 1 ?? 2 AND 3", "??", 12),
        ("a && b", "&", 3),
        ("a IN ()", ")", 6),
        ("f(SELECT 1)", ")", 10),
    ] {
        let error = parse(&format!("SELECT VALUE {text}")).unwrap_err();
        let diagnostic = &error.diagnostics()[0];
        assert_eq!(diagnostic.message, format!("Syntax error, incorrect syntax near '{near}'."));
        assert_eq!(diagnostic.span.start, 13 + start, "{text}");
    }
}

#[test]
fn parentheses_on_the_left_cost_no_depth() {
    let text = format!("SELECT VALUE {}a{}", "(".repeat(5000), " OR b)".repeat(5000));
    let printed = format::query(&parse(&text).unwrap());
    assert_eq!(format::query(&parse(&printed).unwrap()), printed);
}

#[test]
fn clauses_print_one_per_line() {
    check(
        "select distinct top 5 c.a as x, 1 from Root c join t in c.tags join (select value 1) as s \
         where c.a = 'x' group by c.a order by c.a desc offset 1 limit @n",
        "SELECT DISTINCT TOP 5 c.a AS x, 1\nFROM Root AS c\nJOIN t IN c.tags\nJOIN (\n    SELECT \
         VALUE 1\n) AS s\nWHERE (c.a = \"x\")\nGROUP BY c.a\nORDER BY c.a DESC\nOFFSET 1 LIMIT @n",
    );
}

#[test]
fn mistakes_are_placed() {
    check_error("SELECT c.a, FROM c", "SC1001", (12, 16));
    check_error("SELECT TOP -1 * FROM c", "SC1001", (11, 12));
    check_error("SELECT", "SC1002", (6, 6));
    check_error("SELECT * FROM c WHERE", "SC1002", (21, 21));
    check_error("SELECT c.x AS Value FROM c", "SC1001", (14, 19));
    check_error("SELECT * FROM c OFFSET 5", "SC1002", (24, 24));
}

#[test]
fn deep_texts_are_refused_and_long_ones_are_not() {
    for open in [
        "(",
        "[",
        "{a:",
        "-",
        "NOT ",
        "(SELECT VALUE ",
        "f(",
        "1 ? 1 : ",
        "x[",
        "ARRAY(SELECT VALUE ",
    ] {
        let text = format!("SELECT VALUE {}1", open.repeat(100_000 / open.len()));
        assert!(parse(&text).is_err(), "{open}");
    }
    let chain = format!("SELECT VALUE 1{}", " + 1".repeat(50_000));
    assert!(parse(&chain).is_ok());
    let path = format!("SELECT VALUE c{}", ".a".repeat(50_000));
    assert!(parse(&path).is_ok());
}

#[test]
fn too_long_a_text_is_refused() {
    let text = format!("SELECT VALUE '{}'", "x".repeat(crate::TEXT_LENGTH_MAX));
    let error = parse(&text).unwrap_err();
    assert_eq!(error.diagnostics()[0].code.to_string(), "SC3020");
}
