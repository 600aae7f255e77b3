//! Paths named in documents and module headers must exist, so that a rename cannot make them lie.
//!
//! A path is what stands in backticks and ends in a known extension or in `/`. It may be short (`gateway/paths.rs` for
//! `crates/gateway/src/paths.rs`) and name several (`index/{walk,term}.rs`). Targets of Markdown links count too.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Kinds of files that only this repository has. Others, such as `.json`, may be a reader's own.
const EXTENSIONS: [&str; 4] = [".rs", ".md", ".case", ".js"];

/// Folders that are not ours, or not in the repository.
const SKIPPED: [&str; 4] = ["target", "node_modules", ".git", "__pycache__"];

/// All files and folders of the repository, without `src/` and `crates/`, which documents leave out.
#[derive(Debug, Default)]
pub(super) struct Tree(BTreeSet<String>);

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree::default();
        tree.add_folder(root, "")?;
        Ok(tree)
    }

    fn add_folder(&mut self, folder: &Path, name: &str) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let own = entry.file_name().to_string_lossy().into_owned();
            if SKIPPED.contains(&own.as_str()) {
                continue;
            }
            let below = format!("{name}/{own}");
            if entry.file_type()?.is_dir() {
                self.add(&format!("{below}/"));
                self.add_folder(&entry.path(), &below)?;
            } else {
                self.add(&below);
            }
        }
        Ok(())
    }

    /// Adds every end of a path that starts at a `/`.
    fn add(&mut self, path: &str) {
        let short = shortened(path);
        for (at, _) in short.match_indices('/').filter(|(at, _)| at + 1 < short.len()) {
            self.0.insert(short[at + 1..].to_owned());
        }
    }

    fn has(&self, path: &str) -> bool {
        let short = shortened(&format!("/{path}"));
        self.0.contains(short.trim_start_matches('/'))
    }

    /// Adds a fault for each path that a document or a header names and that does not exist.
    pub(super) fn check(&self, name: &str, text: &str, faults: &mut Vec<String>) {
        for (index, line) in text.lines().enumerate() {
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
            let targets = targets.filter(|target| !target.contains(':') && is_path(target));
            let quoted = line.split('`').skip(1).step_by(2).filter(|it| is_path(it));
            for path in targets.chain(quoted).flat_map(expanded) {
                let path = path.trim_start_matches("../").trim_start_matches("./");
                if !self.has(path) {
                    faults.push(format!("{name}:{}: {path} does not exist", index + 1));
                }
            }
        }
    }
}

fn shortened(path: &str) -> String {
    path.replace("/src/", "/").replace("/crates/", "/")
}

/// Whether a text looks like the path of a file or folder of ours.
fn is_path(text: &str) -> bool {
    let is_known = EXTENSIONS.iter().any(|it| text.ends_with(it) && text.len() > it.len());
    let is_folder = text.ends_with('/') && text.len() > 1;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./{},".contains(it);
    (is_known || is_folder)
        && !text.starts_with(['/', '.', '-'])
        && !text.split('/').any(is_placeholder)
        && text.chars().all(is_plain)
        || text.starts_with("../") && is_known && text.chars().all(is_plain)
}

/// `conformance/LANG/` stands for several.
fn is_placeholder(part: &str) -> bool {
    part.len() > 1 && !part.contains('.') && part.chars().all(|it| it.is_ascii_uppercase())
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expanded(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    let Some((head, (names, tail))) = parts else { return vec![path.to_owned()] };
    names.split(',').map(|name| format!("{head}{}{tail}", name.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut tree = Tree::default();
        for path in ["/crates/gateway/src/paths.rs", "/crates/gateway/src/auth/", "/docs/a.md"] {
            tree.add(path);
        }
        let mut faults = Vec::new();
        tree.check("X.md", text, &mut faults);
        assert_eq!(faults, expected, "{text}");
    }

    #[test]
    fn paths_that_do_not_exist_are_named_with_their_line() {
        check("See `gateway/paths.rs`, `paths.rs`, `crates/gateway/src/paths.rs`, `auth/`.", &[]);
        check("See\n`gateway/route.rs`.", &["X.md:2: gateway/route.rs does not exist"]);
        check("`gateway/{paths,route}.rs`", &["X.md:1: gateway/route.rs does not exist"]);
        check("`manage/`", &["X.md:1: manage/ does not exist"]);
        check(
            "[a](docs/a.md#part) [b](docs/b.md) [c](https://x/y.md)",
            &["X.md:1: docs/b.md does not exist"],
        );
    }

    #[test]
    fn what_is_no_path_of_ours_is_left_alone() {
        check(
            "`/dbs/`, `data.json`, `conformance/LANG/`, `*.rs`, `cargo test x.rs`, `.md`, `a.rs b`",
            &[],
        );
    }
}
