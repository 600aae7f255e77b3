//! One engine with one global: made for one run, or for the user-defined functions of one query.
//!
//! To make one takes longer than a small script runs. An engine whose language is locked (`prelude/lock.js`) can
//! therefore serve many runs, each with a global as fresh as the first: see [`shared`].

mod analysis;
#[cfg(test)]
mod attacks;
mod compiled;
mod prelude;
mod shared;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use engine_memory::{MemoryInUse, WatchedAllocator};
use model::Env;
use rquickjs::context::intrinsic;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Context, Ctx, Function, Module, Object, Persistent, Runtime};

use crate::bridge::Bridge;
use crate::inline_check::NAMES;
use crate::invocation::Script;
use crate::limits::{Limits, MEMORY_RESERVE};
use crate::native;

use compiled::Compiled;
use shared::Guard;

pub(crate) use analysis::ScriptAnalysis;
pub(crate) use prelude::Entry;

/// Bytes in use before the engine first looks for cycles. Its own choice is so small that making a sandbox already
/// starts it, and most runs end with much less.
const GC_BYTES: usize = 8 << 20;

// Limit: how long a script is compiled ahead of its run.
const COMPILE_MAX: Duration = Duration::from_millis(100);

/// What the language offers: no clocks beside `Date`, no weak references (their callbacks would run at any time).
type Intrinsics = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

type Kept<T> = Persistent<T>;

/// Invariant: the fields drop in this order: values of the engine, its context, the engine.
pub(crate) struct Sandbox {
    api: Kept<Object<'static>>,
    steps: Option<Steps>,
    compiled: Compiled,
    /// Present in an engine that serves several runs.
    guard: Option<Guard>,
    context: Context,
    runtime: Runtime,
    bridge: Rc<Bridge>,
    memory_bytes_max: usize,
    // Limit: bytes that are in use between runs: the language, compiled scripts, cycles that wait for the collector.
    kept_bytes_max: usize,
    /// The version of the script that was compiled ahead of its run.
    prepared_for: Option<Arc<str>>,
}

/// The functions of the prelude that every run of a procedure or trigger calls.
pub(crate) struct Steps {
    pub(crate) start: Kept<Function<'static>>,
    pub(crate) step: Kept<Function<'static>>,
    pub(crate) finish: Kept<Function<'static>>,
}

impl Steps {
    fn of(api: &Object<'_>) -> rquickjs::Result<Steps> {
        let get = |name: &str| {
            let function: Function<'_> = api.get(name)?;
            Ok::<_, rquickjs::Error>(Persistent::save(api.ctx(), function))
        };
        Ok(Steps { start: get("start")?, step: get("step")?, finish: get("finish")? })
    }
}

