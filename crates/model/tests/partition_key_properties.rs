//! Properties of partition keys, their encoding and the hash space, for arbitrary keys and ranges.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use model::{Component, Epk, EpkRange, PartitionKey, PartitionKeyDefinition, PropertyPath, Value};
use model::{PartitionKeyKind, Rid, SessionToken};
use proptest::prelude::*;

fn definition(kind: PartitionKeyKind, version: u8, n_paths: usize) -> PartitionKeyDefinition {
    let path_texts: Vec<String> = (0..n_paths).map(|index| format!("/p{index}")).collect();
    let paths = path_texts.iter().map(|path| PropertyPath::parse(path).unwrap()).collect();
    PartitionKeyDefinition { paths, path_texts, kind, version, system_key: false }
}

fn any_definition() -> impl Strategy<Value = PartitionKeyDefinition> {
    use PartitionKeyKind::{Hash, MultiHash, Range};
    let kinds =
        prop_oneof![Just((Hash, 1)), Just((Hash, 2)), Just((MultiHash, 2)), Just((Range, 1))];
    (kinds, 1..=3_usize).prop_map(|((kind, version), n_paths)| definition(kind, version, n_paths))
}

fn any_component() -> impl Strategy<Value = Component> {
    let finite =
        proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO;
    prop_oneof![
        Just(Component::Undefined),
        Just(Component::Null),
        any::<bool>().prop_map(Component::Bool),
        finite.prop_map(Component::Number),
        (-5..5_i32).prop_map(|n| Component::Number(f64::from(n))),
        "[a-c\0\u{1}\u{FF}]{0,4}".prop_map(Component::String),
        any::<String>().prop_map(Component::String),
        "(?s).{90,130}".prop_map(Component::String),
    ]
}

fn any_key() -> impl Strategy<Value = PartitionKey> {
    prop::collection::vec(any_component(), 0..=3).prop_map(PartitionKey::new)
}

fn any_epk() -> impl Strategy<Value = Epk> {
    // Short keys over few byte values, so that equal ones and prefixes of each other are common.
    prop::collection::vec(
        prop_oneof![Just(0_u8), Just(1), Just(0x3F), Just(0xFF), any::<u8>()],
        0..5,
    )
    .prop_map(Epk::from_bytes)
}

fn any_range() -> impl Strategy<Value = EpkRange> {
    (any_epk(), any_epk()).prop_filter_map("empty", |(one, two)| {
        EpkRange::new(one.clone(), two.clone()).or_else(|| EpkRange::new(two, one))
    })
}

