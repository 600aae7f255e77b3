//! Properties of JSON values and items, for arbitrary values and bytes.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::{cmp::Ordering, fmt::Write as _};

use model::json::{Picks, SYSTEM_PROPERTIES, parse, parse_mended, pick};
use model::{
    ETag, ItemBody, Lsn, Number, Object, PropertyPath, Rid, Value, order, with_system_properties,
};
use proptest::prelude::*;

fn any_number_text() -> impl Strategy<Value = String> {
    let exponent = prop_oneof![
        4 => Just(String::new()),
        1 => (prop_oneof![Just("e"), Just("E")], prop_oneof![Just(""), Just("+"), Just("-")], 0..250_u32)
            .prop_map(|(e, sign, power)| format!("{e}{sign}{power}")),
    ];
    let whole = prop_oneof![
        Just("0".to_owned()),
        "[1-9][0-9]{0,18}",
        any::<u64>().prop_map(|n| n.to_string())
    ];
    let fraction = prop_oneof![3 => Just(String::new()), 2 => "\\.[0-9]{1,20}", 1 => "\\.0{1,4}"];
    ("-?", whole, fraction, exponent)
        .prop_map(|(sign, whole, fraction, exponent)| sign + &whole + &fraction + &exponent)
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3..3_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_number_text().prop_map(|text| parse(text.as_bytes()).unwrap()),
        any::<String>().prop_map(Value::from),
        "[a-c\u{E000}\u{10000}\u{FFFF}]{0,3}".prop_map(Value::from),
    ]
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-e]{1,2}", 1 => any::<String>(), 1 => Just("_ts".to_owned()), 1 => Just("_etag".to_owned())]
}

fn any_value() -> impl Strategy<Value = Value> {
    any_scalar().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any_name(), inner), 0..6)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

/// Writes a value with random space between tokens, and every character of some strings escaped.
fn write_loosely(value: &Value, dice: &mut impl FnMut() -> usize, text: &mut String) {
    let space = |text: &mut String, roll: usize| text.push_str(["", " ", "\n\t", "\r "][roll % 4]);
    space(text, dice());
    match value {
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                write_loosely(element, dice, text);
            }
            text.push(']');
        }
        Value::Object(object) => {
            text.push('{');
            for (index, (name, value)) in object.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                write_loosely(&Value::from(name), dice, text);
                text.push(':');
                write_loosely(value, dice, text);
            }
            text.push('}');
        }
        Value::String(string) if dice().is_multiple_of(3) => {
            text.push('"');
            for unit in string.encode_utf16() {
                write!(text, "\\u{unit:04X}").unwrap();
            }
            text.push('"');
        }
        scalar => text.push_str(&scalar.to_text()),
    }
    space(text, dice());
}

fn loosely(value: &Value, seed: u64) -> String {
    let (mut state, mut text) = (seed, String::new());
    let mut dice = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 40).unwrap()
    };
    write_loosely(value, &mut dice, &mut text);
    text
}

fn item_with(object: &Object) -> Value {
    let mut item = Object::from([("id", "the id")]);
    object.iter().filter(|(name, _)| *name != "id" && *name != "ttl").for_each(|(name, value)| {
        item.insert(name, value.clone());
    });
    Value::Object(item)
}

fn n_scalars(value: &Value) -> usize {
    match value {
        Value::Array(elements) => elements.iter().map(n_scalars).sum(),
        Value::Object(object) => object.iter().map(|(_, value)| n_scalars(value)).sum(),
        _ => 1,
    }
}

fn without_system(item: &Value) -> Value {
    let mut object = item.as_object().unwrap().clone();
    object.retain(|name, _| !SYSTEM_PROPERTIES.contains(&name));
    Value::Object(object)
}

/// Paths of names that lead somewhere or nearly.
fn any_path() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop_oneof![4 => "[a-e]{1,2}", 1 => any_name()], 1..5)
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn all_paths(value: &Value, path: &mut Vec<String>, visit: &mut dyn FnMut(&[String])) {
    for (name, value) in value.as_object().into_iter().flat_map(Object::iter) {
        path.push(name.to_owned());
        visit(path);
        all_paths(value, path, visit);
        path.pop();
    }
}

