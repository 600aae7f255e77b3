//! A server of our own: started on a free port, known to be ready, stopped by its process id.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use model::Env;

use crate::{process, workspace};

// Wire: the key of all official emulators, which the server uses by default on loopback.
pub(crate) const WELL_KNOWN_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

// Limit: a start that replays a journal takes seconds on a busy machine; beyond this it hangs.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) authority: String,
    /// From spawn to the ready line.
    pub(crate) start: Duration,
    log: PathBuf,
}

impl Server {
    /// Starts `binary serve --port 0 …options`, with standard error in `log`, and waits until it is ready.
    pub(crate) fn start(binary: &Path, options: &[&str], log: &Path, env: &Env) -> Result<Server> {
        let begin = env.monotonic();
        let mut child = Server::spawn(binary, options, log)?;
        match ready_line(&mut child) {
            Ok(authority) => Ok(Server {
                child,
                authority,
                start: env.monotonic().saturating_sub(begin),
                log: log.to_owned(),
            }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error.context(format!("the server did not start; its log:\n{}", tail(log))))
            }
        }
    }

    /// Starts without waiting: for killing a server in the middle of its start.
    pub(crate) fn spawn(binary: &Path, options: &[&str], log: &Path) -> Result<Child> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| log.display().to_string())?;
        let mut command = Command::new(binary);
        // Only what we say counts, not the variables of whoever runs us.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ORRERY_") {
                command.env_remove(name);
            }
        }
        command
            .args(["serve", "--port", "0"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))
    }

    /// The certificate that the server made for itself, as PEM.
    pub(crate) fn certificate(&self) -> Result<String> {
        let mut stream = TcpStream::connect(&self.authority)?;
        stream.set_read_timeout(Some(READY_TIMEOUT))?;
        let host = &self.authority;
        write!(stream, "GET /_explorer/emulator.pem HTTP/1.0\r\nhost: {host}\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let body = answer.split_once("\r\n\r\n").filter(|_| answer.starts_with("HTTP/1.0 200"));
        Ok(body.with_context(|| format!("no certificate: {answer}"))?.1.to_owned())
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`: no chance to write anything.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill().context("cannot kill the server")?;
        self.child.wait().context("cannot wait for the server")?;
        Ok(())
    }

    /// SIGTERM, and an orderly end; then the log must hold no error.
    pub(crate) fn stop(mut self, env: &Env) -> Result<()> {
        // The standard library can only kill; the program of that name can also ask.
        let id = self.process_id().to_string();
        process_signal(&id)?;
        let begin = env.monotonic();
        loop {
            if let Some(status) = self.child.try_wait().context("cannot wait for the server")? {
                if !status.success() {
                    bail!("the server ended with {status}; its log:\n{}", tail(&self.log));
                }
                break;
            }
            if env.monotonic().saturating_sub(begin) > STOP_TIMEOUT {
                bail!("the server did not stop within {STOP_TIMEOUT:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        check_log(&self.log)
    }

    /// Resident memory in bytes, from /proc; none where there is no such thing.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process_id())).ok()?;
        let line = status.lines().find(|it| it.starts_with("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds and runs a server in memory until Ctrl-C.
pub(crate) fn serve_scratch(options: &[String]) -> Result<()> {
    let binary = workspace::release_binary()?;
    let mut command = Command::new(binary);
    command.arg("serve").arg("--in-memory").args(options);
    process::run(command)
}

fn process_signal(id: &str) -> Result<()> {
    let status = Command::new("kill").args(["-TERM", id]).status().context("cannot run kill")?;
    if status.success() { Ok(()) } else { Err(anyhow!("kill -TERM {id} ended with {status}")) }
}

/// Waits for `ready http://HOST:PORT/`, then keeps reading so that the server never blocks on its output.
fn ready_line(child: &mut Child) -> Result<String> {
    let stdout = child.stdout.take().context("the server has no standard output")?;
    let (send, receive) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stdout);
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|it| it > 0) {
            if let Some(url) = line.trim().strip_prefix("ready http://") {
                let _ = send.send(url.trim_end_matches('/').to_owned());
                break;
            }
            line.clear();
        }
        let _ = lines.read_to_end(&mut Vec::new());
    });
    receive.recv_timeout(READY_TIMEOUT).map_err(|error| match error {
        mpsc::RecvTimeoutError::Timeout => anyhow!("no ready line within {READY_TIMEOUT:?}"),
        mpsc::RecvTimeoutError::Disconnected => anyhow!("it ended before it was ready"),
    })
}

/// An error in the log means that somebody must look, so a run with one is not good.
fn check_log(log: &Path) -> Result<()> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let errors: Vec<&str> =
        text.lines().filter(|it| it.contains("ERROR") || it.contains("panicked")).collect();
    if !errors.is_empty() {
        bail!("the server logged errors:\n{}", errors.join("\n"));
    }
    Ok(())
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
