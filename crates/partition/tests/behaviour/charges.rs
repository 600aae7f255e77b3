//! Charges as operations report them, beside what the service answered to the same requests (`docs/charges.md`).

use model::Charge;
use partition::{Error, ItemOp, Scope, Settings};
use query::index::IndexPolicy;

use crate::support::*;

const FOUR: &str = r#"{"id":"d1","pk":"a","n":1,"s":"x"}"#;
const NINETEEN: &str = r#"{"id":"t","pk":"a","a":1,"b":"x","c":true,"d":null,"e":1.5,"f":"y","obj":{"a":{"b":1}},
    "g":2,"h":3,"i":"z","j":false,"k":4,"l":5,"arr":[1,"a",null,[2]],"empty":[],"none":{},"m":6}"#;

fn shown(charge: Charge) -> String {
    charge.to_string()
}

#[tokio::test]
async fn creates_and_deletes_cost_what_was_recorded() {
    #[rustfmt::skip]
    let table = [
        (r#"{"id":"1","pk":"a"}"#, "5.9"),
        (r#"{"id":"2","pk":"a","s":"x"}"#, "6.29"),
        (FOUR, "6.67"),
        (r#"{"id":"3","pk":"a","c":1,"d":2,"e":3,"f":4,"g":5,"h":6,"i":7,"j":8,"k":9,"l":10,"m":11,"n":12}"#, "10.48"),
        (r#"{"id":"4","pk":"a","c":1,"d":2,"e":3,"f":4,"g":5,"h":6,"obj":{"a":{"b":1}}}"#, "9.14"),
    ];
    let world = World::new();
    for (body, expected) in table {
        let created = world.create(body).await.unwrap().outcome.charge;
        assert_eq!(shown(created), expected, "{body}");
        let deleted = world.delete("[\"a\"]", item(body).id()).await.unwrap().outcome.charge;
        assert_eq!(deleted, created, "{body}");
    }
}

#[tokio::test]
async fn a_replace_pays_for_both_versions_and_the_terms_that_change() {
    let world = World::new();
    world.create(FOUR).await.unwrap();
    let same_second = world.upsert(FOUR).await.unwrap().outcome.charge;
    assert_eq!(shown(same_second), "9.9", "nothing changed, not even the second");
    world.advance(1);
    let one = world.upsert(&FOUR.replace(":1", ":2")).await.unwrap().outcome.charge;
    assert_eq!(shown(one), "10.67");
    world.advance(1);
    let two = world.upsert(&FOUR.replace(":1", ":3").replace("\"x\"", "\"y\"")).await.unwrap();
    assert_eq!(shown(two.outcome.charge), "11.05");
    world.advance(1);
    let patch = r#"[{"op":"set","path":"/n","value":5}]"#;
    let patched = world.patch("[\"a\"]", "d1", patch).await.unwrap().outcome.charge;
    assert_eq!(shown(patched), "10.98", "a replace, and 0.315 for one operation");
}

#[tokio::test]
async fn sizes_are_classes_not_a_slope() {
    let world = World::new();
    let of = |bytes: usize| format!(r#"{{"id":"x{bytes}","pk":1,"p":"{}"}}"#, "p".repeat(bytes));
    let mut charges = Vec::new();
    for bytes in [900, 1_100, 1_900, 2_100, 5_000, 10_000, 50_000] {
        let body = of(bytes);
        let created = world.create(&body).await.unwrap().outcome.charge;
        let read = world.partition.read(&world.at("[1]"), item(&body).id(), None).unwrap().charge;
        charges.push((shown(created), shown(read)));
    }
    let expected = [
        ("6.29", "1"),
        ("7.62", "1.05"),
        ("7.62", "1.05"),
        ("8", "1.14"),
        ("8.38", "1.33"),
        ("10.86", "1.67"),
        ("24", "4.76"),
    ];
    let expected = expected.map(|(create, read)| (create.to_owned(), read.to_owned()));
    assert_eq!(charges, expected);
}

#[tokio::test]
async fn excluded_paths_cost_nothing_and_the_id_always_does() {
    let policy = r#"{"includedPaths":[{"path":"/n/?"}],"excludedPaths":[{"path":"/*"}]}"#;
    let index_policy = IndexPolicy::from_policy(&model::json::parse(policy.as_bytes()).unwrap());
    let world = World::with(Settings { index_policy, ..settings() });
    // The id, n, and the time.
    assert_eq!(shown(world.create(FOUR).await.unwrap().outcome.charge), "5.9");
    let none = IndexPolicy::none();
    let world = World::with(Settings { is_indexed: false, index_policy: none, ..settings() });
    assert_eq!(shown(world.create(NINETEEN).await.unwrap().outcome.charge), "4.95");
}

#[tokio::test]
async fn refusals_cost_what_was_recorded() {
    let world = World::new();
    let missing = world.partition.read(&world.at("[\"a\"]"), "a", None).unwrap_err();
    assert_eq!(shown(missing.charge()), "1");
    let deleted = world.delete("[\"a\"]", "a").await.unwrap_err();
    assert_eq!(shown(deleted.charge()), "1.24");
    world.create(r#"{"id":"1","pk":"a"}"#).await.unwrap();
    let taken = world.create(r#"{"id":"1","pk":"a"}"#).await.unwrap_err();
    assert_eq!(shown(taken.charge()), "1.48");
    assert_eq!(shown(Error::EtagMismatch.charge()), "1.24");
    assert_eq!(shown(Error::BatchEmpty.charge()), "0");
}

#[tokio::test]
async fn unique_keys_and_a_ttl_of_its_own_cost_extra() {
    let keys = with_unique_keys(&[&["/email"]]);
    let world = World::with(Settings { default_ttl: Some(-1), ..keys });
    let email = |id: &str| format!(r#"{{"id":"{id}","pk":"a","email":"e"}}"#);
    assert_eq!(shown(world.create(&email("1")).await.unwrap().outcome.charge), "7.77");
    let taken = world.create(&email("2")).await.unwrap_err();
    assert_eq!(shown(taken.charge()), "1.94");
    let ttl = world.create(r#"{"id":"3","pk":"a","ttl":60}"#).await.unwrap();
    assert_eq!(shown(ttl.outcome.charge), "8");
}

#[tokio::test]
async fn a_batch_is_the_sum_and_what_is_undone_is_paid_for() {
    let world = World::new();
    let create = |id: usize| {
        let text = format!(r#"{{"id":"{id}","pk":"a","n":1,"grp":"g","txt":"t"}}"#);
        ItemOp::Create(item(&text))
    };
    let all = world.batch("[\"a\"]", (0..100).map(create).collect()).await.unwrap();
    assert_eq!(shown(all.charge), "704.76");
    let failed = vec![create(100), create(7), create(101)];
    let failed = world.batch("[\"a\"]", failed).await.unwrap();
    let charges: Vec<String> = failed
        .results
        .iter()
        .map(|result| shown(result.as_ref().map_or_else(Error::charge, |done| done.charge)))
        .collect();
    assert_eq!(charges, ["7.05", "1.76", "0"], "undone, refused, never tried");
    assert_eq!(shown(failed.charge), "8.81");
}

#[tokio::test]
async fn a_feed_is_the_sum_of_its_items() {
    let world = World::new();
    let empty = world.partition.page(&Scope::All, None, limits(10)).unwrap();
    assert_eq!(shown(empty.charge), "1");
    for id in 0..3 {
        world.create(&format!(r#"{{"id":"{id}","pk":1}}"#)).await.unwrap();
    }
    let page = world.partition.page(&Scope::All, None, limits(10)).unwrap();
    assert_eq!(shown(page.charge), "3");
}

/// A policy with one declared index, and items of which each has more to index than the one before.
const DECLARED: [(&str, [&str; 3]); 4] = [
    (
        r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b"}]]}"#,
        [r#""c":1"#, r#""a":1"#, r#""a":1,"b":2"#],
    ),
    (
        r#"{"spatialIndexes":[{"path":"/a/*","types":["Point","LineString"]}]}"#,
        [
            r#""a":1"#,
            r#""a":{"type":"Point","coordinates":[1,2]}"#,
            r#""a":{"type":"LineString","coordinates":[[1,2],[40,50]]}"#,
        ],
    ),
    (
        r#"{"fullTextIndexes":[{"path":"/a"}]}"#,
        [r#""a":1"#, r#""a":"one""#, r#""a":"one of many longer texts here""#],
    ),
    (
        r#"{"vectorIndexes":[{"path":"/a","type":"flat"}],"excludedPaths":[{"path":"/a/*"}]}"#,
        [r#""c":1"#, r#""a":[1,2,3]"#, r#""a":[1,2,3,4,5,6]"#],
    ),
];

/// No recorded write tells what these cost. What the model assumes is at least in order.
#[tokio::test]
async fn declared_indexes_never_make_a_write_cheaper() {
    for (policy, members) in DECLARED {
        let policy = model::json::parse(policy.as_bytes()).unwrap();
        let world = |policy: &model::Value| {
            let index_policy = IndexPolicy::from_policy(policy);
            World::with(Settings { index_policy, ..settings() })
        };
        let mut plain = model::Object::new();
        if let Some(excluded) = policy.get("excludedPaths") {
            plain.insert("excludedPaths", excluded.clone());
        }
        let (with, without) = (world(&policy), world(&model::Value::Object(plain)));
        let mut last = Charge::ZERO;
        for (id, members) in members.iter().enumerate() {
            let body = format!(r#"{{"id":"{id}","pk":"a",{members}}}"#);
            let dear = with.create(&body).await.unwrap().outcome.charge;
            let cheap = without.create(&body).await.unwrap().outcome.charge;
            // The first item has nothing that the index is about.
            assert_eq!(dear > cheap, id > 0, "{body}: {dear}, without the index {cheap}");
            assert!(dear >= last, "{body}: {dear} after {last}");
            last = dear;
            let deleted = with.delete("[\"a\"]", &id.to_string()).await.unwrap();
            assert_eq!(deleted.outcome.charge, dear, "{body}");
        }
    }
}
