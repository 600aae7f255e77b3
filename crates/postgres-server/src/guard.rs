//! A process that outlives us by a moment: it waits for the end of a pipe that we hold, and cleans up.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

/// Stops the server, waits until it is gone, and removes the folder.
const SCRIPT: &str = r#"cat >/dev/null
if read -r id 2>/dev/null <"$1/postmaster.pid"; then
  kill -QUIT "$id" 2>/dev/null
  n=0
  while kill -0 "$id" 2>/dev/null && [ "$n" -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
fi
rm -rf "$2""#;

/// The process. Dropping it makes it clean up, and waits for that.
#[derive(Debug)]
pub(crate) struct Guard(Child);

impl Guard {
    pub(crate) fn start(folder: PathBuf, data: &Path) -> Result<Guard> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "guard"]).arg(data).arg(folder).stdin(Stdio::piped());
        // It must not hold the pipe of a test's output open.
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Guard(shell.spawn().context("cannot start a guard")?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
