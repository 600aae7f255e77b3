//! The tables, made and migrated by the servers themselves, and what an engine must be to keep them.
//!
//! A schema only grows: a version adds, and what it no longer needs goes a version later, so that servers of two versions
//! work side by side. A migration is one transaction that locks the cluster's row; servers that start together queue there.

use std::fmt::Write as _;

use model::Env;

use super::connection::{Connection, Failed, Parameter};
use crate::{Error, Result};

/// The version that this program makes and needs.
pub(super) const SCHEMA: u32 = 1;
/// The level of formats that a new cluster begins with.
const LEVEL: u32 = 1;
/// Servers that start together may meet while the first tables are made; each tries again so often.
const ATTEMPTS: u32 = 10;

const BOOTSTRAP: &str = "
CREATE SCHEMA IF NOT EXISTS orrery;
CREATE TABLE IF NOT EXISTS orrery.cluster (
  only_row bool PRIMARY KEY DEFAULT true CHECK (only_row),
  id uuid NOT NULL, schema int NOT NULL, level int NOT NULL, halted text);";

/// The statements that lead from one version to the next, from version 0 on.
const MIGRATIONS: [&str; SCHEMA as usize] = ["
CREATE TABLE orrery.member (
  session bigint PRIMARY KEY, name text NOT NULL, addresses text NOT NULL, level_max int NOT NULL,
  beat bigint NOT NULL DEFAULT 0, ended bool NOT NULL DEFAULT false) WITH (fillfactor = 50);
CREATE UNIQUE INDEX member_name ON orrery.member (name) WHERE NOT ended;
CREATE TABLE orrery.journal (
  id bigint PRIMARY KEY, epoch bigint NOT NULL, holder bigint NOT NULL, sealed bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE orrery.entry (
  journal bigint, number bigint, epoch bigint NOT NULL, chain bigint NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (journal, number));
ALTER TABLE orrery.entry ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE orrery.base (
  id bigint PRIMARY KEY, journal bigint NOT NULL, number bigint NOT NULL, chain bigint NOT NULL,
  chunks int NOT NULL, digest bytea NOT NULL, confirmed int NOT NULL DEFAULT 0);
CREATE INDEX base_journal ON orrery.base (journal);
CREATE TABLE orrery.chunk (
  base bigint, chunk int, bytes bytea NOT NULL, PRIMARY KEY (base, chunk));
ALTER TABLE orrery.chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;"];

/// Makes the tables or brings them up to date. Returns the id of the cluster.
pub(super) async fn prepare(connection: &mut Connection, env: &Env) -> Result<String> {
    let mut failed = Failed::NotDone(String::new());
    for attempt in 0..ATTEMPTS {
        if let Some((id, SCHEMA)) = current(connection).await? {
            return Ok(id);
        }
        match migrate(connection, env).await {
            Ok(()) => {}
            Err(Error::Unavailable(why)) => failed = Failed::NotDone(why),
            Err(error) => return Err(error),
        }
        let millis = 20 * u64::from(attempt) + env.random_u64() % 20;
        tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
    }
    Err(failed.into())
}

/// The id of the cluster and the version of its schema; `None` if there are no tables yet.
async fn current(connection: &mut Connection) -> Result<Option<(String, u32)>> {
    let is_there =
        connection.run_message("SELECT to_regclass('orrery.cluster') IS NOT NULL").await?;
    if text(&is_there, 0)? != "t" {
        return Ok(None);
    }
    let rows = connection.run_message("SELECT id, schema FROM orrery.cluster").await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let schema: u32 = text(&rows, 1)?.parse().map_err(|_| broken())?;
    if schema > SCHEMA {
        return Err(Error::Unfit(format!(
            "its tables are of version {schema}, and this program knows {SCHEMA}: use a newer one"
        )));
    }
    Ok(Some((text(&rows, 0)?.to_owned(), schema)))
}

async fn migrate(connection: &mut Connection, env: &Env) -> Result<()> {
    let mut message = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; {BOOTSTRAP} \
         INSERT INTO orrery.cluster (id, schema, level) VALUES ('{}', 0, {LEVEL}) ON CONFLICT DO NOTHING; \
         SELECT 1 FROM orrery.cluster FOR UPDATE; ",
        env.uuid()
    );
    // What another server has done meanwhile is done: the statements of a version run under its condition.
    for (version, statements) in MIGRATIONS.iter().enumerate() {
        let _ = write!(
            message,
            "DO $migration$ BEGIN IF (SELECT schema FROM orrery.cluster) = {version} THEN {statements} \
             UPDATE orrery.cluster SET schema = {}; END IF; END $migration$; ",
            version + 1
        );
    }
    message.push_str("COMMIT");
    connection.run_message(&message).await?;
    Ok(())
}

/// What an engine has that is no reason to refuse it.
pub(super) type Warnings = Vec<String>;

/// Refuses an engine that would lose acknowledged commits.
pub(super) async fn check_fitness(connection: &mut Connection) -> Result<Warnings> {
    let rows = connection
        .run_message(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit'), \
             current_setting('synchronous_standby_names'), current_setting('full_page_writes'), \
             current_setting('default_transaction_isolation'), current_setting('server_version_num')",
        )
        .await?;
    let version: u32 = text(&rows, 5)?.parse().map_err(|_| broken())?;
    judge(
        text(&rows, 0)?,
        text(&rows, 1)?,
        [text(&rows, 2)?, text(&rows, 3)?, text(&rows, 4)?],
        version,
    )
}

fn judge(
    fsync: &str,
    commit: &str,
    [standbys, full_pages, isolation]: [&str; 3],
    version: u32,
) -> Result<Warnings> {
    if fsync != "on" {
        return Err(Error::Unfit("fsync is off: a crash would lose acknowledged writes".into()));
    }
    if !matches!(commit, "on" | "remote_apply") {
        return Err(Error::Unfit(format!(
            "synchronous_commit is {commit}: a crash would lose acknowledged writes; set it to on"
        )));
    }
    if version < 120_000 {
        return Err(Error::Unfit(format!("it is of version {version}; 12 is the oldest")));
    }
    let mut warnings = Vec::new();
    if standbys.is_empty() {
        warnings.push(
            "the engine has no synchronous standby: when its machine is lost, acknowledged writes are"
                .into(),
        );
    }
    if full_pages != "on" {
        warnings.push("full_page_writes is off: a torn page would be lost".into());
    }
    if isolation != "read committed" {
        warnings.push(format!(
            "default_transaction_isolation is {isolation}: appends fail and are repeated more often"
        ));
    }
    Ok(warnings)
}

/// The id of the cluster, on a connection that is not the first.
pub(super) async fn cluster_id(connection: &mut Connection) -> Result<String> {
    let none: [Parameter<'_>; 0] = [];
    let rows = connection.run("SELECT id::text FROM orrery.cluster", &none).await?;
    rows.first().and_then(|row| row.try_get(0).ok()).ok_or_else(broken)
}

fn text(rows: &[Vec<Option<String>>], column: usize) -> Result<&str> {
    rows.first().and_then(|row| row.get(column)?.as_deref()).ok_or_else(broken)
}

fn broken() -> Error {
    Error::Corrupt("the cluster's row cannot be read".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_forget_are_refused_and_others_warned_of() {
        let fit = |fsync, commit, others| judge(fsync, commit, others, 150_000);
        let usual = ["s1", "on", "read committed"];
        assert_eq!(fit("on", "on", usual), Ok(vec![]));
        assert_eq!(fit("on", "remote_apply", usual), Ok(vec![]));
        assert!(fit("off", "on", usual).is_err());
        for commit in ["off", "local", "remote_write"] {
            assert!(fit("on", commit, usual).is_err(), "{commit}");
        }
        assert_eq!(fit("on", "on", ["", "off", "serializable"]).unwrap().len(), 3);
        assert!(judge("on", "on", usual, 110_000).is_err());
    }
}
