//! The parser: what is accepted, what is refused, and where the refusal points.

use super::*;
use crate::format;

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
        ("NOT a = 1 AND b", "((NOT (a = 1)) AND b)"),
        ("a = 1 | 2", "((a = 1) | 2)"),
        ("a + 1 NOT IN (1, 2)", "((a + 1) NOT IN (1, 2))"),
        ("a BETWEEN 1 AND 2 AND b", "((a BETWEEN 1 AND 2) AND b)"),
        ("1 ? 2 ?? 3 : 4", "(1 ? (2 ?? 3) : 4)"),
        ("a LIKE 'x!%' ESCAPE '!' OR b", "((a LIKE \"x!%\" ESCAPE \"!\") OR b)"),
        ("1 << 2 < 3", "((1 << 2) < 3)"),
        ("-a.b[0]['c']", "- a.b[0][\"c\"]"),
        ("a <> 1", "(a != 1)"),
        ("(-a).b + (1).c", "((- a).b + (1).c)"),
        ("a+1+2+3+4+5", "(a + 1 + 2 + 3 + 4 + 5)"),
        ("0x1F", "31"),
        ("udf.f(LEFT(a, 1))", "udf.f(LEFT(a, 1))"),
    ] {
        check(&format!("SELECT VALUE {text}"), &format!("SELECT VALUE {canonical}"));
    }
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
    let text = format!("SELECT VALUE '{}'", "x".repeat(crate::TEXT_BYTES_MAX));
    assert!(matches!(parse(&text), Err(Error::Limit { .. })));
}
