//! One entry per language: what it needs, how to install it, how to run it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use super::Mode;
use super::csharp::{self, Library};
use crate::process;
use crate::tally::Runner;
use crate::workspace;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    Python,
    Javascript,
    Go,
    Rust,
    Java,
    Dotnet,
    /// The npm package `documentdb`, from before partition keys
    DocumentdbNode,
    /// The .NET SDK of the same time
    DocumentdbDotnet,
}

/// What came of preparing a suite.
#[derive(Debug)]
pub(crate) enum Prepared {
    Ready,
    /// The toolchain is not here; says which.
    Missing(String),
}

impl Suite {
    fn folder(self) -> PathBuf {
        let name = match self {
            Suite::Python => "python",
            Suite::Javascript => "javascript",
            Suite::Go => "go",
            Suite::Rust => "rust",
            Suite::Java => "java",
            Suite::Dotnet => "dotnet",
            Suite::DocumentdbNode => "documentdb/node",
            Suite::DocumentdbDotnet => "documentdb/dotnet",
        };
        workspace::root().join("conformance").join(name)
    }

    pub(crate) fn runner(self) -> Runner {
        match self {
            Suite::Python => Runner::Pytest,
            Suite::Javascript | Suite::DocumentdbNode => Runner::Node,
            Suite::Go => Runner::Go,
            Suite::Rust => Runner::Cargo,
            Suite::Java => Runner::Surefire,
            Suite::Dotnet | Suite::DocumentdbDotnet => Runner::Lines,
        }
    }

    /// Says whether the SDK speaks the scheme.
    pub(crate) fn speaks(self, scheme: &str) -> bool {
        // The package insists on TLS 1.0: it goes over plain HTTP.
        self != Suite::DocumentdbNode || scheme == "http"
    }

    /// Says whether the SDK has direct mode; it is the default of those of today.
    pub(crate) fn has_direct_mode(self) -> bool {
        matches!(self, Suite::Java | Suite::Dotnet | Suite::DocumentdbDotnet)
    }

    /// Says whether the SDK checks the certificate in direct mode and cannot be told not to.
    pub(super) fn checks_certificate(self) -> bool {
        self == Suite::DocumentdbDotnet
    }

    /// How the SDK connects unless told otherwise.
    pub(super) fn default_mode(self) -> Mode {
        if self.has_direct_mode() { Mode::Direct } else { Mode::Gateway }
    }

    /// Installs what the suite needs: packages from the language's registry, nothing else.
    pub(crate) fn prepare(self) -> Result<Prepared> {
        if matches!(self, Suite::Dotnet | Suite::DocumentdbDotnet) {
            return Ok(csharp::missing().map_or(Prepared::Ready, Prepared::Missing));
        }
        let (program, version, manifest) = match self {
            Suite::Python => ("python3", "--version", "requirements.txt"),
            Suite::Javascript | Suite::DocumentdbNode => ("npm", "--version", "package.json"),
            Suite::Go => ("go", "version", "go.mod"),
            Suite::Rust => ("cargo", "--version", "Cargo.toml"),
            Suite::Java => ("mvn", "--version", "pom.xml"),
            Suite::Dotnet => ("dotnet", "--version", "Cosmos.csproj"),
            Suite::DocumentdbDotnet => ("dotnet", "--version", "DocumentDb.csproj"),
        };
        if !self.folder().join(manifest).exists() {
            return Ok(Prepared::Missing(format!("no {manifest} in {}", self.folder().display())));
        }
        if !process::exists(program, version) {
            return Ok(Prepared::Missing(format!("{program} is not installed")));
        }
        match self {
            Suite::Python => prepare_python(&self.folder()),
            Suite::Javascript | Suite::DocumentdbNode => {
                process::run(in_folder(self, "npm", &["ci", "--no-audit", "--no-fund"]))?;
                Ok(Prepared::Ready)
            }
            Suite::Go => {
                // An older Go would try to fetch a newer one; here it is a missing toolchain.
                let mut check = in_folder(self, "go", &["list", "-m"]);
                if !check.env("GOTOOLCHAIN", "local").output().is_ok_and(|it| it.status.success()) {
                    return Ok(Prepared::Missing("go is older than go.mod asks for".to_owned()));
                }
                process::run(in_folder(self, "go", &["test", "-count=1", "-run", "^$", "./..."]))?;
                Ok(Prepared::Ready)
            }
            Suite::Rust => {
                process::run(rust_suite(&["--no-run"]))?;
                Ok(Prepared::Ready)
            }
            Suite::Java => {
                process::run(java_suite(&["-q", "test-compile"]))?;
                Ok(Prepared::Ready)
            }
            Suite::Dotnet | Suite::DocumentdbDotnet => Ok(Prepared::Ready),
        }
    }

