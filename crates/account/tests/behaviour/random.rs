//! Random item operations through the door agree with a map, on one range and on several.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use proptest::prelude::*;

use crate::support::{Client, create_call, delete_call, upsert_call};

#[derive(Debug, Clone)]
enum Step {
    Create(u8, u8, u16),
    Upsert(u8, u8, u16),
    Replace(u8, u8, u16),
    Patch(u8, u8, u16),
    Delete(u8, u8),
    Read(u8, u8),
    Batch(u8, Vec<(u8, u8, u16)>),
    DeleteAll(u8),
    Feed(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let (key, id, v) = (0..6u8, 0..5u8, 0..1000u16);
    let one = (key.clone(), id.clone(), v.clone());
    prop_oneof![
        4 => one.clone().prop_map(|(k, i, v)| Step::Create(k, i, v)),
        3 => one.clone().prop_map(|(k, i, v)| Step::Upsert(k, i, v)),
        2 => one.clone().prop_map(|(k, i, v)| Step::Replace(k, i, v)),
        2 => one.prop_map(|(k, i, v)| Step::Patch(k, i, v)),
        2 => (key.clone(), id.clone()).prop_map(|(k, i)| Step::Delete(k, i)),
        2 => (key.clone(), id.clone()).prop_map(|(k, i)| Step::Read(k, i)),
        2 => (key.clone(), prop::collection::vec((0..3u8, id, v), 1..6)).prop_map(|(k, ops)| Step::Batch(k, ops)),
        1 => key.clone().prop_map(Step::DeleteAll),
        1 => key.prop_map(Step::Feed),
    ]
}

type Model = BTreeMap<(u8, u8), u16>;

fn body(k: u8, i: u8, v: u16) -> String {
    format!(r#"{{"id":"{i}","pk":"{k}","v":{v}}}"#)
}

/// What the map says a step must answer; changes the map accordingly.
fn expected(model: &mut Model, step: &Step) -> u16 {
    match step {
        Step::Create(k, i, v) => match model.entry((*k, *i)) {
            Entry::Occupied(_) => 409,
            Entry::Vacant(vacant) => {
                vacant.insert(*v);
                201
            }
        },
        Step::Upsert(k, i, v) => match model.insert((*k, *i), *v) {
            Some(_) => 200,
            None => 201,
        },
        Step::Replace(k, i, v) | Step::Patch(k, i, v) => match model.get_mut(&(*k, *i)) {
            Some(old) => {
                *old = *v;
                200
            }
            None => 404,
        },
        Step::Delete(k, i) => {
            if model.remove(&(*k, *i)).is_some() {
                204
            } else {
                404
            }
        }
        Step::Read(k, i) => {
            if model.contains_key(&(*k, *i)) {
                200
            } else {
                404
            }
        }
        Step::Batch(k, ops) => {
            let before = model.clone();
            for (kind, i, v) in ops {
                let step = match kind {
                    0 => Step::Create(*k, *i, *v),
                    1 => Step::Upsert(*k, *i, *v),
                    _ => Step::Delete(*k, *i),
                };
                if expected(model, &step) >= 400 {
                    *model = before;
                    return 207;
                }
            }
            200
        }
        Step::DeleteAll(k) => {
            model.retain(|(key, _), _| key != k);
            200
        }
        Step::Feed(_) => 200,
    }
}

async fn run(client: &Client, step: &Step) -> crate::support::Answer {
    let items = |k: &u8| client.items().key(&format!("[\"{k}\"]"));
    match step {
        Step::Create(k, i, v) => items(k).create(&body(*k, *i, *v)).await,
        Step::Upsert(k, i, v) => items(k).upsert(&body(*k, *i, *v)).await,
        Step::Replace(k, i, v) => items(k).replace(&i.to_string(), &body(*k, *i, *v)).await,
        Step::Patch(k, i, v) => {
            let patch = format!(r#"{{"operations":[{{"op":"set","path":"/v","value":{v}}}]}}"#);
            items(k).patch(&i.to_string(), &patch).await
        }
        Step::Delete(k, i) => items(k).delete(&i.to_string()).await,
        Step::Read(k, i) => items(k).read(&i.to_string()).await,
        Step::Batch(k, ops) => {
            let call = |(kind, i, v): &(u8, u8, u16)| match kind {
                0 => create_call(&body(*k, *i, *v)),
                1 => upsert_call(&body(*k, *i, *v)),
                _ => delete_call(&i.to_string()),
            };
            items(k).batch(ops.iter().map(call).collect()).await
        }
        Step::DeleteAll(k) => items(k).run(account::ItemAction::DeleteLogicalPartition).await,
        Step::Feed(k) => items(k).feed().await,
    }
}

fn triple(row: &model::Value) -> ((u8, u8), u16) {
    let text = |name: &str| row.get(name).unwrap().as_str().unwrap().parse().unwrap();
    let v = row.get("v").unwrap().as_i64().unwrap();
    ((text("pk"), text("id")), u16::try_from(v).unwrap())
}

async fn check(n_ranges: u32, steps: &[Step]) {
    let client = Client::with_container(n_ranges).await;
    let mut model = Model::new();
    for (index, step) in steps.iter().enumerate() {
        let code = expected(&mut model, step);
        let answer = run(&client, step).await;
        assert_eq!(answer.status.code, code, "step {index}: {step:?}: {}", answer.message);
        if let (Step::Read(k, i), 200) = (step, code) {
            assert_eq!(triple(&answer.value).1, model[&(*k, *i)], "step {index}");
        }
        if let Step::Feed(k) = step {
            let rows: Model = answer.rows.iter().map(triple).collect();
            let own: Model =
                model.iter().filter(|((key, _), _)| key == k).map(|(a, b)| (*a, *b)).collect();
            assert_eq!(rows, own, "step {index}");
        }
    }
    let feed = client.items().feed_all(3).await;
    assert_eq!(feed.len(), model.len());
    assert_eq!(feed.iter().map(triple).collect::<Model>(), model, "the feed agrees");
    let mut changes = Model::new();
    let mut start = account::FeedStart::default();
    loop {
        let page = client.items().changes(start).await;
        changes.extend(page.rows.iter().map(triple));
        if page.status.code == 304 {
            break;
        }
        let after = page.facts.etag.as_ref().map(|etag| etag.as_str().to_owned());
        start = account::FeedStart { after, ..account::FeedStart::default() };
    }
    assert_eq!(changes, model, "the change feed agrees");
    client.account.run_jobs_once().await.unwrap();
    let n_items: u64 = client.account.metrics().ranges.iter().map(|range| range.n_items).sum();
    assert_eq!(n_items, model.len() as u64, "the counters agree");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_range_and_several_agree_with_a_map(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            check(1, &steps).await;
            check(5, &steps).await;
        });
    }
}
