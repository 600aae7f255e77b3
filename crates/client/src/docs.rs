//! The documents of this crate: their code is compiled, and run where it needs no server.

#[doc = include_str!("../../../docs/resolvers.md")]
mod resolvers {}

#[doc = include_str!("../../../docs/synthetic-keys.md")]
mod synthetic_keys {}

#[doc = include_str!("../../../docs/rekey.md")]
mod rekey {}
