//! A server process of one test, and one-shot runs of the binary.
#![allow(dead_code, reason = "a module of several test files, each of which uses a part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The binary, blind to the variables of whoever runs the tests.
pub(crate) fn orrery() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ORRERY_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Exit code, standard output and standard error of a run that ends by itself.
pub(crate) fn output(arguments: &[&str]) -> (i32, String, String) {
    let output = orrery().args(arguments).output().unwrap();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

pub(crate) struct Server {
    child: Child,
    pub(crate) authority: String,
    /// The start-up lines.
    pub(crate) lines: String,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Server {
        Server::start_with(&mut orrery(), options)
    }

    pub(crate) fn start_with(command: &mut Command, options: &[&str]) -> Server {
        Server::run(command.args(["--port", "0"]).args(options))
    }

    /// Starts the command as it is, and waits until it is ready.
    pub(crate) fn run(command: &mut Command) -> Server {
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut server = Server { child, authority: String::new(), lines: String::new() };
        let mut stdout = BufReader::new(server.child.stdout.take().unwrap());
        loop {
            let mut line = String::new();
            let n = stdout.read_line(&mut line).unwrap();
            assert!(n > 0, "the server ended before it was ready:\n{}", server.lines);
            if let Some(url) = line.trim().strip_prefix("ready http://") {
                url.trim_end_matches('/').clone_into(&mut server.authority);
                return server;
            }
            server.lines.push_str(&line);
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// One unsigned request; the whole answer as text.
    pub(crate) fn get(&self, path: &str) -> String {
        get(&self.authority, path)
    }

    /// SIGTERM; the exit code, or none if it was killed or did not end.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        for _ in 0..500 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

/// One unsigned request to an address; the whole answer as text.
pub(crate) fn get(authority: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
