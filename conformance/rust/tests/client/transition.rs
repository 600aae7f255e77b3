//! Rings that grow and shrink under writers and readers of every mode.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use conformance_rust::partitioned::{
    GRACE, check_stored, document, follower, item, make_ring, make_states, manager, service, stored,
};
use conformance_rust::run;
use orrery_client::repartition::Phase;
use orrery_client::sdk::SdkDatabase;
use orrery_client::{
    Address, ContainerHost, Continuation, Error, PartitionedDatabase, QueryPage, ReadMode,
    ReadScope, Registry, ResolverState, Scheme, StateStore, Statement, TransitionPartitionResolver,
    load_state,
};

const N_STABLE: usize = 40;

fn key(id: &str) -> String {
    format!("key of {id}")
}

/// What all tasks look at.
struct Scene {
    service: Arc<SdkDatabase>,
    states: Arc<dyn StateStore>,
    is_over: AtomicBool,
    is_deleting: AtomicBool,
    n_queries: AtomicU64,
}

impl Scene {
    async fn client(&self) -> PartitionedDatabase {
        follower(self.service.clone(), self.states.clone()).await
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

/// Creates, upserts, replaces and deletes items of its own; returns what must be there.
async fn writer(scene: &Scene, name: &str) -> BTreeMap<String, u64> {
    let database = scene.client().await;
    let mut expected = BTreeMap::new();
    let mut n_rounds: u64 = 0;
    while !scene.is_over() {
        let id = format!("{name}-{}", n_rounds % 7);
        let at = Address::new(id.as_str(), key(&id));
        n_rounds += 1;
        let body = item(&id, &key(&id), n_rounds);
        match n_rounds % 5 {
            0 => {
                let was_there = database.delete(&at, None).await.unwrap();
                assert_eq!(was_there, expected.remove(&id).is_some(), "{id}");
                assert!(database.read(&at).await.unwrap().is_none(), "{id} came back");
            }
            1 if expected.contains_key(&id) => {
                database.replace(&at, &body, None).await.unwrap();
                expected.insert(id, n_rounds);
            }
            2 if !expected.contains_key(&id) => {
                database.create(&body).await.unwrap();
                expected.insert(id, n_rounds);
            }
            _ => {
                database.upsert(&body).await.unwrap();
                let found = database.read(&at).await.unwrap().expect("just written");
                assert_eq!(found.item["version"], n_rounds, "{id}");
                expected.insert(id, n_rounds);
            }
        }
    }
    assert!(n_rounds > 20, "{n_rounds}");
    expected
}

/// Asks for everything; returns how often each stable item came.
async fn stable(database: &PartitionedDatabase, parallelism: usize) -> Result<Vec<String>, Error> {
    let statement = Statement::new("SELECT * FROM c");
    let query = database.query(statement, &ReadScope::All).await?;
    let rows = query.parallelism(parallelism).rows_max(5).collect().await?;
    let ids = rows.iter().map(|it| it["id"].as_str().unwrap().to_owned());
    Ok(ids.filter(|it| it.starts_with("stable")).collect())
}

/// Follows the published state, as an application does: every item, once, at any time.
async fn reader(scene: &Scene, parallelism: usize) {
    let database = scene.client().await;
    while !scene.is_over() {
        let mut ids = stable(&database, parallelism).await.unwrap();
        ids.sort();
        let n_rows = ids.len();
        ids.dedup();
        assert_eq!((ids.len(), n_rows), (N_STABLE, N_STABLE), "missing or doubled");
        scene.n_queries.fetch_add(1, Ordering::SeqCst);
    }
}

/// One page, by a client that knows only where to go on.
async fn next_page(scene: &Scene, at: Option<&Continuation>) -> Result<QueryPage, Error> {
    let database = scene.client().await;
    let statement = Statement::new("SELECT * FROM c");
    let query = match at {
        None => database.query(statement, &ReadScope::All).await?,
        Some(at) => database.resume(statement, &ReadScope::All, at).await?,
    };
    Ok(query.rows_max(5).next_page().await?.expect("there is a page to go on with"))
}

/// Asks for every page as a client of its own, which goes on from the continuation of another.
async fn relay(scene: &Scene) {
    let mut n_expired = 0;
    let mut n_queries = 0;
    while !scene.is_over() {
        let (mut rows, mut at) = (Vec::new(), None);
        loop {
            let page = match next_page(scene, at.as_ref()).await {
                Err(Error::ContinuationExpired) => break n_expired += 1,
                page => page.unwrap(),
            };
            rows.extend(page.rows);
            at = page.continuation;
            if at.is_some() {
                continue;
            }
            let ids = rows.iter().map(|it| it["id"].as_str().unwrap());
            let mut ids: Vec<_> = ids.filter(|it| it.starts_with("stable")).collect();
            ids.sort_unstable();
            let n_rows = ids.len();
            ids.dedup();
            assert_eq!((ids.len(), n_rows), (N_STABLE, N_STABLE), "missing or doubled");
            break n_queries += 1;
        }
    }
    assert!(n_queries > 1 && n_expired <= 1, "{n_queries} queries, {n_expired} expired");
}

/// A mode that is chosen by hand, from the beginning until sources are deleted.
async fn moded(scene: &Scene, current: &ResolverState, next: &ResolverState, mode: ReadMode) {
    let registry = Registry::new();
    let (from, to) = (current.build(&registry).unwrap(), next.build(&registry).unwrap());
    let resolver = Arc::new(TransitionPartitionResolver::new(from, to, mode));
    let database = PartitionedDatabase::new(scene.service.clone(), Scheme::new(resolver));
    let mut n_before = 0;
    while !scene.is_over() {
        let answer = stable(&database, 1).await;
        let is_deleting = scene.is_deleting.load(Ordering::SeqCst);
        if mode == ReadMode::None {
            assert!(answer.is_err_and(|it| it.is_retryable()));
            scene.service.pause(Duration::from_millis(20)).await;
            continue;
        }
        let ids = match answer {
            Ok(ids) => ids,
            // A container that comes or goes is not there for one who does not follow the state.
            Err(error) if error.is_service(404) => continue,
            Err(error) => panic!("{mode:?}: {error}"),
        };
        let distinct: BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "{mode:?}: doubled");
        match mode {
            ReadMode::ReadCurrent | ReadMode::ReadBoth if !is_deleting => {
                assert_eq!(ids.len(), N_STABLE, "{mode:?}");
            }
            ReadMode::ReadNext => {
                assert!(ids.len() >= n_before, "{mode:?}: what has moved stays");
                n_before = ids.len();
            }
            _ => {}
        }
    }
}

async fn resized_under_load(n_containers: u64, by: i64) {
    let (service, _) = service().await;
    make_states(&service).await;
    let service = Arc::new(service);
    let states = document(service.clone(), None, "ring");
    make_ring(&service, n_containers, &*states).await;
    let scene = Scene {
        service: service.clone(),
        states: states.clone(),
        is_over: AtomicBool::new(false),
        is_deleting: AtomicBool::new(false),
        n_queries: AtomicU64::new(0),
    };
    let database = scene.client().await;
    let mut expected = BTreeMap::new();
    for number in 0..N_STABLE {
        let id = format!("stable-{number}");
        database.create(&item(&id, &key(&id), 1)).await.unwrap();
        expected.insert(id, 1);
    }
    let jobs = document(service.clone(), None, "job");
    let manager = manager(service.clone(), states.clone(), jobs, GRACE);
    let (current, _) = load_state(&*states).await.unwrap().unwrap();
    let next = manager.resized(by).await.unwrap();
    let plan = manager.begin(&next).await.unwrap();
    assert!(plan.n_moving() > 0 && plan.n_staying > 0, "{plan:?}");
    let work = async {
        let mut report = |phase, _| {
            // Readers by hand are judged until the next phase begins to take sources away.
            let is_late = matches!(phase, Phase::Deleting | Phase::Done);
            scene.is_deleting.fetch_or(is_late, Ordering::SeqCst);
        };
        let progress = manager.run(&mut report).await.unwrap();
        service.pause(GRACE).await;
        scene.is_over.store(true, Ordering::SeqCst);
        progress
    };
    let (progress, one, two, three, ..) = futures::join!(
        work,
        writer(&scene, "one"),
        writer(&scene, "two"),
        writer(&scene, "three"),
        reader(&scene, 1),
        reader(&scene, 3),
        relay(&scene),
        moded(&scene, &current, &next, ReadMode::ReadCurrent),
        moded(&scene, &current, &next, ReadMode::ReadNext),
        moded(&scene, &current, &next, ReadMode::ReadBoth),
        moded(&scene, &current, &next, ReadMode::None),
    );
    assert!(progress.n_deleted >= plan.n_moving(), "{progress:?}");
    assert!(scene.n_queries.load(Ordering::SeqCst) > 5);
    expected.extend([one, two, three].into_iter().flatten());
    let mut names = service.list().await.unwrap();
    names.retain(|it| it.starts_with("ring."));
    assert_eq!(names.len() as u64, n_containers.checked_add_signed(by).unwrap());
    let (state, _) = load_state(&*states).await.unwrap().unwrap();
    assert_eq!(state, next);
    let resolver = state.build(&Registry::new()).unwrap();
    check_stored(&stored(&*service, &names).await, &*resolver, &expected);
}

#[test]
fn a_ring_grows_under_writers_and_readers_of_every_mode() {
    run(resized_under_load(2, 1));
}

#[test]
fn a_ring_shrinks_under_writers_and_readers_of_every_mode() {
    run(resized_under_load(3, -1));
}
