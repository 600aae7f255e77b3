//! The indexes as the planner and a source agree on it: paths, terms, spans of terms, the policy.
//!
//! A *term* is one value of one item at one path, as bytes whose order is the order of values. Whoever keeps an
//! index stores `path · term · item number` in byte order; it needs to know nothing about values.
//!
//! Invariants:
//! - Every defined value at a path that the policy covers has a term there; arrays and objects have one too, without
//!   their content, beside the terms of what they hold. Elements of arrays stand at the path with `[]`.
//! - No term is the beginning of another one, so a span of terms is also a span of `term · item number`.
//! - A term can stand for several values (a long text is cut), never the other way round: what an index finds is
//!   checked again on the item, unless each term in question stands for one value (`Term::is_exact`).

mod composite;
mod declared;
mod path;
mod policy;
mod span;
mod spatial;
mod term;
mod vectors;
mod walk;
mod words;

pub use composite::{Composite, CompositePart};
pub(crate) use composite::{push_part, span_below};
pub use declared::Declared;
pub use path::{IndexPath, PathStep};
pub use policy::IndexPolicy;
pub use span::TermSpan;
pub(crate) use span::{intersect, unite};
pub use spatial::Spatial;
pub use term::{TERM_TEXT_BYTES_MAX, Term};
pub(crate) use term::{Tag, span_of_prefix, successor};
pub(crate) use vectors::unpack;
pub use walk::{Counted, PATH_BYTES_MAX, each_term, each_vector};
pub(crate) use words::{is_exact_word, length_of, length_span, word_span};
