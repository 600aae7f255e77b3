//! Scripts that try to leave something behind in an engine that others use after them.
//!
//! They are run here without regard to what their text says: a script can build any name at run time, so the lock
//! must hold against all of the language, and [`traits`](super::traits) is no part of the wall.

use model::Env;
use rquickjs::{CatchResultExt, Ctx, Function, Value};

use super::Sandbox;
use crate::invocation::Script;
use crate::limits::Limits;

const WALK: &str = include_str!("walk.js");

const PROCEDURE: i32 = 0;
const PRE: i32 = 1;
const POST: i32 = 2;

fn shared() -> Sandbox {
    Sandbox::shared(&Env::system(), &Limits::service()).unwrap()
}

/// Runs a body as a run would; its answer, or what it threw.
fn play(sandbox: &Sandbox, body: &str, role: i32) -> Result<String, String> {
    let script = Script { id: "s".into(), version: body.into(), body: body.into() };
    sandbox.context().with(|ctx| {
        let played = play_in(sandbox, &ctx, &script, role);
        played.catch(&ctx).map_err(|error| error.to_string())
    })
}

fn play_in(
    sandbox: &Sandbox,
    ctx: &Ctx<'_>,
    script: &Script,
    role: i32,
) -> rquickjs::Result<String> {
    let main: Function<'_> = sandbox.compile(ctx, script)?.call(())?;
    let steps = sandbox.steps()?;
    let start: Function<'_> = steps.start.clone().restore(ctx)?;
    let step: Function<'_> = steps.step.clone().restore(ctx)?;
    let arguments = (role == PROCEDURE).then_some("[]");
    start.call::<_, Value<'_>>((main, role, false, arguments, Some("Create"), None::<&str>))?;
    while ctx.execute_pending_job() || step.call::<_, bool>(())? {}
    let finish: Function<'_> = steps.finish.clone().restore(ctx)?;
    Ok(finish.call::<_, Option<String>>((role,))?.unwrap_or_default())
}

/// A body that answers with the value of an expression.
fn asking(expression: &str) -> String {
    format!("function () {{ getContext().getResponse().setBody({expression}); }}")
}

/// Says whether the engine went on after the attack. If it did, the next run sees what it would see in a new one.
#[track_caller]
fn goes_on_after(attack: &str, expression: &str) -> bool {
    let probe = asking(expression);
    let fresh = play(&shared(), &probe, PROCEDURE).unwrap();
    let mut sandbox = shared();
    // What an attack throws only shows that it was refused; a run that fails ends its engine, so this is the
    // harder test.
    let _ = play(&sandbox, &format!("function () {{ {attack} }}"), PROCEDURE);
    let goes_on = sandbox.renew();
    if goes_on {
        assert_eq!(play(&sandbox, &probe, PROCEDURE).as_ref(), Ok(&fresh), "{attack}");
    }
    goes_on
}

#[test]
fn prototypes_that_no_name_leads_to_stay_as_they_are() {
    for (instance, used) in [
        ("[].values().map(x => x)", "[...[1].values().map(x => x)]"),
        ("Iterator.from({next() {}})", "[...Iterator.from({next: () => ({done: true})})]"),
        ("Iterator.concat([])", "[...Iterator.concat([1], [2])]"),
        ("Iterator.zip([[1]])", "[...Iterator.zip([[1]])]"),
        ("(function* () {})()", "[...(function* () { yield 1; })()]"),
        ("'x'.matchAll(/x/g)", "[...'x'.matchAll(/x/g)].length"),
        ("new Map().keys()", "[...new Map([[1, 2]]).keys()]"),
        ("new Uint8Array(1).values()", "[...new Uint8Array(2).values()]"),
    ] {
        let attack = format!(
            "var proto = Object.getPrototypeOf({instance});
            for (var it of [proto, Object.getPrototypeOf(proto)]) {{
                try {{ it.next = () => ({{done: true, value: 'mine'}}); }} catch (e) {{}}
                try {{ it.left = 'mine'; }} catch (e) {{}}
                try {{ it[Symbol.iterator] = () => ({{next: () => ({{done: true}})}}); }} catch (e) {{}}
            }}"
        );
        assert!(goes_on_after(&attack, &format!("[{used}, ({instance}).left]")), "{attack}");
    }
}

