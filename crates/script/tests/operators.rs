//! Operators that take long, each between two looks of the engine at its clock: all of them end with their run, and cost
//! no thread. `stuck.rs` has what does not.

mod support;

use std::time::Duration;

use model::Failure;
use support::Bench;

/// What goes on until it is stopped.
const ENDLESS: [&str; 22] = [
    "var a = (1n << 500000n) - 1n; for (;;) a * a;",
    "for (;;) 3n ** 600000n;",
    "for (;;) 1n << 1000000n;",
    "var a = (1n << 300000n) - 1n; for (;;) '' + a;",
    "var a = (1n << 1000000n) - 1n, b = (1n << 1000000n) - 1n; for (;;) a === b;",
    "var a = (1n << 1000000n) - 1n, b = (1n << 500000n) - 1n; for (;;) a / b;",
    "var a = (1n << 500000n) - 1n; for (;;) try { a * a; } catch (e) {}",
    "var a = 'x'.repeat(1e6), b = 'x'.repeat(1e6); for (;;) a === b;",
    "var a = 'x'.repeat(4e6), o = {}; for (;;) o[a];",
    "var a = 'x'.repeat(4e6), o = {}; for (;;) a in o;",
    "var a = 'a'.repeat(3e6); for (;;) new RegExp(a);",
    "/(((((a*)*)*)*)*)*b/.test('a'.repeat(1e5)); for (;;);",
    "for (;;) try { Math.max.apply(null, {length: 65535}); } catch (e) {}",
    "var a = 'x'.repeat(1e6); for (;;) `${a}${a}${a}`;",
    "var a = 'x'.repeat(1e6); for (;;) (a + 'y' + a)[5];",
    "var a = '1'.repeat(4e6); for (;;) +a;",
    "var o = {}; for (var i = 0; i < 2e4; i++) o['k' + i] = 1; for (;;) ({...o});",
    "var o = {}; for (var i = 0; i < 2e4; i++) o['k' + i] = 1; for (;;) for (var k in o) break;",
    "var o = []; for (var i = 0; i < 1e5; i++) o[i] = i; for (;;) [...o];",
    "var o = []; for (var i = 0; i < 1e5; i++) o[i] = i; for (;;) { var [...p] = o; }",
    "for (;;) { var a = []; a.length = 1e5; a[99999] = 1; a.length = 0; }",
    "var o = {}; for (var i = 0; i < 1e3; i++) o = {__proto__: o}; for (;;) o.y;",
];

/// What wants more memory than there is.
const LARGE: [&str; 6] = [
    "var a = []; a.length = 2 ** 32 - 1; [...a];",
    "var a = []; a.length = 2 ** 32 - 1; Math.max(...a);",
    "var a = []; a.length = 2 ** 32 - 1; var [...b] = a;",
    "var a = []; a.length = 2 ** 32 - 1; JSON.stringify({a: [a, {a}]});",
    "new RegExp('(a|b)'.repeat(3e5));",
    "eval('x;'.repeat(1e6));",
];

#[tokio::test]
async fn operators_end_with_their_run_and_cost_no_thread() {
    let limits = script::Limits { time_max: Duration::from_millis(400), ..support::limits() };
    for (bodies, status) in [(&ENDLESS[..], &[408_u16][..]), (&LARGE[..], &[400, 408])] {
        for body in bodies {
            let bench = Bench::with(limits.clone());
            let failed =
                bench.run_with(&format!("function () {{ {body} }}"), "").await.unwrap_err();
            assert!(status.contains(&failed.error.status().code), "{body}: {failed:?}");
            assert_eq!(bench.runtime.n_lost_threads(), 0, "{body}");
        }
    }
}
