//! Scripts that try to leave something behind in an engine that others use after them.
//!
//! They are run here without regard to what their text says: a script can build any name at run time, so the lock
//! must hold against all of the language, and [`analysis`](super::analysis) is no part of the wall.

use std::time::Duration;

use model::Env;
use rquickjs::{CatchResultExt, Ctx, Function, Value};

use super::{Entry, Sandbox};
use crate::invocation::Script;
use crate::limits::Limits;

mod honest;
mod natives;

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
    // Calls of the collection are accepted, and refused for want of a host: callbacks get an error.
    sandbox.bridge.clock.start(Duration::MAX, Duration::MAX);
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
    for attack in
        ["parseInt = () => 7;", "Map = Set; JSON = {}; undefined = 1;", "globalThis.eval = 1;"]
    {
        goes_on_after(attack, "[parseInt('1'), Map.name, typeof eval, typeof JSON.parse]");
    }
}

#[test]
fn a_global_of_the_same_name_hides_nothing() {
    for attack in [
        "var it = globalThis, fake = Object.create(Object.getPrototypeOf(it)); \
         Object.defineProperty(it, 'globalThis', {value: fake, configurable: true}); left = 1;",
        "var fake = Object.create(Object.prototype); left = 1; globalThis = fake;",
        "left = 1; Object.defineProperty(this, 'JSON', {value: 1, configurable: true, enumerable: true});",
        "Object.defineProperty(this, 'parseInt', {get() { return () => 7; }, configurable: true});",
    ] {
        let seen =
            "[typeof left, typeof JSON, parseInt('1'), globalThis === this, Object.keys(this)]";
        assert!(goes_on_after(attack, seen), "{attack}");
    }
    let lasting =
        "Object.defineProperty(globalThis, 'globalThis', {value: 1, configurable: false});";
    assert!(!goes_on_after(lasting, "1"));
}