#[test]
fn nobody_hears_of_the_errors_of_others() {
    for attack in [
        "Error.prepareStackTrace = () => 'mine';",
        "Object.getPrototypeOf(Error).prepareStackTrace = () => 'mine';",
        "Error.stackTraceLimit = 0;",
        "Error.stackTraceLimit = {valueOf() { mine = 1; return 0; }};",
        "TypeError.stackTraceLimit = 0; TypeError.prepareStackTrace = () => 'mine';",
    ] {
        let seen = "[new TypeError('x').stack.length > 0, new Error('x').stack.includes('mine'), typeof mine, \
                    typeof Error.prepareStackTrace, Error.stackTraceLimit]";
        assert!(goes_on_after(attack, seen), "{attack}");
    }
}

#[test]
fn a_global_that_is_closed_ends_its_engine() {
    for attack in [
        "Object.freeze(globalThis);",
        "Object.seal(globalThis);",
        "Object.preventExtensions(globalThis);",
        "Object.defineProperty(globalThis, 'parseInt', {writable: false});",
        "Object.defineProperty(globalThis, 'Map', {value: Set, writable: false});",
    ] {
        let seen = "(parseInt = 1, added = 2, [parseInt, added, Map === Set])";
        assert!(!goes_on_after(attack, seen), "{attack}");
    }
}

#[test]
fn variables_of_the_language_have_their_values_again() {
    for attack in ["parseInt = () => 7;", "Map = Set; JSON = {}; undefined = 1;", "globalThis.eval = 1;"] {
        goes_on_after(attack, "[parseInt('1'), Map.name, typeof eval, typeof JSON.parse]");
    }
}

#[test]
fn memory_that_a_run_leaves_is_not_missed_by_the_next() {
    let seen = "new Uint8Array(48 << 20).length";
    // Cycles, which only the collector finds.
    let cycles = "var all = []; for (var i = 0; i < 40; i++) { var it = {bytes: new Uint8Array(1 << 20)}; \
                  it.self = it; all.push(it); }";
    goes_on_after(cycles, seen);
    // Kept by the global under a name that nobody can list.
    let hidden = "class Into { constructor(it) { return it; } }
        class Kept extends Into { #bytes = new Uint8Array(40 << 20); }
        new Kept(globalThis);";
    goes_on_after(hidden, seen);
}

/// A body that walks with what only a callback gets to see, and answers with what the walk says.
fn walking(how: &str) -> String {
    format!(
        "function () {{
            var walk = {WALK};
            __.readAttachment('x', function (error, nothing, info) {{
                var answer = walk.{how}([error, info]);
                var context = getContext();
                (context.getResponse || context.getRequest)().setBody(answer);
            }});
        }}"
    )
}

#[test]
fn what_is_reached_cannot_be_changed() {
    for role in [PROCEDURE, PRE, POST] {
        let fresh = play(&shared(), &walking("describe"), role).unwrap();
        let mut sandbox = shared();
        let attacked = play(&sandbox, &walking("attack"), role).unwrap();
        eprintln!("{role}: {attacked}");
        assert!(sandbox.renew());
        let after = play(&sandbox, &walking("describe"), role).unwrap();
        let lines = |text: &str| model::json::parse(text.as_bytes()).unwrap();
        let (fresh, after) = (lines(&fresh), lines(&after));
        let (fresh, after) = (fresh.as_array().unwrap(), after.as_array().unwrap());
        eprintln!("{} objects", fresh.len());
        for (before, after) in fresh.iter().zip(after) {
            assert_eq!(before, after);
        }
        assert_eq!(fresh.len(), after.len());
    }
}
