//! What expressions compute with: [`Datum`], equality, comparison and canonical keys.
//!
//! Undefined is `None`, everywhere. It is a value of expressions only and never reaches a row.

mod datum;
mod equal;
mod hash;
mod key;

pub(crate) use datum::{Datum, Maybe, Step, boolean, integer, is_finite, number, text};
pub(crate) use equal::{compare, equal, equal_values, has_nan};
pub(crate) use hash::{Hash128, digest, structural_hash};
pub(crate) use key::{key_bytes_max, push_key, value_key};
