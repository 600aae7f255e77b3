//! Every row of the published effective-partition-key vectors (`data/epk-vectors.json`).
//!
//! Rows with −0.0 are the one place where we differ on purpose: the file gives the hash of the raw bits,
//! which .NET and Java would send, while the Rust SDK, the service's own JSON (`-0.0` comes back as
//! `0`) and we take −0.0 for 0.0. Those rows check the raw hash and that the key falls where 0.0 does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use model::partition_key::hash::{murmur3_32, murmur3_128};
use model::{
    Component, Epk, EpkRange, PartitionKey, PartitionKeyDefinition, PartitionKeyKind, PropertyPath,
    Value, json,
};

fn vectors() -> Value {
    json::parse(include_bytes!("data/epk-vectors.json")).unwrap()
}

/// Returns the rows of a table, after checking that none is missing.
fn rows(vectors: &Value, table: &str, n_rows: usize) -> Vec<Value> {
    let rows = vectors.get(table).and_then(Value::as_array).unwrap().to_vec();
    assert_eq!(rows.len(), n_rows, "rows of {table}");
    rows
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row.get(name).and_then(Value::as_str).unwrap()
}

fn number(row: &Value, name: &str) -> u32 {
    row.get(name).and_then(Value::as_i64).unwrap().try_into().unwrap()
}

fn epk(hex: &str) -> Epk {
    let epk = Epk::parse(hex).unwrap();
    assert_eq!(epk.to_string(), hex, "the wire form reads back");
    epk
}

/// Only the number of paths matters; some rows have more than a container may have today.
fn definition(row: &Value, n_paths: usize) -> PartitionKeyDefinition {
    let kind = match text(row, "kind") {
        "Hash" => PartitionKeyKind::Hash,
        "MultiHash" => PartitionKeyKind::MultiHash,
        "Range" => PartitionKeyKind::Range,
        other => panic!("unknown kind {other}"),
    };
    let path_texts: Vec<String> = (0..n_paths).map(|index| format!("/p{index}")).collect();
    let paths = path_texts.iter().map(|path| PropertyPath::parse(path).unwrap()).collect();
    let version = number(row, "version").try_into().unwrap();
    PartitionKeyDefinition { paths, path_texts, kind, version, system_key: false }
}

fn components(row: &Value, name: &str) -> Vec<Component> {
    row.get(name).and_then(Value::as_array).unwrap().iter().map(component).collect()
}

fn component(value: &Value) -> Component {
    match text(value, "t") {
        "undefined" => Component::Undefined,
        "null" => Component::Null,
        "bool" => Component::Bool(value.get("v").and_then(Value::as_bool).unwrap()),
        "number" => {
            let bits = u64::from_str_radix(text(value, "f64_bits"), 16).unwrap();
            Component::Number(f64::from_bits(bits))
        }
        "string" => Component::String(text(value, "v").to_owned()),
        other => panic!("unknown type {other}"),
    }
}

fn is_negative_zero(component: &Component) -> bool {
    matches!(component, Component::Number(double) if double.to_bits() == (-0.0_f64).to_bits())
}

/// The bytes that a hash is fed with, written down once more and apart from the crate, with the
/// bits of numbers as given.
fn hashed_bytes(component: &Component, string_end: u8) -> Vec<u8> {
    match component {
        Component::Undefined => vec![0],
        Component::Null => vec![1],
        Component::Bool(bool) => vec![2 + u8::from(*bool)],
        Component::Number(double) => [&[5][..], &double.to_le_bytes()].concat(),
        Component::String(text) => [&[8], text.as_bytes(), &[string_end]].concat(),
    }
}

