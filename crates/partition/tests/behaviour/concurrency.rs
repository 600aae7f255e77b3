//! Many writers at once, on one and on many logical partitions.

use std::sync::Arc;

use model::{Lsn, Value};
use partition::Scope;

use crate::support::*;

const N_WRITERS: u32 = 16;
#[cfg(not(feature = "slow"))]
const N_WRITES: u32 = 40;
#[cfg(feature = "slow")]
const N_WRITES: u32 = 2_000;

/// Runs the writers on the embedded store, whose commits really take time.
async fn race<F, W>(settings: partition::Settings, write: F) -> World
where
    F: Fn(Arc<World>, u32) -> W,
    W: Future<Output = ()> + Send + 'static,
{
    let folder = tempfile::tempdir().unwrap();
    let store = embedded(folder.path());
    let world = Arc::new(World::on(store, settings));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..N_WRITERS {
        writers.spawn(write(Arc::clone(&world), writer));
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    world.check();
    Arc::into_inner(world).expect("all writers are gone")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_equal_creates_wins_each_time() {
    let wins = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counter = Arc::clone(&wins);
    let world = race(settings(), move |world, _| {
        let wins = Arc::clone(&counter);
        async move {
            for n in 0..N_WRITES {
                match world.create(&format!(r#"{{"id":"{n}","pk":1}}"#)).await {
                    Ok(_) => {
                        wins.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    }
                    Err(error) => {
                        assert!(matches!(error, partition::Error::ItemExists { .. }), "{error}");
                    }
                }
                // Whoever lost can read what the winner wrote.
                world.read("[1]", &n.to_string()).unwrap();
            }
        }
    })
    .await;
    assert_eq!(wins.load(std::sync::atomic::Ordering::SeqCst), N_WRITES);
    assert_eq!(world.ids(&Scope::All).len(), N_WRITES as usize);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_increment_is_lost() {
    let world = race(settings(), |world, _| async move {
        let _ = world.create(r#"{"id":"n","pk":1,"n":0}"#).await;
        for _ in 0..N_WRITES {
            world.patch("[1]", "n", r#"[{"op":"incr","path":"/n","value":1}]"#).await.unwrap();
        }
    })
    .await;
    let n = world.read("[1]", "n").unwrap().get("n").and_then(Value::as_i64);
    assert_eq!(n, Some(i64::from(N_WRITERS * N_WRITES)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_different_partitions_do_not_disturb_each_other() {
    let world = race(with_unique_keys(&[&["/u"]]), |world, writer| async move {
        for n in 0..N_WRITES {
            let body = format!(r#"{{"id":"{n}","pk":{writer},"u":{}}}"#, n / 2);
            let expected = if n % 2 == 0 { 201 } else { 409 };
            assert_eq!(code(&world.create(&body).await), expected);
            if n % 4 == 1 {
                let before = (n - 1).to_string();
                assert_eq!(code(&world.delete(&format!("[{writer}]"), &before).await), 204);
            }
        }
    })
    .await;
    let statistics = world.partition.statistics();
    assert_eq!(statistics.n_items, u64::from(N_WRITERS * N_WRITES / 4));
    assert_eq!(statistics.n_logical, u64::from(N_WRITERS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_are_whole_for_readers_and_the_feed() {
    let world = race(settings(), |world, writer| async move {
        for n in 0..N_WRITES / 4 {
            let op = |part: u32| upsert(&format!(r#"{{"id":"{part}","pk":1,"w":"{writer}-{n}"}}"#));
            let batch = world.batch("[1]", (0..4).map(op).collect()).await.unwrap();
            assert!(batch.committed);
            let page = world.partition.page(&Scope::All, None, limits(10)).unwrap();
            let who: Vec<_> = page.items.iter().map(|item| text(&json(item), "w")).collect();
            assert_eq!(who.len(), 4);
            assert!(who.iter().all(|one| *one == who[0]), "a torn batch: {who:?}");
            assert!(world.partition.lsn() >= batch.lsn);
        }
    })
    .await;
    let feed = world.feed(Lsn(0));
    assert_eq!(feed.len(), 4);
    assert!(feed.iter().all(|(_, lsn)| *lsn == feed[0].1));
}

/// Every future must be able to move between the threads of a server.
#[tokio::test]
async fn all_calls_can_be_spawned() {
    let world = World::with(with_versions());
    let (partition, at) = (world.partition.clone(), world.at("[1]"));
    let all = async move {
        partition.apply_batch(&at, vec![]).await.unwrap_err();
        partition.delete_logical(&at).await.unwrap();
        partition.expire(1).await.unwrap();
        partition.trim_versions().await.unwrap();
    };
    tokio::spawn(all).await.unwrap();
    let store = Arc::clone(&world.store);
    let destroy = async move { partition::Partition::destroy_step(&store, INCARNATION, 9).await };
    assert!(tokio::spawn(destroy).await.unwrap().unwrap());
}
