//! One run: call the script, then its callbacks and promises one by one, then take what it left.

use model::Value as Json;
use rquickjs::{Ctx, Function, Value};

use crate::bridge::{Bridge, Thrown};
use crate::error::{Error, Failed};
use crate::exception::Exception;
use crate::host::SharedHost;
use crate::invocation::{Answer, Invocation, Role};
use crate::limits::Limits;
use crate::log::Log;
use crate::sandbox::{Sandbox, ScriptAnalysis};

/// After how many callbacks and promise jobs the clock is looked at; the engine looks while one runs. A short run does
/// not come to it, and so does not fail because the machine was busy with something else.
const POLL_INTERVAL: u32 = 4;

/// Runs the script to its end. Whatever it did to the host stands; the caller decides what becomes of it.
pub(crate) fn run(
    sandbox: &Sandbox,
    analysis: ScriptAnalysis,
    invocation: &Invocation,
    host: SharedHost,
    limits: &Limits,
) -> Result<Answer, Failed> {
    if let Role::Procedure { arguments: Some(arguments) } = &invocation.role
        && !are_arguments(arguments)
    {
        return Err(Error::ArgumentsInvalid.into());
    }
    let bridge = sandbox.bridge();
    let log = if invocation.wants_log { Log::on(limits.log_bytes_max) } else { Log::off() };
    bridge.attach(host, log);
    start_clock(bridge, limits);
    let ended = sandbox.context().with(|ctx| play(sandbox, analysis, &ctx, invocation));
    let ended = verdict(sandbox, invocation, limits, ended);
    let log = bridge.log.borrow_mut().take();
    bridge.detach();
    match ended {
        Ok(body) => Ok(Answer { body, log }),
        Err(error) => Err(Failed { error, log }),
    }
}

/// Wire: arguments are what `apply` takes: an array, something like one, or nothing.
fn are_arguments(text: &str) -> bool {
    matches!(model::json::parse(text.as_bytes()), Ok(Json::Array(_) | Json::Object(_) | Json::Null))
}

fn start_clock(bridge: &Bridge, limits: &Limits) {
    let now = bridge.clock.env.monotonic();
    let accept_until = now.saturating_add(limits.accept_max);
    bridge.clock.start(accept_until, now.saturating_add(limits.time_max));
}

/// Where a run ended early.
enum Stop {
    Compiling(Exception),
    Running(Exception),
}

fn play(
    sandbox: &Sandbox,
    analysis: ScriptAnalysis,
    ctx: &Ctx<'_>,
    invocation: &Invocation,
) -> Result<Option<String>, Stop> {
    let compiling = |error| Stop::Compiling(Exception::take(ctx, &error));
    let running = |error| Stop::Running(Exception::take(ctx, &error));
    let factory = sandbox.compile(ctx, &invocation.script).map_err(compiling)?;
    let main: Value<'_> = factory.call(()).map_err(running)?;
    if !main.is_function() {
        let text = "SyntaxError: the body of a script must be a function";
        return Err(Stop::Compiling(Exception::Ours(text.to_owned())));
    }
    play_main(sandbox, analysis, ctx, main, &invocation.role).map_err(running)?;
    if let Some(reason) = sandbox.bridge().take_rejection() {
        return Err(Stop::Running(Exception::Thrown(reason)));
    }
    let finish = sandbox.steps().and_then(|steps| steps.finish.clone().restore(ctx));
    finish.and_then(|finish| finish.call((number_of(&invocation.role),))).map_err(running)
}

fn play_main<'js>(
    sandbox: &Sandbox,
    analysis: ScriptAnalysis,
    ctx: &Ctx<'js>,
    main: Value<'js>,
    role: &Role,
) -> rquickjs::Result<()> {
    let bridge = sandbox.bridge();
    let steps = sandbox.steps()?;
    let mut has_callback = start(&steps.start.clone().restore(ctx)?, main, analysis, role)?;
    let step = steps.step.clone().restore(ctx)?;
    let mut n_looks = 0_u32;
    let mut is_over = || {
        n_looks += 1;
        if n_looks.is_multiple_of(POLL_INTERVAL) {
            bridge.clock.must_stop()
        } else {
            bridge.clock.is_over()
        }
    };
    loop {
        let mut has_played = false;
        while !is_over() && ctx.execute_pending_job() {
            has_played = true;
        }
        // A promise job that is stopped says nothing: ask the clock.
        if bridge.clock.is_over() {
            return Err(rquickjs::Error::Exception);
        }
        if !has_callback && !has_played {
            return Ok(());
        }
        has_callback = step.call(())?;
    }
}

/// How the prelude numbers roles.
fn number_of(role: &Role) -> i32 {
    match role {
        Role::Procedure { .. } => 0,
        Role::PreTrigger { .. } => 1,
        Role::PostTrigger { .. } => 2,
    }
}

/// Calls the script itself; says whether a callback waits.
fn start<'js>(
    start: &Function<'js>,
    main: Value<'js>,
    analysis: ScriptAnalysis,
    role: &Role,
) -> rquickjs::Result<bool> {
    let (request, operation, response) = match role {
        Role::Procedure { arguments } => (arguments, None, &None),
        Role::PreTrigger { operation, request } => (request, Some(operation.name()), &None),
        Role::PostTrigger { operation, request, response } => {
            (request, Some(operation.name()), response)
        }
    };
    let (request, response) = (request.as_deref(), response.as_deref());
    start.call((main, number_of(role), analysis.is_plain, request, operation, response))
}

/// Says how the run ended. What the host, an abort and the clock say goes before what the script says.
fn verdict(
    sandbox: &Sandbox,
    invocation: &Invocation,
    limits: &Limits,
    ended: Result<Option<String>, Stop>,
) -> Result<Option<String>, Error> {
    let bridge = sandbox.bridge();
    if let Some(error) = bridge.take_fatal() {
        return Err(Error::Host(error));
    }
    if let Some(thrown) = bridge.take_aborted() {
        return Err(threw(thrown));
    }
    let error = match ended {
        Ok(Some(body)) if body.chars().count() > limits.response_chars_max => {
            return Err(Error::ResponseTooLarge { limit: limits.response_chars_max });
        }
        Ok(body) => return Ok(body),
        // To describe an error may run code of the script, so the clock is asked afterwards.
        Err(Stop::Running(exception)) => threw(exception.describe(sandbox)),
        Err(Stop::Compiling(exception)) => {
            let Thrown { text, stack, .. } = exception.describe(sandbox);
            Error::Uncompilable { text, stack }
        }
    };
    if bridge.clock.has_expired() {
        let limit_ms = u64::try_from(limits.time_max.as_millis()).unwrap_or(u64::MAX);
        return Err(Error::TimedOut { id: invocation.script.id.to_string(), limit_ms });
    }
    Err(error)
}

fn threw(thrown: Thrown) -> Error {
    Error::Threw { status: thrown.status, text: thrown.text, stack: thrown.stack }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_what_can_be_read_like_an_array() {
        for text in [" [1, {}] ", "{}", "null"] {
            assert!(are_arguments(text), "{text}");
        }
        for text in ["", "1", "\"ab\"", "true", "[", "[1] x"] {
            assert!(!are_arguments(text), "{text}");
        }
    }
}