#[test]
fn every_key_falls_where_the_vectors_say() {
    let mut n_negative_zero = 0;
    for row in rows(&vectors(), "epk", 435) {
        let components = components(&row, "components");
        let definition = definition(&row, row.get("paths").unwrap().as_array().unwrap().len());
        let actual = definition.epk(&PartitionKey::new(components.clone()));
        if components.iter().any(is_negative_zero) {
            n_negative_zero += 1;
            let zero: Vec<Component> = components
                .iter()
                .map(|one| if is_negative_zero(one) { Component::Number(0.0) } else { one.clone() })
                .collect();
            assert_eq!(actual, definition.epk(&PartitionKey::new(zero)), "−0.0 is 0.0: {row}");
            check_raw_bits(&row, &components);
        } else {
            assert_eq!(actual, epk(text(&row, "epk")), "{row}");
        }
    }
    assert_eq!(n_negative_zero, 3, "the rows that differ on purpose");
}

/// Checks the hash of a row with −0.0 from the raw bits.
fn check_raw_bits(row: &Value, components: &[Component]) {
    let expected = text(row, "epk");
    if number(row, "version") == 1 {
        // The leading number is the hash; 05C1… is the encoding of a number of 32 bits.
        let hash = murmur3_32(&hashed_bytes(&components[0], 0x00), 0);
        assert_eq!((hash, &expected[..14]), (0xB03D_A650, "05C1E703ED99A0"), "{row}");
        return;
    }
    let hash = |one: &Component| murmur3_128(&hashed_bytes(one, 0xFF)) & ((1 << 126) - 1);
    let hex = |one: &Component| format!("{:032X}", hash(one));
    let actual: String = components.iter().map(hex).collect();
    assert_eq!(actual, expected, "{row}");
}

#[test]
fn every_raw_hash_is_as_published() {
    for row in rows(&vectors(), "raw_hashes", 29) {
        // In this table several components stand for several single hashes.
        let components = components(&row, "components");
        let wide = |one| format!("{:032X}", murmur3_128(&hashed_bytes(one, 0xFF)));
        let narrow = |one| format!("{:032X}", murmur3_32(&hashed_bytes(one, 0x00), 0));
        let all_wide: String = components.iter().map(wide).collect();
        let all_narrow: String = components.iter().map(narrow).collect();
        assert_eq!(all_wide, text(&row, "murmur3_128_unmasked"), "{row}");
        assert_eq!(all_narrow, text(&row, "murmur3_32_no_truncation"), "{row}");
    }
}

#[test]
fn every_prefix_is_the_range_of_the_vectors() {
    for row in rows(&vectors(), "prefix_ranges", 9) {
        let definition = definition(&row, number(&row, "path_count") as usize);
        let prefix = PartitionKey::new(components(&row, "prefix"));
        let range = definition.epk_range_of_prefix(&prefix);
        assert_eq!(range.min(), &epk(text(&row, "min_inclusive")), "{row}");
        assert_eq!(range.max(), &epk(text(&row, "max_exclusive")), "{row}");
        let mut full = prefix.components().to_vec();
        full.resize(definition.paths.len(), Component::String("anything".to_owned()));
        assert!(range.contains(&definition.epk(&PartitionKey::new(full))), "{row}");
    }
}

#[test]
fn new_containers_are_divided_as_the_vectors_say() {
    for row in rows(&vectors(), "range_boundaries", 42) {
        let definition = definition(&row, 1);
        let ranges = definition.boundaries(number(&row, "range_count"));
        let inner = row.get("inner_boundaries").and_then(Value::as_array).unwrap();
        let expected: Vec<Epk> = inner.iter().map(|hex| epk(hex.as_str().unwrap())).collect();
        let actual: Vec<Epk> = ranges.iter().skip(1).map(|range| range.min().clone()).collect();
        assert_eq!(actual, expected, "{row}");
    }
}

#[test]
fn ranges_split_where_the_vectors_say() {
    for row in rows(&vectors(), "split_midpoints", 28) {
        let definition = definition(&row, number(&row, "path_count") as usize);
        let (min, max) = (epk(text(&row, "min_inclusive")), epk(text(&row, "max_exclusive")));
        let range = EpkRange::new(min, max).unwrap();
        assert_eq!(definition.split_point(&range), Some(epk(text(&row, "midpoint"))), "{row}");
    }
}
