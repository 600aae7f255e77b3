//! User-defined functions: one sandbox for the whole of a query, called per item on the query's own thread.
//!
//! The sandbox lives in the thread: an engine cannot be shared, and the query that calls it runs to its end on the
//! thread that [`crate::Runtime::with_udfs`] gave it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use model::{Env, Value};
use rquickjs::{Function, Persistent};

use crate::error::Error;
use crate::exception::Exception;
use crate::invocation::Script;
use crate::limits::Limits;
use crate::sandbox::{Entry, Sandbox};
use crate::value::{from_js, to_js};

thread_local! {
    static CURRENT: RefCell<Option<Udfs>> = const { RefCell::new(None) };
}

/// Invariant: functions drop before their sandbox.
struct Udfs {
    functions: HashMap<String, Persistent<Function<'static>>>,
    scripts: Vec<Script>,
    sandbox: Sandbox,
    /// Time that the functions may still take; what the query does between calls is not theirs.
    left: Duration,
    limit_ms: u64,
    overran: bool,
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
    scripts: Vec<Script>,
    work: impl FnOnce() -> T,
) -> Result<(T, bool), Error> {
    let sandbox = Sandbox::new(Entry::Globals, env, limits)
        .map_err(|error| Error::Engine(error.to_string()))?;
    let limit_ms = u64::try_from(limits.time_max.as_millis()).unwrap_or(u64::MAX);
    let functions = HashMap::new();
    let left = limits.time_max;
    CURRENT.set(Some(Udfs { functions, scripts, sandbox, left, limit_ms, overran: false }));
    // Taken away also when the work panics.
    let leave = Leave;
    let result = work();
    let overran = CURRENT.with_borrow(|current| current.as_ref().is_some_and(|udfs| udfs.overran));
    drop(leave);
    Ok((result, overran))
}

struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl Udfs {
    fn call(&mut self, name: &str, arguments: &[Option<Value>]) -> Result<Option<Value>, Error> {
        let clock = &self.sandbox.bridge().clock;
        let started = clock.env.monotonic();
        clock.start(Duration::ZERO, started.saturating_add(self.left));
        let result = self.compile(name).and_then(|()| self.call_compiled(name, arguments));
        let taken = self.sandbox.bridge().clock.env.monotonic().saturating_sub(started);
        self.left = self.left.saturating_sub(taken);
        result
    }

    fn call_compiled(
        &mut self,
        name: &str,
        arguments: &[Option<Value>],
    ) -> Result<Option<Value>, Error> {
        let Udfs { functions, sandbox, .. } = self;
        let called = sandbox.context().with(|ctx| {
            let call = || {
                let function = functions.get(name).ok_or(rquickjs::Error::Unknown)?;
                let function = function.clone().restore(&ctx)?;
                let mut args = rquickjs::function::Args::new(ctx.clone(), arguments.len());
                for argument in arguments {
                    args.push_arg(to_js(&ctx, argument.as_ref())?)?;
                }
                from_js(&ctx, function.call_arg(args)?)
            };
            call().map_err(|error| Exception::take(&ctx, &error))
        });
        called.map_err(|exception| self.failure(name, exception))
    }

    fn compile(&mut self, name: &str) -> Result<(), Error> {
        if self.functions.contains_key(name) {
            return Ok(());
        }
        let Some(script) = self.scripts.iter().find(|script| *script.id == *name) else {
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

    fn failure(&mut self, name: &str, exception: Exception) -> Error {
        let thrown = exception.describe(&self.sandbox);
        if self.sandbox.bridge().clock.has_expired() {
            self.overran = true;
            return Error::TimedOut { id: name.to_owned(), limit_ms: self.limit_ms };
        }
        Error::Threw { status: thrown.status, text: thrown.text, stack: thrown.stack }
    }
}
