//! The door: runs scripts on threads of their own and waits for them without blocking.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use model::Env;

use crate::error::{Error, Failed, Result};
use crate::host::SharedHost;
use crate::invocation::{Answer, Here, Invocation, Script};
use crate::limits::{Limits, SILENCE_MAX};
use crate::offenders::Offenders;
use crate::place::Place;
use crate::pool::{Answering, Pool, Taker, Ticket, Unanswered, Worker, handover};

/// How often the one who waits looks whether the run is still alive. A server always has a timer that is due within a
/// second; one that is due earlier would wake a thread for every run, only to tell it so.
const LOOK_EVERY: Duration = Duration::from_millis(1250);

/// Runs scripts. Clones share threads and limits; the threads end with the last clone.
#[derive(Debug, Clone)]
pub struct Runtime(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    env: Env,
    limits: Limits,
    pool: Pool,
    offenders: Offenders,
    place: Place,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl Runtime {
    /// Makes a runtime; threads start when there is work.
    pub fn new(env: Env, limits: Limits) -> Runtime {
        let pool = Pool::new(env.clone(), limits.clone());
        let place = Place::new(env.clone(), &limits);
        Runtime(Arc::new(Inner { env, limits, pool, offenders: Offenders::default(), place }))
    }

    /// Returns the limits that scripts run under.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Runs a procedure at once, on this thread, if it is known to be over in a moment. To change threads takes longer
    /// than such a run.
    ///
    /// What a run that failed did to the host must be dropped, and nothing else follows from it: it is to be
    /// [invoked](Runtime::invoke), and that says why it fails.
    pub fn invoke_here(&self, host: SharedHost, invocation: &Invocation) -> Here {
        self.0.place.run(host, invocation)
    }

    /// Runs a procedure or trigger against the transaction behind `host`.
    ///
    /// When it fails, what it did to the host must be dropped. A run that was given up may touch the host a little
    /// longer; its transaction must not be committed either.
    pub async fn invoke(&self, host: SharedHost, invocation: Invocation) -> Result<Answer, Failed> {
        self.invoke_then(host, invocation, std::future::ready).await
    }

    /// The same; a run that ended well goes on with `then`, still on its thread, and what that gives is waited for.
    /// A run that was given up does not come to it.
    pub async fn invoke_then<T, F>(
        &self,
        host: SharedHost,
        invocation: Invocation,
        then: impl FnOnce(Answer) -> F + Send + 'static,
    ) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let inner = &*self.0;
        let script = invocation.script.clone();
        if inner.offenders.is_refused(&script.version, inner.env.monotonic()) {
            return Err(Error::Blocked { id: script.id.to_string() }.into());
        }
        let silence = inner.limits.time_max.saturating_add(SILENCE_MAX);
        let place = self.0.place.clone();
        let run = move |worker: &mut Worker, ticket: &Ticket| -> Answering<Result<T, Failed>> {
            let ended = place.watch(worker, &invocation, |worker| worker.invoke(&invocation, host));
            match ended {
                Ok(answer) if ticket.settle() => {
                    let then = then(answer);
                    Box::pin(async { Ok(then.await) })
                }
                // Nobody waits for the answer of a run that was given up.
                Ok(_) => Box::pin(std::future::ready(Err(Error::Closed.into()))),
                Err(failed) => Box::pin(std::future::ready(Err(failed))),
            }
        };
        let ended = self.submit(silence, run).await;
        let ended = ended.unwrap_or_else(|wait| Err(self.lost(wait, &script).into()));
        self.judge(&script, ended.as_ref().err().map(|failed| &failed.error));
        ended
    }

    /// Runs `work` on a script thread, where [`crate::call_udf`] calls `functions`.
    ///
    /// Fails with `TimedOut` when a function overran its time, whatever the work made of it.
    pub async fn with_udfs<T: Send + 'static>(
        &self,
        functions: Vec<Script>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let inner = &*self.0;
        let now = inner.env.monotonic();
        let refused = functions.iter().find(|it| inner.offenders.is_refused(&it.version, now));
        if let Some(script) = refused {
            return Err(Error::Blocked { id: script.id.to_string() });
        }
        let scripts = functions.clone();
        // The functions have the time of a run, and the work has time of its own.
        let silence = inner.limits.time_max.saturating_mul(2).saturating_add(SILENCE_MAX);
        let run = move |worker: &mut Worker, _: &Ticket| -> Answering<(T, bool)> {
            Box::pin(std::future::ready(worker.with_udfs(functions, work)))
        };
        let ended = self.submit(silence, run).await;
        let (result, overran) = match ended {
            Ok(ended) => ended,
            Err(wait) => {
                for script in &scripts {
                    self.lost(wait, script);
                }
                return Err(self.lost_work(wait, &scripts));
            }
        };
        match (overran, scripts.first()) {
            (true, Some(script)) => Err(self.timed_out(script)),
            (true | false, _) => Ok(result),
        }
    }

    /// Returns how many threads were given up and are still busy.
    pub fn n_lost_threads(&self) -> usize {
        self.0.pool.n_lost()
    }

    async fn submit<T: Send + 'static>(
        &self,
        silence: Duration,
        run: impl FnOnce(&mut Worker, &Ticket) -> Answering<T> + Send + 'static,
    ) -> Result<T, Wait> {
        let (giver, taker) = handover();
        let ticket = self
            .0
            .pool
            .submit(Box::new(move |worker, ticket| {
                // Nobody waits any more: the client went away while the job was queued.
                if !giver.is_abandoned() {
                    giver.give(run(worker, ticket));
                }
            }))
            .map_err(Wait::from)?;
        self.wait(taker, &ticket, silence).await
    }

    async fn wait<T>(
        &self,
        mut answered: Taker<T>,
        ticket: &Ticket,
        silence: Duration,
    ) -> Result<T, Wait> {
        let look_every = LOOK_EVERY.min(silence / 4);
        loop {
            match tokio::time::timeout(look_every, &mut answered).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(Unanswered)) if ticket.was_skipped() => return Err(Wait::Busy),
                Ok(Err(Unanswered)) => return Err(Wait::Panicked),
                Err(_) => {}
            }
            let now = self.0.env.monotonic();
            if ticket.runs_longer_than(silence, now) && self.0.pool.give_up(ticket) {
                return Err(Wait::Lost);
            }
        }
    }

    /// What became of a run that gave no answer.
    fn lost(&self, wait: Wait, script: &Script) -> Error {
        if wait == Wait::Lost {
            self.0.offenders.lost(&script.version);
        }
        self.lost_work(wait, std::slice::from_ref(script))
    }

    fn lost_work(&self, wait: Wait, scripts: &[Script]) -> Error {
        match (wait, scripts.first()) {
            (Wait::Busy, _) => Error::Busy,
            (Wait::Closed, _) => Error::Closed,
            (Wait::Lost, Some(script)) => self.timed_out(script),
            (Wait::Lost, None) => Error::Engine("a query did not end".to_owned()),
            (Wait::Panicked, _) => Error::Engine("a script thread panicked".to_owned()),
            (Wait::NoThread, _) => Error::Engine("no thread could be started".to_owned()),
        }
    }

    fn timed_out(&self, script: &Script) -> Error {
        let limit_ms = u64::try_from(self.0.limits.time_max.as_millis()).unwrap_or(u64::MAX);
        Error::TimedOut { id: script.id.to_string(), limit_ms }
    }

    /// Remembers scripts that overrun their limits.
    fn judge(&self, script: &Script, error: Option<&Error>) {
        let offenders = &self.0.offenders;
        match error {
            Some(Error::TimedOut { .. }) => {
                offenders.overran(&script.version, self.0.env.monotonic());
            }
            Some(Error::Threw { text, .. }) if text.ends_with("out of memory") => {
                offenders.overran(&script.version, self.0.env.monotonic());
            }
            Some(_) => {}
            None => offenders.behaved(&script.version),
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Busy,
    Closed,
    NoThread,
    Panicked,
    Lost,
}

impl From<Error> for Wait {
    fn from(error: Error) -> Wait {
        match error {
            Error::Closed => Wait::Closed,
            Error::Busy => Wait::Busy,
            _ => Wait::NoThread,
        }
    }
}
