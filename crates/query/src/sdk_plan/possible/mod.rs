//! Which values an expression can have, so that filters that can never hold read nothing.
//!
//! Abstract interpretation: [`Values`] is a superset of what an expression can be, [`Facts`] of what the paths of an item
//! can be where a condition holds. Whatever is not understood can be anything, so a filter is only found impossible when
//! it is.

mod calls;
mod expr;
mod facts;
mod values;

pub(super) use facts::Facts;
