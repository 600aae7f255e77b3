//! Native work that never asks the clock. In a process of its own: the lost thread stays busy until it ends.

mod support;

use std::time::Duration;

use model::Failure;
use support::Bench;

#[tokio::test]
async fn a_script_that_cannot_be_stopped_costs_a_thread_and_is_not_run_again() {
    let bench = Bench::new();
    let honest = "function () { __.response.setBody(1); }";
    // It makes nothing, so it asks for no memory, and the engine looks at its clock every ten thousandth time.
    let stuck = "function () {
        var a = 'x'.repeat(9000), b = 'x'.repeat(9000);
        for (var i = 0; i < 16; i++) { a += a; b += b; }
        for (;;) a === b;
    }";
    let stuck_run = bench.run_with(stuck, "");
    let honest_runs = async {
        for _ in 0..20 {
            assert_eq!(bench.body(honest).await, "1");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (ended, ()) = tokio::join!(stuck_run, honest_runs);
    assert_eq!(ended.unwrap_err().error.status().code, 408);
    assert_eq!(bench.runtime.n_lost_threads(), 1);
    let failed = bench.run_with(stuck, "").await.unwrap_err();
    assert_eq!(failed.error.status().code, 403, "{failed:?}");
    assert_eq!(bench.body(honest).await, "1");
}
