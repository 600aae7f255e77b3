//! User-defined functions: one sandbox for the whole of a query, called per item on the query's own thread.
//!
//! The sandbox lives in the thread: an engine cannot be shared, and the query that calls it runs to its end on the
//! thread that [`crate::Runtime::with_udfs`] gave it. The queries of a procedure or trigger run on the thread of the
//! script; their functions have a sandbox beside the script's own, one for all queries of the run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::{Env, Value};
use rquickjs::{Function, Persistent};

use crate::denylist::Denylist;
use crate::error::Error;
use crate::exception::Exception;
use crate::invocation::Script;
use crate::limits::Limits;
use crate::sandbox::Sandbox;
use crate::value::{from_js, to_js};

thread_local! {
    static CURRENT: RefCell<Option<Udfs>> = const { RefCell::new(None) };
}

/// Functions that work may call, and which of them was called last: whoever gives the work up can say why.
#[derive(Debug, Clone)]
pub(crate) struct Functions {
    scripts: Arc<[Script]>,
    last: Arc<AtomicUsize>,
}

impl Functions {
    pub(crate) fn new(scripts: Arc<[Script]>) -> Functions {
        Functions { scripts, last: Arc::new(AtomicUsize::new(usize::MAX)) }
    }

    /// The function that was called last.
    pub(crate) fn last(&self) -> Option<&Script> {
        self.scripts.get(self.last.load(Ordering::Relaxed))
    }

    /// Finds a function that is about to be called.
    fn call(&self, name: &str) -> Option<usize> {
        let found = self.scripts.iter().position(|script| *script.id == *name)?;
        self.last.store(found, Ordering::Relaxed);
        Some(found)
    }
}

struct Udfs {
    functions: Functions,
    env: Env,
    limits: Limits,
    denylist: Arc<Denylist>,
    /// Made by the first call: most scripts have none.
    engine: Option<Engine>,
    /// Time that the functions may still take; what the query does between calls is not theirs.
    left: Duration,
    /// When the script around the queries is over, and the functions with it.
    stop_by: Duration,
    /// The time that each function took.
    spent: HashMap<usize, Duration>,
    /// Why the work fails, whatever it makes of it.
    failure: Option<Error>,
}

/// Invariant: functions drop before their sandbox.
struct Engine {
    functions: HashMap<String, Persistent<Function<'static>>>,
    sandbox: Sandbox,
}

/// Calls a user-defined function of the work that this thread is doing; undefined is `None`.
///
/// # Errors
/// The message of what the function threw, or that it does not exist here.
pub fn call_udf(name: &str, arguments: &[Option<Value>]) -> Result<Option<Value>, String> {
    CURRENT.with_borrow_mut(|current| match current {
        Some(udfs) => udfs.call(name, arguments).map_err(|error| error.to_string()),
        None => Err(format!("user-defined function '{name}' cannot run here")),
    })
}

/// Runs `work` with the functions at hand. Fails when one of them overran its limits, or did so too often before.
pub(crate) fn run_with<T>(
    env: &Env,
    limits: &Limits,
    denylist: &Arc<Denylist>,
    functions: Functions,
    work: impl FnOnce() -> T,
) -> Result<T, Error> {
    // Taken away also when the work panics.
    let leave = offer(env, limits, denylist, functions, Duration::MAX);
    let result = work();
    let failure = CURRENT.with_borrow(|current| current.as_ref()?.failure.clone());
    drop(leave);
    match failure {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// Puts functions at hand on this thread until the answer is dropped.
pub(crate) fn offer(
    env: &Env,
    limits: &Limits,
    denylist: &Arc<Denylist>,
    functions: Functions,
    stop_by: Duration,
) -> Leave {
    CURRENT.set(Some(Udfs {
        functions,
        env: env.clone(),
        limits: limits.clone(),
        denylist: Arc::clone(denylist),
        engine: None,
        left: limits.time_max,
        stop_by,
        spent: HashMap::new(),
        failure: None,
    }));
    Leave
}

pub(crate) struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        if let Some(udfs) = CURRENT.take() {
            udfs.settle();
        }
    }
}

