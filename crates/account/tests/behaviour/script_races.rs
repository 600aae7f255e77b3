//! Scripts among other writers: all or nothing at every visible moment, and nobody waits for a hostile one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use account::{AccountOptions, ItemAction};
use bytes::Bytes;
use model::{Env, Value};

use crate::support::{Answer, CONTAINER, Client};

const BANK: &str = r#"["bank"]"#;

async fn client() -> Client {
    let options = AccountOptions { min_partitions: 3, ..AccountOptions::default() };
    let client = Client::at(store::open_memory(), options, Env::system()).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", CONTAINER).await.expect(201);
    client
}

async fn add(client: &Client, id: &str, body: &str) {
    let body = Value::from(body).to_text();
    let text = format!(r#"{{"id":"{id}","body":{body}}}"#);
    client.create("dbs/d/colls/c/sprocs", &text).await.expect(201);
}

async fn execute(client: &Client, key: &str, procedure: &str, arguments: &str) -> Answer {
    let arguments = Bytes::copy_from_slice(arguments.as_bytes());
    let procedure = procedure.to_owned();
    let action = ItemAction::Execute { procedure, arguments, wants_log: false };
    client.items().key(key).run(action).await
}

const TRANSFER: &str = "function (from, to, amount) {
    var docs = __.getAltLink() + '/docs/';
    __.readDocument(docs + from, function (err, a) {
        if (err) throw err;
        __.readDocument(docs + to, function (err, b) {
            if (err) throw err;
            a.money -= amount;
            b.money += amount;
            __.replaceDocument(a._self, a, {etag: a._etag}, function (err) {
                if (err) throw err;
                __.replaceDocument(b._self, b, {etag: b._etag});
            });
        });
    });
}";

fn sum(rows: &[Value]) -> i64 {
    rows.iter().map(|row| row.get("money").unwrap().as_i64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn transfers_never_change_the_sum_at_any_visible_moment() {
    const ACCOUNTS: u32 = 4;
    const CLIENTS: u32 = 8;
    const TRANSFERS: u32 = 25;
    let client = client().await;
    add(&client, "transfer", TRANSFER).await;
    for n in 0..ACCOUNTS {
        let item = format!(r#"{{"id":"{n}","pk":"bank","money":1000}}"#);
        client.items().create(&item).await.expect(201);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn({
        let (client, is_over) = (client.clone(), Arc::clone(&is_over));
        async move {
            let mut n_looks = 0;
            while !is_over.load(Ordering::Acquire) {
                let seen = client.items().key(BANK).feed().await.expect(200).rows;
                assert_eq!(sum(&seen), 4000, "a half-done transfer was visible");
                n_looks += 1;
                tokio::task::yield_now().await;
            }
            n_looks
        }
    });
    let mut workers = Vec::new();
    for worker in 0..CLIENTS {
        let client = client.clone();
        workers.push(tokio::spawn(async move {
            let mut n_races = 0;
            for n in 0..TRANSFERS {
                let (from, to) = ((worker + n) % ACCOUNTS, (worker + n + 1 + n % 2) % ACCOUNTS);
                let arguments = format!(r#"["{from}","{to}",{}]"#, n + 1);
                loop {
                    let answer = execute(&client, BANK, "transfer", &arguments).await;
                    match answer.status.code {
                        200 => break,
                        449 => n_races += 1,
                        code => panic!("{code} {}", answer.message),
                    }
                }
            }
            n_races
        }));
    }
    let mut n_races = 0;
    for worker in workers {
        n_races += worker.await.unwrap();
    }
    is_over.store(true, Ordering::Release);
    assert!(watcher.await.unwrap() > 0);
    let rows = client.items().key(BANK).feed().await.rows;
    assert_eq!(sum(&rows), 4000);
    let n_runs = CLIENTS * TRANSFERS;
    assert!(n_races < n_runs, "turns keep races rare: {n_races} in {n_runs} runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_between_reading_and_committing_is_a_race_that_the_script_loses() {
    let client = client().await;
    let slow = "function (ms) {
        __.readDocument(__.getAltLink() + '/docs/1', function (err, doc) {
            if (err) throw err;
            var end = Date.now() + ms;
            while (Date.now() < end);
            doc.n++;
            __.replaceDocument(doc._self, doc);
        });
    }";
    add(&client, "slow", slow).await;
    client.items().create(r#"{"id":"1","pk":"bank","n":1}"#).await.expect(201);
    client.items().create(r#"{"id":"1","pk":"other","n":1}"#).await.expect(201);
    let plain = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        client.items().key(BANK).replace("1", r#"{"id":"1","pk":"bank","n":10}"#).await
    };
    let (script, plain) = tokio::join!(execute(&client, BANK, "slow", "[1200]"), plain);
    plain.expect(200);
    let lost = script.expect_sub(449, 0);
    assert!(lost.message.contains("Retry to avoid conflicts"), "{}", lost.message);
    let read = client.items().key(BANK).read("1").await.expect(200);
    assert_eq!(read.value.get("n").unwrap().as_i64(), Some(10), "the plain write stands");
    // Writes to other logical partitions of the same container are no race.
    let elsewhere = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        client.items().key(r#"["other"]"#).replace("1", r#"{"id":"1","pk":"other","n":5}"#).await
    };
    let (script, elsewhere) = tokio::join!(execute(&client, BANK, "slow", "[700]"), elsewhere);
    elsewhere.expect(200);
    script.expect(200);
    let read = client.items().key(BANK).read("1").await.expect(200);
    assert_eq!(read.value.get("n").unwrap().as_i64(), Some(11));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_are_served_while_hostile_scripts_burn_their_time() {
    let client = client().await;
    add(&client, "loop", "function () { for (;;); }").await;
    add(&client, "eat", "function () { var a = []; for (;;) try { for (;;) a.push(new Array(100)); } catch (e) {} }").await;
    add(&client, "fine", "function () { __.response.setBody(1); }").await;
    client.items().create(r#"{"id":"1","pk":"bank"}"#).await.expect(201);
    let is_over = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn({
        let (client, is_over) = (client.clone(), Arc::clone(&is_over));
        async move {
            let (mut n_reads, mut slowest) = (0, Duration::ZERO);
            while !is_over.load(Ordering::Acquire) {
                let started = client.env.monotonic();
                client.items().key(BANK).read("1").await.expect(200);
                slowest = slowest.max(client.env.monotonic().saturating_sub(started));
                n_reads += 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            (n_reads, slowest)
        }
    });
    let hostile = tokio::join!(
        execute(&client, r#"["x"]"#, "loop", ""),
        execute(&client, r#"["y"]"#, "loop", ""),
        execute(&client, r#"["z"]"#, "eat", ""),
    );
    is_over.store(true, Ordering::Release);
    let (n_reads, slowest) = reader.await.unwrap();
    hostile.0.expect(408);
    hostile.1.expect(408);
    assert!(matches!(hostile.2.status.code, 400 | 408), "{}", hostile.2.message);
    assert!(n_reads > 50, "{n_reads} reads");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    execute(&client, BANK, "fine", "").await.expect(200);
}
