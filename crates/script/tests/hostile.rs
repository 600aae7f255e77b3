//! Scripts that mean harm: each ends with an error of its own, and the runtime serves the next one.

mod support;

use std::time::Duration;

use model::{Env, Failure};
use support::Bench;

/// Runs a hostile body; the runtime must answer an honest one afterwards.
async fn survive(body: &str) -> Result<script::Answer, script::Failed> {
    let bench = Bench::new();
    let ended = bench.run_with(body, "").await;
    assert_eq!(
        bench.body("function () { __.response.setBody('alive'); }").await,
        r#""alive""#,
        "{body}"
    );
    ended
}

async fn status_after(body: &str) -> u16 {
    match survive(body).await {
        Ok(_) => 200,
        Err(failed) => failed.error.status().code,
    }
}

#[tokio::test]
async fn endless_loops_of_every_kind_time_out() {
    let table = [
        "function () { for (;;); }",
        "function () { while (true) { try { throw 1; } catch (e) {} finally { continue; } } }",
        "function () { function f() { Promise.resolve().then(f); } f(); }",
        "async function () { for (;;) await null; }",
        "function () { (function next() { __.readDocuments(__.getSelfLink(), next); for (var i = 0; i < 1e6; i++); })(); for (;;); }",
        "function () { [1, 2].sort(function () { for (;;); }); }",
        "function () { JSON.parse('[1]', function () { for (;;); }); }",
        "function () { __.response.setBody({toJSON: function () { for (;;); }}); }",
        "function () { throw {toString: function () { for (;;); }, toJSON: function () { for (;;); }}; }",
        "function () { new Proxy({}, {get: function () { for (;;); }}).x; }",
        "function () { var it = {}; it[Symbol.iterator] = function () { return {next: function () { return {done: false}; }}; }; for (var x of it); }",
    ];
    for body in table {
        assert_eq!(status_after(body).await, 408, "{body}");
    }
}

#[tokio::test]
async fn regular_expressions_that_explode_are_stopped() {
    let body = "function () { /^(a+)+$/.test('a'.repeat(60) + 'b'); }";
    assert_eq!(status_after(body).await, 408);
}

#[tokio::test]
async fn memory_without_end_is_refused() {
    let table = [
        "function () { var a = []; for (;;) a.push(new Array(1000)); }",
        "function () { var s = 'x'; for (;;) s += s; }",
        "function () { 'x'.repeat(1 << 29); }",
        "function () { 'x'.padEnd(1 << 29, 'ab'); }",
        "function () { new Uint8Array(1 << 30); }",
        "function () { new Array(1 << 28).fill(1); }",
        "function () { var a = {}; for (var i = 0; ; i++) a['k' + i] = i; }",
        "function () { var m = new Map(); for (var i = 0; ; i++) m.set(i, 'v' + i); }",
    ];
    for body in table {
        let status = status_after(body).await;
        assert!(status == 400 || status == 408, "{status} {body}");
    }
}

#[tokio::test]
async fn a_script_without_memory_is_told_so() {
    for body in [
        "function () { 'x'.repeat(1 << 29); }",
        "function () { var a = []; for (;;) a.push({}); }",
        "function () { var a = {}; for (var i = 0; ; i++) a['k' + i] = 'v' + i; }",
    ] {
        let failed = survive(body).await.unwrap_err();
        let told = failed.error.to_string();
        assert_eq!(failed.error.status().code, 400, "{told}");
        assert!(told.contains("memory"), "{body}: {told}");
    }
}

#[tokio::test]
async fn memory_that_is_caught_and_asked_for_again_ends_with_the_time() {
    let body = "function () { var a = []; for (;;) try { for (;;) a.push('x'.repeat(100000) + a.length); } catch (e) {} }";
    let status = status_after(body).await;
    assert!(status == 400 || status == 408, "{status}");
}

