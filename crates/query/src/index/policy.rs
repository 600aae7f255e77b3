//! Which paths the indexing policy of a container includes.
//!
//! Wire: the deeper rule wins; at one depth `/?` (the value itself) beats `/*` (it and all below).

use std::collections::HashMap;

use model::Value;

use super::{Declared, IndexPath, PathStep};
use crate::full_text::language::FullTextPolicy;

/// Limit: segments of a rule; items are not deeper.
const STEPS_MAX: usize = model::json::DEPTH_MAX;

/// What a policy that includes nothing prints.
const NONE: &str = "none";

/// The included and excluded paths of a container, and the indexes that it declares.
#[derive(Clone, Debug, Default)]
pub struct IndexPolicy {
    root: Node,
    /// Each with its name.
    declared: Vec<(String, Declared)>,
    is_none: bool,
    /// The rules in a form that is equal for equal policies.
    text: String,
}

impl PartialEq for IndexPolicy {
    fn eq(&self, other: &IndexPolicy) -> bool {
        self.text == other.text
    }
}

impl Eq for IndexPolicy {}

/// The rules for one path and those below it.
#[derive(Clone, Debug, Default)]
struct Node {
    names: HashMap<String, Node>,
    element: Option<Box<Node>>,
    /// Whether the value here is included, if a rule says so.
    own: Option<bool>,
    /// Whether the value here and all below are included, if a rule says so.
    below: Option<bool>,
}

impl IndexPolicy {
    /// Includes everything.
    pub fn all() -> IndexPolicy {
        IndexPolicy::from_rules(vec!["+/*".to_string()])
    }

    /// Includes nothing at all.
    pub fn none() -> IndexPolicy {
        let (root, declared) = (Node::default(), Vec::new());
        IndexPolicy { root, declared, is_none: true, text: NONE.to_string() }
    }

    /// Reads the indexing policy object of a container whose texts are English.
    pub fn from_policy(policy: &Value) -> IndexPolicy {
        IndexPolicy::of_container(policy, &FullTextPolicy::default())
    }

    /// Reads the indexing policy object of a container; rules that it cannot read are left out.
    pub fn of_container(policy: &Value, full_text: &FullTextPolicy) -> IndexPolicy {
        if policy.get("indexingMode").and_then(Value::as_str) == Some("none") {
            return IndexPolicy::none();
        }
        let mut rules = Vec::new();
        for (list, sign) in [("includedPaths", '+'), ("excludedPaths", '-')] {
            for entry in policy.get(list).and_then(Value::as_array).unwrap_or_default() {
                if let Some(path) = entry.get("path").and_then(Value::as_str)
                    && !path.contains('\0')
                    && parse(path).is_some()
                {
                    rules.push(format!("{sign}{path}"));
                }
            }
        }
        if rules.is_empty() {
            rules.push("+/*".to_string());
        }
        let declared = Declared::from_policy(policy, full_text);
        rules.extend(declared.iter().map(|index| format!("={}", index.name())));
        IndexPolicy::from_rules(rules)
    }

    fn from_rules(mut rules: Vec<String>) -> IndexPolicy {
        rules.sort();
        rules.dedup();
        let mut root = Node::default();
        let mut declared = Vec::new();
        for rule in &rules {
            match rule.split_at_checked(1) {
                Some(("=", name)) => {
                    declared.extend(Declared::from_name(name).map(|own| (name.to_string(), own)));
                }
                Some(("+", path)) => drop(root.add(path, true)),
                Some((_, path)) => drop(root.add(path, false)),
                None => {}
            }
        }
        IndexPolicy { root, declared, is_none: false, text: rules.join("\0") }
    }

    /// Adds the declared indexes of other policies.
    #[must_use]
    pub fn with_declared_of(&self, others: &[IndexPolicy]) -> IndexPolicy {
        let own = self.text.split('\0').map(str::to_string);
        let theirs = others.iter().flat_map(IndexPolicy::declared);
        IndexPolicy::from_rules(own.chain(theirs.map(|(name, _)| format!("={name}"))).collect())
    }

