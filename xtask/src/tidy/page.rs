//! The files of the explorer: short, without markup made from text, without handlers or styles in attributes, without addresses
//! of other machines. The server's policy forbids the same; this says it before a browser does.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::{collect, shown};

const FOLDER: &str = "crates/gateway/src/explorer/files";
// Limit: lines of one file of the page.
const LINES_MAX: usize = 400;
// Limit: bytes of all files; the binary grows by as much.
const BYTES_MAX: usize = 350 * 1024;

/// What must not stand in any file, and what to do instead.
const BANNED: [(&str, &str); 8] = [
    ("innerHTML", "make nodes: text is text"),
    ("outerHTML", "make nodes: text is text"),
    ("insertAdjacentHTML", "make nodes: text is text"),
    ("document.write", "make nodes: text is text"),
    ("eval(", "no code from text"),
    (" style=", "a class, or a property by CSSOM"),
    ("javascript:", "no code from text"),
    ("@import", "name the sheet in index.html"),
];
/// The name of a language is no address.
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

pub(super) fn check(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let mut bytes = 0;
    for extension in ["html", "css", "js", "svg"] {
        let mut files = Vec::new();
        collect(&root.join(FOLDER), extension, &mut files)?;
        for path in files {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            bytes += text.len();
            check_file(&shown(root, &path), &text, faults);
        }
    }
    if bytes > BYTES_MAX {
        faults.push(format!("{FOLDER}: {bytes} bytes, limit is {BYTES_MAX}"));
    }
    Ok(())
}

fn check_file(name: &str, text: &str, faults: &mut Vec<String>) {
    let n_lines = text.lines().count();
    if n_lines > LINES_MAX {
        faults.push(format!("{name}: {n_lines} lines, limit is {LINES_MAX}"));
    }
    let is_markup = name.rsplit('.').next().is_some_and(|it| it == "html" || it == "svg");
    for (index, line) in text.lines().enumerate() {
        let at = index + 1;
        for (word, advice) in BANNED {
            if line.contains(word) {
                faults.push(format!("{name}:{at}: {word} — {advice}"));
            }
        }
        if line.replace(NAMESPACE, "").contains("://") {
            faults.push(format!(
                "{name}:{at}: an address with a scheme: the page calls its own server only"
            ));
        }
        if is_markup && has_handler(line) {
            faults.push(format!("{name}:{at}: a handler in an attribute: listen in a module"));
        }
    }
}

/// Says whether an attribute such as `onclick=` stands in a line of markup.
fn has_handler(line: &str) -> bool {
    line.split_whitespace().any(|word| {
        let name = word.split('=').next().unwrap_or_default();
        word.contains('=')
            && name.len() > 2
            && name.starts_with("on")
            && name.bytes().all(|it| it.is_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, text: &str, n_faults: usize) {
        let mut faults = Vec::new();
        check_file(name, text, &mut faults);
        assert_eq!(faults.len(), n_faults, "{faults:?}");
    }

    #[test]
    fn markup_from_text_handlers_and_addresses_are_named() {
        check("a.js", "node.textContent = text;\nh('b', { onclick: run });\n", 0);
        check("a.js", concat!("node.inner", "HTML = text;\n"), 1);
        check("a.js", concat!("fetch('https:", "//example.com/x');\n"), 1);
        check("a.js", "const NS = 'http://www.w3.org/2000/svg';\n", 0);
        check("a.html", "<p onclick=\"x()\">\n", 1);
        check("a.html", "<p style=\"color: red\">\n", 1);
        check("a.html", "<p class=\"on\">one = two</p>\n", 0);
        check("a.css", &"a { color: red; }\n".repeat(401), 1);
    }
}
