//! What counts as JSON here, and what it is refused for.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use model::json::{DEPTH_MAX, Event, JsonFault, Reader, parse};
use model::{Failure, Status, Value};

#[track_caller]
fn check_fault(text: &[u8], fault: JsonFault, offset: usize) {
    let error = parse(text).unwrap_err();
    let shown = String::from_utf8_lossy(text);
    assert_eq!((error.fault, error.offset), (fault, offset), "{shown:.60}");
    assert_eq!(error.status(), Status::BAD_REQUEST);
    let words = "The request payload is invalid. Ensure to provide a valid request payload.";
    assert!(error.to_string().starts_with(words), "{error}");
}

#[test]
fn every_kind_of_value_parses_with_space_around() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "-1.5e3",
        "\"\"",
        "\"é\\n\"",
        "[]",
        "[1,[2],{}]",
        "{\"a\":{\"b\":[]}}",
    ] {
        let spaced = format!(" \t\r\n{text}\n ");
        assert_eq!(parse(spaced.as_bytes()).unwrap().to_text(), text);
    }
    let spaced = " { \"a\" : [ 1 , 2 ] , \"b\" : { } } ";
    assert_eq!(parse(spaced.as_bytes()).unwrap().to_text(), r#"{"a":[1,2],"b":{}}"#);
}

#[test]
fn other_texts_are_refused_where_they_go_wrong() {
    use JsonFault::{DuplicateName, End, Number, NumberRange, String, Trailing, Unexpected, Utf8};
    #[rustfmt::skip]
    let table: &[(&str, JsonFault, usize)] = &[
        ("", End, 0), (" ", End, 1), ("[", End, 1), ("{", End, 1), ("[1", End, 2), ("[1,", End, 3), ("{\"a\"", End, 4),
        ("{\"a\":", End, 5), ("{\"a\":1", End, 6), ("{\"a\":1,", End, 7), ("\"abc", End, 4), ("\"a\\", End, 3), ("\"\\u12", End, 5),
        ("tru", End, 0), ("n", End, 0), ("-", End, 1), ("1.", End, 2), ("1e+", End, 3),
        ("[1,]", Unexpected, 3), ("[,1]", Unexpected, 1), ("{,}", Unexpected, 1), ("{\"a\":1,}", Unexpected, 7), ("{a:1}", Unexpected, 1),
        ("{\"a\" 1}", Unexpected, 5), ("{\"a\":}", Unexpected, 5), ("[1 2]", Unexpected, 3), ("[1}", Unexpected, 2), ("{\"a\":1]", Unexpected, 6),
        ("}", Unexpected, 0), ("]", Unexpected, 0), ("truE", Unexpected, 0), ("nul1", Unexpected, 0), ("'a'", Unexpected, 0), ("NaN", Unexpected, 0), ("Infinity", Unexpected, 0),
        ("// c\n1", Unexpected, 0), ("\u{FEFF}1", Unexpected, 0), ("\u{A0}1", Unexpected, 0),
        ("1 2", Trailing, 2), ("{} x", Trailing, 3), ("null,", Trailing, 4), ("[]]", Trailing, 2), ("truex", Trailing, 4),
        ("\"\n\"", String, 1), ("\"a\tb\"", String, 2), ("\"\\x\"", String, 2), ("\"\\u00g0\"", String, 5), ("\"\\U0041\"", String, 2), ("\"\0\"", String, 1),
        ("01", Number, 1), ("-a", Number, 1), ("1.e5", Number, 2), ("+1", Unexpected, 0), (".5", Unexpected, 0), ("1.5.5", Number, 3), ("0x10", Number, 1), ("-Infinity", Number, 1),
        ("1e400", NumberRange, 0), ("[-1e309]", NumberRange, 1), ("1e99999999999999999999", NumberRange, 0),
        ("{\"a\":1,\"a\":2}", DuplicateName, 7), ("{\"a\":1,\"\\u0061\":2}", DuplicateName, 7), ("[{\"\":1,\"\":1}]", DuplicateName, 7),
    ];
    for (text, fault, offset) in table {
        check_fault(text.as_bytes(), *fault, *offset);
    }
    check_fault(b"\"a\xFF\"", Utf8, 2);
    check_fault(b"[\"\xED\xA0\x80\"]", Utf8, 2);
    check_fault(b"\"\xC3", Utf8, 1);
}

