//! What one script thread keeps between runs: engines made ahead of time.
//!
//! Making an engine takes ten times as long as compiling a small script. A thread therefore keeps one that serves all
//! scripts which may share, and with nothing else to do it makes a blank one for a script that may not.

use std::collections::HashMap;
use std::sync::Arc;

use model::Env;

use crate::denylist::Denylist;
use crate::error::{Error, Failed};
use crate::host::SharedHost;
use crate::invocation::{Answer, Invocation, Script};
use crate::limits::{ANALYSES_MAX, Limits};
use crate::run;
use crate::sandbox::{Entry, Sandbox, ScriptAnalysis};
use crate::udf;

#[derive(Debug)]
pub(crate) struct Worker {
    env: Env,
    limits: Limits,
    denylist: Arc<Denylist>,
    /// As good as never run, for whatever may share.
    shared: Option<Sandbox>,
    /// For one run of any script that the prelude it starts with serves.
    blank: Option<(Entry, Sandbox)>,
    /// By version of a script.
    analyses: HashMap<Arc<str>, ScriptAnalysis>,
    last: Option<Last>,
    /// What ran last; to be made fresh or taken apart when its answer is on the way.
    spent: Option<Sandbox>,
}

/// What ran last on this thread.
#[derive(Debug)]
struct Last {
    script: Script,
    analysis: ScriptAnalysis,
    /// Whether it ran twice in a row.
    is_repeated: bool,
    ended_well: bool,
}

impl Worker {
    pub(crate) fn new(env: Env, limits: Limits, denylist: Arc<Denylist>) -> Worker {
        let analyses = HashMap::new();
        Worker {
            env,
            limits,
            denylist,
            shared: None,
            blank: None,
            analyses,
            last: None,
            spent: None,
        }
    }

    pub(crate) fn invoke(
        &mut self,
        invocation: &Invocation,
        host: SharedHost,
    ) -> Result<Answer, Failed> {
        let script = &invocation.script;
        let analysis = self.analysis_of(script);
        let sandbox =
            self.engine(script, analysis).map_err(|error| Error::Engine(error.to_string()))?;
        // A run without functions has nothing to put at hand.
        let _leave = (!invocation.functions.is_empty()).then(|| {
            let stop_by = self.env.monotonic().saturating_add(self.limits.time_max);
            let functions = udf::Functions::new(Arc::clone(&invocation.functions));
            udf::offer(&self.env, &self.limits, &self.denylist, functions, stop_by)
        });
        let ended = run::run(&sandbox, analysis, invocation, host, &self.limits);
        let is_repeated =
            self.last.as_ref().is_some_and(|last| last.script.version == script.version);
        let script = script.clone();
        self.last = Some(Last { script, analysis, is_repeated, ended_well: ended.is_ok() });
        self.spent = Some(sandbox);
        ended
    }

    pub(crate) fn analysis_of(&mut self, script: &Script) -> ScriptAnalysis {
        if let Some(analysis) = self.analyses.get(&script.version) {
            return *analysis;
        }
        if self.analyses.len() >= ANALYSES_MAX {
            self.analyses.clear();
        }
        let analysis = ScriptAnalysis::of(&script.body);
        self.analyses.insert(Arc::clone(&script.version), analysis);
        analysis
    }

    fn engine(&mut self, script: &Script, analysis: ScriptAnalysis) -> rquickjs::Result<Sandbox> {
        if analysis.may_share {
            if let Some(sandbox) = self.shared.take() {
                return Ok(sandbox);
            }
            // One that is shared takes longer to make, and is lost with a run that fails.
            if self.last.as_ref().is_some_and(|last| last.ended_well) {
                return Sandbox::shared(&self.env, &self.limits);
            }
        }
        let fits = |(of, sandbox): &mut (Entry, Sandbox)| {
            of.serves(analysis.entry) && sandbox.is_for(script)
        };
        match self.blank.take_if(fits) {
            Some((_, sandbox)) => Ok(sandbox),
            None => Sandbox::blank(analysis.entry, &self.env, &self.limits),
        }
    }

    /// Makes what the last run used fresh again, or takes it apart, which takes a fifth of the time of a run.
    pub(crate) fn tidy(&mut self) {
        let Some(mut sandbox) = self.spent.take() else { return };
        let ended_well = self.last.as_ref().is_some_and(|last| last.ended_well);
        if ended_well && sandbox.renew() {
            self.shared = Some(sandbox);
        }
    }

    pub(crate) fn with_udfs<T>(
        &mut self,
        functions: udf::Functions,
        work: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        udf::run_with(&self.env, &self.limits, &self.denylist, functions, work)
    }

    /// Says whether the next run will find what it probably needs.
    pub(super) fn is_prepared(&self) -> bool {
        self.last.as_ref().is_none_or(|last| self.has_shared(last) && self.has_blank(last))
    }

    fn has_shared(&self, last: &Last) -> bool {
        self.shared.is_some() || !last.analysis.may_share || !last.ended_well
    }

    fn has_blank(&self, last: &Last) -> bool {
        let fits = |(of, sandbox): &(Entry, Sandbox)| {
            of.serves(last.analysis.entry) && sandbox.is_for(&last.script)
        };
        self.blank.as_ref().is_some_and(fits)
    }

    /// Makes what the next run will probably need. A failure shows again when a run needs the engine.
    pub(super) fn prepare(&mut self) {
        let Some(last) = &self.last else { return };
        if !self.has_shared(last) {
            self.shared = Sandbox::shared(&self.env, &self.limits).ok();
        }
        if self.has_blank(last) {
            return;
        }
        let entry = last.analysis.entry;
        let Ok(mut sandbox) = Sandbox::blank(entry, &self.env, &self.limits) else { return };
        if last.is_repeated && !last.analysis.may_share {
            sandbox.prepare(&last.script);
        }
        self.blank = Some((entry, sandbox));
    }

    pub(crate) fn forget(&mut self) {
        self.shared = None;
        self.blank = None;
        self.spent = None;
        self.last = None;
    }
}
