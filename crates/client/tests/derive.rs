//! Synthetic keys from annotated fields.
#![allow(clippy::unwrap_used, reason = "tests may")]

use orrery_client::{Error, Partitioned, ReadPlan, SyntheticKey as _};
use serde::Serialize;

#[derive(Serialize, Partitioned)]
#[serde(rename_all = "camelCase")]
#[partition(property = "partitionKey", separator = '|', escaped)]
struct Reading {
    id: String,
    #[partition(part = 2)]
    taken_on: &'static str,
    #[serde(rename = "device")]
    #[partition(part = 1)]
    device_id: String,
}

#[derive(Serialize, Partitioned)]
#[partition(property = "/keys/pk", suffixes = 7)]
struct Trip<T> {
    #[partition(base)]
    date: &'static str,
    #[partition(hashed)]
    vin: &'static str,
    payload: T,
}

#[derive(Serialize, Partitioned)]
#[partition(property = "pk")]
struct Click {
    #[partition(base, random)]
    r#type: &'static str,
}

#[derive(Serialize, Partitioned)]
#[partition(property = "pk", suffixes = 0)]
struct Wrong {
    #[partition(random, base)]
    date: &'static str,
}

#[test]
fn parts_are_joined_in_their_order_by_their_names_in_json() {
    let reading = Reading { id: "1".into(), taken_on: "2018", device_id: "a|b".into() };
    let item = reading.to_item().unwrap();
    assert_eq!(item["partitionKey"], "a\\|b|2018");
    assert_eq!((&item["takenOn"], &item["device"]), (&"2018".into(), &"a|b".into()));
    let scheme = Reading::partition_scheme().unwrap();
    assert_eq!(scheme.split("a\\|b|2018").unwrap(), ["a|b", "2018"]);
}

#[test]
fn a_base_is_suffixed_by_a_field_or_at_random() {
    let item = Trip { date: "2018-08-09", vin: "V1", payload: [1, 2] }.to_item().unwrap();
    let scheme = Trip::<()>::partition_scheme().unwrap();
    let plan = scheme.plan(&"2018-08-09".into(), &"V1".into()).unwrap();
    assert_eq!(plan, ReadPlan::Point(item["keys"]["pk"].as_str().unwrap().to_owned()));
    assert_eq!(scheme.plan_all(&"d".into()).unwrap().keys().len(), 7);

    let item = Click { r#type: "buy" }.to_item().unwrap();
    let plan = Click::partition_scheme().unwrap().plan(&"buy".into()).unwrap();
    assert_eq!(plan.keys().len(), 400);
    assert!(plan.keys().iter().any(|it| item["pk"] == **it), "{item}");
    assert_eq!(Click::partition_scheme().unwrap().property().names(), ["pk"]);
}

#[test]
fn a_wrong_annotation_is_an_error_and_no_key() {
    let refused = Wrong { date: "d" }.to_item();
    assert!(matches!(refused, Err(Error::SuffixCount { count: 0, .. })));
}
