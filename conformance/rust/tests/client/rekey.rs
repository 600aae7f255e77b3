//! Containers get another partition key while they are written to, through the SDK and without it.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conformance_rust::partitioned::{document, make_states, rest, service, stored};
use conformance_rust::run;
use orrery_client::rekey::{Options, Rekey, Spec, SyntheticScheme};
use orrery_client::{
    ChangeFeed, Concat, ContainerHost, ContainerTemplate, HashedSuffix, ItemStore, Key,
    RandomSuffix,
};
use serde_json::{Value, json};

const N_ITEMS: u64 = 60;

fn body(number: u64, version: u64) -> Value {
    json!({
        "id": format!("i{number}"),
        "pk": format!("k{}", number % 7),
        "other": format!("o{}", number % 11),
        "tenant": {"name": format!("t{}", number % 3)},
        "number": number,
        "version": version,
    })
}

fn key(number: u64) -> Key {
    Key::from(format!("k{}", number % 7))
}

async fn fill(items: &dyn ItemStore) {
    for number in 0..N_ITEMS {
        items.create(&"old".into(), &key(number), &body(number, 1)).await.unwrap();
    }
    // No partition key at all: a logical partition of its own.
    let bare =
        json!({"id": "bare", "other": "o0", "tenant": {"name": "t"}, "number": 7, "version": 1});
    items.create(&"old".into(), &Key::Undefined, &bare).await.unwrap();
}

async fn make_old(host: &dyn ContainerHost) {
    let mut template = ContainerTemplate::new(["/pk"]);
    template.default_ttl_seconds = Some(-1);
    host.create("old", &template).await.unwrap();
}

/// Replaces, creates and deletes in the source until told to stop; returns what is there then.
async fn writer(items: &dyn ItemStore, is_over: &AtomicBool) -> BTreeMap<String, u64> {
    let mut all: BTreeMap<String, u64> = (0..N_ITEMS).map(|it| (format!("i{it}"), 1)).collect();
    all.insert("bare".to_owned(), 1);
    let mut round = 1;
    while !is_over.load(Ordering::SeqCst) {
        round += 1;
        let number = round * 7 % (N_ITEMS * 2);
        let id = format!("i{number}");
        if round % 4 == 0 {
            items.delete(&"old".into(), &key(number), &id, None).await.unwrap();
            all.remove(&id);
        } else {
            items.upsert(&"old".into(), &key(number), &body(number, round)).await.unwrap();
            all.insert(id, round);
        }
    }
    all
}

async fn copied_under_load<S>(service: Arc<S>, jobs: Arc<dyn orrery_client::StateStore>, spec: Spec)
where
    S: ItemStore + ChangeFeed + ContainerHost + 'static,
{
    make_old(&*service).await;
    fill(&*service).await;
    let is_over = AtomicBool::new(false);
    let options = Options { poll: Duration::from_millis(50), ..Options::default() };
    let copy = Rekey::new(service.clone(), jobs, spec.clone(), options);
    let plan = copy.plan().await.unwrap();
    assert_eq!((plan.n_items, plan.n_without_key), (N_ITEMS + 1, 0));
    let mut n_polls = 0;
    let mut follow = || {
        n_polls += 1;
        // The application stops first, then the job goes on to verify.
        is_over.fetch_or(n_polls > 40, Ordering::SeqCst);
        n_polls < 50
    };
    let mut quiet = |_, _| {};
    let (progress, expected) =
        futures::join!(copy.run(&mut follow, &mut quiet), writer(&*service, &is_over));
    let progress = progress.unwrap();
    assert!(progress.is_settled && progress.n_followed > 0, "{progress:?}");
    assert_eq!(progress.n_verified, expected.len() as u64, "{progress:?}");
    let mut found = BTreeMap::new();
    for (_, item) in stored(&*service, &["new".to_owned()]).await {
        let version = item["version"].as_u64().unwrap();
        let id = item["id"].as_str().unwrap().to_owned();
        assert!(found.insert(id, version).is_none(), "copied twice: {item}");
    }
    assert_eq!(found, expected);
    let made = service.template("new").await.unwrap().unwrap();
    assert_eq!((made.partition_key_paths, made.default_ttl_seconds), (spec.paths, Some(-1)));
}

fn specs() -> Vec<Spec> {
    let concat = Concat::new("/key", ["/tenant/name", "/number"]).unwrap().escaped();
    let hashed = HashedSuffix::new("/key", "/other", "/id").unwrap().count(20).unwrap();
    let random = RandomSuffix::new("/key", "/other").unwrap().count(5).unwrap();
    let synthetic = |it| Spec::synthetic("old", "new", it);
    vec![
        Spec::plain("old", "new", ["/other"]),
        Spec::plain("old", "new", ["/tenant/name", "/other", "/id"]),
        synthetic(SyntheticScheme::Concat(concat)),
        synthetic(SyntheticScheme::HashedSuffix(hashed)),
        synthetic(SyntheticScheme::RandomSuffix(random)),
    ]
}

#[test]
fn plain_and_synthetic_keys_under_a_writer_through_the_sdk() {
    run(async {
        // The kinds differ in what is written, not in who writes it: two of them are enough for the SDK.
        for spec in specs().into_iter().step_by(4) {
            let (service, _) = service().await;
            make_states(&service).await;
            let service = Arc::new(service);
            let jobs = document(service.clone(), None, "rekey");
            copied_under_load(service, jobs, spec).await;
        }
    });
}

#[test]
fn every_kind_of_key_under_a_writer_without_the_sdk() {
    run(async {
        for spec in specs() {
            let (sdk, name) = service().await;
            make_states(&sdk).await;
            let service = Arc::new(rest(&name));
            let jobs = document(service.clone(), None, "rekey");
            copied_under_load(service, jobs, spec).await;
        }
    });
}

/// Kills a copy at its call `n_calls`, then lets another process finish it.
async fn killed_at(n_calls: i64) -> bool {
    let (service, name) = service().await;
    make_states(&service).await;
    make_old(&service).await;
    for number in 0..8 {
        ItemStore::create(&service, &"old".into(), &key(number), &body(number, 1)).await.unwrap();
    }
    let process = |n_calls: i64| {
        Command::new(env!("CARGO_BIN_EXE_partition-process"))
            .args(["rekey", &name, &n_calls.to_string()])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap()
    };
    let status = process(n_calls);
    let was_killed = status.code().is_none();
    if was_killed {
        // Changes while nobody copies.
        ItemStore::upsert(&service, &"old".into(), &key(1), &body(1, 2)).await.unwrap();
        ItemStore::delete(&service, &"old".into(), &key(2), "i2", None).await.unwrap();
        assert!(process(-1).success(), "killed at call {n_calls}");
        let mut versions: Vec<_> = stored(&service, &["new".to_owned()])
            .await
            .into_iter()
            .map(|(_, it)| (it["number"].as_u64().unwrap(), it["version"].as_u64().unwrap()))
            .collect();
        versions.sort_unstable();
        let expected = [(0, 1), (1, 2), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1)];
        assert_eq!(versions, expected, "killed at call {n_calls}");
    } else {
        assert!(status.success(), "{status}");
    }
    was_killed
}

#[test]
fn a_copy_is_killed_at_every_call() {
    run(async {
        let mut n_calls = 0;
        while killed_at(n_calls).await {
            n_calls += 1;
        }
        assert!(n_calls > 25, "{n_calls}");
    });
}
