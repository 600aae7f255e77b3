//! Operations on metadata resources, the same for every kind: create, read, replace, delete, list, query.

mod answer;
mod find;
mod price;
mod read;
mod write;

pub(crate) use answer::{catalog_facts, first_range_facts};
pub(crate) use find::check_intended;
pub(crate) use read::{list, query, read};
pub(crate) use write::{create, delete, replace};
