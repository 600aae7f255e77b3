//! Pages and where they resume: rows, sort keys, bookmarks and continuation tokens.
//!
//! Invariant: a continuation names values and items, never counts or server state, so it means the same after writes and
//! in every layout of the ranges. Fused ranks are the exception, which depend on the whole set.

pub(crate) mod continuation;
pub(crate) mod resume_filter;
pub(crate) mod row;
pub(crate) mod sort_bookmark;
pub(crate) mod sort_key;
