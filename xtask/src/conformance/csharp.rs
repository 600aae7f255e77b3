//! C# programs: with `dotnet` where it is, else with the command that `ORRERY_CSHARP` names.
//!
//! Such a command takes `FILE.cs…`, compiles them in memory and runs them with the SDK of today, or, after `--documentdb`,
//! with its predecessor.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process;

const VARIABLE: &str = "ORRERY_CSHARP";

/// The SDK that a project is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    Cosmos,
    DocumentDb,
}

fn stand_in() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|command| !command.is_empty())
}

/// Says what is missing to run C#; `None` if nothing is.
pub(super) fn missing() -> Option<String> {
    let is_there = process::exists("dotnet", "--version") || stand_in().is_some();
    (!is_there)
        .then(|| format!("dotnet is not installed, and {VARIABLE} names nothing in its place"))
}

/// The command that runs the project in a folder.
pub(super) fn project(folder: &Path, library: Library) -> Result<Command> {
    let Some(program) = stand_in().filter(|_| !process::exists("dotnet", "--version")) else {
        let mut command = Command::new("dotnet");
        command.args(["run", "--configuration", "Release"]).current_dir(folder);
        return Ok(command);
    };
    let mut command = Command::new(program);
    if library == Library::DocumentDb {
        command.arg("--documentdb");
    }
    let mut files = Vec::new();
    let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cs") {
            files.push(path);
        }
    }
    files.sort();
    command.args(files);
    Ok(command)
}
