//! Partition key definitions and keys: what is accepted, what it is refused with, and the wire forms.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use model::{
    Component, Epk, EpkRange, Failure, PartitionKey, PartitionKeyDefinition, PartitionKeyError,
    PartitionKeyKind, Status, Value, json,
};

fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

fn definition(text: &str) -> PartitionKeyDefinition {
    PartitionKeyDefinition::from_value(&value(text)).unwrap()
}

fn key(header: &str) -> PartitionKey {
    PartitionKey::from_header(header).unwrap()
}

#[test]
fn definitions_read_back_what_is_effective() {
    #[rustfmt::skip]
    let table = [
        (r#"{"paths":["/pk"],"kind":"Hash","version":2}"#, r#"{"paths":["/pk"],"kind":"Hash","version":2}"#),
        (r#"{"paths":["/pk"]}"#, r#"{"paths":["/pk"],"kind":"Hash","version":1}"#),
        (r#"{"paths":["/pk"],"kind":"hash","version":null}"#, r#"{"paths":["/pk"],"kind":"Hash","version":1}"#),
        (r#"{"paths":["/a","/b/c"],"kind":"MultiHash"}"#, r#"{"paths":["/a","/b/c"],"kind":"MultiHash","version":2}"#),
        (r#"{"paths":["/'a b'"],"kind":"Range"}"#, r#"{"paths":["/'a b'"],"kind":"Range","version":1}"#),
        (r#"{"paths":["/_partitionKey"],"systemKey":true}"#, r#"{"paths":["/_partitionKey"],"kind":"Hash","version":1,"systemKey":true}"#),
    ];
    for (text, expected) in table {
        let definition = definition(text);
        assert_eq!(definition.to_value().to_text(), expected);
        assert_eq!(PartitionKeyDefinition::from_value(&definition.to_value()), Ok(definition));
    }
    let made = PartitionKeyDefinition::new(&["/a", "/b"]).unwrap();
    assert_eq!((made.kind, made.version), (PartitionKeyKind::MultiHash, 2));
}

#[test]
fn bad_definitions_are_refused_with_the_service_words() {
    #[rustfmt::skip]
    let table = [
        ("1", "required properties - 'partitionKey; ' - are missing"),
        ("{}", "required properties - 'partitionKey; ' - are missing"),
        (r#"{"paths":[]}"#, "required properties - 'partitionKey; ' - are missing"),
        (r#"{"paths":"/a"}"#, "'paths' must be"),
        (r#"{"paths":[1]}"#, "'paths' must be"),
        (r#"{"paths":["a"]}"#, "definition path 'a' could not be accepted"),
        (r#"{"paths":["/a/?"]}"#, "definition path '/a/?' could not be accepted"),
        (r#"{"paths":["/a","/\"a\""],"kind":"MultiHash"}"#, "used twice"),
        (r#"{"paths":["/a","/b","/c","/d"]}"#, "Too many partition key paths"),
        (r#"{"paths":["/a","/b","/c","/d"],"kind":"MultiHash","version":2}"#, "Too many partition key paths"),
        (r#"{"paths":["/a"],"kind":"Round"}"#, "The 'kind' value 'Round' specified in the partition key definition is invalid."),
        (r#"{"paths":["/a"],"kind":7}"#, "'kind' must be"),
        (r#"{"paths":["/a"],"version":3}"#, "'version' must be"),
        (r#"{"paths":["/a"],"version":"2"}"#, "'version' must be"),
        (r#"{"paths":["/a"],"kind":"MultiHash","version":1}"#, "'version' must be"),
    ];
    for (text, words) in table {
        let error = PartitionKeyDefinition::from_value(&value(text)).unwrap_err();
        assert_eq!(error.status(), Status::BAD_REQUEST, "{text}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn keys_are_extracted_from_items() {
    let definition = definition(r#"{"paths":["/a","/b/c"],"kind":"MultiHash"}"#);
    #[rustfmt::skip]
    let table = [
        (r#"{"a":"x","b":{"c":1.0}}"#, r#"["x",1]"#),
        (r#"{"a":null,"b":{"c":false}}"#, "[null,false]"),
        (r#"{"b":{}}"#, "[{},{}]"),
        (r#"{"a":-0.0,"b":7}"#, "[0,{}]"),
        (r#"{"a":true,"b":[{"c":1}]}"#, "[true,{}]"),
        (r#"{"a":{},"b":{"c":1}}"#, "[{},1]"),
        (r#"{"a":1,"b":{"c":[1]}}"#, "[1,{}]"),
    ];
    for (item, expected) in table {
        assert_eq!(definition.extract(&value(item)).to_header(), expected, "{item}");
    }
}

#[test]
fn headers_read_and_write() {
    #[rustfmt::skip]
    let table = [
        ("[]", "[]"), ("[{}]", "[{}]"), (r#" [ "a" , 1.50 ] "#, r#"["a",1.5]"#), ("[5.0]", "[5]"), ("[-0.0]", "[0]"),
        ("[1e300]", "[1.0000000000000001e+300]"), ("[9223372036854775807]", "[9.2233720368547758e+18]"),
        (r#"["é😀"]"#, r#"["\u00e9\ud83d\ude00"]"#), (r#"["\u007f\u0000\""]"#, r#"["\u007f\u0000\""]"#),
    ];
    for (header, expected) in table {
        let parsed = key(header);
        assert_eq!(parsed.to_header(), expected);
        assert_eq!(key(&parsed.to_header()), parsed, "{header}");
    }
    for bad in
        ["", "x", "\"a\"", "{}", "[[]]", r#"[{"a":1}]"#, "[1", "\"Infinity\"", "[NaN]", "[1e999]"]
    {
        let error = PartitionKey::from_header(bad).unwrap_err();
        assert_eq!(error.status(), Status::BAD_REQUEST, "{bad}");
    }
    let many = format!("[{}1]", "1,".repeat(100_000));
    assert_eq!(PartitionKey::from_header(&many), Err(PartitionKeyError::TooManyComponents));
}

#[test]
fn complete_keys_pass_and_others_get_their_status() {
    let two = definition(r#"{"paths":["/a","/b"],"kind":"MultiHash"}"#);
    assert_eq!(two.check(&key("[1,2]")), Ok(()));
    assert_eq!(two.check_prefix(&key("[1]")), Ok(()));
    let few = two.check(&key("[1]")).unwrap_err();
    assert_eq!(few.status(), Status::PK_MISMATCH);
    assert!(few.to_string().contains("fewer components than defined in the the collection"));
    assert_eq!(two.check(&key("[]")).unwrap_err().status(), Status::PK_MISMATCH);
    let many = two.check(&key("[1,2,3]")).unwrap_err();
    assert_eq!(many.status(), Status::BAD_REQUEST);
    let infinite = PartitionKey::new(vec![Component::Number(f64::INFINITY), Component::Null]);
    assert_eq!(two.check(&infinite), Err(PartitionKeyError::NotFinite));
}

#[test]
fn keys_have_a_size_limit_but_old_containers_cut_strings() {
    for text in [r#"{"paths":["/a"],"version":2}"#, r#"{"paths":["/a"],"version":1}"#] {
        let definition = definition(text);
        let sized = |n_bytes: usize| key(&format!("[\"{}\"]", "x".repeat(n_bytes)));
        assert_eq!(definition.check(&sized(2048)), Ok(()));
        let error = definition.check(&sized(2049)).unwrap_err();
        assert_eq!(error, PartitionKeyError::TooLarge { bytes: 2049 });
    }
    let (old, new) =
        (definition(r#"{"paths":["/a"]}"#), PartitionKeyDefinition::new(&["/a"]).unwrap());
    let one = key(&format!("[\"{}1\"]", "x".repeat(100)));
    let two = key(&format!("[\"{}2\"]", "x".repeat(100)));
    assert_eq!((one.encode(&old), old.epk(&one)), (two.encode(&old), old.epk(&two)));
    assert_ne!(one.encode(&new), two.encode(&new));
    assert_ne!(new.epk(&one), new.epk(&two));
}

#[test]
fn containers_without_a_key_keep_items_at_the_lowest_place() {
    let system = definition(r#"{"paths":["/_partitionKey"],"systemKey":true}"#);
    let none = system.extract(&value(r#"{"id":"a"}"#));
    assert_eq!(none, key("[]"));
    assert_eq!(system.check(&none), Ok(()));
    assert_eq!(system.epk(&none), Epk::MIN);
    assert_eq!(system.epk_range_of_prefix(&none).to_string(), "[, 00)");
    let some = system.extract(&value(r#"{"_partitionKey":"x"}"#));
    assert_eq!(some, key(r#"["x"]"#));
}

#[test]
fn a_full_key_is_a_point_and_a_short_one_a_range() {
    let deep = PartitionKeyDefinition::new(&["/a", "/b", "/c"]).unwrap();
    let full = key(r#"["x",1,null]"#);
    let point = deep.epk_range_of_prefix(&full);
    assert!(point.contains(&deep.epk(&full)));
    assert!(!point.contains(&deep.epk(&key(r#"["x",1,true]"#))));
    for prefix in ["[]", r#"["x"]"#, r#"["x",1]"#] {
        assert!(deep.epk_range_of_prefix(&key(prefix)).covers(&point), "{prefix}");
    }
    assert_eq!(deep.epk_range_of_prefix(&key("[]")), EpkRange::full());
    let flat = definition(r#"{"paths":["/a","/b"],"version":2}"#);
    assert_eq!(flat.epk_range_of_prefix(&key("[1]")), EpkRange::full(), "hashed together");
}

#[test]
fn narrow_ranges_cannot_be_split() {
    let flat = PartitionKeyDefinition::new(&["/a"]).unwrap();
    let old = definition(r#"{"paths":["/a"]}"#);
    let range = |min: &str, max: &str| {
        EpkRange::new(Epk::parse(min).unwrap(), Epk::parse(max).unwrap()).unwrap()
    };
    let zero = "00".repeat(15);
    assert_eq!(flat.split_point(&range(&format!("{zero}01"), &format!("{zero}02"))), None);
    assert!(flat.split_point(&range(&format!("{zero}01"), &format!("{zero}03"))).is_some());
    assert_eq!(old.split_point(&range("05C1DFFFFFFFFC", "05C1DFFFFFFFFC08")), None);
    assert_eq!(old.split_point(&range("08", "FF")), None, "not a hash");
}

#[test]
fn encoded_keys_are_fixed_bytes() {
    let definition = PartitionKeyDefinition::new(&["/a", "/b", "/c"]).unwrap();
    #[rustfmt::skip]
    let table: [(&str, &[u8]); 6] = [
        ("[]", &[0]),
        ("[{},null]", &[1, 2, 0]),
        ("[false,true]", &[3, 4, 0]),
        ("[1]", &[5, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0, 0]),
        ("[-1]", &[5, 0x40, 0x0F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0]),
        (r#"["a\u0000b",""]"#, &[6, b'a', 0, 0xFF, b'b', 0, 6, 0, 0]),
    ];
    for (header, expected) in table {
        let encoded = key(header).encode(&definition);
        assert_eq!(encoded, expected, "{header}");
        assert_eq!(PartitionKey::decode(&encoded), Some((key(header), encoded.len())));
        for cut in 0..encoded.len() {
            assert_eq!(PartitionKey::decode(&encoded[..cut]), None, "{header} cut at {cut}");
        }
    }
    for bad in [&[7, 0][..], &[0xFF], &[6, 0xC3, 0, 0]] {
        assert_eq!(PartitionKey::decode(bad), None);
    }
}
