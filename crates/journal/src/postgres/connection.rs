//! One connection to the engine, used by one call at a time, and what its answers prove.
//!
//! Invariant: a statement is "done" only if the engine acknowledged its commit without a warning. A warning while it ran may
//! be a wait for the standby that was cancelled: visible, and perhaps gone tomorrow.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_postgres::error::Severity;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, Row, SimpleQueryMessage, Statement};

use super::tls::Tls;
use crate::Error;

/// How often a prepared statement runs before it is prepared anew: a plan that was made for an almost empty table must not
/// stay when the table has grown, and statistics come only once a minute.
const RUNS_PER_PLAN: u32 = 1_000;

/// How a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// Nothing was done, and nothing will be.
    NotDone(String),
    /// Whether it was done is unknown.
    InDoubt(String),
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Error {
        match failed {
            Failed::NotDone(why) => Error::Unavailable(why),
            Failed::InDoubt(why) => Error::InDoubt(why),
        }
    }
}

/// A connection. Dropping it closes it.
pub(super) struct Connection {
    client: Client,
    /// Warnings that have come, counted before the answer of their statement is passed on.
    warnings: Arc<AtomicU64>,
    statements: HashMap<&'static str, (Statement, u32)>,
    timeout: Duration,
    /// Nothing more may be sent: an answer is missing, or the session is in a state that we do not know.
    is_broken: bool,
}

/// A parameter of a statement.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

impl Connection {
    /// Connects to the first host that takes writes.
    pub(super) async fn open(
        config: &Config,
        tls: &Tls,
        timeout: Duration,
    ) -> Result<Connection, tokio_postgres::Error> {
        let (client, mut driver) = config.connect(tls.clone()).await?;
        let warnings = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&warnings);
        tokio::spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|context| driver.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message
                    && is_doubtful(notice.code().code())
                {
                    counter.fetch_add(1, Ordering::Release);
                    tracing::warn!(code = notice.code().code(), "the engine: {}", notice.message());
                }
            }
        });
        let statements = HashMap::new();
        Ok(Connection { client, warnings, statements, timeout, is_broken: false })
    }

    /// True if the connection can be used for another call.
    pub(super) fn is_usable(&self) -> bool {
        !self.is_broken && !self.client.is_closed()
    }

    /// Runs a prepared statement as a transaction of its own.
    pub(super) async fn run(
        &mut self,
        text: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failed> {
        let statement = self.prepare(text).await?;
        let warnings = self.warnings.load(Ordering::Acquire);
        let running = self.client.query(&statement, parameters);
        let answer = tokio::time::timeout(self.timeout, running).await;
        self.judge(answer, warnings)
    }

    /// Runs several statements that come as one message, which begins and ends a transaction. Returns all rows as texts.
    pub(super) async fn run_message(
        &mut self,
        text: &str,
    ) -> Result<Vec<Vec<Option<String>>>, Failed> {
        if !self.is_usable() {
            return Err(gone());
        }
        let warnings = self.warnings.load(Ordering::Acquire);
        let answer = tokio::time::timeout(self.timeout, self.client.simple_query(text)).await;
        let messages = match self.judge(answer, warnings) {
            Ok(messages) => messages,
            Err(failed) => {
                // The failed transaction is still there.
                if self.is_usable() && self.client.batch_execute("ROLLBACK").await.is_err() {
                    self.is_broken = true;
                }
                return Err(failed);
            }
        };
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|index| row.get(index).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    async fn prepare(&mut self, text: &'static str) -> Result<Statement, Failed> {
        if !self.is_usable() {
            return Err(gone());
        }
        if let Some((statement, left)) = self.statements.get_mut(text)
            && *left > 0
        {
            *left -= 1;
            return Ok(statement.clone());
        }
        let answer = tokio::time::timeout(self.timeout, self.client.prepare(text)).await;
        let statement = self.judge(answer, u64::MAX).map_err(|failed| match failed {
            // To prepare changes nothing, whatever became of it.
            Failed::InDoubt(why) | Failed::NotDone(why) => Failed::NotDone(why),
        })?;
        self.statements.insert(text, (statement.clone(), RUNS_PER_PLAN));
        Ok(statement)
    }

    /// What an answer proves. `warnings` is how many had come before the statement was sent, or the highest number if none
    /// matters.
    fn judge<T>(
        &mut self,
        answer: Result<Result<T, tokio_postgres::Error>, tokio::time::error::Elapsed>,
        warnings: u64,
    ) -> Result<T, Failed> {
        match answer {
            Err(_) => {
                // It may still run: nothing else is sent behind it.
                self.is_broken = true;
                Err(Failed::InDoubt("no answer in time".into()))
            }
            Ok(Ok(_)) if self.warnings.load(Ordering::Acquire) > warnings => {
                Err(Failed::InDoubt("the engine did not wait for its standby".into()))
            }
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                let why = described(&error);
                let database = error.as_db_error();
                let code = database.map_or("", |error| error.code().code());
                let severity = database.and_then(tokio_postgres::error::DbError::parsed_severity);
                if !proves_undone(severity, code) {
                    self.is_broken = true;
                    return Err(Failed::InDoubt(why));
                }
                self.is_broken |= wants_new_connection(code);
                Err(Failed::NotDone(why))
            }
        }
    }
}

fn gone() -> Failed {
    Failed::NotDone("the connection is closed".into())
}

/// The text of an error, with what the engine said of it.
pub(super) fn described(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}

/// A plain warning, or one about an ending connection, while a statement runs: the wait for the standby may have ended early.
fn is_doubtful(code: &str) -> bool {
    code == "01000" || code.starts_with("57")
}

/// An error that the engine reports and survives has undone its statement. A fatal one, or one about the connection (a
/// pooler reports it for an engine that is gone), proves nothing.
fn proves_undone(severity: Option<Severity>, code: &str) -> bool {
    severity == Some(Severity::Error) && !code.starts_with("08") && !code.starts_with("57P")
}

/// The session no longer is what we took it for: another engine behind a pooler, a standby, an aborted transaction.
fn wants_new_connection(code: &str) -> bool {
    matches!(code, "26000" | "0A000" | "25006" | "25P02" | "42P05")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_that_the_connection_survives_proves_that_nothing_was_done() {
        #[rustfmt::skip]
        let table = [
            (Some(Severity::Error), "40001", true),  // serialization failure
            (Some(Severity::Error), "40P01", true),  // deadlock
            (Some(Severity::Error), "53100", true),  // disk full
            (Some(Severity::Error), "57014", true),  // statement_timeout
            (Some(Severity::Error), "08006", false), // a pooler lost its engine
            (Some(Severity::Fatal), "57P01", false), // killed
            (Some(Severity::Fatal), "53300", false),
            (Some(Severity::Panic), "XX000", false),
            (None,                  "",      false), // connection lost
        ];
        for (severity, code, is_proof) in table {
            assert_eq!(proves_undone(severity, code), is_proof, "{code}");
        }
    }

    #[test]
    fn a_cancelled_wait_is_doubtful_and_a_remark_is_not() {
        for (code, is_doubt) in
            [("01000", true), ("57P01", true), ("00000", false), ("25P01", false)]
        {
            assert_eq!(is_doubtful(code), is_doubt, "{code}");
        }
    }
}
