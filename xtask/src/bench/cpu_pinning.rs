//! CPU pinning: a client and servers that do not share a core.
//!
//! Where both run on one machine, the system likes to let two that wait for each other share a core: then nobody has to
//! be woken on another one, which takes longer than a short query. Whether it does so is luck, differs from side to side
//! and from turn to turn, and no client of another machine ever has it.

use std::process::{Command, Stdio};

/// Processes that are held on cores of their own until this is dropped.
pub(super) struct CpuPinning {
    processes: Vec<u32>,
    n_cores: usize,
}

impl CpuPinning {
    /// Gives this process the first core and the servers the others. Does nothing where there is one core or no
    /// `taskset`.
    pub(super) fn start(servers: &[u32]) -> CpuPinning {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let own = std::process::id();
        let mut pinning = CpuPinning { processes: Vec::new(), n_cores };
        if n_cores > 1 {
            pinning.hold(own, "0");
            for server in servers {
                pinning.hold(*server, &format!("1-{}", n_cores - 1));
            }
        }
        pinning
    }

    fn hold(&mut self, process: u32, cores: &str) {
        self.processes.push(process);
        set(process, cores);
    }
}

impl Drop for CpuPinning {
    fn drop(&mut self) {
        for process in &self.processes {
            set(*process, &format!("0-{}", self.n_cores - 1));
        }
    }
}

/// Holds all threads of a process on some cores.
fn set(process: u32, cores: &str) {
    let mut command = Command::new("taskset");
    command.args(["--all-tasks", "--cpu-list", "--pid", cores, &process.to_string()]);
    // A process that has ended, or a system without the command, is held nowhere.
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
