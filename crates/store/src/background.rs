//! Threads that let others go first.

/// How far a background thread stands back: it gets a third of what a thread of a request gets when both want the
/// same core, and all of it when nobody else does.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Lets threads that serve requests go before the one that calls this. There is no way back, so it is for threads
/// that do one job and end. Does nothing where the system can only slow down the whole process.
pub fn stand_back() {
    #[cfg(target_os = "linux")]
    if let Ok(own) = rustix::process::getpriority_process(None) {
        // A system that refuses runs it like any other thread.
        let _ = rustix::process::setpriority_process(None, own.saturating_add(NICE));
    }
}
