//! What one script thread keeps between runs: engines made ahead of time, each for one run.
//!
//! Making an engine takes ten times as long as compiling a small script. A thread with nothing else to do therefore
//! makes a blank one for whatever script comes next, and a script that runs again and again gets one that can be
//! made fresh instead of made anew.

use std::collections::VecDeque;
use std::sync::Arc;

use model::Env;

use crate::error::{Error, Failed};
use crate::host::SharedHost;
use crate::invocation::{Answer, Invocation, Script};
use crate::limits::{Limits, READY_MAX};
use crate::run;
use crate::sandbox::{Entry, Sandbox, may_share};
use crate::udf;

#[derive(Debug)]
pub(crate) struct Worker {
    env: Env,
    limits: Limits,
    /// Compiled and as good as never run, the latest script last.
    ready: VecDeque<Sandbox>,
    /// For any script that the prelude it starts with serves.
    blank: Option<(Entry, Sandbox)>,
    last: Option<Script>,
    /// Whether it ran twice in a row: then to lock an engine for it pays.
    is_repeated: bool,
    /// What ran last, and whether it ended well; to be made fresh or taken apart when its answer is on the way.
    spent: Option<(Sandbox, bool)>,
}

impl Worker {
    pub(super) fn new(env: Env, limits: Limits) -> Worker {
        Worker {
            env,
            limits,
            ready: VecDeque::new(),
            blank: None,
            last: None,
            is_repeated: false,
            spent: None,
        }
    }

    pub(crate) fn invoke(
        &mut self,
        invocation: &Invocation,
        host: SharedHost,
    ) -> Result<Answer, Failed> {
        let script = &invocation.script;
        self.is_repeated = self.last.as_ref().is_some_and(|last| last.version == script.version);
        let sandbox = match self.take(&script.version) {
            Some(sandbox) => sandbox,
            None => self.fresh(script).map_err(|error| Error::Engine(error.to_string()))?,
        };
        self.last = Some(script.clone());
        // A run without functions has nothing to put at hand.
        let _leave = (!invocation.functions.is_empty()).then(|| {
            let stop_by = self.env.monotonic().saturating_add(self.limits.time_max);
            udf::offer(&self.env, &self.limits, Arc::clone(&invocation.functions), stop_by)
        });
        let ended = run::run(&sandbox, invocation, host, &self.limits);
        self.spent = Some((sandbox, ended.is_ok()));
        ended
    }

    /// Makes what the last run used fresh again, or takes it apart, which takes a fifth of the time of a run.
    pub(super) fn tidy(&mut self) {
        let Some((mut sandbox, ended_well)) = self.spent.take() else { return };
        if ended_well && sandbox.renew() {
            self.keep(sandbox);
        }
    }

    fn keep(&mut self, sandbox: Sandbox) {
        if self.ready.len() >= READY_MAX {
            self.ready.pop_front();
        }
        self.ready.push_back(sandbox);
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

    fn fresh(&mut self, script: &Script) -> rquickjs::Result<Sandbox> {
        if self.is_repeated && may_share(&script.body) {
            return Sandbox::shared(script, &self.env, &self.limits);
        }
        let entry = Entry::of(&script.body);
        match self.blank.take_if(|(of, _)| of.serves(entry)) {
            Some((_, sandbox)) => Ok(sandbox),
            None => Sandbox::blank(entry, &self.env, &self.limits),
        }
    }

    /// Makes what the next run will probably need. A failure shows again when a run needs the engine.
    pub(super) fn prepare(&mut self) {
        let Some(script) = self.last.clone() else { return };
        let is_ready = self.ready.iter().any(|sandbox| sandbox.is_ready_for(&script.version));
        if self.is_repeated && !is_ready {
            let Ok(mut sandbox) = self.fresh(&script) else { return };
            if !sandbox.is_ready_for(&script.version) {
                sandbox.prepare(&script);
            }
            self.keep(sandbox);
        }
        let entry = Entry::of(&script.body);
        if !self.blank.as_ref().is_some_and(|(of, _)| of.serves(entry)) {
            let sandbox = Sandbox::blank(entry, &self.env, &self.limits);
            self.blank = sandbox.ok().map(|sandbox| (entry, sandbox));
        }
    }

    pub(super) fn forget(&mut self) {
        self.ready.clear();
        self.blank = None;
        self.spent = None;
        self.last = None;
    }
}
