//! PostgreSQL from the distribution's package as a scratch server: a free loopback port, a temporary folder, gone with us.
//!
//! For tests and benchmarks. The server refuses to run as root, so root lends it the package's own user. A guard process
//! holds a pipe from us: whatever ends us, it stops the server and removes the folder.
//!
//! Invariant: nothing listens on more than the loopback address, and nothing stays behind.

mod guard;
mod owner;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use guard::Guard;
use owner::Owner;

/// Where Debian puts one folder per version.
const FOLDER: &str = "/usr/lib/postgresql";
const USER: &str = "orrery";
/// Attempts, with a pause between, to reach a server that starts.
const READY_ATTEMPTS: u32 = 600;
const READY_PAUSE: Duration = Duration::from_millis(100);

/// Programs that are installed.
#[derive(Debug, Clone)]
pub struct Installation {
    programs: PathBuf,
}

/// A running server, or one that was stopped and can be started again on the same port.
#[derive(Debug)]
pub struct Server {
    installation: Installation,
    owner: Owner,
    data: PathBuf,
    port: u16,
    /// Stops the server and removes its folder when it is dropped.
    _guard: Guard,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Connections are closed, everything is written.
    Fast,
    /// Nothing is written: the next start recovers from the log.
    Immediate,
}

impl Installation {
    /// The newest version that is installed.
    pub fn find() -> Option<Installation> {
        let versions = std::fs::read_dir(FOLDER).ok()?.filter_map(Result::ok);
        let programs = versions.map(|it| it.path().join("bin"));
        let version = |it: &PathBuf| {
            let folder = it.parent().and_then(Path::file_name)?;
            folder.to_string_lossy().parse::<u32>().ok()
        };
        let programs = programs.filter(|it| it.join("postgres").exists()).max_by_key(version)?;
        Some(Installation { programs })
    }

    /// Makes an empty server in a folder below `parent` and starts it with these settings (`name=value`).
    pub fn start_in(&self, parent: &Path, settings: &[&str]) -> Result<Server> {
        let owner = Owner::of_server()?;
        let folder = tempfile::Builder::new().prefix("postgres-").tempdir_in(parent)?;
        owner.give(folder.path())?;
        let data = folder.path().join("data");
        let mut init = owner.command(&self.programs.join("initdb"));
        init.args(["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", USER, "-D"]);
        let made = init.arg(&data).output().context("cannot run initdb")?;
        ensure!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        self.serve(owner, folder, data, settings)
    }

    /// Makes an empty server in the folder for temporary files.
    pub fn start(&self, settings: &[&str]) -> Result<Server> {
        self.start_in(&std::env::temp_dir(), settings)
    }

    fn serve(
        &self,
        owner: Owner,
        folder: tempfile::TempDir,
        data: PathBuf,
        settings: &[&str],
    ) -> Result<Server> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut file =
            std::fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?;
        writeln!(file, "listen_addresses = '127.0.0.1'\nport = {port}")?;
        writeln!(file, "unix_socket_directories = ''")?;
        for setting in settings {
            let (name, value) = setting.split_once('=').context("a setting without a value")?;
            writeln!(file, "{name} = '{value}'")?;
        }
        let guard = Guard::start(folder.keep(), &data)?;
        let server = Server { installation: self.clone(), owner, data, port, _guard: guard };
        server.start()?;
        Ok(server)
    }
}

impl Server {
    /// A connection string for this database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// The port on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts a server that was stopped, and waits until it takes connections.
    pub fn start(&self) -> Result<()> {
        let mut serve = self.owner.command(&self.installation.programs.join("postgres"));
        let log = std::fs::File::create(self.data.with_file_name("log"))?;
        serve.arg("-D").arg(&self.data).stdout(Stdio::null()).stderr(log);
        let mut child = serve.spawn().context("cannot start PostgreSQL")?;
        for _ in 0..READY_ATTEMPTS {
            if let Some(status) = child.try_wait()? {
                let log = std::fs::read_to_string(self.data.with_file_name("log"));
                bail!("PostgreSQL ended with {status}: {}", log.unwrap_or_default());
            }
            if self.is_ready()? {
                // Reaps the process when it ends.
                std::thread::spawn(move || child.wait());
                return Ok(());
            }
            std::thread::sleep(READY_PAUSE);
        }
        bail!("PostgreSQL is not ready");
    }

    /// Stops the server.
    pub fn stop(&self, how: Stop) -> Result<()> {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        self.control(&["stop", "-m", mode])
    }

    /// Makes a standby of this server, which follows it under this name, and starts it.
    pub fn standby(&self, name: &str) -> Result<Server> {
        let folder = tempfile::Builder::new().prefix("postgres-").tempdir()?;
        self.owner.give(folder.path())?;
        let data = folder.path().join("data");
        let mut copy = self.owner.command(&self.installation.programs.join("pg_basebackup"));
        let source =
            format!("host=127.0.0.1 port={} user={USER} application_name={name}", self.port);
        copy.args(["--no-sync", "-R", "-X", "stream", "-c", "fast", "-d", &source, "-D"]);
        let made = copy.arg(&data).output().context("cannot run pg_basebackup")?;
        ensure!(made.status.success(), "pg_basebackup: {}", String::from_utf8_lossy(&made.stderr));
        self.installation.serve(self.owner, folder, data, &[])
    }

    /// Makes a standby a server that takes writes.
    pub fn promote(&self) -> Result<()> {
        self.control(&["promote"])
    }

    /// From now on connections may be encrypted, with this certificate and key, both PEM.
    pub fn use_tls(&self, certificate: &str, key: &str) -> Result<()> {
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.data.join(name);
            std::fs::write(&path, text)?;
            let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, only_owner)?;
            self.owner.give(&path)?;
        }
        let conf = self.data.join("postgresql.conf");
        writeln!(std::fs::OpenOptions::new().append(true).open(conf)?, "ssl = on")?;
        self.control(&["reload"])
    }

    /// The process of the server.
    pub fn process_id(&self) -> Result<u32> {
        let text = std::fs::read_to_string(self.data.join("postmaster.pid"))?;
        text.lines().next().and_then(|line| line.parse().ok()).context("no process id")
    }

    fn control(&self, arguments: &[&str]) -> Result<()> {
        let mut control = self.owner.command(&self.installation.programs.join("pg_ctl"));
        control.arg("-D").arg(&self.data).args(["-w", "-s"]).args(arguments);
        let done = control.output().context("cannot run pg_ctl")?;
        ensure!(done.status.success(), "pg_ctl: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    }

    fn is_ready(&self) -> Result<bool> {
        let mut ask = Command::new(self.installation.programs.join("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        Ok(ask.status().context("cannot run pg_isready")?.success())
    }
}
