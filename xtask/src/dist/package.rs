//! The folder, the archive and the checksums of a release.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::binary::{self, Needs};
use crate::{process, workspace};

/// Where each shell looks for a script of this name.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "completions/orrery.bash"),
    ("zsh", "completions/_orrery"),
    ("fish", "completions/orrery.fish"),
    ("elvish", "completions/orrery.elv"),
    ("powershell", "completions/orrery.ps1"),
];

const COPIED: [&str; 4] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "docs/emulator.md"];

/// What the `Containerfile` copies from its folder.
pub(super) const IMAGE_FILES: [&str; 1] = ["orrery"];

const SUMS_FILE: &str = "SHA256SUMS";

pub(super) fn make(source: &Path, output: &Path) -> Result<()> {
    clear(output)?;
    let staged = output.join("orrery");
    copy(source, &staged)?;
    binary::strip(&staged)?;
    let needs = binary::needs(&staged)?;
    let name = name(&staged, needs)?;
    let folder = output.join(&name);
    fill(&folder, &staged)?;
    let image = output.join("image");
    for file in IMAGE_FILES {
        copy(&folder.join(file), &image.join(file))?;
    }
    copy(&workspace::root().join("Containerfile"), &image.join("Containerfile"))?;
    fs::remove_file(&staged).with_context(|| staged.display().to_string())?;
    let archive = format!("{name}.tar.gz");
    compress(output, &name, &archive)?;
    let sum = sha256(&output.join(&archive))?;
    write(&output.join(SUMS_FILE), format!("{sum}  {archive}\n").as_bytes())?;
    let bytes = fs::metadata(folder.join("orrery")).map_or(0, |it| it.len());
    println!("{}: binary of {} MB, needs {needs}", output.join(&archive).display(), bytes >> 20);
    Ok(())
}

/// Removes an earlier package. A folder that is none is somebody's own, and stays.
fn clear(output: &Path) -> Result<()> {
    let sums = output.join(SUMS_FILE);
    if output.exists() {
        ensure!(sums.exists(), "{} is no earlier package: remove it first", output.display());
        fs::remove_dir_all(output).with_context(|| output.display().to_string())?;
    }
    write(&sums, b"")
}

/// `orrery-0.1.0-x86_64-linux-glibc2.34`
fn name(binary: &Path, needs: Needs) -> Result<String> {
    let text = binary::ask(binary, &["--version"])?;
    let text = String::from_utf8(text).context("the binary prints no version")?;
    let version = text.trim().strip_prefix("orrery ").context("the binary is not orrery")?;
    let library = match needs {
        Needs::Nothing => "static".to_owned(),
        Needs::Glibc(major, minor) => format!("glibc{major}.{minor}"),
    };
    Ok(format!("orrery-{version}-{}-linux-{library}", std::env::consts::ARCH))
}

fn fill(folder: &Path, binary: &Path) -> Result<()> {
    copy(binary, &folder.join("orrery"))?;
    for file in COPIED {
        copy(&workspace::root().join(file), &folder.join(file))?;
    }
    for (shell, file) in COMPLETIONS {
        let script = binary::ask(binary, &["completions", shell])?;
        ensure!(!script.is_empty(), "the completions for {shell} are empty");
        write(&folder.join(file), &script)?;
    }
    let manual = binary::ask(binary, &["manual"])?;
    ensure!(manual.windows(3).any(|it| it == b".TH"), "the manual is no manual page");
    write(&folder.join("man/orrery.1"), &manual)
}

/// The same bytes for the same files: names sorted, one owner, the time of the last commit.
fn compress(output: &Path, folder: &str, archive: &str) -> Result<()> {
    let mut command = Command::new("git");
    command.current_dir(workspace::root()).args(["log", "-1", "--format=%ct"]);
    let time = command.output().context("cannot run git")?;
    let time = String::from_utf8_lossy(&time.stdout).trim().to_owned();
    let time = if time.is_empty() { "0".to_owned() } else { time };
    let mut tar = Command::new("tar");
    tar.current_dir(output)
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{time}"))
        .args(["-czf", archive, folder]);
    process::run(tar)
}

fn sha256(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    let mut text = String::new();
    for byte in Sha256::digest(&bytes) {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    make_parent(to)?;
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    make_parent(file)?;
    fs::write(file, bytes).with_context(|| file.display().to_string())
}

fn make_parent(file: &Path) -> Result<()> {
    let parent = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_earlier_package_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("dist");
        clear(&output).unwrap();
        write(&output.join("old"), b"").unwrap();
        clear(&output).unwrap();
        assert!(!output.join("old").exists());
        write(&folder.path().join("mine"), b"").unwrap();
        assert!(clear(folder.path()).is_err());
        assert!(folder.path().join("mine").exists());
    }

    #[test]
    fn checksums_are_those_of_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write(&file, b"abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&file).unwrap(), expected);
    }
}