#[tokio::test]
async fn recursion_without_end_overflows_its_own_stack_only() {
    let table = [
        "function () { (function f() { f(); })(); }",
        "function () { var f = new Function('f', 'f(f)'); f(f); }",
        "function () { var a = []; a.toString = function () { return '' + a; }; '' + a; }",
        "function () { var p = new Proxy({}, {get: function (t, k, r) { return r[k]; }}); p.x; }",
        "function () { JSON.parse('['.repeat(100000)); }",
        "function () { var a = []; for (var i = 0; i < 1e5; i++) a = [a]; __.response.setBody(a); }",
        "function () { eval('('.repeat(100000)); }",
        "function () { new RegExp('('.repeat(100000)); }",
        "function () { var o = {id: 'a', get x() { __.createDocument(__.getSelfLink(), o); }}; o.x; }",
        "function () { var o = {id: 'a', n: 0}; for (var i = 0; i < 60; i++) o = {id: 'a', o}; \
         o.o.o = {get x() { return __.upsertDocument(__.getSelfLink(), o); }}; o.o.o.x; }",
    ];
    for body in table {
        assert_eq!(status_after(body).await, 400, "{body}");
    }
}

#[tokio::test]
async fn odd_values_can_be_thrown() {
    let table = [
        "function () { throw null; }",
        "function () { throw undefined; }",
        "function () { throw 0; }",
        "function () { throw Symbol('s'); }",
        "function () { throw 10n; }",
        "function () { throw function () {}; }",
        "function () { throw []; }",
        "function () { throw {get number() { throw 1; }, get stack() { throw 2; }, toJSON() { throw 3; }}; }",
        "function () { throw Object.create(null); }",
        "function () { throw new Proxy({}, {get() { throw 1; }, getPrototypeOf() { throw 2; }}); }",
        "function () { var e = new Error('x'); e.message = {toString() { throw 1; }}; throw e; }",
        "function () { var e = new Error('x'); e.number = NaN; throw e; }",
        "function () { var e = new Error('x'); e.number = 1e308; throw e; }",
        "function () { throw 'x'.repeat(1e6); }",
        "function () { throw '\\ud800'; }",
        "function () { getContext().abort(); }",
        "function () { Promise.reject(Symbol()); }",
    ];
    for body in table {
        let failed = survive(body).await.unwrap_err();
        assert_eq!(failed.error.status().code, 400, "{body}");
        assert!(failed.error.to_string().len() < 10_000, "{body}");
    }
}

#[tokio::test]
async fn tampering_with_prototypes_harms_only_the_script() {
    let table = [
        "Object.prototype.toJSON = function () { return 'gone'; }",
        "Object.prototype.get = function () { return 1; }; Object.prototype.value = 2",
        "Array.prototype[Symbol.iterator] = null",
        "Array.prototype.push = function () { throw 1; }; Array.prototype.map = null",
        "Function.prototype.call = Function.prototype.apply = function () { return 'mine'; }",
        "Reflect.apply = Reflect.construct = null; JSON.parse = JSON.stringify = null",
        "WeakSet.prototype.has = function () { return true; }; throw {number: 404}",
        "Promise.prototype.then = null; Promise = null",
        "Object.defineProperty(Object.prototype, 'callback', {set: function () { throw 1; }})",
        "Object.defineProperty(Array.prototype, '0', {set: function () { throw 1; }})",
        "Error.prototype.toString = function () { return {}; }; throw new Error('x')",
        "Error = null; TypeError.prototype = null; null.x",
        "for (var k of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[k]; } catch (e) {}",
    ];
    for tampering in table {
        let body = format!(
            "function () {{
                {tampering};
                __.createDocument(__.getSelfLink(), {{id: 'a'}}, function (err, doc) {{ __.response.setBody(1); }});
            }}"
        );
        let status = status_after(&body).await;
        assert!(status == 200 || status == 400, "{status} {tampering}");
    }
}

#[tokio::test]
async fn the_api_cannot_be_replaced() {
    let body = "function () {
        var c = getContext(), before = getContext;
        try { getContext = 1; } catch (e) {}
        try { delete globalThis.getContext; } catch (e) {}
        try { c.getCollection = null; c.getCollection().createDocument = null; __.getSelfLink = null; } catch (e) {}
        try { ErrorCodes.NotFound = 1; console.log = 1; } catch (e) {}
        __.response.setBody([getContext === before, typeof c.getCollection().createDocument, ErrorCodes.NotFound]);
    }";
    let answer = survive(body).await.unwrap();
    assert_eq!(answer.body.unwrap(), r#"[true,"function",404]"#);
}

