//! Waiting until a server has done what loading left to its engine, which is no part of what comes after.

use std::time::Duration;

/// How a server that has come to rest is known: little processor time in each of some looks.
const LOOK: Duration = Duration::from_secs(1);
const IDLE_TICKS: u64 = 2;
/// The engine itself waits some seconds before it believes in a rest, and then brings its tables into order.
const IDLE_LOOKS: u32 = 10;
const LOOKS_MAX: u32 = 180;

/// Waits until a process has been idle for some looks.
pub(super) async fn wait(process: u32) {
    let mut n_idle = 0;
    for _ in 0..LOOKS_MAX {
        // Where there is no such file, nothing is known and nothing waited for.
        let Some(before) = ticks(process) else { return };
        tokio::time::sleep(LOOK).await;
        let is_idle = ticks(process).is_some_and(|now| now - before <= IDLE_TICKS);
        n_idle = if is_idle { n_idle + 1 } else { 0 };
        if n_idle == IDLE_LOOKS {
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
