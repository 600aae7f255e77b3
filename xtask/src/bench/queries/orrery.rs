//! Our side: one connection for each range, and one for queries that the server merges.

use anyhow::Result;
use futures::future::try_join_all;
use model::Env;

use super::Answer;
use super::workload::Workload;
use crate::bench::rows::{Asker, Scope};
use crate::bench::setup::{CONTAINER, Subject};
use crate::client::Connection;

pub(super) struct Orrery {
    asker: Asker,
    ranges: Vec<(Scope, Connection)>,
    merged: Connection,
}

impl Orrery {
    pub(super) async fn connect(subject: &Subject) -> Result<Orrery> {
        let asker = Asker { account: subject.account.clone(), container: CONTAINER.to_owned() };
        let mut ranges = Vec::new();
        for scope in asker.ranges().await? {
            let connection = Connection::open(&subject.server.authority).await?;
            ranges.push((scope, connection));
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
        let question = |scope| self.asker.question(scope, workload.sql, &[("@x", value)]);
        let questions: Vec<_> =
            self.ranges.iter().map(|(scope, _)| question(scope)).collect::<Result<_>>()?;
        let begin = env.monotonic();
        let asker = &self.asker;
        let pairs = self.ranges.iter_mut().zip(&questions);
        let parts = try_join_all(pairs.map(|((_, it), question)| asker.ask(it, question))).await?;
        let rows = workload.merge(parts);
        Ok(Answer { rows, took: env.monotonic().saturating_sub(begin) })
    }
}
