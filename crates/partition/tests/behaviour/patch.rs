//! Patch on stored items: what the operation table of the unit tests cannot show.

use model::{PartitionKeyDefinition, Value};
use partition::Settings;

use crate::support::*;

const ITEM: &str = r#"{"id":"a","pk":1,"stock":3,"n":1.10,"tags":["x"],"addr":{"zip":"1"}}"#;

#[tokio::test]
async fn operations_apply_in_order_and_untouched_numbers_keep_their_text() {
    let world = World::new();
    world.create(ITEM).await.unwrap();
    let patch = r#"{"operations":[{"op":"incr","path":"/stock","value":-1},{"op":"add","path":"/tags/-","value":"y"},
        {"op":"set","path":"/addr/city","value":"Oslo"},{"op":"move","from":"/addr/zip","path":"/zip"},{"op":"remove","path":"/tags/0"}]}"#;
    let applied = world.patch("[1]", "a", patch).await.unwrap();
    let body = String::from_utf8(applied.outcome.body.unwrap().to_vec()).unwrap();
    let user = r#"{"id":"a","pk":1,"stock":2,"n":1.10,"tags":["y"],"addr":{"city":"Oslo"},"_rid""#;
    assert!(body.starts_with(user), "{body}");
    assert!(body.contains(r#","_attachments":"attachments/","zip":"1","_ts":"#), "{body}");
    assert_eq!(applied.outcome.status.code, 200);
    world.check();
}

#[tokio::test]
async fn what_patches_add_stands_before_the_time_until_the_item_is_replaced() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1,"n":1}"#).await.unwrap();
    let names = || {
        let item = world.read("[1]", "a").unwrap();
        let names = item.as_object().unwrap().iter().map(|(name, _)| name.to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    for (patch, expected) in [
        (r#"[{"op":"add","path":"/x","value":1}]"#, "id pk n _rid _self _etag _attachments x _ts"),
        (
            r#"[{"op":"set","path":"/n","value":[2]}]"#,
            "id pk n _rid _self _etag _attachments x _ts",
        ),
        (
            r#"[{"op":"set","path":"/y","value":2}]"#,
            "id pk n _rid _self _etag _attachments x y _ts",
        ),
        (r#"[{"op":"remove","path":"/x"}]"#, "id pk n _rid _self _etag _attachments y _ts"),
        (r#"[{"op":"remove","path":"/n"}]"#, "id pk _rid _self _etag _attachments y _ts"),
    ] {
        world.patch("[1]", "a", patch).await.unwrap();
        assert_eq!(names(), expected, "{patch}");
    }
    world.replace("a", r#"{"id":"a","pk":1,"y":2}"#).await.unwrap();
    assert_eq!(names(), "id pk y _rid _self _etag _attachments _ts");
    world.check();
}

#[tokio::test]
async fn a_patch_that_fails_changes_nothing() {
    let world = World::new();
    world.create(ITEM).await.unwrap();
    let patch = r#"[{"op":"incr","path":"/stock","value":1},{"op":"remove","path":"/nothing"}]"#;
    let error = world.patch("[1]", "a", patch).await.unwrap_err();
    assert!(error.to_string().starts_with("For Operation(2): Remove Operation"), "{error}");
    assert_eq!(world.read("[1]", "a").unwrap().get("stock").and_then(Value::as_i64), Some(3));
    assert_eq!(world.check().lsn.0, 11);
}

#[tokio::test]
async fn identity_and_server_properties_are_protected() {
    let world = World::new();
    world.create(ITEM).await.unwrap();
    for path in ["/id", "/pk", "/_ts", "/_rid", "/_self", "/_etag", "/_attachments", "/_lsn"] {
        for patch in [
            format!(r#"[{{"op":"set","path":"{path}","value":1}}]"#),
            format!(r#"[{{"op":"remove","path":"{path}"}}]"#),
            format!(r#"[{{"op":"move","from":"{path}","path":"/x"}}]"#),
        ] {
            assert_eq!(failure(world.patch("[1]", "a", &patch).await), (400, 0), "{patch}");
        }
    }
}

#[tokio::test]
async fn a_nested_partition_key_cannot_be_changed_through_its_parent() {
    let definition = PartitionKeyDefinition::new(&["/addr/zip"]).unwrap();
    let world = World::with(Settings { definition, ..settings() });
    world.create(r#"{"id":"a","addr":{"zip":"1","city":"x"}}"#).await.unwrap();
    let key = r#"["1"]"#;
    for patch in [
        r#"[{"op":"remove","path":"/addr"}]"#,
        r#"[{"op":"set","path":"/addr","value":{"zip":"2"}}]"#,
        r#"[{"op":"set","path":"/addr/zip","value":"1"}]"#,
    ] {
        assert_eq!(failure(world.patch(key, "a", patch).await), (400, 0), "{patch}");
    }
    let same = r#"[{"op":"set","path":"/addr","value":{"zip":"1"}}]"#;
    assert_eq!(code(&world.patch(key, "a", same).await), 200);
    world.check();
}

#[tokio::test]
async fn the_result_is_checked_like_a_replace() {
    let world = World::with(with_unique_keys(&[&["/n"]]));
    world.create(r#"{"id":"a","pk":1,"n":1}"#).await.unwrap();
    world.create(r#"{"id":"b","pk":1,"n":2}"#).await.unwrap();
    let set =
        |path: &str, value: &str| format!(r#"[{{"op":"set","path":"{path}","value":{value}}}]"#);
    assert_eq!(failure(world.patch("[1]", "a", &set("/n", "2")).await), (409, 0));
    assert_eq!(failure(world.patch("[1]", "a", &set("/ttl", "0")).await), (400, 0));
    let huge = format!("\"{}\"", "x".repeat(2 << 20));
    assert_eq!(failure(world.patch("[1]", "a", &set("/s", &huge)).await), (413, 0));
    assert_eq!(failure(world.patch("[1]", "c", &set("/s", "1")).await), (404, 0));
    world.check();
}

#[tokio::test]
async fn a_condition_must_hold_for_the_item_as_read() {
    let world = World::new();
    world.create(ITEM).await.unwrap();
    #[rustfmt::skip]
    let table = [
        ("from c where c.stock > 2",                    None),
        ("FROM item WHERE item.addr.zip = '1'",         None),
        ("from c where c.stock > 3",                    Some((412, 1110))),
        ("from c where c.missing = 1",                  Some((412, 1110))),
        ("from c where c._ts = 1700000000 and IS_DEFINED(c._etag)", None),
        ("from c where",                                Some((400, 0))),
        ("nonsense",                                    Some((400, 0))),
    ];
    for (condition, expected) in table {
        let patch = format!(
            r#"{{"condition":"{condition}","operations":[{{"op":"set","path":"/x","value":1}}]}}"#
        );
        let result = world.patch("[1]", "a", &patch).await;
        let found = result.err().map(|error| {
            let status = model::Failure::status(&error);
            (status.code, status.sub)
        });
        assert_eq!(found, expected, "{condition}");
    }
    world.check();
}