#[tokio::test]
async fn there_is_no_way_out() {
    let probes = [
        "require",
        "process",
        "fetch",
        "XMLHttpRequest",
        "setTimeout",
        "setInterval",
        "std",
        "os",
        "print",
        "performance",
        "WeakRef",
        "FinalizationRegistry",
        "Deno",
        "Bun",
        "native",
        "Worker",
    ];
    for name in probes {
        let body = format!("function () {{ __.response.setBody(typeof {name}); }}");
        let answer = survive(&body).await.unwrap();
        assert_eq!(answer.body.unwrap(), r#""undefined""#, "{name}");
    }
    let same = "function () {
        var g = eval('globalThis'), h = Function('return this')(), i = this.constructor.constructor('return this')();
        __.response.setBody([g === globalThis, h === globalThis, i === globalThis]);
    }";
    assert_eq!(survive(same).await.unwrap().body.unwrap(), "[true,true,true]");
    for module in ["api", "globals", "query", "fs", "/etc/passwd", "./x"] {
        let body = format!(
            "async function () {{
                try {{ await import('{module}'); __.response.setBody('loaded'); }}
                catch (e) {{ __.response.setBody('refused'); }}
            }}"
        );
        assert_eq!(survive(&body).await.unwrap().body.unwrap(), r#""refused""#, "{module}");
    }
    let wait = "function () { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); }";
    assert_eq!(status_after(wait).await, 400, "a script may not sleep");
}

#[tokio::test]
async fn callbacks_may_be_called_twice_or_never_or_kept() {
    let twice = "function () {
        var n = 0;
        function done(err, doc) { n++; __.response.setBody(n); if (n == 1) done(err, doc); }
        __.createDocument(__.getSelfLink(), {id: 'a'}, done);
    }";
    assert_eq!(survive(twice).await.unwrap().body.unwrap(), "2");
    let never = "function () { new Promise(function () {}).then(function () { __.response.setBody(1); }); }";
    assert_eq!(survive(never).await.unwrap().body, None);
    let odd = "function () { __.createDocument(__.getSelfLink(), {id: 'a'}, {}, 5); }";
    assert_eq!(status_after(odd).await, 400);
}

#[tokio::test]
async fn huge_answers_are_refused() {
    let bench = Bench::with(script::Limits { memory_bytes_max: 128 << 20, ..support::limits() });
    let body = "function () { __.response.setBody('x'.repeat(5 << 20)); }";
    assert_eq!(bench.failure(body).await.0, 413);
    let caught = "function () { try { __.response.setBody('x'.repeat(5 << 20)); } catch (e) { __.response.setBody(e.number); } }";
    assert_eq!(bench.body(caught).await, "413");
    let grown = "function () { for (;;) __.response.appendBody('x'.repeat(1 << 18)); }";
    assert_eq!(bench.failure(grown).await.0, 413);
    let nested = "function () { __.response.setBody({a: ['x'.repeat(5 << 20)]}); }";
    assert_eq!(bench.failure(nested).await.0, 413);
}

#[tokio::test]
async fn near_the_end_calls_are_not_accepted_and_work_so_far_can_be_kept() {
    let bench = Bench::new();
    let body = "function () {
        var n = 0;
        (function next(err) {
            if (err) throw err;
            var accepted = __.createDocument(__.getSelfLink(), {id: '' + n}, next);
            if (accepted) n++; else __.response.setBody({created: n});
        })();
    }";
    let answer = bench.run_with(body, "").await.unwrap();
    let n_items = bench.ids().len();
    assert!(n_items > 0);
    assert_eq!(answer.body.unwrap(), format!(r#"{{"created":{n_items}}}"#));
}

#[tokio::test]
async fn a_transaction_without_room_accepts_no_more_writes() {
    let bench = Bench::new();
    bench.host.lock().writes_max = Some(3);
    let body = "function () {
        var seen = [];
        for (var i = 0; i < 5; i++) seen.push(__.upsertDocument(__.getSelfLink(), {id: '' + i}));
        seen.push(__.readDocuments(__.getSelfLink()));
        __.response.setBody(seen);
    }";
    assert_eq!(bench.body(body).await, "[true,true,true,false,false,true]");
}

