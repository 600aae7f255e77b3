//! The door: runs scripts on threads of their own and waits for them without blocking.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use model::Env;

use crate::denylist::Denylist;
use crate::error::{Error, Failed, Result};
use crate::host::SharedHost;
use crate::inline_runner::InlineRunner;
use crate::invocation::{Answer, InlineOutcome, Invocation, Script};
use crate::limits::{HANG_GRACE, Limits};
use crate::pool::{AnswerReceiver, Answering, Pool, Ticket, Unanswered, Worker, handover};
use crate::udf::Functions;

/// How often the one who waits looks whether the run is still alive. A server always has a timer that is due within a
/// second; one that is due earlier would wake a thread for every run, only to tell it so.
const POLL_INTERVAL: Duration = Duration::from_millis(1250);

/// Runs scripts. Clones share threads and limits; the threads end with the last clone.
#[derive(Debug, Clone)]
pub struct Runtime(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    env: Env,
    limits: Limits,
    pool: Pool,
    denylist: Arc<Denylist>,
    inline: InlineRunner,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl Runtime {
    /// Makes a runtime; threads start when there is work.
    pub fn new(env: Env, limits: Limits) -> Runtime {
        let denylist = Arc::new(Denylist::default());
        let pool = Pool::new(env.clone(), limits.clone(), Arc::clone(&denylist));
        let inline = InlineRunner::new(env.clone(), &limits, Arc::clone(&denylist));
        Runtime(Arc::new(Inner { env, limits, pool, denylist, inline }))
    }

    /// Returns the limits that scripts run under.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Runs a procedure inline, on this thread, if it is known to be short. To change threads takes longer than such a run.
    ///
    /// What a run that failed did to the host must be dropped, and nothing else follows from it: it is to be
    /// [invoked](Runtime::invoke), and that says why it fails.
    pub fn invoke_inline(&self, host: SharedHost, invocation: &Invocation) -> InlineOutcome {
        self.0.inline.run(host, invocation)
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
        if inner.denylist.is_refused(&script.version, inner.env.monotonic()) {
            return Err(Error::Blocked { id: script.id.to_string() }.into());
        }
        let hang_after = inner.limits.time_max.saturating_add(HANG_GRACE);
        let (inline, denylist) = (self.0.inline.clone(), Arc::clone(&inner.denylist));
        let (env, long) = (inner.env.clone(), inner.limits.accept_max);
        let run = move |worker: &mut Worker, ticket: &Ticket| -> Answering<Result<T, Failed>> {
            let begin = env.monotonic();
            let ended =
                inline.observe(worker, &invocation, |worker| worker.invoke(&invocation, host));
            let now = env.monotonic();
            let error = ended.as_ref().err().map(|failed| &failed.error);
            let is_long = now.saturating_sub(begin) >= long;
            denylist.judge(&invocation.script.version, error, is_long, now);
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
        let ended = self.submit(hang_after, run).await;
        ended.unwrap_or_else(|wait| Err(self.lost(wait, Some(&script)).into()))
    }

    /// Runs `work` on a script thread, where [`crate::call_udf`] calls `functions`.
    ///
    /// Fails when a function overran its time, or did so too often before, whatever the work made of it.
    pub async fn with_udfs<T: Send + 'static>(
        &self,
        functions: Vec<Script>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let functions = Functions::new(functions.into());
        let its_own = functions.clone();
        // The functions have the time of a run, and the work has time of its own.
        let hang_after = self.0.limits.time_max.saturating_mul(2).saturating_add(HANG_GRACE);
        let run = move |worker: &mut Worker, _: &Ticket| -> Answering<Result<T>> {
            Box::pin(std::future::ready(worker.with_udfs(its_own, work)))
        };
        let ended = self.submit(hang_after, run).await;
        ended.unwrap_or_else(|wait| Err(self.lost(wait, functions.last())))
    }

    /// Returns the memory that the engines of this process use.
    pub fn memory_bytes(&self) -> usize {
        engine_memory::MemoryInUse::of_process().bytes()
    }

    /// Returns how many threads were given up and are still busy.
    pub fn n_lost_threads(&self) -> usize {
        self.0.pool.n_lost()
    }

    async fn submit<T: Send + 'static>(
        &self,
        hang_after: Duration,
        run: impl FnOnce(&mut Worker, &Ticket) -> Answering<T> + Send + 'static,
    ) -> Result<T, Wait> {
        let (sender, receiver) = handover();
        let ticket = self
            .0
            .pool
            .submit(Box::new(move |worker, ticket| {
                // Nobody waits any more: the client went away while the job was queued.
                if !sender.is_abandoned() {
                    sender.give(run(worker, ticket));
                }
            }))
            .map_err(Wait::from)?;
        self.wait(receiver, &ticket, hang_after).await
    }

    async fn wait<T>(
        &self,
        mut answered: AnswerReceiver<T>,
        ticket: &Ticket,
        hang_after: Duration,
    ) -> Result<T, Wait> {
        let poll_interval = POLL_INTERVAL.min(hang_after / 4);
        loop {
            match tokio::time::timeout(poll_interval, &mut answered).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(Unanswered)) if ticket.was_skipped() => return Err(Wait::Busy),
                Ok(Err(Unanswered)) => return Err(Wait::Panicked),
                Err(_) => {}
            }
            let now = self.0.env.monotonic();
            if ticket.runs_longer_than(hang_after, now) && self.0.pool.abandon(ticket) {
                return Err(Wait::Lost);
            }
        }
    }

    /// What became of a run that gave no answer; `script` is what ran last in it.
    fn lost(&self, wait: Wait, script: Option<&Script>) -> Error {
        match (wait, script) {
            (Wait::Busy, _) => Error::Busy,
            (Wait::Closed, _) => Error::Closed,
            (Wait::Lost, Some(script)) => {
                self.0.denylist.lost(&script.version);
                self.timed_out(script)
            }
            (Wait::Lost, None) => Error::Engine("a query did not end".to_owned()),
            (Wait::Panicked, _) => Error::Engine("a script thread panicked".to_owned()),
            (Wait::NoThread, _) => Error::Engine("no thread could be started".to_owned()),
        }
    }

    fn timed_out(&self, script: &Script) -> Error {
        let limit_ms = u64::try_from(self.0.limits.time_max.as_millis()).unwrap_or(u64::MAX);
        Error::TimedOut { id: script.id.to_string(), limit_ms }
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
