//! Waits until a server is idle, so that the work that loading left to its engine is not measured with what comes after.

use std::time::Duration;

/// An idle server takes little processor time in each of some checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const IDLE_TICKS: u64 = 2;
/// The engine waits some seconds before it compacts an idle store.
const IDLE_CHECKS: u32 = 10;
const CHECKS_MAX: u32 = 180;

/// Waits until a process has been idle for some checks.
pub(super) async fn wait(process: u32) {
    let mut n_idle = 0;
    for _ in 0..CHECKS_MAX {
        // Where there is no such file, nothing is known and nothing waited for.
        let Some(before) = ticks(process) else { return };
        tokio::time::sleep(CHECK_INTERVAL).await;
        let is_idle = ticks(process).is_some_and(|now| now - before <= IDLE_TICKS);
        n_idle = if is_idle { n_idle + 1 } else { 0 };
        if n_idle == IDLE_CHECKS {
            return;
        }
    }
    println!("the server did not come to rest");
}

/// Processor time of a process, in hundredths of a second.
fn ticks(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may hold anything, and ends with the last bracket.
    let (_, fields) = text.rsplit_once(") ")?;
    let times = fields.split(' ').skip(11).take(2);
    times.map(|ticks| ticks.parse::<u64>().ok()).sum()
}
