//! `tidy`: rules that no compiler checks — layers, lengths, headers, leftovers, document caps, paths in documents, names
//! of types.

mod page;
mod paths;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace;

// Limit: production lines of one source file; a flat table may be longer and says so in its header.
const SOURCE_LINES_MAX: usize = 1000;
const FLAT_TABLE: &str = "//! Flat table";

/// What each crate may depend on, apart from tests. `orrery` and `xtask` wire things and may name all.
const LAYERS: [(&str, &[&str]); 14] = [
    ("model", &[]),
    ("journal", &["model"]),
    ("cluster", &["model", "journal"]),
    ("store", &["model"]),
    ("query", &["model"]),
    ("engine-memory", &[]),
    ("script", &["model", "engine-memory"]),
    ("client", &["model", "client-derive"]),
    ("client-derive", &[]),
    ("partition", &["model", "store", "query", "script"]),
    ("account", &["model", "store", "query", "partition"]),
    ("gateway", &["model", "account"]),
    ("sim", &["model", "store", "partition", "account"]),
    ("postgres-server", &[]),
];

/// Every word that names a crate of ours.
const CRATES: [&str; 11] = [
    "model",
    "journal",
    "cluster",
    "store",
    "query",
    "script",
    "client",
    "partition",
    "account",
    "gateway",
    "sim",
];

/// Words that must not stay in the tree, spelled in two halves so that this file passes.
const BANNED: [(&str, &str); 5] = [
    (concat!("to", "do!("), "finish it, or answer a clear error"),
    (concat!("unimple", "mented!("), "finish it, or answer a clear error"),
    (concat!("db", "g!("), "remove it"),
    (concat!("#[ig", "nore"), "no ignored tests: assert what is, with the issue number"),
    (concat!("FIX", "ME"), "open an issue"),
];

/// Names that no type of ours may have: each of them once meant four to nine things.
const VAGUE_TYPES: [&str; 10] =
    ["Place", "Found", "Moment", "Inside", "Content", "Here", "Patience", "Habit", "Way", "Look"];

/// Caps on documents, in lines; the first match counts.
const DOCUMENTS: [(&str, usize); 5] = [
    ("README.md", 120),
    ("ARCHITECTURE.md", 250),
    ("CONTRIBUTING.md", 100),
    ("docs/storage-format.md", 400),
    ("docs/decisions/", 60),
];
const DOCUMENT_LINES_MAX: usize = 250;
/// Tables and logs that grow with the project. The change log names what was, so its paths are not checked.
const CHANGELOG: &str = "CHANGELOG.md";
const DOCUMENTS_FREE: [&str; 2] = [CHANGELOG, "docs/compatibility.md"];

pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let mut faults = Vec::new();
    check_layers(&root, &mut faults)?;
    let tree = paths::Tree::read(&root)?;
    let mut sources = Vec::new();
    for folder in ["crates", "xtask", "fuzz", "conformance/rust"] {
        collect(&root.join(folder), "rs", &mut sources)?;
    }
    for path in &sources {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let name = shown(&root, path);
        check_source(&name, &text, &mut faults);
        let header = text.lines().take_while(|line| line.starts_with("//!"));
        tree.check(&name, &header.collect::<Vec<_>>().join("\n"), &mut faults);
    }
    page::check(&root, &mut faults)?;
    let mut documents = Vec::new();
    collect_flat(&root, "md", &mut documents)?;
    collect(&root.join("docs"), "md", &mut documents)?;
    for path in &documents {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let name = shown(&root, path);
        check_document(&name, text.lines().count(), &mut faults);
        if name != CHANGELOG {
            tree.check(&name, &text, &mut faults);
        }
    }
    if !faults.is_empty() {
        bail!("{} faults\n  {}", faults.len(), faults.join("\n  "));
    }
    println!("tidy: {} sources and {} documents are in order", sources.len(), documents.len());
    Ok(())
}

fn check_layers(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for (name, allowed) in LAYERS {
        let path = root.join("crates").join(name).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for dependency in dependencies(&text) {
            if CRATES.contains(&dependency) && !allowed.contains(&dependency) {
                faults.push(format!(
                    "crates/{name} must not depend on {dependency}: see ARCHITECTURE.md"
                ));
            }
        }
    }
    let known = |it: &str| it == "orrery" || LAYERS.iter().any(|(name, _)| *name == it);
    for entry in fs::read_dir(root.join("crates")).context("no crates folder")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !known(&name) {
            faults.push(format!(
                "crates/{name} has no place in the layers: see xtask/src/tidy/mod.rs"
            ));
        }
    }
    Ok(())
}

/// The names in `[dependencies]`, target-specific ones too; `[dev-dependencies]` are free.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            is_inside = line == "[dependencies]" || line.ends_with(".dependencies]");
        } else if is_inside && !line.is_empty() && !line.starts_with('#') {
            let end = line.find(['.', ' ', '=']).unwrap_or(line.len());
            names.push(line[..end].trim_start_matches("orrery-"));
        }
    }
    names
}

