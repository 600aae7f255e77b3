//! The load generator: keep-alive connections that send prepared requests one after the other.

use std::time::Duration;

use anyhow::{Result, bail};
use model::Env;
use tokio::task::JoinSet;

use crate::client::Connection;

/// What one load did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) n: u64,
}

/// Makes the requests of one connection: given the number of the next one, its bytes.
pub(crate) type Source = Box<dyn FnMut(u64) -> Vec<u8> + Send>;

/// Runs one connection per source for `duration`; every answer must have `status`.
pub(crate) async fn run(
    authority: &str,
    sources: Vec<Source>,
    duration: Duration,
    status: u16,
    env: &Env,
) -> Result<Rate> {
    let begin = env.monotonic();
    let mut tasks = JoinSet::new();
    for source in sources {
        tasks.spawn(one(authority.to_owned(), source, begin + duration, status, env.clone()));
    }
    let mut latencies = Vec::new();
    while let Some(done) = tasks.join_next().await {
        latencies.extend(done??);
    }
    let elapsed = env.monotonic().saturating_sub(begin);
    Ok(summary(latencies, elapsed))
}

async fn one(
    authority: String,
    mut source: Source,
    end: Duration,
    status: u16,
    env: Env,
) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(&authority).await?;
    let mut latencies = Vec::new();
    let mut now = env.monotonic();
    while now < end {
        let request = source(latencies.len() as u64);
        let got = connection.send_for_status(&request).await?;
        if got != status {
            bail!("the server answered {got} instead of {status}");
        }
        let then = env.monotonic();
        latencies.push(then.saturating_sub(now));
        now = then;
    }
    Ok(latencies)
}

pub(crate) fn summary(mut latencies: Vec<Duration>, elapsed: Duration) -> Rate {
    latencies.sort_unstable();
    let at = |percent: usize| {
        latencies.get(latencies.len() * percent / 100).copied().unwrap_or_default()
    };
    let n = latencies.len() as u64;
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    let per_second = n as f64 / elapsed.as_secs_f64().max(f64::EPSILON);
    Rate { per_second, p50: at(50), p99: at(99), n }
}

/// How often both sides of a ratio are measured.
pub(crate) const ROUNDS: u32 = 5;

/// Measurements of two sides by turns, so that a busy moment of the machine hits both.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    ours: Vec<Rate>,
    baseline: Vec<Rate>,
}

impl Rounds {
    pub(crate) fn push(&mut self, ours: Rate, baseline: Rate) {
        self.ours.push(ours);
        self.baseline.push(baseline);
    }

    /// The median of the ratios of each round.
    pub(crate) fn ratio(&self) -> f64 {
        let pairs = self.ours.iter().zip(&self.baseline);
        let mut ratios: Vec<f64> =
            pairs.map(|(ours, baseline)| ours.per_second / baseline.per_second).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn ours(&self) -> String {
        median(&self.ours)
    }

    pub(crate) fn baseline(&self) -> String {
        median(&self.baseline)
    }

    /// Requests that we served in all rounds.
    pub(crate) fn n_ours(&self) -> u64 {
        self.ours.iter().map(|it| it.n).sum()
    }

    /// Requests that the other side served in all rounds.
    pub(crate) fn n_baseline(&self) -> u64 {
        self.baseline.iter().map(|it| it.n).sum()
    }
}

fn median(rates: &[Rate]) -> String {
    let mut rates = rates.to_vec();
    rates.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    rates.get(rates.len() / 2).map(Rate::shown).unwrap_or_default()
}

impl Rate {
    pub(crate) fn shown(&self) -> String {
        format!(
            "{:.0}/s (p50 {} µs, p99 {} µs)",
            self.per_second,
            self.p50.as_micros(),
            self.p99.as_micros()
        )
    }
}
