//! Computes bound expressions over a row.
//!
//! Hot path: values are borrowed from the item; nothing here allocates unless an expression builds a value.
//! The recursion is as deep as the tree, which the parser bounds.

mod expression;
mod frame;
mod like;
mod operator;
mod rows;
mod written;

pub(crate) use expression::eval;
pub(crate) use frame::{Frame, Group};
pub(crate) use like::LikePattern;
pub(crate) use operator::{arithmetic, exact_quotient};
pub(crate) use rows::{Flow, GroupSet, SEEN_BYTES, answer, each_row, each_row_where};
pub(crate) use written::{copied_object, written_object};
