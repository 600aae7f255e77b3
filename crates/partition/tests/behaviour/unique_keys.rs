//! Unique keys within the logical partition.

use partition::Settings;

use crate::support::*;

#[tokio::test]
async fn a_combination_of_values_occurs_once_per_logical_partition() {
    let world = World::with(with_unique_keys(&[&["/name/first", "/name/last"], &["/mail"]]));
    #[rustfmt::skip]
    let table = [
        (r#"{"id":"1","pk":1,"name":{"first":"A","last":"B"},"mail":1}"#,   201),
        (r#"{"id":"2","pk":1,"name":{"first":"A","last":"B"},"mail":2}"#,   409),
        (r#"{"id":"2","pk":1,"name":{"first":"A","last":"C"},"mail":1.0}"#, 409), // numbers by value
        (r#"{"id":"2","pk":1,"name":{"first":"A","last":"C"},"mail":"1"}"#, 201), // types differ
        (r#"{"id":"3","pk":2,"name":{"first":"A","last":"B"},"mail":1}"#,   201), // another partition
        (r#"{"id":"4","pk":1}"#,                                            201), // all missing, once
        (r#"{"id":"5","pk":1,"mail":null}"#,                                409), // missing counts as null
        (r#"{"id":"5","pk":1,"name":"x","mail":3}"#,                        409), // names missing again
        (r#"{"id":"5","pk":1,"name":{"first":"A"},"mail":4}"#,              201),
    ];
    for (body, expected) in table {
        assert_eq!(code(&world.create(body).await), expected, "{body}");
    }
    let error = world.create(r#"{"id":"9","pk":1}"#).await.unwrap_err().to_string();
    assert_eq!(error, "Entity with the specified id already exists in the system.");
    world.check();
}

#[tokio::test]
async fn values_are_free_again_when_their_item_lets_go() {
    let world = World::with(with_unique_keys(&[&["/mail"]]));
    world.create(r#"{"id":"a","pk":1,"mail":"x"}"#).await.unwrap();
    world.create(r#"{"id":"b","pk":1,"mail":"y"}"#).await.unwrap();
    assert_eq!(code(&world.replace("a", r#"{"id":"a","pk":1,"mail":"y"}"#).await), 409);
    assert_eq!(code(&world.replace("a", r#"{"id":"a","pk":1,"mail":"x","v":1}"#).await), 200);
    assert_eq!(code(&world.replace("a", r#"{"id":"a2","pk":1,"mail":"z"}"#).await), 200);
    assert_eq!(code(&world.upsert(r#"{"id":"b","pk":1,"mail":"x"}"#).await), 200);
    world.delete("[1]", "b").await.unwrap();
    assert_eq!(code(&world.create(r#"{"id":"c","pk":1,"mail":"x"}"#).await), 201);
    world.check();
}

#[tokio::test]
async fn an_expired_holder_holds_nothing() {
    let unique = with_unique_keys(&[&["/mail"]]);
    let world = World::with(Settings { default_ttl: Some(-1), ..unique });
    world.create(r#"{"id":"a","pk":1,"mail":"x","ttl":5}"#).await.unwrap();
    assert_eq!(code(&world.create(r#"{"id":"b","pk":1,"mail":"x"}"#).await), 409);
    world.advance(5);
    assert_eq!(code(&world.create(r#"{"id":"b","pk":1,"mail":"x"}"#).await), 201);
    assert_eq!(world.check().n_items, 1, "the dead holder went with the write");
}

#[tokio::test]
async fn long_values_are_told_apart() {
    let world = World::with(with_unique_keys(&[&["/mail"]]));
    let long = "x".repeat(10_000);
    for (id, end, expected) in [("a", "1", 201), ("b", "2", 201), ("c", "1", 409)] {
        let body = format!(r#"{{"id":"{id}","pk":1,"mail":"{long}{end}"}}"#);
        assert_eq!(code(&world.create(&body).await), expected);
    }
    world.check();
}
