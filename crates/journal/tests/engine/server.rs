//! One PostgreSQL for all tests of this binary, a database for each, and servers of their own for the rough ones.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use journal::postgres::{PostgresEngine, PostgresOptions};
use model::Env;
use postgres_server::{Installation, Server};
use tokio_postgres::{Client, NoTls};

const SKIPPED: &str =
    "\nSKIPPED: PostgreSQL is not installed (apt install postgresql): its journal is NOT TESTED\n";

/// PostgreSQL's programs; says loudly what is not tested without.
pub(crate) fn installed() -> Option<Installation> {
    let found = Installation::find();
    if found.is_none() {
        // Past the test harness, which keeps what tests print to itself.
        let _ = std::io::stderr().write_all(SKIPPED.as_bytes());
    }
    found
}

/// The server that tests share.
pub(crate) fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| installed().map(|it| it.start(&[]).expect("PostgreSQL starts"))).as_ref()
}

/// A new database on a server; `set` is done to it before anybody connects.
pub(crate) async fn database(server: &Server, set: &[&str]) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let client = connect(&server.url("postgres")).await;
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    for setting in set {
        let text = format!("ALTER DATABASE {name} SET {setting}");
        client.batch_execute(&text).await.unwrap();
    }
    server.url(&name)
}

/// A plain connection.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// An engine that gives up early.
pub(crate) async fn engine(url: &str, timeout: Duration) -> Arc<PostgresEngine> {
    let options = PostgresOptions { timeout, ..PostgresOptions::new(url) };
    Arc::new(PostgresEngine::start(&options, &Env::system()).await.unwrap())
}

/// Runs a test with threads, like the server does.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap().block_on(test)
}
