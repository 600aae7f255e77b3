//! The JavaScript query API: filter, map, pluck, flatten, sortBy, sortByDescending, unwind, chain, value.

mod support;

use support::Bench;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.add(&[
        r#"{"id":"a","n":3,"tags":["x","y"]}"#,
        r#"{"id":"b","n":1,"tags":[]}"#,
        r#"{"id":"c","n":2,"tags":["z"]}"#,
        r#"{"id":"d","n":"t"}"#,
    ]);
    bench
}

/// Runs `call` with `C` as callback and compares the feed.
async fn check(call: &str, expected: &str) {
    let body = format!(
        "function () {{
            function C(err, feed, info) {{ if (err) throw err; __.response.setBody(feed); }}
            function id(d) {{ return d.id; }}
            var r = {call};
            if (r.isAccepted !== true) throw new Error('not accepted');
        }}"
    );
    assert_eq!(bench().body(&body).await, expected, "{call}");
}

#[tokio::test]
async fn each_operator_does_its_part() {
    #[rustfmt::skip]
    let table = [
        ("__.chain().filter(function (d) { return d.n > 1; }).map(id).value(C)", r#"["a","c"]"#),
        ("__.map(id, C)", r#"["a","b","c","d"]"#),
        ("__.map(id, {pageSize: 2}, C)", r#"["a","b"]"#),
        ("__.pluck('n', C)", r#"[3,1,2,"t"]"#),
        ("__.chain().pluck('tags').filter(function (t) { return t; }).flatten(true).value(C)", r#"["x","y","z"]"#),
        ("__.chain().pluck('tags').filter(function (t) { return t; }).flatten().value(C)", r#"[["x","y"],[],["z"]]"#),
        ("__.chain().sortBy(function (d) { return d.n; }).pluck('id').value(C)", r#"["b","c","a","d"]"#),
        ("__.chain().sortByDescending(function (d) { return d.n; }).pluck('id').value({pageSize: 2}, C)", r#"["d","a"]"#),
        ("__.unwind(function (d) { return d.tags; }, C)", r#"["x","y","z"]"#),
        ("__.unwind(function (d) { return d.tags; }, function (d, t) { return d.id + t; }, C)", r#"["ax","ay","cz"]"#),
        ("__.chain().unwind(function (d) { return d.tags; }, function (d, t) { return d.id + t; }).value(C)", r#"["ax","ay","cz"]"#),
        ("__.filter(__, function (d) { return d.id == 'q'; }, C)", "[]"),
        ("__.filter(getContext().getCollection(), function (d) { return false; }, {}, C)", "[]"),
        ("getContext().getCollection().map(id, C)", r#"["a","b","c","d"]"#),
    ];
    for (call, expected) in table {
        check(call, expected).await;
    }
}

#[tokio::test]
async fn pages_join_to_the_whole_with_and_without_sorting() {
    let pipelines = [
        ("__.chain().unwind(function (d) { return d.tags; })", r#"[["x"],["y"],["z"]]"#),
        ("__.chain().map(function (d) { return d.id; })", r#"[["a"],["b"],["c"],["d"]]"#),
        (
            "__.chain().sortBy(function (d) { return d.n; }).pluck('id')",
            r#"[["b"],["c"],["a"],["d"]]"#,
        ),
    ];
    for (pipeline, expected) in pipelines {
        let body = format!(
            "function () {{
                var pages = [];
                (function next(continuation) {{
                    {pipeline}.value({{pageSize: 1, continuation: continuation}}, function (err, feed, info) {{
                        if (err) throw err;
                        pages.push(feed);
                        if (info.continuation) next(info.continuation);
                        else __.response.setBody(pages.filter(function (p) {{ return p.length; }}));
                    }});
                }})();
            }}"
        );
        assert_eq!(bench().body(&body).await, expected, "{pipeline}");
    }
}

#[tokio::test]
async fn without_a_callback_the_feed_is_appended_to_the_answer() {
    let body = "function () { __.pluck('id'); __.pluck('id', {pageSize: 1}); }";
    assert_eq!(bench().body(body).await, r#""[\"a\",\"b\",\"c\",\"d\"][\"a\"]""#);
}

#[tokio::test]
async fn misuse_is_refused() {
    let table = [
        "__.filter()",
        "__.filter('x')",
        "__.pluck('')",
        "__.pluck(5)",
        "__.map(null)",
        "__.chain().filter(function () {}, function () {})",
        "__.chain().filter(function () {}, {pageSize: 1}).value()",
        "__.map(String, {pageSize: 0})",
        "__.map(String, {continuation: 'junk'})",
        "__.map(String, {continuation: 'place:1:-1'})",
        "__.map(String, {continuation: 'place:junk:0'})",
    ];
    for call in table {
        let (code, _, message) = bench().failure(&format!("function () {{ {call}; }}")).await;
        assert_eq!(code, 400, "{call}: {message}");
    }
}

#[tokio::test]
async fn what_the_scripts_own_function_throws_is_not_swallowed() {
    let body =
        "function () { __.filter(function () { throw new Error(5, 'mine'); }, function () {}); }";
    let (code, sub, _) = bench().failure(body).await;
    assert_eq!((code, sub), (400, 5));
}

#[tokio::test]
async fn spatial_functions_ask_the_query_language() {
    let body = "function () { __.response.setBody(__.spatial.distance({type: 'Point'}, 2)); }";
    assert_eq!(bench().body(body).await, r#"{"type":"Point"}"#);
}
