//! Two scripts after each other on one thread: the second sees nothing of the first.
//!
//! The lock itself is attacked in `src/sandbox/attacks/`; these go the whole way, through words that the look at a
//! script's text does not find and through what a thread keeps.

mod support;

use std::time::Duration;

use script::{Operation, Role};
use support::Bench;

/// One thread, which has an engine to share.
async fn warm() -> Bench {
    let limits = script::Limits {
        threads_max: 1,
        time_max: Duration::from_millis(1500),
        accept_max: Duration::from_secs(1),
        ..support::limits()
    };
    let bench = Bench::with(limits);
    for _ in 0..2 {
        bench.body("function () { return 1; }").await;
    }
    bench
}

/// Runs a text that the look at the script's body does not see: it is an argument.
async fn run_unseen(bench: &Bench, text: &str) -> Result<script::Answer, script::Failed> {
    let body = "function (text) { return (function () {})['constr' + 'uctor'](text)(); }";
    let arguments = model::Value::Array(vec![model::Value::from(text)]).to_text();
    bench.run_with(body, &arguments).await
}

const LOCKED: &str = "__.response.setBody(Object.isFrozen(Object.prototype))";

#[tokio::test]
async fn the_attacks_here_run_in_an_engine_that_is_shared() {
    let bench = warm().await;
    assert_eq!(run_unseen(&bench, LOCKED).await.unwrap().body.unwrap(), "true");
    let own = format!("function () {{ {LOCKED}; }}");
    assert_eq!(bench.body(&own).await, "false", "the text says isFrozen");
}

#[tokio::test]
async fn names_that_are_built_at_run_time_lead_to_nothing_that_lasts() {
    let probe = "function () {
        list = typeof list === 'undefined' ? [3, 1, 2] : 'left';
        var seen = [list, parseInt('7'), JSON.stringify({a: 1}), typeof left, [1].values().map(x => x).toArray()];
        try { null.x; } catch (e) { seen.push(typeof e.stack, e.message.length > 0); }
        seen.push(new Error('x').stack.length > 0, __.response.getBody(), __.request.getBody());
        __.response.setBody(seen);
    }";
    let fresh = warm().await.body(probe).await;
    for text in [
        "left = 1; Object.defineProperty(globalThis, 'left2', {value: 2});",
        "Error.prepareStackTrace = function () { return {}; };",
        "Error.stackTraceLimit = {valueOf: function () { throw 1; }};",
        "Object.getPrototypeOf([].values().map(x => x)).next = function () { return {done: true}; };",
        "Object.preventExtensions(globalThis);",
        "Object.freeze(globalThis);",
        "JSON = {stringify: function () { return 'left'; }}; parseInt = function () { return 'left'; };",
        "Array.prototype.toJSON = function () { return 'left'; };",
        "Object.setPrototypeOf(globalThis, {left: 1});",
        "__.response.setBody('left');",
        "Promise.resolve().then(function f() { left = (typeof left === 'number' ? left : 0) + 1; if (left < 9) queueMicrotask(f); });",
        "new Promise(function () {}).then(function () { left = 1; });",
        "queueMicrotask(function () { throw {get number() { left = 1; }}; });",
        "Promise.reject(1).catch(function () {});",
        "(async function () { for await (var x of [1, 2]) left = x; })();",
        "var it = (function* () { yield 1; })(); it.next(); Object.prototype.it = it;",
        "import('globals').then(function (it) { it.own(globalThis, 'left', 1); }, function () {});",
        "class Into { constructor(it) { return it; } } class Kept extends Into { #left = 1; } new Kept(globalThis);",
        "eval('var left = 1; let left2 = 2; function left3() {}'); (0, eval)('var left = 1; let left2 = 2');",
        "console.log('left');",
        "__.readDocuments(__.getSelfLink(), function (err, items, info) { info.left = 1; items.left = 1; });",
    ] {
        let bench = warm().await;
        // Some of these end their own run with an error; the next one starts with another engine then.
        drop(run_unseen(&bench, text).await);
        let answer = bench.run_with(probe, "").await.unwrap();
        assert_eq!(answer.body.as_ref(), Some(&fresh), "{text}");
        assert_eq!(answer.log.as_deref(), Some(""), "{text}");
    }
}

#[tokio::test]
async fn requests_and_answers_of_others_are_not_there_to_read() {
    let bench = warm().await;
    let secret = Some(r#"{"id":"secret"}"#.to_owned());
    let write = "function () { var it = getContext(); it.getRequest().getBody(); \
                 if (it.getResponse) it.getResponse().setBody('secret'); else it.getRequest().setBody({id: 'secret'}); }";
    let roles = [
        Role::Procedure { arguments: Some(r#"["secret"]"#.to_owned()) },
        Role::PreTrigger { operation: Operation::Replace, request: secret.clone() },
        Role::PostTrigger {
            operation: Operation::Delete,
            request: secret.clone(),
            response: secret,
        },
    ];
    let nothing = [
        Role::Procedure { arguments: None },
        Role::PreTrigger { operation: Operation::Create, request: None },
        Role::PostTrigger { operation: Operation::Create, request: None, response: None },
    ];
    let read = "function () { var it = getContext(); var seen = [it.getRequest().getBody(), it.getRequest().getValue('OperationType')]; \
                if (it.getResponse) seen.push(it.getResponse().getBody()); \
                (it.getResponse || it.getRequest)().setBody(JSON.stringify(seen)); }";
    for first in &roles {
        for second in &nothing {
            bench.run_role(write, first.clone()).await.unwrap();
            let seen = bench.run_role(read, second.clone()).await.unwrap().body.unwrap();
            assert!(!seen.contains("secret"), "{first:?} {second:?} {seen}");
            assert!(!seen.contains("Replace") && !seen.contains("Delete"), "{seen}");
        }
    }
}

/// A body whose text ends the function that is put around it; `code` would run when it is compiled.
fn escaping(code: &str) -> String {
    format!(
        "function () {{ var prototype; }})}}), (function () {{ {code} }})(), \
         (function () {{ return (function () {{}}"
    )
}

#[tokio::test]
async fn what_is_compiled_ahead_of_its_run_runs_nothing_for_others() {
    let bench = warm().await;
    let evil =
        escaping("JSON.stringify = function () { return '\"mine\"'; }; Object.prototype.mine = 1;");
    for _ in 0..3 {
        assert_eq!(bench.failure(&evil).await.0, 400);
    }
    // The thread has time to make an engine for the fourth.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let honest =
        "function () { var prototype; __.response.setBody([JSON.stringify(1), ({}).mine]); }";
    assert_eq!(bench.body(honest).await, r#"["1",null]"#);
}

#[tokio::test]
async fn what_is_compiled_ahead_of_its_run_does_not_hold_the_thread() {
    let bench = warm().await;
    let evil = escaping("for (;;);");
    for _ in 0..2 {
        let (status, ..) = bench.failure(&evil).await;
        assert_eq!(status, 408);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(bench.body("function () { __.response.setBody(1); }").await, "1");
}

#[tokio::test]
async fn memory_that_one_run_took_is_there_for_the_next() {
    let bench = warm().await;
    let take = "var all = []; for (var i = 0; i < 11; i++) { var it = {bytes: new Uint8Array(1 << 20)}; it.self = it; all.push(it); }";
    run_unseen(&bench, take).await.unwrap();
    let need = "function () { __.response.setBody(new Uint8Array(12 << 20).length); }";
    assert_eq!(bench.body(need).await, (12 << 20).to_string());
}