#[test]
fn code_of_text_declares_nothing_that_lasts() {
    for attack in [
        "(0, eval)('var left = 1; function left2() {} { function left3() {} }');",
        "(0, eval)('let left = 1; const left2 = 2; class left3 {}');",
        "(0, eval)('function parseInt() { return 7; }');",
        "(0, eval)('var JSON = 1; function Map() {}; var undefined;');",
        "(0, eval)('let parseInt = 7; class Map {}');",
        "eval('var left = 1; let left2 = 2; function left3() {} globalThis.left = left');",
        "Function('}); let left = 1; const left2 = 2; class left3 {} (function () {');",
        "Function('}); var left = 1; function left2() {} (function () {');",
        "Function('a = left = 1', '')(); new Function('this.left2 = 2')();",
        "(function* () {}).constructor('left = 1')().next();",
        "(async function () {}).constructor('await 1; left = 1; await 1; left2 = 2')();",
        "(async function* () {}).constructor('yield left = 1')().next();",
        "with (globalThis) { eval('var left = 1'); left2 = 2; }",
        "[1].map(eval.bind(null, 'var left = 1'));",
        "JSON.parse('[1]', function () { left = 1; });",
    ] {
        let seen = "[typeof left, typeof left2, typeof left3, parseInt('1'), typeof JSON, typeof Map.groupBy]";
        assert!(goes_on_after(attack, seen), "{attack}");
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

/// How many objects the attack reached, and to how many of them it added something.
fn attacked(sandbox: &Sandbox, role: i32) -> (i64, i64) {
    let counts = model::json::parse(play(sandbox, &walking("attack"), role).unwrap().as_bytes());
    let counts = counts.unwrap();
    let count = |index: usize| counts.as_array().unwrap()[index].as_i64().unwrap();
    (count(0), count(1))
}

/// A line for each object that is reached.
fn described(sandbox: &Sandbox, role: i32) -> Vec<String> {
    let lines = model::json::parse(play(sandbox, &walking("describe"), role).unwrap().as_bytes());
    lines.unwrap().as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_reached_cannot_be_changed() {
    for role in [PROCEDURE, PRE, POST] {
        let fresh = described(&shared(), role);
        let mut sandbox = shared();
        let (n_reached, n_stuck) = attacked(&sandbox, role);
        assert!(
            n_reached > 800 && n_stuck < 200,
            "{n_stuck} of {n_reached}, the run's own included"
        );
        assert!(sandbox.renew());
        let after = described(&sandbox, role);
        for (fresh, after) in fresh.iter().zip(&after) {
            assert_eq!(fresh, after);
        }
        assert_eq!(fresh.len(), after.len());
    }
}

#[test]
fn the_attack_changes_all_of_an_engine_that_is_not_locked() {
    let sandbox = Sandbox::blank(Entry::Full, &Env::system(), &Limits::service()).unwrap();
    let (n_reached, n_stuck) = attacked(&sandbox, PROCEDURE);
    assert!(n_reached > 800 && n_stuck > 800, "{n_stuck} of {n_reached}");
}

#[test]
fn odd_characters_make_no_other_text_of_a_body() {
    for body in [
        "\u{feff}function () { __.response.setBody('\u{1f600}\u{2028}\u{0}é'.length); }",
        "\r\n\tfunction () {\r\n __.response.setBody(5);\r\n}\r\n// end",
        "/* é */ function () { __.response.setBody(`\r\n\u{1f600}x`.length + 1); } // \u{1f600}",
        "<!-- old\nfunction () { __.response.setBody(5); }\n--> comment",
    ] {
        assert_eq!(play(&shared(), body, PROCEDURE).as_deref(), Ok("5"), "{body}");
    }
}

/// Runs a body several times in one engine; what it answers each time.
fn replay(body: &str, times: usize) -> Vec<Result<String, String>> {
    let mut sandbox = shared();
    let mut answers = Vec::new();
    for _ in 0..times {
        answers.push(play(&sandbox, body, PROCEDURE));
        if !sandbox.renew() {
            sandbox = shared();
        }
    }
    answers
}

#[test]
fn a_script_that_is_kept_compiled_keeps_nothing_else() {
    for body in [
        // The arguments of an arrow function are those of the function around it.
        "() => { var it = arguments.callee; it.n = (it.n || 0) + 1; __.response.setBody(it.n); }",
        "() => { var it = arguments.callee.prototype; it.n = (it.n || 0) + 1; __.response.setBody(it.n); }",
        "(arguments.callee.n = (arguments.callee.n || 0) + 1, function () { __.response.setBody(1); })",
        "function main() { __.response.setBody(f()); } var it = arguments.callee; it.n = (it.n || 0) + 1; \
         function f() { return it.n; }",
        "function () { var it = (s => s)`a${1}b`; it.n = (it.n || 0) + 1; __.response.setBody(it.n); }",
        "function () { var it = (s => s.raw)`a`; it.n = (it.n || 0) + 1; __.response.setBody(it.n); }",
        "function () { var it = /x/g; it.n = (it.n || 0) + 1; it.test('xx'); __.response.setBody([it.n, it.lastIndex]); }",
        "function f() { f.n = (f.n || 0) + 1; __.response.setBody(f.n); }",
        "function () { class It { static n = 0; static #m = 0; static next() { return [++It.n, ++It.#m]; } } \
         __.response.setBody(It.next()); }",
        // Text that ends the function around it.
        "function () {})}), (() => { var n = 0; return function () { return function () \
         { __.response.setBody(++n); } } })(), (function (it) { return it; })(function () { return (1",
        "1)}), (function (it) { var n = 0; return function () { return function () { __.response.setBody(++n); } } })\
         ({ it: (1",
    ] {
        let answers = replay(body, 3);
        assert!(answers.iter().all(|it| *it == answers[0]), "{body}: {answers:?}");
    }
}

#[test]
fn a_text_that_ends_its_function_is_no_script() {
    for body in [
        "function () {})}), left = 1, (function () { return (function () {}",
        "function () {})}); var left = 1; (function () { return (function () {}",
        "function () {})}); let left = 1; (function () { return (function () {}",
        "1)}), (function () { return function () { return 1; } })({ it: (1",
        "function a() {} }); left = 1; (function () { function a() {}",
    ] {
        let mut sandbox = shared();
        assert!(play(&sandbox, body, PROCEDURE).is_err(), "{body}");
        if sandbox.renew() {
            let left = play(&sandbox, &asking("typeof left"), PROCEDURE);
            assert_eq!(left.as_deref(), Ok(r#""undefined""#), "{body}");
        }
    }
}

/// Much of the language and of the API, each piece in a net of its own.
const WORK: &str = "function work() {
    var tries = [
        () => JSON.parse('{\"a\":[1,2,{\"b\":\"c\"}]}'), () => JSON.stringify({a: [1, {b: 2}], toJSON: null}),
        () => [3, 1, 2].sort((a, b) => a - b).map(x => ({x})), () => new Map([[{}, 1], [2, []]]).set(3, 4),
        () => 'a,b,c'.split(',').join('-').replace(/[a-c]/g, x => x + x), () => Promise.resolve(1).then(x => [x]),
        () => { (async () => { try { await 1; await {then(f) { f([]); }}; } finally { [1].map(x => x); } })(); },
        () => [...(function* () { yield* [1, 2]; })()], () => new Error('x').stack, () => null.x,
        () => (class A { #x = 1; static y = {}; m() {} }), () => `${[1]}${{}}`, () => ((s) => s)`a${1}`,
        () => __.chain().map(x => x).filter(x => x).value(), () => __.readAttachment('x', function () { [].concat([1]); }),
        () => __.response.setBody({a: 1}), () => __.response.appendBody('x'), () => __.request.getBody(),
        () => __.filter(function () { return true; }), () => console.log('%s', 1), () => __.createDocument('x', {a: 1}),
        () => { added = {}; }, () => new Date(0).toISOString(), () => [].values().map(x => x).toArray(),
        () => Object.assign({}, {toString: 1, valueOf: 2}), () => eval('var evaluated = 1; (function () {})'),
        () => new Uint8Array(100), () => /(?<a>x)/d.exec('x').indices, () => (1).toFixed(2) + 2n ** 70n,
    ];
    for (var i = 0; i < tries.length; i++) {
        try { tries[i](); } catch (e) { try { [e.stack]; e.message = 'm'; } catch (f) {} }
    }
}";

#[test]
fn a_run_that_wants_for_memory_everywhere_leaves_the_engine_as_it_was() {
    let fresh = described(&shared(), PROCEDURE);
    let mut sandbox = shared();
    // From here on it is compiled.
    play(&sandbox, WORK, PROCEDURE).unwrap();
    assert!(sandbox.renew());
    let mut n_failed = 0;
    for step in 0..600 {
        sandbox.runtime.run_gc();
        let used = usize::try_from(sandbox.runtime.memory_usage().malloc_size).unwrap();
        sandbox.runtime.set_memory_limit(used + step * 64);
        n_failed += usize::from(play(&sandbox, WORK, PROCEDURE).is_err());
        sandbox.runtime.set_memory_limit(sandbox.memory_bytes_max);
        assert!(sandbox.renew(), "{step}");
        if step % 60 == 0 {
            assert_eq!(described(&sandbox, PROCEDURE), fresh, "{step}");
            assert!(sandbox.renew());
        }
    }
    assert!(
        (10..300).contains(&n_failed),
        "{n_failed}: it has too little at first, and enough in the end"
    );
}

#[test]
fn a_run_that_wants_for_stack_everywhere_leaves_the_engine_as_it_was() {
    let fresh = described(&shared(), PROCEDURE);
    let mut sandbox = shared();
    let body = format!(
        "function () {{
            {WORK}
            var n = 0;
            function deeper() {{ try {{ n++; deeper(); }} catch (e) {{ work(); }} work(); if (n > 100) throw 1; }}
            try {{ deeper(); }} catch (e) {{}}
            __.response.setBody(n);
        }}"
    );
    let depth = play(&sandbox, &body, PROCEDURE).unwrap();
    assert!(depth.parse::<u32>().unwrap() > 100, "{depth}");
    assert!(sandbox.renew());
    assert_eq!(described(&sandbox, PROCEDURE), fresh);
}