#[test]
fn nesting_is_followed_to_the_limit_and_no_further() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
    check_fault(nested(DEPTH_MAX + 1).as_bytes(), JsonFault::Depth, DEPTH_MAX);
    let objects = |n: usize| "{\"a\":".repeat(n) + "1" + &"}".repeat(n);
    assert!(parse(objects(DEPTH_MAX).as_bytes()).is_ok());
    check_fault(objects(DEPTH_MAX + 1).as_bytes(), JsonFault::Depth, 5 * DEPTH_MAX);
    // A million brackets must neither recurse nor take memory.
    check_fault("[".repeat(1 << 20).as_bytes(), JsonFault::Depth, DEPTH_MAX);
    // Closing makes room again.
    assert!(parse(format!("[{}]", vec![nested(DEPTH_MAX - 1); 3].join(",")).as_bytes()).is_ok());
}

#[test]
fn numbers_are_limited_by_range_not_by_length() {
    let zeros = "0".repeat(400);
    check_fault(format!("1{zeros}").as_bytes(), JsonFault::NumberRange, 0);
    for text in
        [format!("0.{zeros}1"), format!("1.{zeros}"), "1e-400".to_owned(), "1e308".to_owned()]
    {
        assert_eq!(parse(text.as_bytes()).unwrap().to_text(), text);
    }
    let long = format!("0.{}", "3".repeat(1 << 20));
    assert!((parse(long.as_bytes()).unwrap().as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-15);
}

#[test]
fn a_large_object_is_checked_for_duplicates_in_good_time() {
    let names: Vec<String> = (0..100_000).map(|n| format!("\"property{n}\":{n}")).collect();
    let object = format!("{{{}}}", names.join(","));
    assert_eq!(parse(object.as_bytes()).unwrap().as_object().unwrap().len(), 100_000);
    let doubled = format!("{{{},\"property500\":0}}", names.join(","));
    assert_eq!(parse(doubled.as_bytes()).unwrap_err().fault, JsonFault::DuplicateName);
    // Names whose fingerprints all collide, in many small objects: still no quadratic trap.
    let same_ends: Vec<String> = (0..16).map(|n| format!("\"aaaaaaaa{n:04}bbbbbbbb\":1")).collect();
    let objects = vec![format!("{{{}}}", same_ends.join(",")); 2_000];
    assert!(parse(format!("[{}]", objects.join(",")).as_bytes()).is_ok());
}

#[test]
fn lone_surrogates_become_the_replacement_character() {
    assert_eq!(parse(br#""\ud800x""#).unwrap(), Value::from("\u{FFFD}x"));
    assert_eq!(parse(br#"{"\udfff":1}"#).unwrap().get("\u{FFFD}"), Some(&Value::from(1)));
}

#[test]
fn the_reader_tells_where_events_stand() {
    let text = r#" {"a" : [1, "x"], "b":true}"#;
    let mut reader = Reader::new(text);
    let mut seen = Vec::new();
    while let Some(event) = reader.next().unwrap() {
        seen.push(&text[reader.event_start()..reader.event_end()]);
        assert!(!matches!(event, Event::Null));
    }
    assert_eq!(seen, ["{", "\"a\" :", "[", "1", "\"x\"", "]", "\"b\":", "true", "}"]);
    assert_eq!(reader.depth(), 0);
}

#[test]
fn the_reader_skips_a_value_and_counts_its_scalars() {
    let mut reader = Reader::new(r#"[{"a":[1,{"b":null}],"c":"x"},7]"#);
    assert!(matches!(reader.next().unwrap(), Some(Event::BeginArray)));
    let first = reader.next().unwrap().unwrap();
    assert_eq!(reader.skip(first).unwrap(), 3);
    let seven = reader.next().unwrap().unwrap();
    assert!(matches!(seven, Event::Number("7")));
    assert_eq!(reader.skip(seven).unwrap(), 0);
    assert!(matches!(reader.next().unwrap(), Some(Event::EndArray)));
    assert!(reader.next().unwrap().is_none());
}
