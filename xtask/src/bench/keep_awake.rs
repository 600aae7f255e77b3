//! Keeps the cores out of their sleep states while one client waits for one answer.
//!
//! A core with nothing to do halts, and on a virtual machine waking it again takes longer than a short query: 300 µs for
//! an exchange of two empty messages on one of ours, against 20 µs between cores that are awake. Such a measurement
//! tells how often the two sides sleep, and not what they cost. So every core gets a thread of idle priority, which
//! yields to any other at once.

use std::process::{Child, Command, Stdio};

/// Processes that keep the cores awake until this is dropped.
pub(super) struct KeepAwake(Vec<Child>);

impl KeepAwake {
    /// Does nothing where the system has no `chrt`.
    pub(super) fn start() -> KeepAwake {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spinner = || {
            let mut command = Command::new("chrt");
            command.args(["--idle", "0"]).arg(std::env::current_exe().ok()?).arg("stay-awake");
            command.stdin(Stdio::null()).spawn().ok()
        };
        KeepAwake((0..n_cores).map_while(|_| spinner()).collect())
    }
}

impl Drop for KeepAwake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Keeps one core busy as long as the process that started this lives.
pub(crate) fn stay() {
    // Some hundredths of a second.
    const SPINS_PER_LOOK: u32 = 1 << 20;
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        for _ in 0..SPINS_PER_LOOK {
            std::hint::spin_loop();
        }
    }
}
