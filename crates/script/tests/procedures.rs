//! Stored procedures: the server-side API, as scripts in the field use it.

mod support;

use script::Operation;
use support::{ALT_LINK, Bench, SELF_LINK};

/// Runs each body and compares the answer, all on one empty container.
async fn check(table: &[(&str, &str)]) {
    for (body, expected) in table {
        assert_eq!(Bench::new().body(body).await, *expected, "{body}");
    }
}

#[tokio::test]
async fn every_json_type_can_be_an_answer() {
    check(&[
        ("function () { getContext().getResponse().setBody(1); }", "1"),
        ("function () { getContext().getResponse().setBody('a\"b'); }", r#""a\"b""#),
        ("function () { __.response.setBody(null); }", "null"),
        ("function () { __.response.setBody(true); }", "true"),
        ("function () { __.response.setBody([1, 'x', {a: null}]); }", r#"[1,"x",{"a":null}]"#),
        (
            "function () { __.response.setBody({a: undefined, b: 0.1, c: -0}); }",
            r#"{"b":0.1,"c":0}"#,
        ),
        ("function () { __.response.setBody(9007199254740991); }", "9007199254740991"),
        ("function () { __.response.setBody(NaN); }", "null"),
        ("function () { __.response.setBody('\\ud800'); }", r#""\ud800""#),
        ("function () { __.response.setBody(undefined); }", ""),
        ("function () { return 7; }", ""),
        ("function () { var r = __.response; r.appendBody('a'); r.appendBody('b'); }", r#""ab""#),
        (
            "function () { for (var i = 0; i < 3; i++) __.response.appendValue('Body', i); }",
            r#""012""#,
        ),
        ("function () { __.response.setBody([1]); __.response.appendBody(null); }", r#""1null""#),
        ("function () { var r = __.response; r.setBody({a: 1}); r.setBody(2); }", "2"),
        ("function () { var b = {n: 1}; __.response.setBody(b); b.n = 2; }", r#"{"n":2}"#),
        ("function () { __.response.setBody({n: 1}); __.response.getBody().n = 2; }", r#"{"n":2}"#),
        (
            "async function () { var b = {n: 1}; __.response.setBody(b); await null; b.n = [b.n]; }",
            r#"{"n":[1]}"#,
        ),
        (
            "function () { var b = {n: 1}; __.response.setBody(b); \
             __.readDocuments(__.getSelfLink(), function (err, all) { b.all = all; }); }",
            r#"{"n":1,"all":[]}"#,
        ),
        ("function () { __.response.setValue('Body', 5); }", "5"),
    ])
    .await;
}

#[tokio::test]
async fn arguments_are_positional_and_of_every_type() {
    let body = "function (a, b, c, d, e, f) {
        __.response.setBody([a, b, c, d, e, typeof f, arguments.length]);
    }";
    let arguments = r#"["x", 1.5, null, [1], {"a": true}]"#;
    let answer = Bench::new().run_with(body, arguments).await.unwrap();
    assert_eq!(answer.body.unwrap(), r#"["x",1.5,null,[1],{"a":true},"undefined",5]"#);
    let none = "function (a) { __.response.setBody(arguments.length); }";
    assert_eq!(Bench::new().run_with(none, "").await.unwrap().body.unwrap(), "0");
    for none_given in ["null", "{}", r#"{"param1":4}"#, r#"{"0":"one","length":null}"#] {
        let answer = Bench::new().run_with(none, none_given).await.unwrap();
        assert_eq!(answer.body.unwrap(), "0", "{none_given}");
    }
    let both = "function (a, b) { __.response.setBody([arguments.length, a, b]); }";
    for (like_an_array, expected) in [
        (r#"{"0":"one","1":"two","length":2}"#, r#"[2,"one","two"]"#),
        (r#"{"0":"one","1":"two","length":"2"}"#, r#"[2,"one","two"]"#),
        (r#"{"0":"one","1":"two","length":1.5}"#, r#"[1,"one",null]"#),
    ] {
        let answer = Bench::new().run_with(both, like_an_array).await.unwrap();
        assert_eq!(answer.body.unwrap(), expected, "{like_an_array}");
    }
    let failed = Bench::new().run_with(none, r#"{"length":9007199254740991}"#).await.unwrap_err();
    assert_eq!(model::Failure::status(&failed.error).code, 400);
    for bad in ["3", "\"ab\"", "true", "[1", "nope"] {
        let failed = Bench::new().run_with(none, bad).await.unwrap_err();
        assert_eq!(failed.error, script::Error::ArgumentsInvalid, "{bad}");
    }
}

#[tokio::test]
async fn bodies_come_in_many_shapes() {
    check(&[
        ("function named() { __.response.setBody(1); }", "1"),
        ("() => __.response.setBody(1)", "1"),
        ("async function () { await null; __.response.setBody(1); }", "1"),
        ("// a comment\nfunction () { __.response.setBody(1); } // and one behind", "1"),
        ("function f() { g(); }\nfunction g() { __.response.setBody(1); }", "1"),
        ("function f() { __.response.setBody(1); };", "1"),
        ("function () { __.response.setBody(1); };", "1"),
        ("\n/* first */ function () { __.response.setBody(1); } ; // last", "1"),
        ("function () { function inner() { return 1; } __.response.setBody(inner()); };", "1"),
        ("(x) => { function inner() { return 1; } __.response.setBody(inner()); };", "1"),
        ("function () { __.response.setBody(g()); }; function g() { return 1; }", "1"),
        ("async () => { await null; __.response.setBody(1); };", "1"),
        ("function () { undeclared = 1; __.response.setBody(undeclared); }", "1"),
        ("function () { 'use strict'; try { undeclared = 1; } catch (e) { __.response.setBody(e.name); } }",
         r#""ReferenceError""#),
    ])
    .await;
}

#[tokio::test]
async fn a_body_that_is_no_function_does_not_compile() {
    for body in ["function (", "", "1 + 1", "'text'", "serverScript() { var x = 10; }", "{}"] {
        let (code, sub, message) = Bench::new().failure(body).await;
        assert_eq!((code, sub), (400, 65_535), "{body}");
        assert!(message.contains("Encountered exception while compiling Javascript."), "{message}");
    }
}

#[tokio::test]
async fn items_are_written_and_read_in_one_run() {
    let bench = Bench::new();
    let body = "function () {
        var c = getContext().getCollection(), link = c.getSelfLink(), seen = [];
        function check(err) { if (err) throw err; }
        c.createDocument(link, {id: 'a', n: 1}, function (err, doc, info) {
            check(err);
            seen.push(doc.id, doc._etag, typeof info.currentCollectionSizeInMB);
            doc.n = 2;
            c.replaceDocument(doc._self, doc, {etag: doc._etag}, function (err, doc) {
                check(err);
                seen.push(doc.n);
                c.readDocument(c.getAltLink() + '/docs/a', {}, function (err, doc) {
                    check(err);
                    seen.push(doc.n);
                    c.upsertDocument(link, {id: 'b'}, function (err, doc) {
                        check(err);
                        c.deleteDocument(doc._self, {}, function (err, nothing) {
                            check(err);
                            seen.push(JSON.stringify(nothing));
                            getContext().getResponse().setBody(seen);
                        });
                    });
                });
            });
        });
    }";
    assert_eq!(bench.body(body).await, r#"["a","e1","number",2,2,"{}"]"#);
    assert_eq!(bench.ids(), ["a"]);
}

#[tokio::test]
async fn calls_return_true_and_callbacks_come_after_the_function() {
    let body = "function () {
        var order = [];
        var accepted = __.createDocument(__.getSelfLink(), {id: 'a'}, function () {
            order.push('callback');
            __.response.setBody(order);
        });
        order.push(accepted, 'end');
    }";
    assert_eq!(Bench::new().body(body).await, r#"[true,"end","callback"]"#);
}

#[tokio::test]
async fn a_chain_of_callbacks_does_not_grow_the_stack() {
    let body = "function () {
        var n = 0;
        (function next() {
            if (n++ == 20000) { __.response.setBody(n); return; }
            __.readDocument(__.getAltLink() + '/docs/a', next);
        })();
    }";
    let mut limits = support::limits();
    limits.time_max *= 20;
    limits.accept_max *= 20;
    let bench = Bench::with(limits);
    bench.add(&[r#"{"id":"a"}"#]);
    assert_eq!(bench.body(body).await, "20001");
}

#[tokio::test]
async fn errors_reach_the_callback_as_number_and_body() {
    let bench = Bench::new();
    bench.add(&[r#"{"id":"a"}"#]);
    let table = [
        ("__.createDocument(L, {id: 'a'}, C)", 409),
        ("__.readDocument(A + '/docs/x', C)", 404),
        ("__.deleteDocument(A + '/docs/x', {}, C)", 404),
        ("__.replaceDocument(A + '/docs/a', {id: 'a'}, {etag: 'old'}, C)", 412),
        ("__.upsertDocument(L, {id: 'a'}, {etag: 'old'}, C)", 412),
        ("__.createDocument('dbs/x/colls/y', {id: 'b'}, C)", 400),
        ("__.readDocument('dbs/x/colls/y/docs/a', C)", 400),
        ("__.createDocument(L, {id: 'b', pk: 'other'}, C)", 400),
        ("__.queryDocuments(L, 'SELEC', C)", 400),
        ("__.readDocuments(L, {continuation: 'junk'}, C)", 400),
        ("__.readAttachments('x', {}, C)", 400),
        ("__.readAttachments(A + '/docs/x', {}, C)", 404),
        ("__.readAttachment(A + '/docs/a', C)", 400),
        ("__.readAttachment(A + '/docs/a/attachments/m', C)", 404),
        ("__.createAttachment(A + '/docs/x', {}, C)", 404),
        ("__.upsertAttachment('dbs/x/colls/y/docs/a', {}, C)", 400),
        ("__.replaceAttachment(A + '/docs/a/attachments/m', {id: 'm'}, C)", 404),
        ("__.deleteAttachment(A + '/docs/a/attachments/', C)", 400),
    ];
    for (call, number) in table {
        let body = format!(
            "function () {{
                var L = __.getSelfLink(), A = __.getAltLink();
                function C(err, doc) {{
                    __.response.setBody([err.number, typeof err.body, JSON.parse(JSON.stringify(err)).number,
                        err instanceof Error, doc === undefined]);
                }}
                {call};
            }}"
        );
        let expected = format!(r#"[{number},"string",{number},true,true]"#);
        assert_eq!(bench.body(&body).await, expected, "{call}");
    }
}

#[tokio::test]
async fn an_error_keeps_its_status_however_it_leaves_the_script() {
    let table = [
        ("function () { __.readDocument(__.getAltLink() + '/docs/x'); }", 404, 0),
        (
            "function () { __.readDocument(__.getAltLink() + '/docs/x', function (e) { throw e; }); }",
            404,
            0,
        ),
        (
            "function () { __.readDocument(__.getAltLink() + '/docs/x', function (e) { getContext().abort(e); }); }",
            404,
            0,
        ),
        ("function () { __.createDocument('elsewhere', {}); }", 400, 0),
        ("function () { __.createDocument(__.getSelfLink()); }", 400, 0),
        ("function () { __.request.setBody(1); }", 403, 0),
        ("function () { __.response.setValue('nope', 1); }", 400, 0),
        // Numbers of the script's own making are sub-statuses.
        ("function () { throw new Error('boom'); }", 400, 0),
        ("function () { throw new Error(409, 'mine'); }", 400, 409),
        ("function () { throw {number: 404, body: 'mine'}; }", 400, 404),
        ("function () { getContext().abort(new Error(7, 'x')); }", 400, 7),
        ("function () { try { getContext().abort(new Error(7, 'x')); } catch (e) {} }", 400, 7),
        ("async function () { throw new Error(8, 'x'); }", 400, 8),
        ("function () { Promise.reject(new Error('lost')); }", 400, 0),
        (
            "function () { Promise.resolve().then(function () { getContext().abort(new Error(9, 'x')); }); }",
            400,
            9,
        ),
    ];
    for (body, code, sub) in table {
        let (got_code, got_sub, message) = Bench::new().failure(body).await;
        assert_eq!((got_code, got_sub), (code, sub), "{body}: {message}");
        assert!(message.contains("Encountered exception while executing Javascript."), "{message}");
    }
}

#[tokio::test]
async fn messages_show_the_error_and_where_it_came_from() {
    let body = "function outer() {\n  function inner() { throw new Error('boom'); }\n  inner();\n}";
    let (_, _, message) = Bench::new().failure(body).await;
    assert!(message.contains("Exception = Error: boom\r\nStack trace: "), "{message}");
    assert!(message.contains("inner") && message.contains("outer"), "{message}");
    let arity = "function () { __.createDocument(__.getSelfLink()); }";
    let (_, _, message) = Bench::new().failure(arity).await;
    let text = r#"The function "createDocument" requires at least 2 argument(s) but was called with 1 argument(s)."#;
    assert!(message.contains(text), "{message}");
    let outside = "function () { __.readDocuments('dbs/x/colls/y'); }";
    let (_, _, message) = Bench::new().failure(outside).await;
    assert!(
        message.contains("not allowed to operate on resources outside current collection"),
        "{message}"
    );
}

#[tokio::test]
async fn errors_have_numbers_and_stay_errors() {
    check(&[
        ("function () { var e = new Error(404, 'm'); __.response.setBody([e.number, e.message, e.name, e instanceof Error]); }",
         r#"[404,"m","Error",true]"#),
        ("function () { var e = Error('m'); __.response.setBody([e.message, e.number === undefined, '' + e]); }",
         r#"["m",true,"Error: m"]"#),
        ("function () { class Mine extends Error { constructor(m) { super(m); this.extra = 1; } }
            var e = new Mine('m'); __.response.setBody([e instanceof Mine, e instanceof Error, e.message, e.extra]); }",
         r#"[true,true,"m",1]"#),
        ("function () { try { null.x; } catch (e) { __.response.setBody([e instanceof Error, e instanceof TypeError]); } }",
         "[true,true]"),
        ("function () { var e = new Error('m', {cause: 5}); __.response.setBody(e.cause); }", "5"),
        ("function () { ErrorCodes.Conflict = 1; __.response.setBody([ErrorCodes.Conflict, ErrorCodes.RetryWith]); }",
         "[409,449]"),
    ])
    .await;
}

#[tokio::test]
async fn feeds_and_queries_come_in_pages() {
    let bench = Bench::new();
    bench.add(&[r#"{"id":"a"}"#, r#"{"id":"b"}"#, r#"{"id":"c"}"#]);
    for call in ["__.readDocuments(L, O, C)", "__.queryDocuments(L, 'SELECT * FROM c', O, C)"] {
        let body = format!(
            "function () {{
                // An empty continuation is none.
                var L = __.getSelfLink(), O = {{pageSize: 2, continuation: ''}}, pages = [];
                function C(err, docs, info) {{
                    if (err) throw err;
                    pages.push(docs.map(function (d) {{ return d.id; }}));
                    if (info.continuation) {{ O.continuation = info.continuation; {call}; }}
                    else __.response.setBody(pages);
                }}
                {call};
            }}"
        );
        assert_eq!(bench.body(&body).await, r#"[["a","b"],["c"]]"#, "{call}");
    }
    let parameters = "function () {
        var query = {query: 'SELECT VALUE @x', parameters: [{name: '@x', value: {deep: [1]}}]};
        __.queryDocuments(__.getSelfLink(), query, function (err, rows) { __.response.setBody(rows); });
    }";
    assert_eq!(bench.body(parameters).await, r#"[{"deep":[1]}]"#);
    let filter = "function () {
        __.queryDocuments(__.getSelfLink(), function (d) { return d.id > 'a'; }, {pageSize: 1},
            function (err, docs, info) { __.response.setBody([docs[0].id, !!info.continuation]); });
    }";
    assert_eq!(bench.body(filter).await, r#"["b",true]"#);
    for size in ["0", "-2", "'x'", "1.5"] {
        let body =
            format!("function () {{ __.readDocuments(__.getSelfLink(), {{pageSize: {size}}}); }}");
        assert!(bench.failure(&body).await.2.contains("The input PageSize"), "{size}");
    }
}

#[tokio::test]
async fn a_read_of_an_unchanged_item_says_so() {
    let bench = Bench::new();
    bench.add(&[r#"{"id":"a"}"#]);
    let body = "function () {
        __.readDocument(__.getAltLink() + '/docs/a', {ifNoneMatch: 'e1'}, function (err, doc, info) {
            __.response.setBody([err === undefined, doc === undefined, info.notModified]);
        });
    }";
    assert_eq!(bench.body(body).await, "[true,true,true]");
}

#[tokio::test]
async fn ids_are_generated_unless_forbidden() {
    let bench = Bench::new();
    let body = "function () {
        var mine = {n: 1};
        __.createDocument(__.getSelfLink(), mine, function (err, doc) {
            __.response.setBody([doc.id.length, mine.id === undefined]);
        });
    }";
    assert_eq!(bench.body(body).await, "[36,true]");
    let text = r#"function () { __.createDocument(__.getSelfLink(), '{"id":"t"}'); }"#;
    bench.body(text).await;
    assert!(bench.ids().contains(&"t".to_owned()));
    let off = "function () { __.createDocument(__.getSelfLink(), {}, {disableAutomaticIdGeneration: true}); }";
    assert!(bench.failure(off).await.2.contains("'id; '"));
}

#[tokio::test]
async fn links_are_those_of_the_container() {
    let expected = format!(r#"["{SELF_LINK}","{ALT_LINK}"]"#);
    let body = "function () { __.response.setBody([__.getSelfLink(), getContext().getCollection().getAltLink()]); }";
    assert_eq!(Bench::new().body(body).await, expected);
}

#[tokio::test]
async fn the_log_is_encoded_and_given_also_when_the_script_fails() {
    let bench = Bench::new();
    let logging =
        "function () { console.log('a %s-%s|', 1, 'ü'); console.log(5); console.log('%s'); }";
    let answer = bench.run_with(logging, "").await.unwrap();
    assert_eq!(answer.log.as_deref(), Some("a%201-%C3%BC%7C5%25s"));
    let failing = "function () { console.log('x'); throw 1; }";
    assert_eq!(bench.run_with(failing, "").await.unwrap_err().log.as_deref(), Some("x"));
    assert_eq!(bench.failure("function () { console.log({}, 1); }").await.0, 400);
}

#[tokio::test]
async fn promises_and_async_functions_work() {
    let bench = Bench::new();
    let body = "async function () {
        function create(doc) {
            return new Promise(function (resolve, reject) {
                var ok = __.createDocument(__.getSelfLink(), doc, function (err, doc) {
                    if (err) reject(err); else resolve(doc);
                });
                if (!ok) reject(new Error('not accepted'));
            });
        }
        var made = [];
        for (var i = 0; i < 3; i++) made.push((await create({id: 'x' + i})).id);
        try { await create({id: 'x0'}); } catch (e) { made.push(e.number); }
        __.response.setBody(made);
    }";
    assert_eq!(bench.body(body).await, r#"["x0","x1","x2",409]"#);
}

#[tokio::test]
async fn time_and_randomness_come_from_the_server() {
    let env = model::Env::fixed(7, 1_500_000_000_000);
    let bench = Bench::of(env.clone(), support::limits());
    let body = "function () {
        __.response.setBody([Date.now(), new Date().getTime(), new Date(2020, 0).getFullYear(),
            typeof Date(), new Date() instanceof Date, Math.random() < 1, Date.UTC(1970, 0)]);
    }";
    let expected = r#"[1500000000000,1500000000000,2020,"string",true,true,0]"#;
    assert_eq!(bench.body(body).await, expected);
    env.advance(std::time::Duration::from_secs(1));
    assert_eq!(
        bench.body("function () { __.response.setBody(Date.now()); }").await,
        "1500000001000"
    );
}

#[tokio::test]
async fn every_run_has_a_global_of_its_own() {
    let bench = Bench::new();
    let body = "function () {
        var before = [typeof leaked, typeof Array.prototype.leaked, String(Math.max)];
        leaked = 1; Array.prototype.leaked = 1; Math.max = null;
        __.response.setBody(before);
    }";
    let first = bench.body(body).await;
    assert!(first.starts_with(r#"["undefined","undefined","function max"#), "{first}");
    for _ in 0..5 {
        assert_eq!(bench.body(body).await, first);
    }
}

#[tokio::test]
async fn a_broken_host_ends_the_run_whatever_the_script_does() {
    let bench = Bench::new();
    bench.host.lock().breaks = true;
    let body = "function () {
        try { __.createDocument(__.getSelfLink(), {id: 'a'}); } catch (e) {}
        __.createDocument(__.getSelfLink(), {id: 'a'}, function () {});
        __.response.setBody('fine');
    }";
    let (code, _, message) = bench.failure(body).await;
    assert_eq!((code, message.as_str()), (500, "the disk is gone"));
}

/// Runs a body again and again on one thread, so that its engine is used again, and expects the same every time.
async fn same_every_time(body: &str, expected: &str) {
    let bench = Bench::with(script::Limits { threads_max: 1, ..support::limits() });
    for run in 0..8 {
        assert_eq!(bench.body(body).await, expected, "run {run} of {body}");
    }
}

#[tokio::test]
async fn an_engine_that_is_used_again_shows_nothing_of_the_run_before() {
    #[rustfmt::skip]
    let table = [
        // Variables without a declaration.
        ("function () { n = typeof n === 'undefined' ? 1 : n + 1; __.response.setBody(n); }", "1"),
        ("function () { if (typeof i !== 'undefined') throw 1; for (i = 0; i < 3; i++); __.response.setBody(i); }", "3"),
        // A built-in that is replaced by assignment to its name.
        ("function () { var was = typeof parseInt; parseInt = 5; __.response.setBody(was); }", r#""function""#),
        ("function () { var was = typeof Map; Map = undefined; __.response.setBody(was); }", r#""function""#),
        // What the script's function and the API's functions carry.
        ("function f() { f.n = (f.n || 0) + 1; __.response.setBody(f.n); }", "1"),
        ("function () { var f = __.createDocument; f.n = (f.n || 0) + 1; __.response.setBody(f.n > 1); }", "false"),
        ("function () { var m = Math; m.n = (m.n || 0) + 1; __.response.setBody(m.n > 1); }", "false"),
        ("function () { var c = getContext(); c.n = 1; __.response.setBody(typeof c.n); }", r#""undefined""#),
        // By ways that no word gives away.
        ("function () { var p = []['__pro' + 'to__']; p.n = (p.n || 0) + 1; __.response.setBody([].n > 1); }", "false"),
        ("function () { var k = 'n', o = {}, p = '__pro' + 'to__'; o[p][k] = (o[p][k] || 0) + 1; __.response.setBody(({}).n > 1); }", "false"),
        // Answers and callbacks that were left over.
        ("function () { __.response.appendBody('a'); }", r#""a""#),
        ("function () { new Promise(function () {}).then(function () { throw 1; }); __.response.setBody(1); }", "1"),
    ];
    for (body, expected) in table {
        same_every_time(body, expected).await;
    }
    // And nothing of the runs of other scripts.
    let bench = Bench::with(script::Limits { threads_max: 1, ..support::limits() });
    for run in 0..4 {
        for (body, expected) in table {
            assert_eq!(bench.body(body).await, expected, "run {run} of {body}");
        }
    }
}

#[tokio::test]
async fn scripts_of_every_role_share_an_engine_and_see_only_their_own_request() {
    let bench = Bench::with(script::Limits { threads_max: 1, ..support::limits() });
    let procedure = "function () { __.response.setBody([__.request.getBody(), typeof __.request.getOperationType]); }";
    let post = "function () { __.response.setBody([__.request.getBody(), __.response.getBody(), __.request.getOperationType()]); }";
    let pre = "function () { __.request.setBody({id: 'y', had: __.request.getBody().id, answers: typeof __.response}); }";
    for run in 0..4 {
        let answer = bench.run_with(procedure, &format!("[{run}]")).await.unwrap();
        assert_eq!(answer.body.unwrap(), format!(r#"[[{run}],"undefined"]"#));
        assert_eq!(bench.body(procedure).await, r#"[null,"undefined"]"#);
        let answer = bench.pre(pre, Operation::Replace, r#"{"id":"x"}"#).await.unwrap();
        assert_eq!(answer.body.unwrap(), r#"{"id":"y","had":"x","answers":"undefined"}"#);
        let answer = bench.post(post, r#"{"id":"x"}"#, r#"{"id":"z"}"#).await.unwrap();
        assert_eq!(answer.body.unwrap(), r#"[{"id":"x"},{"id":"z"},"Create"]"#);
    }
}

#[tokio::test]
async fn callbacks_get_the_item_however_they_take_it() {
    let call = |callback: &str| {
        format!(
            "function () {{
                var seen = [];
                function note(item) {{ seen.push(item ? item.id : typeof item); }}
                __.upsertDocument(__.getSelfLink(), {{id: 'x'}}, {callback});
                __.readDocument(__.getAltLink() + '/docs/x', {callback});
                __.replaceDocument(__.getAltLink() + '/docs/x', {{id: 'x'}}, {callback});
                __.upsertDocument(__.getSelfLink(), {{id: 'x'}}, {callback});
                __.readDocuments(__.getSelfLink(), function () {{ __.response.setBody(seen); }});
            }}"
        )
    };
    for callback in [
        "function (err, item) { note(item); }",
        "function (err) { note(arguments[1]); }",
        "function () { note(arguments[1]); }",
        "function (...all) { note(all[1]); }",
        "function (err, item = 0) { note(item); }",
        "function (err = 0, item) { note(item); }",
        "function (err, { id } = {}) { note({ id }); }",
        "function (err /* ) */, item) { note(item); }",
        "(err, item) => note(item)",
        "(...all) => note(all[1])",
        "function (mark, err, item) { note(item); }.bind(null, 1)",
        "(all => [].push.bind(all, 0))({ get length() { return 0; }, set length(n) { note(this[2]); } })",
    ] {
        same_every_time(&call(callback), r#"["x","x","x","x"]"#).await;
    }
    same_every_time(&call("function (err) { seen.push(err); }"), "[null,null,null,null]").await;
}

#[tokio::test]
async fn a_locked_language_takes_what_scripts_do_to_their_own_objects() {
    #[rustfmt::skip]
    let table = [
        ("function () { var o = {}; o.toString = function () { return 'mine'; }; __.response.setBody('' + o); }", r#""mine""#),
        ("function () { var o = {}; o['valueOf'] = 1; o.hasOwnProperty = 2; __.response.setBody(o); }", r#"{"valueOf":1,"hasOwnProperty":2}"#),
        ("function () { var counts = {}; ['toString', 'a', 'a'].forEach(function (w) { counts[w] = (counts.hasOwnProperty(w) ? counts[w] : 0) + 1; }); __.response.setBody(counts); }", r#"{"toString":1,"a":2}"#),
        ("function () { var e = new Error(); e.message = 'm'; e.name = 'N'; __.response.setBody(String(e)); }", r#""N: m""#),
        ("function () { 'use strict'; var o = {}; o.toString = 1; __.response.setBody(o); }", r#"{"toString":1}"#),
        ("async function () { var all = []; for (var x of [1, 2]) all.push(await x); __.response.setBody(all.map(function (n) { return n * 2; })); }", "[2,4]"),
        ("function () { function* g() { yield 1; yield 2; } __.response.setBody([...g(), ...new Set([3, 3]), ...'ab']); }", r#"[1,2,3,"a","b"]"#),
        ("function () { var d = new Date(0); d.x = 1; var r = /a(b)/g; r.lastIndex = 0; __.response.setBody([d.x, 'ab'.replace(r, '$1'), r.exec('ab')[1]]); }", r#"[1,"b","b"]"#),
        ("function () { __.createDocument(__.getSelfLink(), {pk: 'p'}, function (e, d, i) { if (e) throw e; __.response.setBody([typeof d.id, typeof i.currentCollectionSizeInMB]); }); }", r#"["string","number"]"#),
        ("function () { try { null.x; } catch (e) { __.response.setBody([e instanceof TypeError, e.name]); } }", r#"[true,"TypeError"]"#),
    ];
    for (body, expected) in table {
        same_every_time(body, expected).await;
    }
}

#[tokio::test]
async fn a_run_that_failed_leaves_nothing_for_the_next() {
    let bench = Bench::with(script::Limits { threads_max: 1, ..support::limits() });
    let body = "function (fail) {
        if (typeof left !== 'undefined') throw new Error('seen');
        left = 1;
        __.createDocument(__.getSelfLink(), {id: 'x' + Math.random()}, function () { if (fail) throw new Error('asked for'); });
        __.response.setBody('fine');
    }";
    for run in 0..12 {
        let answer = bench.run_with(body, if run % 3 == 2 { "[true]" } else { "[]" }).await;
        match (run % 3, answer) {
            (2, Err(failed)) => {
                assert!(failed.error.to_string().contains("asked for"), "{failed:?}");
            }
            (_, Ok(answer)) => assert_eq!(answer.body.as_deref(), Some(r#""fine""#)),
            (_, other) => panic!("run {run}: {other:?}"),
        }
    }
}
