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
mod bind;
mod context;
mod error;
mod eval;
mod full_text;
mod functions;
pub mod index;
mod memory;
mod operators;
mod paging;
mod plan;
mod policy;
mod sdk_plan;
mod source;
mod statement;
mod syntax;
mod value;

pub use advice::advice;
pub use bind::ComputedProperty;
pub use context::{DistanceFunction, UdfHost, VectorEmbedding};
pub use error::{Code, Diagnostic, Error, Result, Span};
pub use full_text::language::{FullTextPolicy, Language};
pub use functions::is_aggregate;
pub use memory::{MemoryPool, QUERY_BYTES_MAX};
pub use operators::{Metrics, Page, PageRequest};
pub use paging::resume_filter::ResumeFilter;
pub use paging::row::Row;
pub use plan::IndexUsage;
pub use policy::OrderPolicy;
pub use sdk_plan::{
    FILTER_PLACEHOLDER, Features, Refusal, epk_ranges, needs_gateway_refusal, query_plan,
    requires_distribution,
};
pub use source::metered_source::MeteredSource;
pub use source::union_source::{DEGREE_MAX, UnionSource};
pub use source::{
    Direction, Entries, IndexEntry, ItemIndex, ItemSource, Numbers, Parts, SourceItem, StoredItem,
    System,
};
pub use statement::{PrepareOptions, Statement};
pub use syntax::ast;
pub use syntax::lex::TEXT_LENGTH_MAX;
pub use syntax::parse::{DEPTH_MAX, SUBQUERY_DEPTH_MAX, parse};
pub use syntax::parse_cache::ParseCache;

/// Returns the text of a query as the planner prints it.
pub fn canonical_text(query: &ast::Query) -> String {
    syntax::format::query(query)
}

/// Returns name and one-sentence documentation of every built-in function.
pub fn function_list() -> Vec<(&'static str, &'static str)> {
    functions::functions().iter().map(|function| (function.name, function.doc)).collect()
}
