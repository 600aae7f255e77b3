//! A database of a running server for the examples.

use std::error::Error;

use orrery_client::Env;
use orrery_client::rest::{Account, RestDatabase};

// Wire: the key of all official emulators, which a server on this machine uses unless told otherwise.
const WELL_KNOWN_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// Connects to `ORRERY_ENDPOINT` with `ORRERY_KEY`, or to a server that was started with `cargo run --release`, and
/// makes a new database, so that an example can be run again.
pub async fn database(example: &str) -> Result<RestDatabase, Box<dyn Error>> {
    let variable =
        |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let endpoint = variable("ORRERY_ENDPOINT", "http://127.0.0.1:8081/");
    let env = Env::system();
    let name = format!("{example}-{}", env.uuid());
    let account = Account::new(&endpoint, &variable("ORRERY_KEY", WELL_KNOWN_KEY), env)?;
    let database = RestDatabase::new(account, name);
    database.ensure().await?;
    Ok(database)
}
