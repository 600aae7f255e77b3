//! What only a real PostgreSQL can show: waits for a standby, stuck statements, restarts, promotions, other engines.

use std::sync::Arc;
use std::time::Duration;

use journal::postgres::{PostgresEngine, PostgresOptions};
use journal::{Error, Journal as _, NewMember, Outcome, Sessions as _};
use model::Env;
use postgres_server::{Server, Stop};
use tokio_postgres::Client;

use crate::parts::{JOURNAL, ME, OTHER, append_all, begin, entry, is_doubt, open, read};
use crate::proxy::Proxy;
use crate::server::{self, connect, engine};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(1_500);

/// A test on a server of its own.
fn on_own_server<F: Future>(settings: &[&str], test: impl FnOnce(Server) -> F) {
    let Some(installation) = server::installed() else { return };
    let server = installation.start(settings).unwrap();
    server::run(test(server));
}

/// A test on a database of the shared server.
fn on_database<F: Future>(set: &[&str], test: impl FnOnce(String) -> F) {
    let Some(server) = server::shared() else { return };
    server::run(async { test(server::database(server, set).await).await });
}

/// Waits until a query gives `true`.
async fn until(client: &Client, query: &str) {
    for _ in 0..600 {
        if client.query_one(query, &[]).await.unwrap().get(0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {query}");
}

async fn start(url: &str) -> Result<PostgresEngine, Error> {
    let options = PostgresOptions { connect_timeout: SHORT, ..PostgresOptions::new(url) };
    PostgresEngine::start(&options, &Env::system()).await
}

/// Schedule 6: the engine shows a commit that no standby has.
#[test]
fn a_wait_for_the_standby_that_is_cancelled_or_killed_is_doubt() {
    on_own_server(&[], |server| async move {
        let engine = engine(&server.url("postgres"), LONG).await;
        let opened = begin(&*engine, JOURNAL).await;
        let mut end = append_all(&*engine, JOURNAL, opened, &["before"]).await;
        engine.register(member("one")).await.unwrap();
        let client = connect(&server.url("postgres")).await;
        client
            .batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            .await
            .unwrap();
        client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
        let waits = "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        let mut epoch = opened.epoch;
        for end_wait in ["pg_cancel_backend", "pg_terminate_backend"] {
            // The engine must have read its new settings in the connection of the append.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let append = entry(JOURNAL, epoch, end, end_wait);
            let outcome = tokio::spawn(engine.append(append.clone()));
            until(&client, waits).await;
            assert!(!outcome.is_finished());
            let text = format!(
                "SELECT {end_wait}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            );
            client.query(&text, &[]).await.unwrap();
            let outcome = outcome.await.unwrap();
            assert!(is_doubt(&outcome), "{end_wait}: {outcome:?}");
            // It is there for everybody to see, and an open that is cancelled proves nothing either.
            assert_eq!(engine.last(JOURNAL).await.unwrap().unwrap().position, append.position());
            let row = engine.row(JOURNAL).await.unwrap().unwrap();
            let open = journal::Open { journal: JOURNAL, seen: row.epoch, holder: ME };
            let opening = tokio::spawn(engine.open(open));
            until(&client, waits).await;
            client.query(&text, &[]).await.unwrap();
            let answer = opening.await.unwrap();
            assert!(matches!(answer, Err(Error::InDoubt(_))), "{end_wait}: {answer:?}");
            epoch = engine.row(JOURNAL).await.unwrap().unwrap().epoch;
            end = append.position();
        }
        // A beat is worth nothing either.
        let beat = tokio::spawn(engine.beat(ME));
        until(&client, waits).await;
        let text =
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        client.query(text, &[]).await.unwrap();
        assert!(matches!(beat.await.unwrap(), Err(Error::InDoubt(_))));
        // Settled by an open that is acknowledged.
        client.batch_execute("ALTER SYSTEM RESET synchronous_standby_names").await.unwrap();
        client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
        let opened = open(&*engine, JOURNAL, ME).await;
        assert_eq!(opened.last.position, end);
        append_all(&*engine, JOURNAL, opened, &["after"]).await;
    });
}

fn member(name: &str) -> NewMember {
    NewMember { session: ME, name: name.into(), addresses: String::new(), level_max: 1 }
}

/// Schedules 2 and 3: nothing in time is doubt, and the statement may still be carried out; an open waits for it.
#[test]
fn a_statement_without_an_answer_is_doubt_and_may_come_later() {
    on_database(&[], |url| async move {
        let engine = engine(&url, SHORT).await;
        let opened = begin(&*engine, JOURNAL).await;
        let end = append_all(&*engine, JOURNAL, opened, &["before"]).await;
        let client = connect(&url).await;
        client.batch_execute("BEGIN; SELECT * FROM orrery.journal FOR UPDATE").await.unwrap();
        let append = entry(JOURNAL, opened.epoch, end, "stuck");
        assert!(is_doubt(&engine.append(append.clone()).await));
        assert_eq!(engine.last(JOURNAL).await.unwrap().unwrap().position, end);
        client.batch_execute("COMMIT").await.unwrap();
        let arrived = "SELECT count(*) = 2 FROM orrery.entry";
        until(&client, arrived).await;
        assert_eq!(open(&*engine, JOURNAL, ME).await.last.position, append.position());
    });
}

/// Schedule 1: a primary that is stopped between sending and the answer. What it sent arrives long after.
#[test]
fn a_primary_that_was_stopped_appends_nothing_once_another_has_opened() {
    for is_taken_over in [false, true] {
        let Some(server) = server::shared() else { return };
        server::run(async move {
            let url = server::database(server, &[]).await;
            let proxy = Proxy::start(server.port()).await;
            let slow = url.replace(&server.port().to_string(), &proxy.port.to_string());
            // One lane and two entries, so that the statement is prepared when the primary is stopped.
            let options = PostgresOptions {
                lanes: 1,
                timeout: SHORT,
                ..PostgresOptions::new(format!("{slow}?application_name=stopped"))
            };
            let stopped = PostgresEngine::start(&options, &Env::system()).await.unwrap();
            let other = engine(&url, LONG).await;
            let opened = begin(&stopped, JOURNAL).await;
            let end = append_all(&stopped, JOURNAL, opened, &["first", "before"]).await;
            proxy.hold();
            assert!(is_doubt(&stopped.append(entry(JOURNAL, opened.epoch, end, "zombie")).await));
            if is_taken_over {
                let theirs = open(&*other, JOURNAL, OTHER).await;
                assert_eq!(theirs.last.position, end);
                append_all(&*other, JOURNAL, theirs, &["theirs"]).await;
            }
            drop(stopped);
            proxy.release();
            // What it sent has been carried out when its connections are gone.
            let client = connect(&url).await;
            let gone =
                "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'stopped'";
            until(&client, gone).await;
            let entries = read(&*other, JOURNAL, 1).await;
            let texts: Vec<_> = entries.iter().map(|entry| &entry.bytes[1..]).collect();
            let expected = if is_taken_over { &b"theirs"[..] } else { b"zombie" };
            assert_eq!(texts, [&b"first"[..], b"before", expected]);
        });
    }
}

#[test]
fn appends_go_on_after_a_restart_of_the_engine() {
    on_own_server(&[], |server| async move {
        let engine = engine(&server.url("postgres"), LONG).await;
        let opened = begin(&*engine, JOURNAL).await;
        let mut end = opened.last.position;
        for stop in [Stop::Fast, Stop::Immediate] {
            end = append_all(
                &*engine,
                JOURNAL,
                journal::Opened {
                    last: journal::Last { position: end, epoch: opened.epoch },
                    ..opened
                },
                &["a", "b", "c"],
            )
            .await;
            let before = engine.reconnects();
            server.stop(stop).unwrap();
            let append = entry(JOURNAL, opened.epoch, end, "d");
            assert!(engine.append(append.clone()).await != Outcome::Appended);
            assert!(engine.last(JOURNAL).await.is_err());
            server.start().unwrap();
            // The epoch stands: no takeover because the engine was away.
            let mut outcome = engine.append(append.clone()).await;
            while matches!(outcome, Outcome::NotAppended(_)) {
                tokio::time::sleep(Duration::from_millis(50)).await;
                outcome = engine.append(append.clone()).await;
            }
            assert_eq!(outcome, Outcome::Appended);
            assert!(engine.reconnects() > before);
            end = append.position();
        }
        assert_eq!(read(&*engine, JOURNAL, 1).await.len(), 8);
    });
}

/// Schedule 7, without load: both engines in the connection string, the standby first.
#[test]
fn acknowledged_entries_are_on_the_standby_that_is_promoted() {
    on_own_server(&[], |primary| async move {
        let standby = primary.standby("s1").unwrap();
        let client = connect(&primary.url("postgres")).await;
        client.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 's1'").await.unwrap();
        client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
        let is_sync = "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
        until(&client, is_sync).await;
        let url = format!(
            "postgres://orrery@127.0.0.1:{},127.0.0.1:{}/postgres",
            standby.port(),
            primary.port()
        );
        let engine = engine(&url, LONG).await;
        assert_eq!(engine.warnings(), Vec::<String>::new());
        let opened = begin(&*engine, JOURNAL).await;
        let texts = ["x"; 200];
        let end = append_all(&*engine, JOURNAL, opened, &texts).await;
        primary.stop(Stop::Immediate).unwrap();
        standby.promote().unwrap();
        // Without another server nobody has opened: the epoch stands on the new engine, too.
        let append = entry(JOURNAL, opened.epoch, end, "after");
        for attempt in 0.. {
            match engine.append(append.clone()).await {
                Outcome::Appended => break,
                outcome => assert!(attempt < 200, "{outcome:?}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(read(&*engine, JOURNAL, 1).await.len(), 201);
        assert!(engine.warnings()[0].contains("no synchronous standby"));
    });
}

#[test]
fn connections_are_encrypted_and_the_other_side_is_asked_who_it_is() {
    on_own_server(&[], |server| async move {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        server.use_tls(&made.cert.pem(), &made.signing_key.serialize_pem()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let right = file("right.pem", made.cert.pem());
        let wrong = file("wrong.pem", other.cert.pem());
        let empty = file("empty.pem", String::new());
        let client = connect(&server.url("postgres")).await;
        until(&client, "SELECT current_setting('ssl') = 'on'").await;
        let url = |mode: &str| format!("{}?application_name=tls&{mode}", server.url("postgres"));
        let is_encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                            WHERE application_name = 'tls'";
        for mode in ["sslmode=require", &format!("sslmode=verify-full&sslrootcert={right}")] {
            let engine = start(&url(mode)).await.unwrap();
            let found: bool = client.query_one(is_encrypted, &[]).await.unwrap().get(0);
            assert!(found, "{mode}");
            drop(engine);
        }
        // A stranger, nobody that the system knows, and nobody at all.
        let refused = [
            format!("sslmode=verify-full&sslrootcert={wrong}"),
            "sslmode=verify-full".to_owned(),
            format!("sslrootcert={empty}"),
        ];
        for mode in refused {
            let error = start(&url(&mode)).await.unwrap_err().to_string();
            assert!(error.contains("certificate"), "{mode}: {error}");
        }
    });
}

#[test]
fn engines_that_forget_are_refused() {
    on_database(&["synchronous_commit = off"], |url| async move {
        let error = start(&url).await.unwrap_err();
        assert!(
            matches!(&error, Error::Unfit(why) if why.contains("synchronous_commit")),
            "{error}"
        );
    });
    on_own_server(&["fsync=off"], |server| async move {
        let error = start(&server.url("postgres")).await.unwrap_err();
        assert!(matches!(&error, Error::Unfit(why) if why.contains("fsync")), "{error}");
    });
}

#[test]
fn an_engine_without_a_standby_is_warned_of() {
    on_database(&[], |url| async move {
        let warnings = start(&url).await.unwrap().warnings();
        assert!(matches!(warnings.as_slice(), [one] if one.contains("standby")), "{warnings:?}");
    });
}

#[test]
fn a_new_connection_to_another_cluster_is_refused() {
    on_database(&[], |url| async move {
        let engine = engine(&url, LONG).await;
        let opened = begin(&*engine, JOURNAL).await;
        let client = connect(&url).await;
        client.batch_execute("DROP SCHEMA orrery CASCADE").await.unwrap();
        let other = start(&url).await.unwrap();
        begin(&other, JOURNAL).await;
        drop(other);
        let text = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                    WHERE application_name = 'orrery' AND datname = current_database()";
        client.query(text, &[]).await.unwrap();
        let append = entry(JOURNAL, opened.epoch, opened.last.position, "x");
        let mut outcome = engine.append(append.clone()).await;
        if is_doubt(&outcome) {
            outcome = engine.append(append).await;
        }
        assert!(
            matches!(&outcome, Outcome::NotAppended(why) if why.contains("cluster")),
            "{outcome:?}"
        );
        let mut answer = engine.cluster().await;
        if matches!(answer, Err(Error::Unavailable(_))) {
            answer = engine.cluster().await;
        }
        assert!(matches!(answer, Err(Error::Unfit(_))), "{answer:?}");
    });
}

#[test]
fn a_newer_schema_is_refused() {
    on_database(&[], |url| async move {
        drop(start(&url).await.unwrap());
        let client = connect(&url).await;
        client.batch_execute("UPDATE orrery.cluster SET schema = 99").await.unwrap();
        let error = start(&url).await.unwrap_err();
        assert!(matches!(&error, Error::Unfit(why) if why.contains("99")), "{error}");
    });
}

#[test]
fn servers_that_start_together_make_one_cluster() {
    on_database(&[], |url| async move {
        let starts: Vec<_> = (0..6)
            .map(|_| {
                let url = url.clone();
                tokio::spawn(async move { start(&url).await.unwrap().cluster().await.unwrap() })
            })
            .collect();
        let mut found = Vec::new();
        for start in starts {
            found.push(start.await.unwrap());
        }
        found.dedup();
        assert_eq!(found.len(), 1, "{found:?}");
    });
}

#[test]
fn an_engine_that_is_not_there_is_said() {
    server::run(async {
        let error = start("postgres://orrery@127.0.0.1:1/x").await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
    });
    on_database(&[], |url| async move {
        // The first host is gone, the second one serves.
        let url = url.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1");
        begin(&start(&url).await.unwrap(), JOURNAL).await;
    });
}

/// Schedule 20, the part of the engine: how long a server takes to open what another has held.
#[test]
fn three_thousand_journals_are_opened() {
    on_database(&[], |url| async move {
        let engine = engine(&url, LONG).await;
        let client = connect(&url).await;
        let text = "INSERT INTO orrery.journal SELECT n, 0, 0, 0 FROM generate_series(1, 3000) n";
        client.batch_execute(text).await.unwrap();
        let env = Env::system();
        let begin = env.monotonic();
        let rows = engine.rows(journal::JournalId::default(), 10_000).await.unwrap();
        let opens: Vec<_> = rows
            .iter()
            .map(|row| {
                engine.open(journal::Open { journal: row.journal, seen: row.epoch, holder: ME })
            })
            .collect();
        for open in opens {
            assert!(open.await.unwrap().is_some());
        }
        assert_eq!(rows.len(), 3_000);
        let taken = env.monotonic().saturating_sub(begin);
        assert!(taken < LONG, "{taken:?}");
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            format!("3000 journals opened in {taken:?}\n").as_bytes(),
        );
    });
}

/// Answers do not depend on who waits for them.
#[test]
fn calls_go_on_when_their_answer_is_dropped() {
    on_database(&[], |url| async move {
        let engine: Arc<PostgresEngine> = engine(&url, LONG).await;
        let opened = begin(&*engine, JOURNAL).await;
        let append = entry(JOURNAL, opened.epoch, opened.last.position, "x");
        drop(engine.append(append));
        drop(engine.create(journal::JournalId::new(99)));
        let client = connect(&url).await;
        until(&client, "SELECT count(*) = 1 FROM orrery.entry").await;
        until(&client, "SELECT count(*) = 2 FROM orrery.journal").await;
    });
}