impl Udfs {
    fn call(&mut self, name: &str, arguments: &[Option<Value>]) -> Result<Option<Value>, Error> {
        let Some(called) = self.functions.call(name) else {
            let text = format!("user-defined function '{name}' does not exist");
            return Err(Error::Uncompilable { text, stack: String::new() });
        };
        let started = self.env.monotonic();
        let script = self.functions.scripts[called].clone();
        if self.denylist.is_refused(&script.version, started) {
            let error = Error::FunctionBlocked { id: script.id.to_string() };
            self.failure.get_or_insert_with(|| error.clone());
            return Err(error);
        }
        let stop_at = started.saturating_add(self.left).min(self.stop_by);
        let mut engine = match self.engine.take() {
            Some(engine) => engine,
            None => Engine::new(&self.env, &self.limits)?,
        };
        engine.sandbox.bridge().clock.start(Duration::ZERO, stop_at);
        let result = engine
            .compile(&script)
            .and_then(|()| engine.call(name, arguments))
            .map_err(|error| self.judge(&script, &engine, error));
        self.engine = Some(engine);
        let took = self.env.monotonic().saturating_sub(started);
        self.left = self.left.saturating_sub(took);
        *self.spent.entry(called).or_default() += took;
        result
    }

    /// What the clock says goes before what the function says.
    fn judge(&mut self, script: &Script, engine: &Engine, error: Error) -> Error {
        if !engine.sandbox.bridge().clock.has_expired() {
            return error;
        }
        let limit_ms = u64::try_from(self.limits.time_max.as_millis()).unwrap_or(u64::MAX);
        let error = Error::TimedOut { id: script.id.to_string(), limit_ms };
        self.failure.get_or_insert_with(|| error.clone());
        error
    }

    /// Notes what each function that was called made of its time. One that was stopped together with the script around
    /// it, early, is not to blame.
    fn settle(self) {
        let now = self.env.monotonic();
        let overran = self.failure.as_ref().and(self.functions.last()).map(|last| &last.version);
        for (called, spent) in &self.spent {
            let Some(script) = self.functions.scripts.get(*called) else { continue };
            let is_long = *spent >= self.limits.accept_max;
            let has_overrun =
                overran == Some(&script.version) && (is_long || self.stop_by == Duration::MAX);
            let error = self.failure.as_ref().filter(|_| has_overrun);
            self.denylist.judge(&script.version, error, is_long, now);
        }
    }
}

impl Engine {
    fn new(env: &Env, limits: &Limits) -> Result<Engine, Error> {
        let sandbox = Sandbox::for_functions(env, limits)
            .map_err(|error| Error::Engine(error.to_string()))?;
        Ok(Engine { functions: HashMap::new(), sandbox })
    }

    fn call(&self, name: &str, arguments: &[Option<Value>]) -> Result<Option<Value>, Error> {
        let called = self.sandbox.context().with(|ctx| {
            let call = || {
                let function = self.functions.get(name).ok_or(rquickjs::Error::Unknown)?;
                let function = function.clone().restore(&ctx)?;
                let mut args = rquickjs::function::Args::new(ctx.clone(), arguments.len());
                for argument in arguments {
                    args.push_arg(to_js(&ctx, argument.as_ref())?)?;
                }
                from_js(&ctx, function.call_arg(args)?)
            };
            call().map_err(|error| Exception::take(&ctx, &error))
        });
        called.map_err(|exception| {
            let thrown = exception.describe(&self.sandbox);
            Error::Threw { status: thrown.status, text: thrown.text, stack: thrown.stack }
        })
    }

    fn compile(&mut self, script: &Script) -> Result<(), Error> {
        if self.functions.contains_key(&*script.id) {
            return Ok(());
        }
        let compiled = self.sandbox.context().with(|ctx| {
            let factory = self.sandbox.compile(&ctx, script);
            let function = factory.and_then(|factory| factory.call::<_, Function<'_>>(()));
            function
                .map(|function| Persistent::save(&ctx, function))
                .map_err(|error| Exception::take(&ctx, &error))
        });
        let function = compiled.map_err(|exception| {
            let thrown = exception.describe(&self.sandbox);
            Error::Uncompilable { text: thrown.text, stack: thrown.stack }
        })?;
        self.functions.insert(script.id.to_string(), function);
        Ok(())
    }
}
