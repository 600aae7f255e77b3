//! If-Match and If-None-Match on every operation (wire facts §6.2).

use partition::{ItemCall, ItemOp};

use crate::support::*;

/// Applies the operation to a partition that holds item `a` and tells the status.
async fn status(op: ItemOp, if_match: Option<&str>, if_none_match: Option<&str>) -> u16 {
    let world = World::new();
    let created = world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    let etag = created.outcome.etag.unwrap();
    let fill = |header: Option<&str>| match header {
        Some("CURRENT") => Some(etag.as_str().to_owned()),
        Some("BARE") => Some(etag.as_str().trim_matches('"').to_owned()),
        other => other.map(str::to_owned),
    };
    let call = ItemCall {
        if_match: fill(if_match),
        if_none_match: fill(if_none_match),
        ..ItemCall::new(op)
    };
    let code = code(&world.partition.apply(&world.at("[1]"), call).await);
    world.check();
    code
}

#[tokio::test]
async fn preconditions_decide_as_the_service_does() {
    let old = || upsert(r#"{"id":"a","pk":1,"v":2}"#);
    let new = || upsert(r#"{"id":"b","pk":1}"#);
    let put = || replace("a", r#"{"id":"a","pk":1,"v":2}"#);
    let change = || patch("a", r#"[{"op":"set","path":"/v","value":1}]"#);
    let stale = Some("\"0000000a-0000-0000-0000-000000000000\"");
    let (current, bare, any) = (Some("CURRENT"), Some("BARE"), Some("*"));
    #[rustfmt::skip]
    let table = [
        (old(), current, None, 200), (old(), bare, None, 200), (old(), any, None, 200), (old(), stale, None, 412),
        (new(), current, None, 201), (new(), stale, None, 201), (new(), any, None, 201),
        (old(), None, any, 412),     (new(), None, any, 201),   (old(), None, current, 412), (old(), None, stale, 200),
        (put(), current, None, 200), (put(), any, None, 200),   (put(), stale, None, 412),   (put(), None, any, 412),
        (change(), current, None, 200), (change(), stale, None, 412), (change(), any, None, 200),
        (delete("a"), current, None, 204), (delete("a"), stale, None, 412), (delete("a"), any, None, 204),
        (delete("b"), any, None, 404), (replace("b", r#"{"id":"b","pk":1}"#), any, None, 404),
        (create(r#"{"id":"a","pk":1}"#), None, any, 409), (create(r#"{"id":"b","pk":1}"#), None, any, 201),
        (create(r#"{"id":"b","pk":1}"#), stale, None, 201),
        (read("a"), None, current, 304), (read("a"), None, bare, 304), (read("a"), None, stale, 200),
        (read("a"), None, any, 304), (read("b"), None, any, 404),
    ];
    for (op, if_match, if_none_match, expected) in table {
        let what = format!("{op:?} {if_match:?} {if_none_match:?}");
        assert_eq!(status(op, if_match, if_none_match).await, expected, "{what}");
    }
}

#[tokio::test]
async fn an_unchanged_item_is_not_sent_again() {
    let world = World::new();
    let etag = world.create(r#"{"id":"a","pk":1}"#).await.unwrap().outcome.etag.unwrap();
    let outcome = world.partition.read(&world.at("[1]"), "a", Some(etag.as_str())).unwrap();
    assert_eq!((outcome.status.code, outcome.body), (304, None));
    assert_eq!((outcome.etag, outcome.charge.to_string()), (Some(etag), "1".to_owned()));
}

#[tokio::test]
async fn every_write_changes_the_etag_also_within_one_second() {
    let world = World::new();
    let mut seen = std::collections::HashSet::new();
    for n in 0..5 {
        let body = format!(r#"{{"id":"a","pk":1,"n":{n}}}"#);
        let etag = world.upsert(&body).await.unwrap().outcome.etag.unwrap();
        assert!(seen.insert(etag.as_str().to_owned()));
    }
}
