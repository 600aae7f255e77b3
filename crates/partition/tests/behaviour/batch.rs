//! Transactional batch: one LSN, all or nothing, reads see the batch's own writes.

use model::{Lsn, Value};
use partition::{Error, ItemCall};

use crate::support::*;

#[tokio::test]
async fn all_operations_take_effect_with_one_lsn() {
    let world = World::new();
    world.create(r#"{"id":"old","pk":1}"#).await.unwrap();
    let ops = vec![
        create(r#"{"id":"a","pk":1,"v":1}"#),
        upsert(r#"{"id":"a","pk":1,"v":2}"#),
        read("a"),
        replace("old", r#"{"id":"new","pk":1}"#),
        patch("new", r#"[{"op":"add","path":"/x","value":1}]"#),
        create(r#"{"id":"gone","pk":1}"#),
        delete("gone"),
        create(r#"{"id":"old","pk":1}"#),
    ];
    let batch = world.batch("[1]", ops).await.unwrap();
    assert_eq!(codes(&batch), [201, 200, 200, 200, 200, 201, 204, 201]);
    assert_eq!((batch.committed, batch.lsn), (true, Lsn(12)));
    let seen = json(batch.results[2].as_ref().unwrap().body.as_ref().unwrap());
    assert_eq!(seen.get("v").and_then(Value::as_i64), Some(2));
    assert_eq!(
        seen,
        world.read("[1]", "a").unwrap(),
        "the read inside shows the final rid and etag"
    );
    let mut feed = world.feed(Lsn(11));
    feed.sort();
    let expected = [("a", 12), ("new", 12), ("old", 12)].map(|(id, lsn)| (id.to_owned(), lsn));
    assert_eq!(feed, expected);
    assert_eq!(world.check().n_items, 3);
    let sum = batch.results.iter().flatten().map(|outcome| outcome.charge).sum();
    assert_eq!(batch.charge, sum);
}

#[tokio::test]
async fn one_failure_rolls_everything_back() {
    let world = World::new();
    world.create(r#"{"id":"old","pk":1}"#).await.unwrap();
    #[rustfmt::skip]
    let table = [
        (create(r#"{"id":"old","pk":1}"#),                        409),
        (create(r#"{"id":"a","pk":1}"#),                          409), // created earlier in the batch
        (read("missing"),                                         404),
        (delete("old"),                                           404), // deleted earlier in the batch
        (create(r#"{"id":"z","pk":2}"#),                          400),
        (patch("a", r#"[{"op":"remove","path":"/nothing"}]"#),    400),
    ];
    for (bad, status) in table {
        let ops = vec![create(r#"{"id":"a","pk":1}"#), delete("old"), bad, read("a")];
        let expects_old = matches!(&ops[2], partition::ItemOp::Create(body) if body.id() == "old");
        let ops = if expects_old { ops.into_iter().skip(2).collect() } else { ops };
        let batch = world.batch("[1]", ops).await.unwrap();
        let expected = if expects_old { vec![status, 424] } else { vec![424, 424, status, 424] };
        assert_eq!((codes(&batch), batch.committed), (expected, false));
    }
    let report = world.check();
    assert_eq!((report.n_items, report.lsn), (1, Lsn(11)));
}

#[tokio::test]
async fn preconditions_hold_inside_a_batch() {
    let world = World::new();
    let etag = world.create(r#"{"id":"a","pk":1}"#).await.unwrap().outcome.etag.unwrap();
    let call = |op, etag: &str| ItemCall { if_match: Some(etag.to_owned()), ..ItemCall::new(op) };
    let put = || replace("a", r#"{"id":"a","pk":1,"v":1}"#);
    let at = world.at("[1]");
    let calls = vec![call(put(), etag.as_str()), call(delete("a"), "*")];
    assert!(world.partition.apply_batch(&at, calls).await.unwrap().committed);
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    let calls = vec![call(put(), etag.as_str())];
    assert_eq!(codes(&world.partition.apply_batch(&at, calls).await.unwrap()), [412]);
    world.check();
}

#[tokio::test]
async fn a_batch_of_reads_commits_nothing() {
    let world = World::new();
    let etag = world.create(r#"{"id":"a","pk":1}"#).await.unwrap().outcome.etag.unwrap();
    let unchanged =
        ItemCall { if_none_match: Some(etag.as_str().to_owned()), ..ItemCall::new(read("a")) };
    let calls = vec![ItemCall::new(read("a")), unchanged];
    let batch = world.partition.apply_batch(&world.at("[1]"), calls).await.unwrap();
    assert_eq!((codes(&batch), batch.lsn), (vec![200, 304], Lsn(11)));
    assert_eq!(world.check().lsn, Lsn(11));
}

#[tokio::test]
async fn the_number_of_operations_is_bounded() {
    let world = World::new();
    assert!(matches!(world.batch("[1]", vec![]).await, Err(Error::BatchEmpty)));
    let many = |n: usize| (0..n).map(|n| create(&format!(r#"{{"id":"{n}","pk":1}}"#))).collect();
    assert!(matches!(world.batch("[1]", many(101)).await, Err(Error::BatchTooLong)));
    assert!(world.batch("[1]", many(100)).await.unwrap().committed);
    assert_eq!(world.check().n_items, 100);
}

#[tokio::test]
async fn ids_and_unique_keys_can_change_hands_inside_a_batch() {
    let world = World::with(with_unique_keys(&[&["/mail"]]));
    world.create(r#"{"id":"a","pk":1,"mail":"x"}"#).await.unwrap();
    world.create(r#"{"id":"b","pk":1,"mail":"y"}"#).await.unwrap();
    let swap = vec![
        upsert(r#"{"id":"a","pk":1,"mail":"z"}"#),
        upsert(r#"{"id":"b","pk":1,"mail":"x"}"#),
        upsert(r#"{"id":"a","pk":1,"mail":"y"}"#),
    ];
    assert!(world.batch("[1]", swap).await.unwrap().committed);
    world.check();
    let rename = vec![
        replace("a", r#"{"id":"t","pk":1,"mail":"y"}"#),
        replace("b", r#"{"id":"a","pk":1,"mail":"x"}"#),
        replace("t", r#"{"id":"b","pk":1,"mail":"y"}"#),
    ];
    assert!(world.batch("[1]", rename).await.unwrap().committed);
    assert_eq!(text(&world.read("[1]", "a").unwrap(), "mail"), "x");
    world.check();
    let taken = vec![
        delete("a"),
        create(r#"{"id":"c","pk":1,"mail":"x"}"#),
        create(r#"{"id":"d","pk":1,"mail":"x"}"#),
    ];
    assert_eq!(codes(&world.batch("[1]", taken).await.unwrap()), [424, 424, 409]);
    world.check();
}
