//! From annotations to the function that makes a scheme.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::attributes::{Role, StructAttributes, json_name};

/// The annotated fields by role, as JSON paths.
#[derive(Default)]
struct FieldAttributes {
    parts: Vec<(u32, String)>,
    base: Option<(String, bool)>,
    hashed: Option<String>,
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let attributes = StructAttributes::parse(input)?;
    let found = find(input, &attributes)?;
    let property = path(&attributes.property.value());
    let (scheme, body) = match found {
        FieldAttributes { parts, base: None, hashed: None } if !parts.is_empty() => {
            concat(input, &attributes, &property, &parts)?
        }
        FieldAttributes { parts, base: Some((base, true)), hashed: None } if parts.is_empty() => {
            suffix(input, &attributes, &quote!(RandomSuffix), &quote!(#property, #base))?
        }
        FieldAttributes { parts, base: Some((base, false)), hashed: Some(hashed) }
            if parts.is_empty() =>
        {
            suffix(input, &attributes, &quote!(HashedSuffix), &quote!(#property, #base, #hashed))?
        }
        _ => {
            return Err(Error::new_spanned(
                &input.ident,
                "annotate either parts, or a base with a hashed field, or a random base",
            ));
        }
    };
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::orrery_client::Partitioned for #name #type_generics #where_clause {
            type Scheme = ::orrery_client::#scheme;

            fn partition_scheme() -> ::orrery_client::Result<Self::Scheme> {
                let scheme = #body;
                ::core::result::Result::Ok(scheme)
            }
        }
    })
}

fn find(input: &DeriveInput, attributes: &StructAttributes) -> Result<FieldAttributes> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "only structs have a partition key"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(&input.ident, "only named fields have names in JSON"));
    };
    let mut found = FieldAttributes::default();
    for field in &fields.named {
        let Some(role) = Role::parse(field)? else { continue };
        let path = path(&json_name(field, attributes.rename_all.as_deref())?);
        let twice = || Error::new_spanned(field, "another field has this role");
        match role {
            // Fields without a number follow those with one, in the order they stand.
            Role::Part(number) => found.parts.push((number.unwrap_or(u32::MAX), path)),
            Role::Base { .. } if found.base.is_some() => return Err(twice()),
            Role::Base { is_random } => found.base = Some((path, is_random)),
            Role::Hashed if found.hashed.is_some() => return Err(twice()),
            Role::Hashed => found.hashed = Some(path),
        }
    }
    found.parts.sort_by_key(|(number, _)| *number);
    Ok(found)
}

/// A property name as a path; a name with a slash is quoted.
fn path(name: &str) -> String {
    match name.strip_prefix('/') {
        Some(_) => name.to_owned(),
        None if name.contains('/') => format!("/\"{name}\""),
        None => format!("/{name}"),
    }
}

fn concat(
    input: &DeriveInput,
    attributes: &StructAttributes,
    property: &str,
    parts: &[(u32, String)],
) -> Result<(TokenStream, TokenStream)> {
    if attributes.suffixes.is_some() {
        return Err(Error::new_spanned(&input.ident, "a joined key has no suffixes"));
    }
    let parts = parts.iter().map(|(_, path)| path);
    let separator = attributes.separator.iter();
    let escaped = attributes.is_escaped.then(|| quote!(.escaped()));
    let body = quote! {
        ::orrery_client::Concat::new(#property, [#(#parts),*])? #(.separator(#separator))* #escaped
    };
    Ok((quote!(Concat), body))
}

fn suffix(
    input: &DeriveInput,
    attributes: &StructAttributes,
    scheme: &TokenStream,
    arguments: &TokenStream,
) -> Result<(TokenStream, TokenStream)> {
    if attributes.separator.is_some() || attributes.is_escaped {
        return Err(Error::new_spanned(&input.ident, "a suffixed key has no separator of its own"));
    }
    let count = attributes.suffixes.iter();
    let body = quote!(::orrery_client::#scheme::new(#arguments)? #(.count(#count)?)*);
    Ok((scheme.clone(), body))
}