    /// Returns the rules as one text, equal for equal policies.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads what [`IndexPolicy::text`] returned.
    pub fn from_text(text: &str) -> IndexPolicy {
        match text {
            NONE => IndexPolicy::none(),
            _ => IndexPolicy::from_rules(text.split('\0').map(str::to_string).collect()),
        }
    }

    /// Returns whether no path is included.
    pub fn is_none(&self) -> bool {
        self.is_none
    }

    /// Returns the declared indexes with their names.
    pub fn declared(&self) -> impl Iterator<Item = (&str, &Declared)> {
        self.declared.iter().map(|(name, index)| (name.as_str(), index))
    }

    /// Returns whether an index is declared.
    pub fn declares(&self, name: &str) -> bool {
        self.declared.iter().any(|(own, _)| own == name)
    }

    pub(super) fn has_declared(&self) -> bool {
        !self.declared.is_empty()
    }

    /// Returns whether ORDER BY may name a path.
    ///
    /// Wire: `_ts` and `_rid` always have an order; other properties of the system follow the rules.
    pub(crate) fn orders(&self, path: &IndexPath) -> bool {
        let mut cursor = Cursor { place: PathState::Other, ..self.start() };
        for step in path.steps() {
            cursor = match step {
                PathStep::Name(name) => cursor.name(name),
                PathStep::Element => cursor.element(),
            };
        }
        let is_always = matches!(path.steps(), [PathStep::Name(name)] if matches!(name.as_str(), "id" | "_ts" | "_rid"));
        !self.is_none && (is_always || cursor.is_included())
    }

    /// Returns whether values at a path are indexed.
    pub fn includes(&self, path: &IndexPath) -> bool {
        let mut cursor = self.start();
        for step in path.steps() {
            cursor = match step {
                PathStep::Name(name) => cursor.name(name),
                PathStep::Element => cursor.element(),
            };
        }
        !path.steps().is_empty() && cursor.is_included()
    }

    /// Returns whether values at a path are indexed; the path is written as [`IndexPath`] prints it.
    pub fn includes_named(&self, path: &str) -> bool {
        parse(&format!("{path}/?")).is_some_and(|(steps, _)| self.includes(&IndexPath::new(steps)))
    }

    /// Stands at the item itself.
    pub(super) fn start(&self) -> Cursor<'_> {
        let is_below = self.root.below.unwrap_or(false);
        Cursor { node: Some(&self.root), is_below, place: PathState::Item, is_none: self.is_none }
    }
}

impl Node {
    /// Adds a rule such as `/a/"b c"/[]/?`.
    fn add(&mut self, path: &str, is_included: bool) -> Option<()> {
        let (steps, is_below) = parse(path)?;
        let mut node = self;
        for step in steps {
            node = match step {
                PathStep::Name(name) => node.names.entry(name).or_default(),
                PathStep::Element => node.element.get_or_insert_default(),
            };
        }
        *(if is_below { &mut node.below } else { &mut node.own }) = Some(is_included);
        Some(())
    }
}

/// A place in an item and the rules that hold there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'p> {
    node: Option<&'p Node>,
    /// What the nearest rule for all below says.
    is_below: bool,
    place: PathState,
    is_none: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PathState {
    Item,
    Id,
    /// A property that the system adds and the index does not know.
    System,
    Other,
}

impl<'p> Cursor<'p> {
    /// Goes to a property.
    pub(super) fn name(self, name: &str) -> Cursor<'p> {
        let place = match (self.place, name) {
            (PathState::Item, "id") => PathState::Id,
            (PathState::Item, _) if model::json::SYSTEM_PROPERTIES.contains(&name) => {
                PathState::System
            }
            (PathState::System, _) => PathState::System,
            _ => PathState::Other,
        };
        self.enter(self.node.and_then(|node| node.names.get(name)), place)
    }

    /// Goes to the elements of an array.
    pub(super) fn element(self) -> Cursor<'p> {
        let place =
            if self.place == PathState::System { PathState::System } else { PathState::Other };
        self.enter(self.node.and_then(|node| node.element.as_deref()), place)
    }

    fn enter(self, node: Option<&'p Node>, place: PathState) -> Cursor<'p> {
        let is_below = node.and_then(|node| node.below).unwrap_or(self.is_below);
        Cursor { node, is_below, place, is_none: self.is_none }
    }

    /// Returns whether the value here is indexed.
    pub(super) fn is_included(&self) -> bool {
        match self.place {
            _ if self.is_none => false,
            PathState::System => false,
            // Wire: the id is indexed whatever the policy says.
            PathState::Id => true,
            PathState::Item | PathState::Other => {
                self.node.and_then(|node| node.own).unwrap_or(self.is_below)
            }
        }
    }

    /// Returns whether nothing here and below is indexed.
    pub(super) fn is_dead(&self) -> bool {
        self.is_none
            || self.place == PathState::System
            || (self.node.is_none() && !self.is_below && self.place != PathState::Id)
    }
}