#[tokio::test]
async fn a_script_that_overruns_again_and_again_is_blocked_for_a_while() {
    let env = Env::system();
    let bench = Bench::of(env.clone(), support::limits());
    let body = "function (wait) { while (wait); __.response.setBody('done'); }";
    for _ in 0..3 {
        let failed = bench.run_with(body, "[true]").await.unwrap_err();
        assert_eq!(failed.error.status().code, 408);
    }
    let failed = bench.run_with(body, "[false]").await.unwrap_err();
    assert_eq!(failed.error.status().code, 403);
    assert!(failed.error.to_string().contains("is blocked for execution because it has violated"));
    bench.body("function () { /* another */ }").await;
    env.advance(Duration::from_secs(60));
    assert_eq!(bench.run_with(body, "[false]").await.unwrap().body.unwrap(), r#""done""#);
}

#[tokio::test]
async fn a_script_that_ends_late_by_itself_is_blocked_after_more_runs() {
    let env = Env::system();
    let bench = Bench::of(env.clone(), support::limits());
    let body = "function () { var until = Date.now() + 550; while (Date.now() < until); }";
    for _ in 0..6 {
        bench.body(body).await;
    }
    assert_eq!(bench.run_with(body, "").await.unwrap_err().error.status().code, 403);
}

#[tokio::test]
async fn more_runs_than_the_queue_holds_are_told_to_come_back() {
    let bench = Bench::with(script::Limits { threads_max: 1, queue_max: 2, ..support::limits() });
    let slow = "function () { for (var i = 0; i < 1e6; i++); __.response.setBody(1); }";
    let runs: Vec<_> = (0..8).map(|_| bench.run_with(slow, "")).collect();
    let (mut n_done, mut n_busy) = (0, 0);
    let mut set = Vec::new();
    for run in runs {
        set.push(Box::pin(run));
    }
    for ended in join_all(set).await {
        match ended {
            Ok(_) => n_done += 1,
            Err(failed) => {
                assert_eq!(failed.error, script::Error::Busy);
                assert!(failed.error.retry_after_ms().is_some());
                n_busy += 1;
            }
        }
    }
    assert!(n_done >= 2 && n_busy >= 1, "{n_done} done, {n_busy} busy");
}

#[tokio::test]
async fn a_quick_run_behind_slow_ones_gets_a_thread_of_its_own() {
    let n_slow = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    let limits = script::Limits { threads_max: n_slow + 1, ..support::limits() };
    let bench = Bench::with(limits);
    let ended = std::sync::Mutex::new(Vec::new());
    let note = |name: &'static str, body: &'static str| {
        let run = bench.run_with(body, "");
        let ended = &ended;
        Box::pin(async move {
            drop(run.await);
            ended.lock().unwrap().push(name);
        })
    };
    let mut runs: Vec<_> = (0..n_slow).map(|_| note("slow", "function () { for (;;); }")).collect();
    runs.push(note("quick", "function () { return 1; }"));
    join_all(runs).await;
    assert_eq!(ended.into_inner().unwrap().first(), Some(&"quick"));
}

/// Polls all futures together.
async fn join_all<F: Future + Unpin>(futures: Vec<F>) -> Vec<F::Output> {
    let mut slots: Vec<(Option<F>, Option<F::Output>)> =
        futures.into_iter().map(|future| (Some(future), None)).collect();
    std::future::poll_fn(|cx| {
        let mut is_pending = false;
        for (future, output) in &mut slots {
            if let Some(running) = future {
                match std::pin::Pin::new(running).poll(cx) {
                    std::task::Poll::Ready(done) => {
                        *output = Some(done);
                        *future = None;
                    }
                    std::task::Poll::Pending => is_pending = true,
                }
            }
        }
        if is_pending { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    slots.into_iter().filter_map(|(_, output)| output).collect()
}

#[tokio::test]
async fn runs_side_by_side_do_not_see_each_other() {
    let bench = Bench::new();
    let bodies: Vec<String> = (0..40)
        .map(|n| format!("function () {{ shared = {n}; __.response.setBody(shared); }}"))
        .collect();
    let runs: Vec<_> = bodies.iter().map(|body| Box::pin(bench.run_with(body, ""))).collect();
    for (n, ended) in join_all(runs).await.into_iter().enumerate() {
        assert_eq!(ended.unwrap().body.unwrap(), n.to_string());
    }
}

/// What ran for minutes on its thread before, each in one call.
#[tokio::test]
async fn natives_without_end_are_stopped_and_cost_no_thread() {
    let bench = Bench::new();
    for call in [
        "Array.prototype.copyWithin.call({length: 2 ** 53 - 1}, 2, 1)",
        "Array.prototype.join.call({length: 2 ** 53 - 1}, '')",
        "Array.prototype.reverse.call({length: 2 ** 53 - 1})",
        "Array.prototype.fill.call(new Proxy({length: 2 ** 53 - 1}, {set: Object.bind(null, 1)}), 1)",
        "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)",
        "[].concat({length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true})",
        "new Set({next: Object.bind(null, {value: 1}), [Symbol.iterator]: Object.prototype.valueOf})",
        "({next: Object.bind(null, {value: 1}), __proto__: Iterator.prototype}).some(isNaN)",
        "String.raw({raw: {length: 2 ** 53 - 1}})",
        "'a'.repeat(3e6).indexOf('a'.repeat(1e6) + 'b')",
        "'a'.repeat(3e6).split('a'.repeat(1e6) + 'b')",
    ] {
        let failed = bench.run_with(&format!("function () {{ {call}; }}"), "").await.unwrap_err();
        assert_eq!(failed.error.status().code, 408, "{call}");
        assert_eq!(bench.runtime.n_lost_threads(), 0, "{call}");
    }
    for call in [
        "var a = []; a.length = 2 ** 32 - 1; a.includes(1)",
        "var a = []; a.length = 2 ** 32 - 1; [a].flat()",
        "var a = []; a.length = 2 ** 32 - 1; JSON.stringify({}, a)",
    ] {
        let failed = bench.run_with(&format!("function () {{ {call}; }}"), "").await.unwrap_err();
        assert_eq!(failed.error.status().code, 400, "{call}");
        assert!(failed.error.to_string().contains("too long"), "{call}");
    }
}

/// The guards of natives are not to be seen by scripts that do nothing odd.
#[tokio::test]
async fn guarded_natives_do_what_the_language_says() {
    let bench = Bench::new();
    let body = r#"function () {
        class List extends Array {}
        const list = List.from([3, 1, 2]), like = { length: 2, 0: 'a', 1: 'b' };
        const args = (function () { return Array.prototype.slice.call(arguments, 1); })(1, 2, 3);
        const seen = [];
        Array.prototype.forEach.call(like, function (value, index, whole) { seen.push(value + index + (whole === like)); });
        const claims = [
            list instanceof List, list.map(x => x) instanceof List, list.sort() === list, list.join() === '1,2,3',
            args.join() === '2,3', seen.join() === 'a0true,b1true',
            Array.prototype.reverse.call(like) === like && like[0] === 'b',
            Array.prototype.map.name === 'map' && Array.prototype.map.length === 1 && !('prototype' in Array.prototype.map),
            /\[native code\]/.test(Array.prototype.map.toString()),
            [1, [2, [3]]].flat(Infinity).join() === '1,2,3', [1, 2].flatMap(x => [x, x]).join() === '1,1,2,2',
            [1].concat([2], 3, [[4]]).length === 4, new Set([1, 1, 2]).size === 2, new Map([[1, 2]]).get(1) === 2,
            new Set() instanceof Set && new Set().constructor === Set && Set.name === 'Set',
            (class extends Map {}).name === '' && new (class extends Set {})([1]).has(1),
            Array.from({ length: 3 }, (_, i) => i).join() === '0,1,2', Array.from('ab').join() === 'a,b',
            Array.from(new Set([1, 2])).join() === '1,2', Object.fromEntries([['a', 1]]).a === 1,
            'a-b-c'.split('-').join() === 'a,b,c', 'aXbX'.replaceAll('X', '') === 'ab', 'abcabc'.lastIndexOf('c') === 5,
            ('x'.repeat(5000) + 'needle'.repeat(2000)).indexOf('needle'.repeat(2000)) === 5000,
            ('needle'.repeat(2000) + 'x'.repeat(5000)).lastIndexOf('needle'.repeat(2000)) === 0,
            ('x'.repeat(5000) + 'needle'.repeat(2000)).split('needle'.repeat(2000)).map(x => x.length).join() === '5000,0',
            ('needle'.repeat(2000) + 'x'.repeat(5000)).replace('needle'.repeat(2000), 'y').length === 5001,
            String.raw`a${1}b` === 'a1b', [1, 2, 3].values().map(x => x * 2).toArray().join() === '2,4,6',
            new Set([1, 2]).union(new Set([3])).size === 3, new Proxy([1, 2], {}).map(x => x + 1).join() === '2,3',
            Array.isArray(new Proxy([], {})), JSON.stringify({ a: 1, b: 2 }, ['b']) === '{"b":2}',
            new Uint8Array([3, 1, 2]).sort().join() === '1,2,3', Uint8Array.from([1, 2]).length === 2,
        ];
        __.response.setBody(claims.map((it, at) => it ? null : at).filter(at => at !== null));
    }"#;
    assert_eq!(bench.body(body).await, "[]");
}
