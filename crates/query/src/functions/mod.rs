//! The built-in functions: one table entry each, one file per family.
//!
//! General rule: an undefined argument or one of the wrong type makes the result undefined, never an error.

mod array;
mod conversion;
mod datetime;
mod footprint;
mod fulltext;
mod item;
mod letter_case;
mod math;
mod regex;
mod set;
mod spatial;
mod string;
mod string_search;
mod table;
mod types;
mod vector;

pub(crate) use footprint::{shape_bytes_max, value_words_bytes, words_bytes, written_bytes};
pub use table::is_aggregate;
pub(crate) use table::{AggregateKind, Arity, Function, Role, find, functions};
pub(crate) use vector::{VectorOptions, is_vector};

use crate::context::{Context, Run};
use crate::error::Result;
use crate::full_text::language::Language;
use crate::value::Maybe;

/// What a function body sees beside its arguments.
pub(crate) struct Call<'c> {
    pub(crate) context: &'c Context,
    pub(crate) prepared: &'c Prepared,
}

/// A scalar function: takes the arguments, may move them out.
pub(crate) type Body = for<'e> fn(&Call<'_>, &mut [Maybe<'e>]) -> Maybe<'e>;

/// A scalar function whose work the length of its arguments does not bound: it counts what it does, and may be ended.
pub(crate) type LongBody = for<'e> fn(&Call<'_>, &Run<'_>, &mut [Maybe<'e>]) -> Result<Maybe<'e>>;

/// Work done once when the query is bound, not once per row.
#[derive(Debug, Default)]
pub(crate) enum Prepared {
    /// Nothing to prepare.
    #[default]
    Nothing,
    /// A constant regular expression; `None` when it is invalid.
    Regex(Option<Pattern>),
    /// The settings of a vector comparison.
    Vector(VectorOptions),
    /// The arguments of a spatial function.
    Shapes(Vec<ShapeArgument>),
    /// The language of a text, and constant search terms, tokenised.
    Text {
        /// The language.
        language: Language,
        /// The terms, if all are constant; `None` for one that is none.
        terms: Option<Vec<Option<SearchTerm>>>,
    },
}

impl Prepared {
    /// Returns the language of a function on texts.
    pub(crate) fn language(&self) -> Option<Language> {
        match self {
            Prepared::Text { language, .. } => Some(*language),
            Prepared::Nothing | Prepared::Regex(_) | Prepared::Vector(_) | Prepared::Shapes(_) => {
                None
            }
        }
    }
}

pub(crate) use fulltext::{SearchTerm, Statistics, bm25_of_counts, prepare as prepare_text};
pub(crate) use regex::{Pattern, pattern_arguments, prepare as prepare_regex};
pub(crate) use spatial::{Bounds, Extent, ShapeArgument, extent};
pub(crate) use vector::{prepare as prepare_vector, similarity};