/// Splits a rule into steps and whether it ends in `/*`.
fn parse(path: &str) -> Option<(Vec<PathStep>, bool)> {
    let mut steps = Vec::new();
    let mut rest = path;
    loop {
        rest = rest.strip_prefix('/')?;
        match rest {
            "?" => return Some((steps, false)),
            "*" => return Some((steps, true)),
            _ if steps.len() >= STEPS_MAX => return None,
            _ => {}
        }
        let (step, left) = step(rest)?;
        steps.push(step);
        rest = left;
    }
}

/// Returns the names of a path such as `/a/b/*`, if it is a path of properties.
pub(super) fn property_names(path: &str) -> Option<Vec<String>> {
    let (steps, _) = parse(path)?;
    let name = |step| match step {
        PathStep::Name(name) => Some(name),
        PathStep::Element => None,
    };
    let names: Vec<String> = steps.into_iter().map(name).collect::<Option<_>>()?;
    (!names.is_empty()).then_some(names)
}

fn step(text: &str) -> Option<(PathStep, &str)> {
    let Some(quote @ ('"' | '\'')) = text.chars().next() else {
        let (segment, rest) = text.split_at(text.find('/')?);
        let is_wild = segment.is_empty() || segment.contains(['*', '?', '{', '}']);
        return match segment {
            "[]" => Some((PathStep::Element, rest)),
            _ if is_wild => None,
            _ => Some((PathStep::Name(segment.to_string()), rest)),
        };
    };
    let mut name = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((index, c)) = characters.next() {
        match c {
            '\\' => name.push(characters.next()?.1),
            _ if c == quote => return Some((PathStep::Name(name), text.get(index + 1..)?)),
            _ => name.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> IndexPath {
        let steps = text.split('/').skip(1).map(|segment| match segment {
            "[]" => PathStep::Element,
            name => PathStep::Name(name.to_string()),
        });
        IndexPath::new(steps.collect())
    }

    #[track_caller]
    fn check(policy: &str, included: &[&str], excluded: &[&str]) {
        let policy = model::json::parse(policy.as_bytes()).unwrap();
        let policy = IndexPolicy::from_policy(&policy);
        let policy = {
            let again = IndexPolicy::from_text(policy.text());
            assert_eq!(again, policy);
            again
        };
        for text in included {
            assert!(policy.includes(&path(text)), "{text} is included");
        }
        for text in excluded {
            assert!(!policy.includes(&path(text)), "{text} is excluded");
        }
    }

    #[test]
    fn the_deeper_rule_wins() {
        let policy = r#"{"includedPaths":[{"path":"/*"},{"path":"/a/b/?"},{"path":"/t/[]/n/?"}],
            "excludedPaths":[{"path":"/a/*"},{"path":"/t/*"},{"path":"/\"x y\"/?"},{"path":"/e/?"}]}"#;
        check(
            policy,
            &["/z", "/z/y/[]", "/a/b", "/t/[]/n", "/x y/z", "/e/f", "/id"],
            &["/a", "/a/c", "/a/b/c", "/t/[]", "/t/[]/m", "/x y", "/e", "/_ts", "/_etag"],
        );
        check(
            r#"{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}"#,
            &["/a", "/id"],
            &["/b", "/a/b", "/id/x"],
        );
    }

    #[test]
    fn a_policy_without_rules_includes_all_and_mode_none_nothing() {
        check("{}", &["/a", "/a/[]/b"], &["/_rid"]);
        check(r#"{"indexingMode":"none"}"#, &[], &["/a", "/id"]);
    }
}
