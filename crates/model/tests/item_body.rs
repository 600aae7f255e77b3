//! Items: what is accepted, what is kept, and what is refused with which words.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use model::{
    Failure, ITEM_BYTES_MAX, ItemBody, ItemError, PartitionKey, PartitionKeyDefinition,
    PropertyPath, Status, Value,
};

fn item(text: &str) -> ItemBody {
    ItemBody::parse(text.as_bytes()).unwrap()
}

#[track_caller]
fn check_text(text: &str, expected: &str) {
    assert_eq!(std::str::from_utf8(item(text).text()).unwrap(), expected);
}

#[track_caller]
fn check_error(text: &str, status: Status, words: &str) {
    let error = ItemBody::parse(text.as_bytes()).unwrap_err();
    assert_eq!(error.status(), status, "{text:.60}");
    assert!(error.to_string().contains(words), "{text:.60}: {error}");
}

#[test]
fn the_text_stays_as_sent() {
    check_text("\n {\"id\" : \"a\",\t\"n\":1.0e2 } \n", "{\"id\" : \"a\",\t\"n\":1.0e2 }");
    check_text(
        r#"{"n":9007199254740993,"id":"\u0061"}"#,
        r#"{"n":9007199254740993,"id":"\u0061"}"#,
    );
}

#[test]
fn system_properties_are_cut_out_wherever_they_stand() {
    check_text(r#"{"_rid":"x","id":"a"}"#, r#"{"id":"a"}"#);
    check_text(r#"{"id":"a","_ts":1}"#, r#"{"id":"a"}"#);
    check_text(
        r#"{ "_rid":1 , "id":"a" , "_etag":{"x":[1,","]} , "b":2 , "_lsn":null }"#,
        r#"{ "id":"a" , "b":2 }"#,
    );
    check_text(r#"{"id":"a","_self":1,"_attachments":2,"b":","}"#, r#"{"id":"a","b":","}"#);
    check_text(r#"{"id":"a","\u005fts":1}"#, r#"{"id":"a"}"#);
    check_text(
        r#"{"id":"a","_other":1,"in":{"_ts":1},"_TS":2}"#,
        r#"{"id":"a","_other":1,"in":{"_ts":1},"_TS":2}"#,
    );
}

#[test]
fn counts_leave_system_properties_out() {
    let body =
        item(r#"{"id":"a","_ts":1,"_etag":["x"],"deep":{"l":[1,null,{"x":true}],"e":{},"f":[]}}"#);
    assert_eq!((body.n_properties(), body.n_terms()), (2, 4));
}

#[test]
fn the_id_is_decoded_and_checked() {
    assert_eq!(item(r#"{"id":"\u00e9\"x"}"#).id(), "é\"x");
    assert_eq!(item(r#"{"i\u0064":"a"}"#).id(), "a");
    let missing =
        "The input content is invalid because the required properties - 'id; ' - are missing";
    check_error("{}", Status::BAD_REQUEST, missing);
    check_error(r#"{"Id":"a","in":{"id":"b"}}"#, Status::BAD_REQUEST, missing);
    for value in ["1", "null", "true", "[]", "{}"] {
        check_error(&format!("{{\"id\":{value}}}"), Status::BAD_REQUEST, "'id' is not a string");
    }
    check_error(r#"{"id":""}"#, Status::BAD_REQUEST, "less than '1024' characters.");
    assert_eq!(item(r#"{"id":"a/b\\c"}"#).id(), "a/b\\c");
    check_error(r#"{"id":"a\ud800b"}"#, Status::BAD_REQUEST, "half a character");
    assert_eq!(item(r#"{"id":"a\ud83d\ude00"}"#).id(), "a😀");
}

#[test]
fn control_characters_are_escaped_and_of_two_properties_the_last_stays() {
    let stored = |text: &str| String::from_utf8(item(text).into_text()).unwrap();
    let tabbed = item("{\"id\":\"a\tb\",\"x\":\"1\n2\"}");
    assert_eq!(tabbed.id(), "a\tb");
    assert_eq!(tabbed.text(), br#"{"id":"a\tb","x":"1\n2"}"#);
    let twice =
        item(r#"{"id":"a","pk":1,"id":"b","pk":"x","deep":{"n":1,"n":1.50},"ttl":5,"ttl":7}"#);
    assert_eq!((twice.id(), twice.ttl()), ("b", Some(7)));
    assert_eq!(twice.text(), br#"{"id":"b","pk":"x","deep":{"n":1.50},"ttl":7}"#);
    let key = PartitionKeyDefinition::new(&["/pk"]).unwrap();
    assert_eq!(twice.partition_key(&key), PartitionKey::from_header(r#"["x"]"#).unwrap());
    // System properties that are there twice are dropped as ever.
    assert_eq!(stored(r#"{"_ts":1,"id":"a","_ts":2}"#), r#"{"id":"a"}"#);
    assert_eq!(stored(r#"{ "id" : "a" }"#), r#"{ "id" : "a" }"#, "what is right is not touched");
}

#[test]
fn the_time_to_live_is_minus_one_or_positive() {
    let ttl = |value: &str| {
        ItemBody::parse(format!("{{\"id\":\"a\",\"ttl\":{value}}}").as_bytes())
            .map(|body| body.ttl())
    };
    assert_eq!(item(r#"{"id":"a"}"#).ttl(), None);
    assert_eq!(item(r#"{"id":"a","in":{"ttl":0}}"#).ttl(), None);
    for (value, expected) in
        [("-1", -1), ("1", 1), ("2147483647", i32::MAX), ("60.0", 60), ("6e1", 60)]
    {
        assert_eq!(ttl(value), Ok(Some(expected)), "{value}");
    }
    for value in
        ["0", "-0", "-2", "1.5", "2147483648", "1e300", "null", "\"60\"", "true", "[]", "{}"]
    {
        let error = ttl(value).unwrap_err();
        assert_eq!(error.status(), Status::BAD_REQUEST);
        assert_eq!(error, ItemError::Ttl { ttl: value.to_owned() });
    }
}

#[test]
fn only_objects_are_items() {
    for text in ["1", "\"id\"", "[]", "[{\"id\":\"a\"}]", "null"] {
        check_error(text, Status::BAD_REQUEST, "One of the specified inputs is invalid");
    }
    for text in [
        "",
        "[",
        "{\"id\":\"a\"",
        "{\"id\":\"a\"} x",
        "{\"id\":1,\"ttl\":0,",
        "[1,}",
        "{\"id\":\"a\",\"b\":1e400}",
        "{\"id\":\"a\\x\"}",
        "{\"id\":\"a\",\"id\":\"a\"",
    ] {
        check_error(text, Status::BAD_REQUEST, "The request payload is invalid");
    }
}

#[test]
fn items_have_a_size_limit() {
    let sized = |n_bytes: usize| format!("{{\"id\":\"a\",\"x\":\"{}\"}}", "y".repeat(n_bytes - 17));
    assert_eq!(sized(100).len(), 100);
    assert_eq!(item(&sized(ITEM_BYTES_MAX)).text().len(), ITEM_BYTES_MAX);
    check_error(&sized(ITEM_BYTES_MAX + 1), Status::TOO_LARGE, "Request size is too large");
}

#[test]
fn the_partition_key_comes_from_the_text() {
    let definition = PartitionKeyDefinition::new(&["/a", "/b/c", "/d"]).unwrap();
    let key = |text: &str| item(text).partition_key(&definition);
    let expected = PartitionKey::from_header(r#"["x",{},null]"#).unwrap();
    assert_eq!(key(r#"{"id":"1","d":null,"b":{"x":{"c":1}},"\u0061":"x"}"#), expected);
    assert_eq!(key(r#"{"id":"1","a":[]}"#), key(r#"{"id":"1"}"#));
    for text in
        [r#"{"id":"1","a":1,"b":{"c":2},"d":3}"#, r#"{"id":"1","b":7}"#, r#"{"id":"1","d":{}}"#]
    {
        assert_eq!(key(text), definition.extract(&item(text).to_value()), "{text}");
    }
}

#[test]
fn values_are_found_by_path() {
    let body = item(r#"{"id":"1","a":{"b":[{"c":1}],"c":{"d":"x"}},"":{"":0},"_ts":5}"#);
    let paths = ["/a/c/d", "/a/b", "/a/b/c", "/a/x", "/id", "/_ts", "/a/c/d/e"];
    let paths = paths.map(|path| PropertyPath::parse(path).unwrap());
    let found: Vec<String> = body
        .values_at(&paths)
        .iter()
        .map(|value| value.as_ref().map_or_else(|| "-".to_owned(), Value::to_text))
        .collect();
    assert_eq!(found, ["\"x\"", "[{\"c\":1}]", "-", "-", "\"1\"", "-", "-"]);
}

#[test]
fn a_hostile_item_costs_no_more_than_its_size() {
    // As many names as fit, as many system properties as fit, as deep as allowed.
    let names: Vec<String> = (0..150_000).map(|n| format!("\"{n}\":0")).collect();
    assert_eq!(item(&format!("{{\"id\":\"a\",{}}}", names.join(","))).n_properties(), 150_001);
    let escaped: Vec<String> = (0..50_000).map(|n| format!("\"\\u0061{n}\":0")).collect();
    assert_eq!(item(&format!("{{\"id\":\"a\",{}}}", escaped.join(","))).n_terms(), 50_001);
    let deep = format!("{{\"id\":\"a\",\"x\":{}{}}}", "[".repeat(127), "]".repeat(127));
    assert_eq!(item(&deep).n_terms(), 1);
}