proptest! {
    #[test]
    fn picked_parts_are_those_of_the_whole(
        value in any_value(), seed: u64, guesses in prop::collection::vec(any_path(), 0..4), chosen: u64,
    ) {
        let mut paths = guesses;
        let mut n_seen = 0;
        all_paths(&value, &mut Vec::new(), &mut |path| {
            n_seen += 1;
            if chosen >> (n_seen % 64) & 1 == 1 && paths.len() < 8 {
                paths.push(path.to_vec());
            }
        });
        let mut picks = Picks::NOTHING;
        for path in &paths {
            picks.add(path.iter().map(String::as_str));
        }
        let picked = pick(loosely(&value, seed).as_bytes(), &picks, 0).unwrap();
        for path in &paths {
            let part = at(&picked, path).map(Value::to_text);
            prop_assert_eq!(part, at(&value, path).map(Value::to_text), "{:?}", path);
        }
        let mut strays = 0;
        all_paths(&picked, &mut Vec::new(), &mut |own| {
            let is_picked = |path: &Vec<String>| path.starts_with(own) || own.starts_with(path);
            strays += usize::from(!paths.iter().any(is_picked));
        });
        prop_assert_eq!(strays, 0, "nothing else is read");
    }

    #[test]
    fn picking_from_any_bytes_is_harmless(bytes in any::<Vec<u8>>(), path in any_path()) {
        let mut picks = Picks::NOTHING;
        picks.add(path.iter().map(String::as_str));
        let _ = pick(&bytes, &picks, 0);
        let mut text = b"{\"a\":".to_vec();
        text.extend_from_slice(&bytes);
        let _ = pick(&text, &picks, 0);
    }

    #[test]
    fn what_is_written_reads_back(value in any_value()) {
        let text = value.to_text();
        let parsed = parse(text.as_bytes()).unwrap();
        prop_assert_eq!(&parsed, &value);
        prop_assert_eq!(parsed.to_text(), text, "order and spelling too");
    }

    #[test]
    fn space_and_escapes_do_not_change_the_value(value in any_value(), seed: u64) {
        let parsed = parse(loosely(&value, seed).as_bytes()).unwrap();
        prop_assert_eq!(parsed.to_text(), value.to_text());
    }

    #[test]
    fn numbers_keep_their_text_and_value(text in any_number_text()) {
        let Value::Number(number) = parse(text.as_bytes()).unwrap() else { panic!("{text} is a number") };
        prop_assert_eq!(number.to_string(), text.as_str());
        let double: f64 = text.parse().unwrap();
        prop_assert_eq!(number.as_f64().to_bits(), (double + 0.0).to_bits());
        if let Some(integer) = number.as_i64() {
            prop_assert_eq!(Number::from_i64(integer), number);
        }
    }

    #[test]
    fn computed_doubles_read_back(double: f64) {
        match Number::from_f64(double) {
            Some(number) => {
                let parsed = parse(number.to_string().as_bytes()).unwrap();
                prop_assert_eq!(parsed.as_f64().unwrap().to_bits(), (double + 0.0).to_bits());
            }
            None => prop_assert!(!double.is_finite()),
        }
    }

    #[test]
    fn integers_and_doubles_compare_exactly(integer: i64, double in any::<f64>(), nudge in -2..3_i64) {
        let as_double = Value::from(integer).as_f64().unwrap();
        let near = Number::from_f64(as_double).unwrap();
        let exact = |number: &Number| i128::from(number.as_i64().unwrap_or(i64::MAX)) ;
        if near.as_i64().is_some() {
            let other = Number::from_i64(integer.saturating_add(nudge));
            prop_assert_eq!(other.cmp(&near), exact(&other).cmp(&exact(&near)));
        }
        if let Some(far) = Number::from_f64(double) {
            let number = Number::from_i64(integer);
            let rounded = as_double.partial_cmp(&far.as_f64()).unwrap();
            // Rounding can only hide a difference, never turn it round.
            prop_assert!(rounded.is_eq() || number.cmp(&far) == rounded);
            prop_assert_eq!(number.cmp(&far), far.cmp(&number).reverse());
        }
    }

    #[test]
    fn the_order_is_total(a in any_value(), b in any_value(), c in any_value()) {
        let order = |a: &Value, b: &Value| order(Some(a), Some(b));
        prop_assert_eq!(order(&a, &a), Ordering::Equal);
        prop_assert_eq!(order(&a, &b), order(&b, &a).reverse());
        prop_assert_eq!(order(&a, &b).is_eq(), a == b);
        if order(&a, &b).is_le() && order(&b, &c).is_le() {
            prop_assert!(order(&a, &c).is_le());
        }
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in any::<Vec<u8>>()) {
        let _ = parse(&bytes);
        let _ = ItemBody::parse(&bytes);
    }

    #[test]
    fn no_almost_json_makes_a_parser_panic(value in any_value(), seed: u64, at: prop::sample::Index, byte: u8, cut: bool) {
        let mut bytes = loosely(&item_with(&Object::from([("v", value)])), seed).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        // Both ways in agree on what is JSON.
        match (parse_mended(&bytes), ItemBody::parse(&bytes)) {
            (Ok(value), Ok(body)) => prop_assert_eq!(body.to_value(), without_system(&value)),
            (Err(one), Err(model::ItemError::Json(two))) => prop_assert_eq!(one, two),
            (Err(error), other) => prop_assert!(false, "{error} but {other:?}"),
            (Ok(_), Err(error)) => prop_assert!(!matches!(error, model::ItemError::Json(_))),
        }
    }

    #[test]
    fn items_keep_every_byte_but_system_properties(
        object in prop::collection::vec((any_name(), any_value()), 0..8),
        seed: u64,
    ) {
        let item = item_with(&object.into_iter().collect());
        let segments: Vec<(&str, String)> = item
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name, loosely(&Value::from(name), seed) + ":" + &loosely(value, seed)))
            .collect();
        let join = |keep: &dyn Fn(&str) -> bool| {
            let kept = segments.iter().filter(|(name, _)| keep(name)).map(|(_, text)| text.as_str());
            format!("{{{}}}", kept.collect::<Vec<&str>>().join(","))
        };
        let body = ItemBody::parse(format!("\r\n {}\t", join(&|_| true)).as_bytes()).unwrap();
        let kept = join(&|name| !SYSTEM_PROPERTIES.contains(&name));
        prop_assert_eq!(std::str::from_utf8(body.text()).unwrap(), kept);

        let expected = without_system(&item);
        prop_assert_eq!(body.to_value().to_text(), expected.to_text());
        prop_assert_eq!(body.n_properties(), expected.as_object().unwrap().len());
        prop_assert_eq!(body.n_terms(), n_scalars(&expected));
        let again = ItemBody::parse(body.text()).unwrap();
        prop_assert_eq!(again.text(), body.text(), "a second pass changes nothing");
        prop_assert_eq!(ItemBody::from_value(&item).unwrap().to_value(), expected);
    }

    #[test]
    fn values_are_found_where_the_tree_has_them(object in prop::collection::vec((any_name(), any_value()), 0..8), seed: u64, names in prop::collection::vec(any_name(), 1..4)) {
        let item = item_with(&object.into_iter().collect());
        let body = ItemBody::parse(loosely(&item, seed).as_bytes()).unwrap();
        let Some(path) = PropertyPath::from_segments(names) else { return Ok(()) };
        let tree = body.to_value();
        let expected = path.segments().iter().try_fold(&tree, |value, name| value.get(name));
        prop_assert_eq!(body.values_at(std::slice::from_ref(&path)), [expected.cloned()]);
    }

    #[test]
    fn spliced_items_are_the_item_and_its_system_properties(object in prop::collection::vec((any_name(), any_value()), 0..5), seed: u64, ts in 0..u64::from(u32::MAX), lsn in prop::option::of(any::<u64>())) {
        let item = item_with(&object.into_iter().collect());
        let body = ItemBody::parse(loosely(&item, seed).as_bytes()).unwrap();
        let rid = Rid::item(&Rid::container(3, 4), 5);
        let etag = ETag::from_lsn(Lsn(6), ts);
        let text = with_system_properties(body.text(), &rid, "dbs/x/colls/y/", &etag, ts, lsn.map(Lsn));
        let value = parse(&text).unwrap();
        prop_assert_eq!(without_system(&value).to_text(), body.to_value().to_text());
        prop_assert_eq!(value.get("_etag").and_then(Value::as_str), Some(etag.as_str()));
        let link = format!("dbs/x/colls/y/docs/{rid}/");
        prop_assert_eq!(value.get("_self").and_then(Value::as_str), Some(link.as_str()));
        prop_assert_eq!(value.get("_lsn").is_some(), lsn.is_some());
        // What a client reads and sends back is stored as it was.
        let sent_back = ItemBody::parse(&text).unwrap();
        prop_assert_eq!(sent_back.text(), body.text());
    }
}