fn check_source(name: &str, text: &str, faults: &mut Vec<String>) {
    let production = text.find("#[cfg(test)]\nmod tests {").map_or(text, |end| &text[..end]);
    let n_lines = production.lines().count();
    let is_test =
        name.contains("/tests/") || name.contains("/benches/") || name.ends_with("/tests.rs");
    if n_lines > SOURCE_LINES_MAX && !is_test && !text.starts_with(FLAT_TABLE) {
        faults.push(format!(
            "{name}: {n_lines} lines, limit is {SOURCE_LINES_MAX}: make it a folder"
        ));
    }
    if !text.starts_with("//!") && !text.starts_with("#![") {
        faults.push(format!("{name}: no `//!` header that says what it is for"));
    }
    if !is_test {
        check_types(name, production, faults);
    }
    for (index, line) in text.lines().enumerate() {
        for (word, advice) in BANNED {
            if line.contains(word) {
                faults.push(format!("{name}:{}: {word} — {advice}", index + 1));
            }
        }
        let todo = concat!("TO", "DO");
        if line.contains(todo) && !line.contains(concat!("TO", "DO(#")) {
            faults.push(format!(
                "{name}:{}: {todo} without an issue number, as in {todo}(#7)",
                index + 1
            ));
        }
    }
}

/// Names of types that say nothing, and that several rooms would use for different things.
fn check_types(name: &str, text: &str, faults: &mut Vec<String>) {
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split(|it: char| !it.is_alphanumeric() && it != '_');
        let is_type = words.any(|word| matches!(word, "struct" | "enum" | "trait"));
        if is_type && words.next().is_some_and(|word| VAGUE_TYPES.contains(&word)) {
            faults.push(format!("{name}:{}: {} — say what it is", index + 1, line.trim()));
        }
    }
}

fn check_document(name: &str, n_lines: usize, faults: &mut Vec<String>) {
    if DOCUMENTS_FREE.contains(&name) {
        return;
    }
    let cap = DOCUMENTS
        .iter()
        .find(|(it, _)| name == *it || (it.ends_with('/') && name.starts_with(it)))
        .map_or(DOCUMENT_LINES_MAX, |(_, cap)| *cap);
    if n_lines > cap {
        faults.push(format!("{name}: {n_lines} lines, limit is {cap}"));
    }
}

/// Files below `folder` with this extension; a missing folder has none.
fn collect(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    collect_flat(folder, extension, into)?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            collect(&path, extension, into)?;
        }
    }
    Ok(())
}

fn collect_flat(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_some_and(|it| it == extension) {
            into.push(path);
        }
    }
    into.sort();
    Ok(())
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_from_their_table_only() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\nmodel.workspace = true\n\
                        orrery-store = { path = \"../store\" }\n# query\n[dev-dependencies]\ngateway = \"1\"\n";
        assert_eq!(dependencies(manifest), ["model", "store"]);
    }

    #[track_caller]
    fn check(name: &str, text: &str, expected: &[&str]) {
        let mut faults = Vec::new();
        check_source(name, text, &mut faults);
        assert_eq!(faults.len(), expected.len(), "{faults:?}");
        for (fault, part) in faults.iter().zip(expected) {
            assert!(fault.contains(part), "{fault}");
        }
    }

    #[test]
    fn leftovers_and_missing_headers_are_named() {
        check("a.rs", "//! Good.\nfn f() {}\n", &[]);
        check("a.rs", "fn f() {}\n", &["header"]);
        check("a.rs", concat!("//! A.\nto", "do!()\n"), &["a.rs:2"]);
        check("a.rs", concat!("//! A.\n// TO", "DO later\n"), &["issue number"]);
        check("a.rs", concat!("//! A.\n// TO", "DO(#3): later\n"), &[]);
    }

    #[test]
    fn types_say_what_they_are() {
        check("a.rs", "//! A.\npub(crate) struct ItemAddress;\n// a Place\n", &[]);
        check("a.rs", "//! A.\npub(crate) struct Place {\n", &["a.rs:2"]);
        check("a/tests/b.rs", "//! A.\nenum Found {\n", &[]);
    }

    #[test]
    fn long_files_are_named_and_tests_do_not_count() {
        let long = format!("//! A.\n{}", "fn f() {}\n".repeat(1000));
        check("a.rs", &long, &["1001 lines"]);
        let tested = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{}", "// x\n".repeat(2000));
        check("a.rs", &tested, &[]);
        check("a.rs", &long.replacen("//! A.", "//! Flat table of headers.", 1), &[]);
    }

    #[test]
    fn documents_have_caps() {
        let mut faults = Vec::new();
        check_document("README.md", 121, &mut faults);
        check_document("docs/decisions/0001-x.md", 61, &mut faults);
        check_document("CHANGELOG.md", 9999, &mut faults);
        check_document("docs/errors.md", 250, &mut faults);
        assert_eq!(faults.len(), 2, "{faults:?}");
    }
}