proptest! {
    #[test]
    fn encoding_reads_back_and_ends_itself(key in any_key(), tail in any::<Vec<u8>>()) {
        let definition = definition(PartitionKeyKind::Hash, 2, 3);
        let encoded = key.encode(&definition);
        let followed = [&encoded[..], &tail].concat();
        prop_assert_eq!(PartitionKey::decode(&followed), Some((key, encoded.len())));
    }

    #[test]
    fn encoding_keeps_the_order_and_tells_keys_apart(one in any_key(), two in any_key()) {
        let definition = definition(PartitionKeyKind::MultiHash, 2, 3);
        let (one_bytes, two_bytes) = (one.encode(&definition), two.encode(&definition));
        prop_assert_eq!(one_bytes.cmp(&two_bytes), one.cmp(&two));
        // No encoding begins with another, so whatever follows in a store key cannot blur them.
        prop_assert!(one == two || !one_bytes.starts_with(&two_bytes));
    }

    #[test]
    fn decoding_never_panics_and_is_one_to_one(bytes in any::<Vec<u8>>()) {
        if let Some((key, n_bytes)) = PartitionKey::decode(&bytes) {
            let definition = definition(PartitionKeyKind::Hash, 2, 3);
            let encoded = key.encode(&definition);
            // Only a negative zero or NaN could be written in two ways, and we never write those.
            let is_ours = encoded == bytes[..n_bytes];
            let has_odd_number = key.components().iter().any(|component| {
                matches!(component, Component::Number(n) if *n == 0.0 || n.is_nan())
            });
            prop_assert!(is_ours || has_odd_number);
        }
    }

    #[test]
    fn headers_read_back(key in any_key()) {
        let header = key.to_header();
        prop_assert!(header.bytes().all(|byte| (0x20..0x7F).contains(&byte)));
        prop_assert_eq!(PartitionKey::from_header(&header), Ok(key));
    }

    #[test]
    fn keys_fall_inside_the_hash_space(definition in any_definition(), key in any_key()) {
        let epk = definition.epk(&key);
        prop_assert!(EpkRange::full().contains(&epk));
        prop_assert!(definition.epk_range_of_prefix(&key).contains(&epk));
        prop_assert_eq!(Epk::parse(&epk.to_string()), Ok(epk.clone()));
        let ranges = definition.boundaries(7);
        prop_assert_eq!(ranges.iter().filter(|range| range.contains(&epk)).count(), 1);
    }

    #[test]
    fn one_logical_partition_has_one_place(definition in any_definition(), one in any_key(), two in any_key()) {
        if one.encode(&definition) == two.encode(&definition) {
            prop_assert_eq!(definition.epk(&one), definition.epk(&two));
        }
    }

    #[test]
    fn every_key_of_a_prefix_is_in_its_range(key in any_key(), n_kept in 0..3_usize) {
        let definition = definition(PartitionKeyKind::MultiHash, 2, key.components().len().max(1));
        let kept = key.components().iter().take(n_kept).cloned().collect();
        let range = definition.epk_range_of_prefix(&PartitionKey::new(kept));
        prop_assert!(range.contains(&definition.epk(&key)));
        prop_assert!(range.covers(&definition.epk_range_of_prefix(&key)));
    }

    #[test]
    fn boundaries_tile_the_space(definition in any_definition(), n_ranges in 1..400_u32) {
        let ranges = definition.boundaries(n_ranges);
        prop_assert_eq!(ranges.len(), n_ranges as usize);
        prop_assert_eq!(ranges[0].min(), &Epk::MIN);
        prop_assert_eq!(ranges[ranges.len() - 1].max(), &Epk::max());
        prop_assert!(ranges.windows(2).all(|pair| pair[0].max() == pair[1].min()));
    }

    #[test]
    fn splits_stay_inside_and_go_on(definition in any_definition(), turns in prop::collection::vec(any::<bool>(), 0..60)) {
        let mut range = EpkRange::full();
        for is_right in turns {
            let Some(point) = definition.split_point(&range) else { break };
            let [left, right] = range.split_at(&point).unwrap();
            range = if is_right { right } else { left };
        }
    }

    #[test]
    fn any_range_can_be_asked_for_its_middle(definition in any_definition(), range in any_range()) {
        if let Some(point) = definition.split_point(&range) {
            prop_assert!(range.split_at(&point).is_some());
        }
    }

    #[test]
    fn intersection_is_what_both_contain(one in any_range(), two in any_range(), epk in any_epk()) {
        let both = one.intersect(&two);
        prop_assert_eq!(both.is_some(), one.overlaps(&two));
        prop_assert_eq!(&both, &two.intersect(&one));
        let is_in_both = one.contains(&epk) && two.contains(&epk);
        prop_assert_eq!(is_in_both, both.as_ref().is_some_and(|both| both.contains(&epk)));
        if let Some(both) = both {
            prop_assert!(one.covers(&both) && two.covers(&both));
            prop_assert!(both.contains(both.min()) && !both.contains(both.max()));
        }
    }

    #[test]
    fn a_split_loses_nothing(range in any_range(), at in any_epk(), epk in any_epk()) {
        match range.split_at(&at) {
            Some([left, right]) => {
                prop_assert!(!left.overlaps(&right));
                prop_assert_eq!(range.contains(&epk), left.contains(&epk) || right.contains(&epk));
            }
            None => prop_assert!(!range.contains(&at) || range.min() == &at),
        }
    }

    #[test]
    fn a_point_holds_its_key_and_no_other_of_its_width(bytes in prop::collection::vec(any::<u8>(), 1..5), other in prop::collection::vec(any::<u8>(), 1..5)) {
        let (epk, other) = (Epk::from_bytes(bytes), Epk::from_bytes(other));
        let point = EpkRange::point(epk.clone());
        prop_assert!(point.contains(&epk));
        if other.as_bytes().len() == epk.as_bytes().len() {
            prop_assert_eq!(point.contains(&other), other == epk);
        }
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "(?s).{0,60}") {
        let _ = Epk::parse(&text);
        let _ = PartitionKey::from_header(&text);
        let _ = Rid::parse(&text);
        let _ = SessionToken::parse(&text);
        let _ = PartitionKeyDefinition::from_value(&Value::from(text.as_str()));
        if let Ok(path) = PropertyPath::parse(&text) {
            prop_assert_eq!(PropertyPath::parse(&path.to_string()), Ok(path));
        }
    }

    #[test]
    fn paths_of_any_names_read_back(names in prop::collection::vec("(?s).{1,8}", 1..4)) {
        let path = PropertyPath::from_segments(names).unwrap();
        prop_assert_eq!(PropertyPath::parse(&path.to_string()), Ok(path));
    }

    #[test]
    fn rids_read_back(bytes in any::<[u8; 20]>(), length in prop::sample::select(vec![3_usize, 4, 8, 12, 16, 20])) {
        let rid = Rid::from_bytes(&bytes[..length]).unwrap();
        prop_assert_eq!(Rid::parse(&rid.to_string()), Some(rid));
        prop_assert_eq!(rid.as_bytes(), &bytes[..length]);
    }
}
