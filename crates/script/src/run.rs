//! One run: call the script, then its callbacks and promises one by one, then take what it left.

use model::{Status, Value as Json};
use rquickjs::{Array, Ctx, Function, Object, Value};

use crate::bridge::{Bridge, Thrown};
use crate::error::{Error, Failed};
use crate::host::SharedHost;
use crate::invocation::{Answer, Invocation, Role};
use crate::limits::{ERROR_TEXT_MAX, Limits};
use crate::log::Log;
use crate::sandbox::Sandbox;

/// Runs the script to its end. Whatever it did to the host stands; the caller decides what becomes of it.
pub(crate) fn run(
    sandbox: &Sandbox,
    invocation: &Invocation,
    host: SharedHost,
    limits: &Limits,
) -> Result<Answer, Failed> {
    if let Role::Procedure { arguments: Some(arguments) } = &invocation.role
        && !is_array(arguments)
    {
        return Err(Error::ArgumentsInvalid.into());
    }
    let bridge = sandbox.bridge();
    let log = if invocation.wants_log { Log::on(limits.log_bytes_max) } else { Log::off() };
    bridge.attach(host, log);
    start_clock(bridge, invocation, limits);
    let ended = sandbox.context().with(|ctx| {
        let ended = play(sandbox, &ctx, invocation);
        verdict(sandbox, &ctx, invocation, limits, ended)
    });
    let log = bridge.log.borrow_mut().take();
    bridge.detach();
    match ended {
        Ok(body) => Ok(Answer { body, log }),
        Err(error) => Err(Failed { error, log }),
    }
}

fn is_array(text: &str) -> bool {
    matches!(model::json::parse(text.as_bytes()), Ok(Json::Array(_)))
}

fn start_clock(bridge: &Bridge, invocation: &Invocation, limits: &Limits) {
    let now = bridge.clock.env.monotonic();
    let stop_at = now.saturating_add(limits.time_max);
    let stop_at = invocation.deadline.map_or(stop_at, |deadline| deadline.min(stop_at));
    let reserve = limits.time_max.saturating_sub(limits.accept_max);
    bridge.clock.start(stop_at.saturating_sub(reserve), stop_at);
}

/// Where a run ended early.
enum Stop {
    Compiling(rquickjs::Error),
    Running(rquickjs::Error),
    /// A promise was left rejected.
    Rejected(Thrown),
}

fn play(sandbox: &Sandbox, ctx: &Ctx<'_>, invocation: &Invocation) -> Result<Option<String>, Stop> {
    let factory = sandbox.compile(ctx, &invocation.script).map_err(Stop::Compiling)?;
    let main: Value<'_> = factory.call(()).map_err(Stop::Running)?;
    if !main.is_function() {
        let message = "SyntaxError: the body of a script must be a function";
        let error = rquickjs::Exception::throw_message(ctx, message);
        return Err(Stop::Compiling(error));
    }
    play_main(sandbox, ctx, main, invocation).map_err(Stop::Running)?;
    if let Some(reason) = sandbox.bridge().take_rejection() {
        let reason = reason.restore(ctx).map_err(Stop::Running)?;
        return Err(Stop::Rejected(describe(sandbox, ctx, reason)));
    }
    let finish = sandbox.api(ctx, "finish").map_err(Stop::Running)?;
    finish.call((role_name(&invocation.role),)).map_err(Stop::Running)
}

fn play_main<'js>(
    sandbox: &Sandbox,
    ctx: &Ctx<'js>,
    main: Value<'js>,
    invocation: &Invocation,
) -> rquickjs::Result<()> {
    let bridge = sandbox.bridge();
    let start = sandbox.api(ctx, "start")?;
    let step = sandbox.api(ctx, "step")?;
    let input = input(ctx, &invocation.role)?;
    let role = role_name(&invocation.role);
    start.call::<_, ()>((main, role, input))?;
    loop {
        while !bridge.clock.must_stop() && ctx.execute_pending_job() {}
        // A promise job that is stopped says nothing: ask the clock.
        if bridge.clock.must_stop() {
            return Err(rquickjs::Error::Exception);
        }
        if !step.call::<_, bool>(())? {
            return Ok(());
        }
    }
}

fn role_name(role: &Role) -> &'static str {
    match role {
        Role::Procedure { .. } => "procedure",
        Role::PreTrigger { .. } => "pre",
        Role::PostTrigger { .. } => "post",
    }
}

fn input<'js>(ctx: &Ctx<'js>, role: &Role) -> rquickjs::Result<Object<'js>> {
    let input = Object::new(ctx.clone())?;
    match role {
        Role::Procedure { arguments } => {
            input.set("argumentsJson", arguments.as_deref())?;
            input.set("requestJson", arguments.as_deref())?;
        }
        Role::PreTrigger { operation, request } => {
            input.set("operation", operation.name())?;
            input.set("requestJson", request.as_deref())?;
        }
        Role::PostTrigger { operation, request, response } => {
            input.set("operation", operation.name())?;
            input.set("requestJson", request.as_deref())?;
            input.set("responseJson", response.as_deref())?;
        }
    }
    Ok(input)
}

