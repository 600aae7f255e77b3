//! What one script thread keeps between runs: engines made ahead of time, each for one run.
//!
//! Every run has an engine and a global of its own. Making one takes about a quarter of a millisecond with the
//! prelude and the script compiled, so a thread with nothing else to do makes the next one for the script that it
//! ran last.

use std::collections::VecDeque;
use std::sync::Arc;

use model::Env;

use crate::error::{Error, Failed};
use crate::host::SharedHost;
use crate::invocation::{Answer, Invocation, Script};
use crate::limits::{Limits, READY_MAX};
use crate::run;
use crate::sandbox::{Entry, Sandbox};
use crate::udf;

#[derive(Debug)]
pub(crate) struct Worker {
    env: Env,
    limits: Limits,
    /// Compiled and never run, the latest script last.
    ready: VecDeque<Sandbox>,
    last: Option<Script>,
    /// What ran last, to be taken apart when its answer is on the way.
    spent: Option<Sandbox>,
}

impl Worker {
    pub(super) fn new(env: Env, limits: Limits) -> Worker {
        Worker { env, limits, ready: VecDeque::new(), last: None, spent: None }
    }

    pub(crate) fn invoke(
        &mut self,
        invocation: &Invocation,
        host: SharedHost,
    ) -> Result<Answer, Failed> {
        let sandbox = match self.take(&invocation.script.version) {
            Some(sandbox) => sandbox,
            None => self.fresh(&invocation.script)?,
        };
        self.last = Some(invocation.script.clone());
        // A run without functions has nothing to put at hand.
        let _leave = (!invocation.functions.is_empty()).then(|| {
            let stop_by = self.env.monotonic().saturating_add(self.limits.time_max);
            udf::offer(&self.env, &self.limits, Arc::clone(&invocation.functions), stop_by)
        });
        let ended = run::run(&sandbox, invocation, host, &self.limits);
        self.spent = Some(sandbox);
        ended
    }

    /// Takes apart what the last run left. To free an engine takes a fifth of the time of a run.
    pub(super) fn tidy(&mut self) {
        self.spent = None;
    }

    pub(crate) fn with_udfs<T>(
        &mut self,
        scripts: Vec<Script>,
        work: impl FnOnce() -> T,
    ) -> (T, bool) {
        udf::run_with(&self.env, &self.limits, scripts.into(), work)
    }

    fn take(&mut self, version: &str) -> Option<Sandbox> {
        let at = self.ready.iter().position(|sandbox| sandbox.is_ready_for(version))?;
        self.ready.remove(at)
    }

    fn fresh(&self, script: &Script) -> Result<Sandbox, Error> {
        Sandbox::new(Entry::of(&script.body), &self.env, &self.limits)
            .map_err(|error| Error::Engine(error.to_string()))
    }

    /// Makes an engine for the script that ran last.
    pub(super) fn prepare(&mut self) {
        let Some(script) = self.last.take() else { return };
        if self.ready.iter().any(|sandbox| sandbox.is_ready_for(&script.version)) {
            return;
        }
        // A failure shows again when a run needs the engine.
        let Ok(mut sandbox) = self.fresh(&script) else { return };
        sandbox.prepare(&script);
        if self.ready.len() >= READY_MAX {
            self.ready.pop_front();
        }
        self.ready.push_back(sandbox);
    }

    pub(super) fn forget(&mut self) {
        self.ready.clear();
        self.spent = None;
        self.last = None;
    }
}
