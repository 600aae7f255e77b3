//! User-defined functions: one sandbox for the whole of a query, called per item on the query's own thread.
//!
//! The sandbox lives in the thread: an engine cannot be shared, and the query that calls it runs to its end on the
//! thread that [`crate::Runtime::with_udfs`] gave it. The queries of a procedure or trigger run on the thread of the
//! script; their functions have a sandbox beside the script's own, one for all queries of the run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use model::{Env, Value};
use rquickjs::{Function, Persistent};

use crate::error::Error;
use crate::exception::Exception;
use crate::invocation::Script;
use crate::limits::Limits;
use crate::sandbox::Sandbox;
use crate::value::{from_js, to_js};

thread_local! {
    static CURRENT: RefCell<Option<Udfs>> = const { RefCell::new(None) };
}

struct Udfs {
    scripts: Arc<[Script]>,
    env: Env,
    limits: Limits,
    /// Made by the first call: most scripts have none.
    engine: Option<Engine>,
    /// Time that the functions may still take; what the query does between calls is not theirs.
    left: Duration,
    /// When the script around the queries is over, and the functions with it.
    stop_by: Duration,
    overran: bool,
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

/// Runs `work` with the functions at hand, and says whether one of them overran its limits.
pub(crate) fn run_with<T>(
    env: &Env,
    limits: &Limits,
    scripts: Arc<[Script]>,
    work: impl FnOnce() -> T,
) -> (T, bool) {
    // Taken away also when the work panics.
    let leave = offer(env, limits, scripts, Duration::MAX);
    let result = work();
    let overran = CURRENT.with_borrow(|current| current.as_ref().is_some_and(|udfs| udfs.overran));
    drop(leave);
    (result, overran)
}

/// Puts functions at hand on this thread until the answer is dropped.
pub(crate) fn offer(
    env: &Env,
    limits: &Limits,
    scripts: Arc<[Script]>,
    stop_by: Duration,
) -> Leave {
    let (env, limits) = (env.clone(), limits.clone());
    let left = limits.time_max;
    CURRENT.set(Some(Udfs { scripts, env, limits, engine: None, left, stop_by, overran: false }));
    Leave
}

pub(crate) struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl Udfs {
    fn call(&mut self, name: &str, arguments: &[Option<Value>]) -> Result<Option<Value>, Error> {
        let started = self.env.monotonic();
        let stop_at = started.saturating_add(self.left).min(self.stop_by);
        let mut engine = match self.engine.take() {
            Some(engine) => engine,
            None => Engine::new(&self.env, &self.limits)?,
        };
        engine.sandbox.bridge().clock.start(Duration::ZERO, stop_at);
        let result = engine
            .compile(name, &self.scripts)
            .and_then(|()| engine.call(name, arguments))
            .map_err(|error| self.judge(name, &engine, error));
        self.engine = Some(engine);
        self.left = self.left.saturating_sub(self.env.monotonic().saturating_sub(started));
        result
    }

    /// What the clock says goes before what the function says.
    fn judge(&mut self, name: &str, engine: &Engine, error: Error) -> Error {
        if !engine.sandbox.bridge().clock.has_expired() {
            return error;
        }
        self.overran = true;
        let limit_ms = u64::try_from(self.limits.time_max.as_millis()).unwrap_or(u64::MAX);
        Error::TimedOut { id: name.to_owned(), limit_ms }
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

    fn compile(&mut self, name: &str, scripts: &[Script]) -> Result<(), Error> {
        if self.functions.contains_key(name) {
            return Ok(());
        }
        let Some(script) = scripts.iter().find(|script| *script.id == *name) else {
            let text = format!("user-defined function '{name}' does not exist");
            return Err(Error::Uncompilable { text, stack: String::new() });
        };
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
        self.functions.insert(name.to_owned(), function);
        Ok(())
    }
}