    /// The command that runs the whole suite, with or without the tests in which ranges split and merge.
    pub(crate) fn command(self, with_growth: bool) -> Result<Command> {
        let mut command = self.whole()?;
        if with_growth {
            command.env("ORRERY_GROWTH", "1");
        } else if self == Suite::Rust {
            // Its tests cannot say that they are skipped.
            command.args(["--", "--skip", "while_ranges_split_and_merge"]);
        }
        Ok(command)
    }

    fn whole(self) -> Result<Command> {
        Ok(match self {
            Suite::Python => {
                let python = venv().join("bin/python");
                in_folder(self, &python.to_string_lossy(), &["-m", "pytest", "-q"])
            }
            Suite::Javascript => {
                let mut command = in_folder(self, "npm", &["test"]);
                // The certificate is self-signed: how a user of this SDK reaches a local emulator.
                command.env("NODE_TLS_REJECT_UNAUTHORIZED", "0");
                command
            }
            Suite::Go => {
                in_folder(self, "go", &["test", "-count=1", "-v", "-timeout", "10m", "./..."])
            }
            Suite::Rust => rust_suite(&[]),
            Suite::Java => java_suite(&["test"]),
            Suite::DocumentdbNode => in_folder(self, "npm", &["test"]),
            Suite::Dotnet => csharp::project(&self.folder(), Library::Cosmos)?,
            Suite::DocumentdbDotnet => csharp::project(&self.folder(), Library::DocumentDb)?,
        })
    }

    /// The command that runs the suite once more where the SDK can plan queries by itself.
    pub(crate) fn planning_command(self) -> Result<Option<Command>> {
        if self != Suite::Dotnet {
            return Ok(None);
        }
        let mut command = self.whole()?;
        // With it the SDK asks the library that comes with it for plans, and never the server.
        command.env("AZURE_COSMOS_USE_QUERY_PLAN_INTEROP_LINUX", "true");
        Ok(Some(command))
    }

    /// The command that runs the tests for a server that enforces throughput, where a language has them.
    pub(crate) fn throttled_command(self) -> Result<Option<Command>> {
        Ok(match self {
            Suite::Python => {
                let python = venv().join("bin/python");
                let arguments = ["-m", "pytest", "-q", "throttled"];
                Some(in_folder(self, &python.to_string_lossy(), &arguments))
            }
            Suite::Javascript => {
                let arguments = ["--test", "throttled/throttling.test.js"];
                Some(in_folder(self, "node", &arguments))
            }
            Suite::Dotnet => {
                let mut command = self.whole()?;
                command.env("ORRERY_THROTTLED", "1");
                Some(command)
            }
            Suite::Java => {
                let mut command = java_suite(&["test", "-Dtest=ThrottlingTest"]);
                command.env("ORRERY_THROTTLED", "1");
                Some(command)
            }
            // One retry policy per family of SDKs is enough for a test that takes half a minute.
            Suite::Go | Suite::Rust | Suite::DocumentdbNode | Suite::DocumentdbDotnet => None,
        })
    }
}

fn in_folder(suite: Suite, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(suite.folder()).args(arguments);
    command
}

/// Cargo in the Rust suite's own workspace, whose artefacts stay below our target folder.
fn rust_suite(arguments: &[&str]) -> Command {
    let mut command = workspace::cargo(&["test", "--locked", "--no-fail-fast"]);
    command
        .args(arguments)
        .current_dir(Suite::Rust.folder())
        .env("CARGO_TARGET_DIR", workspace::target().join("conformance/rust"))
        .env("AZURE_COSMOS_EMULATOR_SERVER_CERT_VALIDATION_DISABLED", "true");
    command
}

/// Maven without its progress lines, and with what it makes below our target folder.
fn java_suite(arguments: &[&str]) -> Command {
    let folder = workspace::target().join("conformance/java");
    let mut command = in_folder(Suite::Java, "mvn", &["-B", "-ntp"]);
    command.arg(format!("-Dorrery.build={}", folder.display())).args(arguments);
    command
}

fn venv() -> PathBuf {
    workspace::target().join("conformance/python-venv")
}

fn prepare_python(folder: &std::path::Path) -> Result<Prepared> {
    let venv = venv();
    if !venv.join("bin/python").exists() {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&venv);
        if let Err(error) = process::run(make) {
            return Ok(Prepared::Missing(format!("python3 cannot make a venv ({error:#})")));
        }
    }
    let mut install = Command::new(venv.join("bin/python"));
    install
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(folder.join("requirements.txt"));
    process::run(install)?;
    Ok(Prepared::Ready)
}
