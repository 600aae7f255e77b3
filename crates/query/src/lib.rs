//! The query language: text → tokens → tree → bound tree → operators → pages.
//!
//! Doors: [`parse`] (text to tree), [`Statement`] (prepare once, run on any [`ItemSource`], page by page),
//! [`query_plan`] (the document that SDKs fetch to fan out themselves), [`epk_ranges`] (which ranges can hold
//! results).
//!
//! Invariants:
//! - Undefined is `None`; it never reaches a row.
//! - No text can make the parser, the binder or the evaluator panic, hang or grow without bound; every
//!   bound is a named constant.
//! - A continuation is a position, never server state.
//!
//! Deliberately absent: storage, HTTP, the map of ranges, JavaScript (see [`UdfHost`]).

#![warn(missing_docs)]

mod advice;
mod ahead;
pub mod ast;
mod bind;
mod common_words;
mod context;
mod continuation;
mod error;
mod eval;
mod format;
mod functions;
pub mod index;
mod item;
mod language;
mod lex;
mod mark;
mod merged;
mod operators;
mod parse;
mod parse_cache;
mod places;
mod plan;
mod policy;
mod resume;
mod row;
mod sort_key;
mod source;
mod statement;
mod value;
mod watched;

pub use advice::advice;
pub use bind::ComputedProperty;
pub use context::{DistanceFunction, UdfHost, VectorEmbedding};
pub use error::{Code, Diagnostic, Error, Result, Span};
pub use language::{FullTextPolicy, Language};
pub use lex::TEXT_LENGTH_MAX;
pub use merged::{DEGREE_MAX, MergedSource};
pub use operators::{Metrics, Page, PageRequest};
pub use parse::{DEPTH_MAX, SUBQUERY_DEPTH_MAX, parse};
pub use parse_cache::ParseCache;
pub use plan::{
    Features, IndexUsage, Refusal, epk_ranges, needs_gateway_refusal, query_plan,
    requires_distribution,
};
pub use policy::OrderPolicy;
pub use resume::ResumeFilter;
pub use row::Row;
pub use source::{
    Direction, Entries, IndexEntry, ItemIndex, ItemSource, Numbers, Parts, SourceItem, StoredItem,
    System,
};
pub use statement::{PrepareOptions, Statement};
pub use watched::WatchedSource;

/// Returns the text of a query as the planner prints it.
pub fn canonical_text(query: &ast::Query) -> String {
    format::query(query)
}

/// Returns name and one-sentence documentation of every built-in function.
pub fn function_list() -> Vec<(&'static str, &'static str)> {
    functions::functions().iter().map(|function| (function.name, function.doc)).collect()
}
