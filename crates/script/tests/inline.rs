//! Runs on the threads of requests: only what can be stopped, and nothing that counts when it was.

mod support;

use std::sync::Arc;
use std::time::Duration;

use model::Env;
use parking_lot::Mutex;
use script::{Host as _, InlineOutcome, Invocation, Limits, NewItem, Role, Runtime, Script};
use support::FakeHost;

fn invocation(body: &str, arguments: &str) -> Invocation {
    let script = Script { id: "s".into(), version: body.into(), body: body.into() };
    let role = Role::Procedure { arguments: Some(arguments.to_owned()) };
    Invocation { script, role, functions: [].into(), wants_log: false }
}

struct InlineRunner {
    runtime: Runtime,
    host: Arc<Mutex<FakeHost>>,
}

impl InlineRunner {
    fn new() -> InlineRunner {
        InlineRunner::with(Env::system())
    }

    fn with(env: Env) -> InlineRunner {
        let runtime = Runtime::new(env, Limits::service());
        InlineRunner { runtime, host: Arc::default() }
    }

    fn here(&self, body: &str, arguments: &str) -> InlineOutcome {
        self.runtime.invoke_inline(Arc::clone(&self.host) as _, &invocation(body, arguments))
    }

    /// Runs it on threads for scripts until it may run inline; false if that does not happen.
    async fn learns(&self, body: &str, arguments: &str) -> bool {
        for _ in 0..200 {
            // A machine that is busy with something else may make it fail.
            if matches!(self.here(body, arguments), InlineOutcome::Ended(_)) {
                return true;
            }
            let host = Arc::clone(&self.host) as _;
            assert!(self.runtime.invoke(host, invocation(body, arguments)).await.is_ok(), "{body}");
        }
        false
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_brief_script_runs_here_once_it_is_known() {
    tokio::spawn(async {
        let inline = InlineRunner::new();
        let body = "function (x) { __.upsertDocument(__.getSelfLink(), {id: 'a', pk: 'p', x: x}); \
                    getContext().getResponse().setBody(x + 1); }";
        assert!(matches!(inline.here(body, "[1]"), InlineOutcome::NotBegun));
        assert!(inline.learns(body, "[1]").await);
        let InlineOutcome::Ended(answer) = inline.here(body, "[41]") else { panic!("not here") };
        assert_eq!(answer.body.as_deref(), Some("42"));
        let item = inline.host.lock().get("a").unwrap().to_text();
        assert!(item.contains(r#""x":41"#), "{item}");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_brief_script_ends_here_though_the_machine_was_busy_meanwhile() {
    tokio::spawn(async {
        let env = Env::fixed(1, 1_700_000_000_000);
        let inline = InlineRunner::with(env.clone());
        let item = NewItem::given(br#"{"id":"a","pk":"p"}"#.to_vec());
        inline.host.lock().create(item, false).unwrap();
        let body = "function (n) { __.readDocument(__.getAltLink() + '/docs/a', function f() { \
                    if (n-- > 1) __.readDocument(__.getAltLink() + '/docs/a', f); }); }";
        assert!(inline.learns(body, "[2]").await);
        inline.host.lock().delay = Some((env.clone(), Duration::from_millis(20)));
        assert!(matches!(inline.here(body, "[1]"), InlineOutcome::Ended(_)));
        // Too busy, or busy with this.
        assert!(matches!(inline.here(body, "[2]"), InlineOutcome::Ended(_)));
        assert!(matches!(inline.here(body, "[2]"), InlineOutcome::NotBegun));
        inline.host.lock().delay = None;
        assert!(inline.learns(body, "[2]").await);
        inline.host.lock().delay = Some((env, Duration::from_millis(20)));
        assert!(matches!(inline.here(body, "[1000]"), InlineOutcome::Failed));
        assert!(inline.host.lock().n_calls < 100);
    })
    .await
    .unwrap();
}

/// A script that does something `n` times, each time when the server calls it back.
fn again(what: &str) -> String {
    let read = "__.readDocument(__.getAltLink() + '/docs/a', f);";
    format!(
        "function (n) {{ var s = 'x', a = []; __.readDocument(__.getAltLink() + '/docs/a', function f() {{ \
         {what} if (n-- > 1) {read} }}); }}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_takes_too_much_ends_soon_and_goes_elsewhere_from_then_on() {
    tokio::spawn(async {
        let (inline, env) = (InlineRunner::new(), Env::system());
        for (body, harmless, hostile) in [
            (again("").as_str(), "[1]", "[1e9]"),
            (&again("s += s;"), "[1]", "[60]"),
            (&again("a.push([a, a]);"), "[1]", "[1e9]"),
            (&again("if (s == a) n += 1; s += s; a = s + '';"), "[1]", "[40]"),
            ("function (n) { if (n) throw new Error('x'); }", "[0]", "[1]"),
        ] {
            let begin = loop {
                assert!(inline.learns(body, harmless).await, "{body}");
                let begin = env.monotonic();
                match inline.here(body, hostile) {
                    InlineOutcome::Failed => break begin,
                    // The machine was so busy that the harmless run took long.
                    InlineOutcome::NotBegun => {}
                    InlineOutcome::Ended(_) => panic!("{body} ended"),
                }
            };
            // Generous: the point is that it ends.
            let taken = env.monotonic().saturating_sub(begin);
            assert!(taken < Duration::from_secs(5), "{body}: {taken:?}");
            assert!(matches!(inline.here(body, harmless), InlineOutcome::NotBegun), "{body}");
            assert!(inline.learns(body, harmless).await, "{body}");
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_might_not_be_stopped_never_runs_here() {
    tokio::spawn(async {
        let inline = InlineRunner::new();
        for body in [
            "function (n) { [].indexOf(n); }",
            "function (n) { 'x'.repeat(n); }",
            "function (n) { return [n].sort(); }",
            "function (n) { var f = []['index' + 'Of']; }",
            "function (n) { return n / 2; }",
            "function (n) { var a = []; a[9999] = 1; for (var i = 1; i < n; i++) '' + a; }",
            "function (n) { (function f() { if (n-- > 1) f(); })(); }",
            "function (n) { var { 'indexOf': f } = []; return n > 1 && '' + { 'toString': f, 'length': n }; }",
        ] {
            assert!(!inline.learns(body, "[1]").await, "{body}");
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_runtime_with_one_thread_keeps_its_order_of_events() {
    let inline = InlineRunner::new();
    assert!(!inline.learns("function () {}", "[]").await);
}
