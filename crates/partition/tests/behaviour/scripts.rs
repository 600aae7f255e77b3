//! Scripts as writers of a partition: one commit, consistent families, nothing shown before it is durable.

use std::sync::Arc;

use model::{Env, Failure as _, Lsn};
use partition::scripts::{Limits, Operation, Runtime, Script};
use partition::{
    Executed, ExecutionFailed, OnDemand, Procedure, Scope, Surroundings, TriggeredCall,
};

use crate::support::held::HeldStore;
use crate::support::*;

#[derive(Debug)]
struct Nothing(Env);

impl OnDemand for Nothing {
    fn prepare(&self) -> query::PrepareOptions {
        query::PrepareOptions::new(self.0.clone())
    }

    fn quota(&self) -> String {
        String::new()
    }

    fn usage(&self) -> String {
        String::new()
    }
}

fn surroundings(env: &Env) -> Surroundings {
    Surroundings {
        alt_link: "dbs/d/colls/c".to_owned(),
        functions: [].into(),
        on_demand: Arc::new(Nothing(env.clone())),
    }
}

fn script(body: &str) -> Script {
    Script { id: "s".into(), version: body.into(), body: body.into() }
}

pub(crate) async fn run(world: &World, body: &str) -> Result<Executed, ExecutionFailed> {
    let runtime = Runtime::new(world.env.clone(), Limits::service());
    let procedure = Procedure { script: script(body), arguments: None, wants_log: false };
    let (at, around) = (world.at("[1]"), surroundings(&world.env));
    world.partition.run_procedure(&runtime, &at, &around, procedure, ()).await
}

const COUNT_OR_FAIL: &str = "function (fails) {
    var accepted = __.readDocument(__.getAltLink() + '/docs/a', function (err, item) {
        if (err) throw err;
        item.total += 1;
        __.replaceDocument(item._self, item, function (err) { if (err || fails) throw new Error('on purpose'); });
    });
    if (!accepted) throw new Error('not accepted');
}";

/// With several threads, such a run comes to the thread of its request after the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_run_counts_once_wherever_it_is_and_not_at_all_when_it_fails() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1,"total":0}"#).await.unwrap();
    let runtime = Runtime::new(world.env.clone(), Limits::service());
    let (at, around) = (world.at("[1]"), surroundings(&world.env));
    for n in 1..=60 {
        let fails = n % 5 == 0;
        let arguments = Some(format!("[{fails}]"));
        let procedure = Procedure { script: script(COUNT_OR_FAIL), arguments, wants_log: false };
        let done = world.partition.run_procedure(&runtime, &at, &around, procedure, ()).await;
        assert_eq!(done.is_err(), fails, "{n}: {done:?}");
    }
    let item = world.read("[1]", "a").unwrap();
    assert_eq!(item.get("total").and_then(model::Value::as_i64), Some(48));
    world.check();
}

const MIXED: &str = "function () {
    var L = __.getSelfLink(), A = __.getAltLink() + '/docs/';
    __.createDocument(L, {id: 'new', pk: 1, u: 7, ttl: 50});
    __.replaceDocument(A + 'a', {id: 'renamed', pk: 1, u: 8});
    __.deleteDocument(A + 'b');
    __.createDocument(L, {id: 'short-lived', pk: 1, u: 9});
    __.deleteDocument(A + 'short-lived');
    __.upsertDocument(L, {id: 'new', pk: 1, u: 10});
    __.createDocument(L, {id: 'b', pk: 1, u: 2});
    __.createDocument(L, {id: 'refused', pk: 1, u: 8}, function (err) { __.response.setBody(err.number); });
}";