/// Says how the run ended. What the host, an abort and the clock say goes before what the script says.
fn verdict(
    sandbox: &Sandbox,
    ctx: &Ctx<'_>,
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
    if bridge.clock.has_expired() {
        let limit_ms = u64::try_from(limits.time_max.as_millis()).unwrap_or(u64::MAX);
        return Err(Error::TimedOut { id: invocation.script.id.to_string(), limit_ms });
    }
    match ended {
        Ok(Some(body)) if body.chars().count() > limits.response_chars_max => {
            Err(Error::ResponseTooLarge { limit: limits.response_chars_max })
        }
        Ok(body) => Ok(body),
        Err(Stop::Rejected(thrown)) => Err(threw(thrown)),
        Err(Stop::Running(error)) => Err(threw(caught(sandbox, ctx, &error))),
        Err(Stop::Compiling(error)) => {
            let Thrown { text, stack, .. } = caught(sandbox, ctx, &error);
            Err(Error::Uncompilable { text, stack })
        }
    }
}

fn threw(thrown: Thrown) -> Error {
    Error::Threw { status: thrown.status, text: thrown.text, stack: thrown.stack }
}

/// Describes the exception that is pending.
pub(crate) fn caught(sandbox: &Sandbox, ctx: &Ctx<'_>, error: &rquickjs::Error) -> Thrown {
    match error {
        rquickjs::Error::Exception => describe(sandbox, ctx, ctx.catch()),
        other => plain(&other.to_string()),
    }
}

fn plain(text: &str) -> Thrown {
    Thrown { status: Status::BAD_REQUEST, text: text.to_owned(), stack: String::new() }
}

fn describe<'js>(sandbox: &Sandbox, ctx: &Ctx<'js>, thrown: Value<'js>) -> Thrown {
    sandbox.make_room();
    let described: rquickjs::Result<Array<'js>> =
        sandbox.api(ctx, "describe").and_then(|describe: Function<'js>| describe.call((thrown,)));
    match described {
        Ok(described) => thrown_of(&described),
        Err(_) => {
            ctx.catch();
            plain("InternalError: out of memory")
        }
    }
}

/// Reads `[number, whether the server made it, text, stack]`.
///
/// Wire: an error of the server's own making keeps its status; a number that the script made up is the sub-status of
/// a 400 (protocol.md §13.2).
pub(crate) fn thrown_of(described: &Array<'_>) -> Thrown {
    let number: f64 = described.get(0).unwrap_or(0.0);
    let is_refusal: bool = described.get(1).unwrap_or(false);
    Thrown {
        status: status_of(number, is_refusal),
        text: shortened(described.get(2).unwrap_or_default()),
        stack: shortened(described.get(3).unwrap_or_default()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be an integer in range"
)]
fn status_of(number: f64, is_refusal: bool) -> Status {
    if number.fract() != 0.0 || !(1.0..=f64::from(u16::MAX)).contains(&number) {
        return Status::BAD_REQUEST;
    }
    let number = number as u16;
    match is_refusal && (400..500).contains(&number) {
        true => Status { code: number, sub: 0 },
        false => Status { code: Status::BAD_REQUEST.code, sub: u32::from(number) },
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > ERROR_TEXT_MAX {
        let end = (0..=ERROR_TEXT_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_own_numbers_become_statuses() {
        #[rustfmt::skip]
        let table = [
            (409.0,         true,  (409, 0)),
            (409.0,         false, (400, 409)),
            (0.0,           false, (400, 0)),
            (-1.0,          true,  (400, 0)),
            (1.5,           false, (400, 0)),
            (200.0,         true,  (400, 200)),
            (500.0,         true,  (400, 500)),
            (f64::NAN,      false, (400, 0)),
            (f64::INFINITY, true,  (400, 0)),
            (65_535.0,      false, (400, 65_535)),
            (65_536.0,      false, (400, 0)),
        ];
        for (number, is_refusal, (code, sub)) in table {
            let status = status_of(number, is_refusal);
            assert_eq!((status.code, status.sub), (code, sub), "{number} {is_refusal}");
        }
    }

    #[test]
    fn long_texts_end_between_characters() {
        let text = shortened("ü".repeat(ERROR_TEXT_MAX));
        assert_eq!(text.len(), ERROR_TEXT_MAX);
        assert!(shortened(format!("a{}", "ü".repeat(ERROR_TEXT_MAX))).len() < ERROR_TEXT_MAX);
    }
}
