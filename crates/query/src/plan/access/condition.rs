//! Sets of items that an index can find.

use crate::bind::tree::{Base, Expr, ITEM_LEVEL, Query};
use crate::index::{IndexPath, PathStep, TermSpan, intersect, unite};
use crate::source::{Direction, Entries, ItemIndex};
use crate::value::Step;

/// A set of items: at least all for which a filter can be true.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// Nothing is known.
    Anything,
    /// No item can match.
    Nothing,
    Seek(Seek),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// The items with a term in some spans.
#[derive(Clone, Debug)]
pub(crate) struct Seek {
    /// The expression: a variable and the steps below it. It has one value per row.
    pub(super) level: usize,
    pub(super) steps: Vec<Step>,
    pub(crate) path: IndexPath,
    /// The declared index to look into, instead of that of the path.
    pub(crate) declared: Option<String>,
    /// In order and without overlap.
    pub(crate) spans: Vec<TermSpan>,
    /// Whether the condition holds for exactly the items found.
    pub(crate) is_exact: bool,
    pub(crate) text: String,
}

/// The level of seeks that are about no expression.
const NO_LEVEL: usize = usize::MAX;

impl Seek {
    /// Makes a seek for items with a term in one of several places, which is never joined with another one that these
    /// items must also fulfil: its term may be in another place.
    pub(super) fn of_some_place(
        path: IndexPath,
        declared: Option<&str>,
        spans: Vec<TermSpan>,
        text: String,
    ) -> Seek {
        let (level, steps, declared) = (NO_LEVEL, Vec::new(), declared.map(str::to_owned));
        Seek { level, steps, path, declared, spans, is_exact: false, text }
    }

    fn is_about(&self, other: &Seek) -> bool {
        self.level == other.level && self.steps == other.steps && self.declared == other.declared
    }

    /// Returns whether an index has what the seek looks for.
    pub(crate) fn is_covered(&self, index: &dyn ItemIndex) -> bool {
        // A declared index was found among those that have the terms of every item.
        self.declared.is_some() || index.covers(&self.path)
    }

    /// Returns the entries of a span.
    pub(crate) fn entries<'i>(
        &self,
        index: &'i dyn ItemIndex,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
    ) -> Entries<'i> {
        match &self.declared {
            Some(name) => index.seek_in(name, span, after, Direction::Forward),
            None => index.seek(&self.path, span, after, Direction::Forward),
        }
    }

    /// Returns whether the seek is about this path of the item itself.
    pub(crate) fn is_of_item(&self, steps: &[Step]) -> bool {
        self.level == ITEM_LEVEL && self.steps == steps
    }

    /// Returns whether the seek is about a path of the item itself that has one value.
    pub(crate) fn is_of_path(&self, path: &IndexPath) -> bool {
        self.level == ITEM_LEVEL
            && self.path == *path
            && self.declared.is_none()
            && !path.has_elements()
    }
}

impl Condition {
    /// Returns the seek that is the whole filter of a query over plain items: of the items of the source, exactly those
    /// pass that an entry of its spans names, if an index covers it.
    ///
    /// Only a seek that stands alone says so of itself. Among several parts one that says nothing may have been left out.
    pub(super) fn as_whole_filter(&self, query: &Query) -> Option<&Seek> {
        let is_plain = matches!(query.base, Base::Item) && query.sources.is_empty();
        match self {
            Condition::Seek(seek) if is_plain && seek.is_exact => Some(seek),
            _ => None,
        }
    }

    /// Returns whether items that an index finds by the condition need no look at the filter.
    ///
    /// Properties of the system are looked at nevertheless: their index is made of the feed.
    pub(super) fn is_answered(&self, query: &Query) -> bool {
        let is_stored = |seek: &Seek| match seek.path.steps().first() {
            Some(PathStep::Name(name)) => !name.starts_with('_'),
            Some(PathStep::Element) | None => false,
        };
        self.as_whole_filter(query).is_some_and(is_stored)
    }
}

/// Returns the path of an expression that is a property of the item; elements of arrays are none.
pub(crate) fn item_path(expr: &Expr) -> Option<(&[Step], IndexPath)> {
    let Expr::VariablePath(ITEM_LEVEL, steps) = expr else { return None };
    let name = |step: &Step| match step {
        Step::Name(name) => Some(PathStep::Name(name.clone())),
        Step::Index(_) | Step::Never => None,
    };
    let path = steps.iter().map(name).collect::<Option<Vec<_>>>()?;
    Some((steps, IndexPath::new(path)))
}

/// Joins what two seeks say, if they say anything.
fn join(own: &mut String, word: &str, other: &str) {
    if !other.is_empty() {
        own.push_str(word);
        own.push_str(other);
    }
}

/// Items that are in every part. Seeks on one expression become one.
pub(super) fn all(parts: Vec<Condition>) -> Condition {
    let mut flat: Vec<Condition> = Vec::new();
    let mut is_exact = true;
    for part in parts {
        match part {
            Condition::Anything => is_exact = false,
            Condition::Nothing => return Condition::Nothing,
            Condition::All(inner) => flat.extend(inner),
            Condition::Seek(seek) => {
                let own = flat.iter_mut().find_map(|own| match own {
                    Condition::Seek(own) if own.is_about(&seek) && own.level != NO_LEVEL => {
                        Some(own)
                    }
                    _ => None,
                });
                let Some(own) = own else {
                    flat.push(Condition::Seek(seek));
                    continue;
                };
                own.spans = intersect(&own.spans, &seek.spans);
                own.is_exact &= seek.is_exact;
                join(&mut own.text, " and ", &seek.text);
                if own.spans.is_empty() {
                    return Condition::Nothing;
                }
            }
            Condition::Any(_) => flat.push(part),
        }
    }
    if !is_exact {
        for part in &mut flat {
            if let Condition::Seek(seek) = part {
                seek.is_exact = false;
            }
        }
    }
    one_or(flat, Condition::Anything, Condition::All)
}

/// Items that are in one of the parts. Seeks on one expression become one.
pub(super) fn any(parts: Vec<Condition>) -> Condition {
    let mut flat: Vec<Condition> = Vec::new();
    for part in parts {
        match part {
            Condition::Anything => return Condition::Anything,
            Condition::Nothing => {}
            Condition::Any(inner) => flat.extend(inner),
            Condition::Seek(seek) => {
                let own = flat.iter_mut().find_map(|own| match own {
                    Condition::Seek(own) if own.is_about(&seek) && own.path == seek.path => {
                        Some(own)
                    }
                    _ => None,
                });
                let Some(own) = own else {
                    flat.push(Condition::Seek(seek));
                    continue;
                };
                own.spans.extend(seek.spans);
                own.spans = unite(std::mem::take(&mut own.spans));
                own.is_exact &= seek.is_exact;
                join(&mut own.text, " or ", &seek.text);
            }
            Condition::All(_) => flat.push(part),
        }
    }
    one_or(flat, Condition::Nothing, Condition::Any)
}

fn one_or(
    mut parts: Vec<Condition>,
    none: Condition,
    many: fn(Vec<Condition>) -> Condition,
) -> Condition {
    match (parts.pop(), parts.is_empty()) {
        (None, _) => none,
        (Some(only), true) => only,
        (Some(last), false) => {
            parts.push(last);
            many(parts)
        }
    }
}