#[tokio::test]
async fn all_families_agree_after_a_run() {
    let settings = partition::Settings {
        version_retention: Some(std::time::Duration::from_secs(600)),
        default_ttl: Some(-1),
        ..with_unique_keys(&[&["/u"]])
    };
    let world = World::with(settings);
    world.create(r#"{"id":"a","pk":1,"u":1}"#).await.unwrap();
    world.create(r#"{"id":"b","pk":1,"u":2}"#).await.unwrap();
    world.create(r#"{"id":"c","pk":2,"u":1}"#).await.unwrap();
    let executed = run(&world, MIXED).await.unwrap();
    assert_eq!(executed.body.as_deref(), Some("409"));
    assert_eq!(executed.lsn, Lsn(14), "one commit");
    world.check();
    let at = world.at("[1]");
    assert_eq!(world.ids(&Scope::Logical(at)), ["renamed", "new", "b"]);
    let changed = world.feed(Lsn(13));
    assert!(changed.iter().all(|(_, lsn)| *lsn == 14) && changed.len() == 3, "{changed:?}");
    assert_eq!(world.versions(Lsn(13)).len(), 7, "every step is in the all-versions feed");
    // Unique keys were given back and taken: 1 is free, 8 is not.
    assert_eq!(code(&world.create(r#"{"id":"x","pk":1,"u":1}"#).await), 201);
    assert_eq!(code(&world.create(r#"{"id":"y","pk":1,"u":8}"#).await), 409);
    world.check();
}

#[tokio::test]
async fn a_failed_run_changes_no_byte_and_costs_numbers_only() {
    let world = World::with(with_unique_keys(&[&["/u"]]));
    world.create(r#"{"id":"a","pk":1,"u":1}"#).await.unwrap();
    world.create(r#"{"id":"b","pk":1,"u":2}"#).await.unwrap();
    let before = world.check();
    let body = MIXED.replace("__.response.setBody(err.number)", "throw err");
    let failed = run(&world, &body).await.unwrap_err();
    assert_eq!(failed.error.status().code, 409);
    assert!(failed.charge.hundredths() > 0);
    assert_eq!(format!("{before:?}"), format!("{:?}", world.check()));
    assert_eq!(world.partition.lsn(), Lsn(12));
    world.create(r#"{"id":"c","pk":1,"u":3}"#).await.unwrap();
    world.check();
}

fn held() -> (Arc<HeldStore>, Arc<World>) {
    let store = HeldStore::new();
    let world = World::on(Arc::<HeldStore>::clone(&store), settings());
    (store, Arc::new(world))
}

/// Starts something in the background and waits until the store has one more commit to answer.
async fn start<T: Send + 'static>(
    store: &HeldStore,
    work: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let n_before = store.n_waiting();
    let task = tokio::spawn(work);
    while store.n_waiting() == n_before {
        assert!(!task.is_finished(), "answered without asking the store");
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    task
}

const COUNT: &str = "function () {
    __.readDocuments(__.getSelfLink(), function (err, docs) { __.response.setBody(docs.length); });
}";
const CREATE_AGAIN: &str = "function () { __.createDocument(__.getSelfLink(), {id: 'a', pk: 1}); }";
const INCREMENT: &str = "function () {
    __.readDocument(__.getAltLink() + '/docs/a', function (err, doc) {
        if (err) throw err;
        doc.n = (doc.n || 0) + 1;
        __.replaceDocument(doc._self, doc);
        __.response.setBody(doc.n);
    });
}";

#[tokio::test]
async fn a_run_sees_submitted_writes_and_answers_when_they_are_durable() {
    let (store, world) = held();
    store.hold();
    let create = |world: &Arc<World>| {
        let world = Arc::clone(world);
        async move { world.create(r#"{"id":"a","pk":1}"#).await }
    };
    let spawned = |body: &'static str| {
        let world = Arc::clone(&world);
        async move { run(&world, body).await }
    };
    let created = start(&store, create(&world)).await;
    let counted = start(&store, spawned(COUNT)).await;
    let refused = start(&store, spawned(CREATE_AGAIN)).await;
    let incremented = start(&store, spawned(INCREMENT)).await;
    let twice = start(&store, spawned(INCREMENT)).await;
    assert!(!counted.is_finished() && !refused.is_finished());
    store.release();
    created.await.unwrap().unwrap();
    assert_eq!(counted.await.unwrap().unwrap().body.as_deref(), Some("1"));
    assert_eq!(refused.await.unwrap().unwrap_err().error.status().code, 409);
    assert_eq!(incremented.await.unwrap().unwrap().body.as_deref(), Some("1"));
    assert_eq!(twice.await.unwrap().unwrap().body.as_deref(), Some("2"), "built on the one before");
    assert_eq!(world.read("[1]", "a").unwrap().get("n").unwrap().as_i64(), Some(2));
    world.check();
}

#[tokio::test]
async fn a_run_that_saw_a_write_that_is_lost_answers_449() {
    for body in [COUNT, CREATE_AGAIN, INCREMENT] {
        let (store, world) = held();
        store.hold();
        let lost = {
            let world = Arc::clone(&world);
            start(&store, async move { world.create(r#"{"id":"a","pk":1}"#).await }).await
        };
        let script = {
            let world = Arc::clone(&world);
            start(&store, async move { run(&world, body).await }).await
        };
        store.fail_one();
        store.release();
        assert!(lost.await.unwrap().is_err());
        assert_eq!(script.await.unwrap().unwrap_err().error.status().code, 449, "{body}");
        world.create(r#"{"id":"a","pk":1,"n":5}"#).await.unwrap();
        world.check();
    }
}

#[tokio::test]
async fn a_commit_that_the_store_loses_is_no_success() {
    let (store, world) = held();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    store.hold();
    let script = {
        let world = Arc::clone(&world);
        start(&store, async move { run(&world, INCREMENT).await }).await
    };
    store.fail_one();
    store.release();
    assert_eq!(script.await.unwrap().unwrap_err().error.status().code, 503);
    assert!(world.read("[1]", "a").unwrap().get("n").is_none());
    assert_eq!(run(&world, INCREMENT).await.unwrap().body.as_deref(), Some("1"));
    world.check();
}

#[tokio::test]
async fn a_write_with_triggers_is_one_commit() {
    let world = World::new();
    let runtime = Runtime::new(world.env.clone(), Limits::service());
    let pre = "function () {
        var r = getContext().getRequest(), d = r.getBody();
        d.n = 1;
        r.setBody(d);
        __.createDocument(__.getSelfLink(), {id: 'before', pk: 1});
    }";
    let post = "function () { __.createDocument(__.getSelfLink(), {id: 'after', pk: 1}); }";
    let call = TriggeredCall {
        operation: Operation::Create,
        id: None,
        body: Some(r#"{"id":"a","pk":1}"#.into()),
        if_match: None,
        if_none_match: None,
        indexing: partition::IndexingDirective::Default,
        pre: vec![script(pre)],
        post: vec![script(post)],
    };
    let (at, around) = (world.at("[1]"), surroundings(&world.env));
    let done = world.partition.apply_with_triggers(&runtime, &at, &around, call, ()).await.unwrap();
    assert_eq!((done.outcome.status.code, done.lsn), (201, Lsn(11)));
    assert_eq!(json(&done.outcome.body.unwrap()), world.read("[1]", "a").unwrap());
    assert_eq!(world.ids(&Scope::Logical(at)), ["before", "a", "after"]);
    world.check();
}

#[tokio::test]
async fn an_item_that_a_script_deletes_takes_its_attachments_along() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    world.attach("[1]", "a", upload("m", "image/png", &bytes(100_000, 1))).await.unwrap();
    let remove = |end: &str| {
        format!(
            "function () {{ __.deleteDocument(__.getAltLink() + '/docs/a', function (err) {{ if (err) throw err; {end} }}); }}"
        )
    };
    assert!(run(&world, &remove("throw new Error('on purpose');")).await.is_err());
    assert_eq!(world.attachments("[1]", "a"), ["m"], "nothing of a failed run remains");
    run(&world, &remove("__.createDocument(__.getSelfLink(), {id: 'a', pk: 1});")).await.unwrap();
    assert!(world.attachments("[1]", "a").is_empty(), "a new item under the id has none");
    let statistics = world.partition.statistics();
    assert_eq!((statistics.n_items, statistics.n_attachments, statistics.media_bytes), (1, 0, 0));
    world.check();
}
