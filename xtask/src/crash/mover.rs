//! Splits, merges and moves ranges until the server is gone.

use std::time::Duration;

use anyhow::{Result, ensure};
use model::Env;
use serde_json::json;

use crate::client::Account;
use crate::ranges::Ranges;

/// With more ranges than this it only merges and moves.
const RANGES_MAX: usize = 8;

/// What is relocated, and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Where it is: `dbs/…/colls/…`.
    pub(crate) container: &'static str,
    /// Between two relocations.
    pub(crate) pause: Duration,
}

/// Relocates and returns how often it succeeded.
pub(crate) async fn run(account: Account, plan: Plan, choices: Env) -> Result<u64> {
    let mut n_done = 0;
    let Ok(mut ranges) = Ranges::open(&account.authority, plan.container).await else {
        return Ok(n_done);
    };
    loop {
        let Ok(ids) = ranges.ids().await else { return Ok(n_done) };
        let choice = |n: usize| usize::try_from(choices.random_u64()).unwrap_or(0) % n.max(1);
        let at = choice(ids.len());
        let one = ids.get(at).cloned().unwrap_or_default();
        let (command, body) = match (choice(3), ids.get(at + 1)) {
            (0, _) if ids.len() < RANGES_MAX => (format!("{one}/split"), json!({"wait": true})),
            (1, Some(next)) => ("merge".to_owned(), json!({"ranges": [one, next], "wait": true})),
            _ => (format!("{one}/move"), json!({"wait": true})),
        };
        let Ok(answer) = ranges.command(&command, &body).await else { return Ok(n_done) };
        // A range with one logical partition cannot be split, and one may still be busy since the restart.
        let is_refused = matches!(answer.status, 400 | 409);
        ensure!(
            is_refused || answer.is_success(),
            "{command}: {} {}",
            answer.status,
            answer.text()
        );
        n_done += u64::from(answer.is_success());
        if !plan.pause.is_zero() {
            tokio::time::sleep(plan.pause).await;
        }
    }
}
