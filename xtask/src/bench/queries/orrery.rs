//! Our side: one connection for each range, and one for queries that the server merges.

use anyhow::{Context as _, Result};
use model::Env;
use serde_json::Value;
use tokio::task::JoinSet;

use super::Answer;
use super::workload::Workload;
use crate::bench::rows::{Asker, Question, Scope};
use crate::bench::setup::{CONTAINER, Subject};
use crate::client::Connection;

pub(super) struct Orrery {
    asker: Asker,
    /// Connections are lent to the tasks that ask.
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
        env: &Env,
    ) -> Result<Answer> {
        let question = self.asker.question(&Scope::Merged, workload.sql, &[("@x", value)])?;
        let begin = env.monotonic();
        let rows = self.asker.ask(&mut self.merged, &question).await?;
        Ok(Answer { rows, took: env.monotonic().saturating_sub(begin) })
    }

    /// Asks all ranges at once and merges what they say.
    pub(super) async fn ask(
        &mut self,
        workload: &Workload,
        value: u64,
        env: &Env,
    ) -> Result<Answer> {
        let mut questions = Vec::with_capacity(self.ranges.len());
        for (scope, connection) in &mut self.ranges {
            let connection = connection.take().context("a query before this one failed")?;
            let question = self.asker.question(scope, workload.sql, &[("@x", value)])?;
            questions.push((connection, question));
        }
        let begin = env.monotonic();
        let mut parts = Vec::with_capacity(questions.len());
        if let [(connection, question)] = questions.as_mut_slice() {
            parts.push(self.asker.ask(connection, question).await?);
            self.ranges[0].1 = questions.pop().map(|(connection, _)| connection);
        } else {
            self.ask_at_once(questions, &mut parts).await?;
        }
        let rows = workload.merge(parts);
        Ok(Answer { rows, took: env.monotonic().saturating_sub(begin) })
    }

    async fn ask_at_once(
        &mut self,
        questions: Vec<(Connection, Question)>,
        parts: &mut Vec<Vec<Value>>,
    ) -> Result<()> {
        let mut tasks = JoinSet::new();
        for (at, (mut connection, question)) in questions.into_iter().enumerate() {
            let asker = self.asker.clone();
            tasks.spawn(async move {
                let rows = asker.ask(&mut connection, &question).await;
                (at, connection, rows)
            });
        }
        while let Some(done) = tasks.join_next().await {
            let (at, connection, rows) = done?;
            self.ranges[at].1 = Some(connection);
            parts.push(rows?);
        }
        Ok(())
    }
}
