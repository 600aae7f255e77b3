//! Our side: one connection for each range, and one for queries that the server merges.

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::task::JoinSet;

use super::workload::Workload;
use crate::bench::rows::{Asker, Scope};
use crate::bench::setup::{CONTAINER, Subject};
use crate::client::Connection;

pub(super) struct Orrery {
    asker: Asker,
    ranges: Vec<(Scope, Option<Connection>)>,
    merged: Connection,
}

impl Orrery {
    pub(super) async fn connect(subject: &Subject) -> Result<Orrery> {
        let asker = Asker { account: subject.account.clone(), container: CONTAINER.to_owned() };
        let mut ranges = Vec::new();
        for scope in asker.ranges().await? {
            let connection = Connection::open(&subject.server.authority).await?;
            ranges.push((scope, Some(connection)));
        }
        let merged = Connection::open(&subject.server.authority).await?;
        Ok(Orrery { asker, ranges, merged })
    }

    /// Asks once and lets the server merge.
    pub(super) async fn ask_server(
        &mut self,
        workload: &Workload,
        value: u64,
    ) -> Result<Vec<Value>> {
        let parameters = [("@x", value)];
        self.asker.rows(&mut self.merged, &Scope::Merged, workload.sql, &parameters).await
    }

    /// Asks all ranges at once and merges what they say.
    pub(super) async fn ask(&mut self, workload: &Workload, value: u64) -> Result<Vec<Value>> {
        if let [(scope, Some(connection))] = self.ranges.as_mut_slice() {
            return self.asker.rows(connection, scope, workload.sql, &[("@x", value)]).await;
        }
        let mut tasks = JoinSet::new();
        for (at, (scope, connection)) in self.ranges.iter_mut().enumerate() {
            let mut connection = connection.take().context("a query before this one failed")?;
            let (asker, scope, sql) = (self.asker.clone(), scope.clone(), workload.sql);
            tasks.spawn(async move {
                let rows = asker.rows(&mut connection, &scope, sql, &[("@x", value)]).await;
                (at, connection, rows)
            });
        }
        let mut parts = Vec::new();
        while let Some(done) = tasks.join_next().await {
            let (at, connection, rows) = done?;
            self.ranges[at].1 = Some(connection);
            parts.push(rows?);
        }
        Ok(workload.merge(parts))
    }
}
