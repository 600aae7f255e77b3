//! A path of the index: names of properties, and `[]` for the elements of an array.

use std::fmt;

/// One step down.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum PathStep {
    /// A property of an object.
    Name(String),
    /// Any element of an array.
    Element,
}

/// Where in an item a value stands. Printed as `/a/"b c"/[]`.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct IndexPath {
    steps: Vec<PathStep>,
}

impl IndexPath {
    /// Makes a path of steps.
    pub fn new(steps: Vec<PathStep>) -> IndexPath {
        IndexPath { steps }
    }

    /// Returns the steps from the outside in.
    pub fn steps(&self) -> &[PathStep] {
        &self.steps
    }

    /// Returns whether an item can have several values at the path.
    pub fn has_elements(&self) -> bool {
        self.steps.contains(&PathStep::Element)
    }

    /// Returns a length that the printed path surely does not exceed.
    pub fn text_bytes_max(&self) -> usize {
        let step = |step: &PathStep| match step {
            // Each character may be escaped, and there are a slash and two quotes.
            PathStep::Name(name) => 2 * name.len() + 3,
            PathStep::Element => ELEMENT.len(),
        };
        self.steps.iter().map(step).sum()
    }

    /// Returns the path one step further down.
    #[must_use]
    pub fn child(&self, step: PathStep) -> IndexPath {
        let mut steps = self.steps.clone();
        steps.push(step);
        IndexPath { steps }
    }
}

impl fmt::Display for IndexPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for step in &self.steps {
            match step {
                PathStep::Name(name) => push_name(&mut text, name),
                PathStep::Element => text.push_str(ELEMENT),
            }
        }
        f.write_str(&text)
    }
}

/// How the elements of an array are written.
pub(super) const ELEMENT: &str = "/[]";

/// Appends a name, quoted where it is not plain, so that no name looks like another one or like `[]`.
pub(super) fn push_name(text: &mut String, name: &str) {
    text.push('/');
    let is_plain =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain {
        text.push_str(name);
        return;
    }
    text.push('"');
    for c in name.chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_paths_print_differently() {
        let name = |name: &str| PathStep::Name(name.to_string());
        let paths = [
            (vec![name("a"), name("b")], "/a/b"),
            (vec![name("a/b")], r#"/"a/b""#),
            (vec![name("a"), PathStep::Element], "/a/[]"),
            (vec![name("a"), name("[]")], r#"/a/"[]""#),
            (vec![name("")], r#"/"""#),
            (vec![name("\"")], r#"/"\"""#),
            (vec![name("\\")], r#"/"\\""#),
            (vec![name("ä")], r#"/"ä""#),
        ];
        for (steps, text) in paths {
            let path = IndexPath::new(steps);
            assert_eq!(path.to_string(), text);
            assert!(text.len() <= path.text_bytes_max(), "{text}");
        }
    }
}
