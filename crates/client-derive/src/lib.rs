//! `#[derive(Partitioned)]`: the synthetic partition key of a type, from its annotated fields.
//!
//! The macro only reads annotations and writes one function that makes the scheme; what a scheme does is in
//! `orrery-client`, which re-exports this macro. Names are those of the JSON: `#[serde(rename)]` and
//! `#[serde(rename_all)]` are honoured.

mod attributes;
mod expand;

use proc_macro::TokenStream;

/// Derives `orrery_client::Partitioned` for a struct with named fields.
///
/// On the struct: `#[partition(property = "pk")]` names the property that is written, and optionally
/// `separator = '-'` and `escaped` for joined keys, `suffixes = 400` for suffixed ones. On fields:
/// `#[partition(part)]` or `#[partition(part = 2)]` joins the field, in order; `#[partition(base)]` is suffixed,
/// by a number that comes from the field with `#[partition(hashed)]`, or at random with
/// `#[partition(random)]` on the base itself.
#[proc_macro_derive(Partitioned, attributes(partition))]
pub fn derive_partitioned(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