impl Sandbox {
    fn open(entry: Entry, env: &Env, limits: &Limits) -> rquickjs::Result<Sandbox> {
        let bridge = Rc::new(Bridge::new(env.clone(), limits.response_chars_max));
        let it = Rc::clone(&bridge);
        let is_over = Rc::new(move || it.clock.must_stop());
        let allocator = WatchedAllocator::new(
            is_over,
            MemoryInUse::of_process(),
            limits.memory_of_all_bytes_max,
        );
        let runtime = Runtime::new_with_alloc(allocator)?;
        runtime.set_memory_limit(limits.memory_bytes_max);
        runtime.set_max_stack_size(limits.stack_bytes_max);
        let kept_bytes_max = GC_BYTES.min(limits.memory_bytes_max);
        runtime.set_gc_threshold(kept_bytes_max);
        let it = Rc::clone(&bridge);
        runtime.set_interrupt_handler(Some(Box::new(move || it.clock.must_stop())));
        let modules = prelude::modules()?;
        runtime.set_loader(modules, modules);
        let context = Context::custom::<Intrinsics>(&runtime)?;
        let (api, steps) = context.with(|ctx| {
            let module: Object<'_> = Module::import(&ctx, entry.name())?.finish()?;
            let install: Function<'_> = module.get("install")?;
            let api: Object<'_> = install.call((native::install(&ctx, &bridge)?,))?;
            let steps = match entry {
                Entry::Api | Entry::Full => Some(Steps::of(&api)?),
                Entry::Globals => None,
            };
            Ok::<_, rquickjs::Error>((Persistent::save(&ctx, api), steps))
        })?;
        let it = Rc::clone(&bridge);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, _, reason, is_handled| it.note_rejection(&ctx, reason, is_handled),
        )));
        let memory_bytes_max = limits.memory_bytes_max;
        let sandbox = Sandbox {
            api,
            steps,
            compiled: Compiled::default(),
            guard: None,
            context,
            runtime,
            bridge,
            memory_bytes_max,
            kept_bytes_max,
            prepared_for: None,
        };
        Ok(sandbox)
    }

    /// From here on there is nothing to import.
    fn close(&self) {
        self.runtime.set_loader(NoModules, NoModules);
    }

    /// An engine for one run of any procedure or trigger that the prelude serves.
    pub(crate) fn blank(entry: Entry, env: &Env, limits: &Limits) -> rquickjs::Result<Sandbox> {
        let sandbox = Sandbox::open(entry, env, limits)?;
        sandbox.close();
        Ok(sandbox)
    }

    /// An engine for many runs of procedures and triggers that may share one.
    pub(crate) fn shared(env: &Env, limits: &Limits) -> rquickjs::Result<Sandbox> {
        let mut sandbox = Sandbox::open(Entry::Full, env, limits)?;
        sandbox.lock()?;
        sandbox.close();
        Ok(sandbox)
    }

    /// The names of all functions that a script finds, with spaces between them.
    fn names_of_natives() -> rquickjs::Result<String> {
        let limits = Limits { memory_bytes_max: usize::MAX, ..Limits::service() };
        let sandbox = Sandbox::blank(Entry::Full, &Env::system(), &limits)?;
        sandbox.context.with(|ctx| ctx.eval(NAMES))
    }

    /// An engine for user-defined functions.
    pub(crate) fn for_functions(env: &Env, limits: &Limits) -> rquickjs::Result<Sandbox> {
        let sandbox = Sandbox::open(Entry::Globals, env, limits)?;
        sandbox.close();
        Ok(sandbox)
    }

    pub(crate) fn bridge(&self) -> &Rc<Bridge> {
        &self.bridge
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// A function of the prelude.
    pub(crate) fn api<'js>(&self, ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<Function<'js>> {
        self.api.clone().restore(ctx)?.get(name)
    }

    /// What runs call; none in an engine for functions.
    pub(crate) fn steps(&self) -> rquickjs::Result<&Steps> {
        self.steps.as_ref().ok_or(rquickjs::Error::Unknown)
    }

    /// Compiles the script ahead of its run. A mistake in it is left for the run to find.
    ///
    /// From then on the engine is for this script alone. To compile is not meant to run any of it, but the engine makes
    /// one text of the script and what goes around it: see `newFactory` in `prelude/globals.js`.
    pub(crate) fn prepare(&mut self, script: &Script) {
        let clock = &self.bridge.clock;
        clock.start(Duration::ZERO, clock.env.monotonic().saturating_add(COMPILE_MAX));
        self.context.with(|ctx| {
            if self.compile(&ctx, script).is_err() {
                ctx.catch();
            }
        });
        self.prepared_for = Some(Arc::clone(&script.version));
    }

    /// Says whether the engine may run the script: it has seen the text of no other.
    pub(crate) fn is_for(&self, script: &Script) -> bool {
        self.prepared_for.as_ref().is_none_or(|version| *version == script.version)
    }

    /// The function that gives the script's own function; it gives a new one every time and keeps nothing.
    pub(crate) fn compile<'js>(
        &self,
        ctx: &Ctx<'js>,
        script: &Script,
    ) -> rquickjs::Result<Function<'js>> {
        if let Some(factory) = self.compiled.get(&script.version) {
            return factory.restore(ctx);
        }
        let factory: Function<'_> = self.api(ctx, "compile")?.call((&*script.body,))?;
        self.compiled.keep(script, Persistent::save(ctx, factory.clone()));
        Ok(factory)
    }

    /// Gives the engine a little room when a script has used it all, so that its end can be told.
    pub(crate) fn make_room(&self) {
        self.runtime.set_memory_limit(self.memory_bytes_max + MEMORY_RESERVE);
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // The engine must not be outlived by values of its own.
        self.bridge.detach();
        self.bridge.names.clear();
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("bridge", &self.bridge).finish_non_exhaustive()
    }
}

/// Refuses every `import()`.
struct NoModules;

impl Resolver for NoModules {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        Err(rquickjs::Error::new_resolving(base, name))
    }
}

impl Loader for NoModules {
    fn load<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        Err(rquickjs::Error::new_loading(name))
    }
}
