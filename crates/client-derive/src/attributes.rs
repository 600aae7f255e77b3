//! What stands in `#[partition(…)]` and in the `#[serde(…)]` beside it.

use syn::punctuated::Punctuated;
use syn::{
    Attribute, DeriveInput, Error, Field, Lit, LitChar, LitInt, LitStr, Meta, Result, Token,
};

/// The annotations of a struct.
pub(crate) struct StructAttributes {
    pub(crate) property: LitStr,
    pub(crate) separator: Option<LitChar>,
    pub(crate) is_escaped: bool,
    pub(crate) suffixes: Option<LitInt>,
    pub(crate) rename_all: Option<String>,
}

/// What a field is to the key.
pub(crate) enum Role {
    /// Joined, in the order of the numbers; fields without one follow in the order they stand.
    Part(Option<u32>),
    /// Suffixed.
    Base { is_random: bool },
    /// The suffix is computed from it.
    Hashed,
}

impl StructAttributes {
    pub(crate) fn parse(input: &DeriveInput) -> Result<StructAttributes> {
        let (mut property, mut separator, mut is_escaped, mut suffixes) = (None, None, false, None);
        for attribute in partition_attributes(&input.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("property") {
                    property = Some(meta.value()?.parse::<LitStr>()?);
                } else if meta.path.is_ident("separator") {
                    separator = Some(meta.value()?.parse::<LitChar>()?);
                } else if meta.path.is_ident("escaped") {
                    is_escaped = true;
                } else if meta.path.is_ident("suffixes") {
                    suffixes = Some(meta.value()?.parse::<LitInt>()?);
                } else {
                    return Err(meta.error("expected property, separator, escaped or suffixes"));
                }
                Ok(())
            })?;
        }
        let missing = "say where the key is written: #[partition(property = \"pk\")]";
        Ok(StructAttributes {
            property: property.ok_or_else(|| Error::new_spanned(&input.ident, missing))?,
            separator,
            is_escaped,
            suffixes,
            rename_all: serde_value(&input.attrs, "rename_all")?,
        })
    }
}

impl Role {
    /// Reads the role of a field, `None` if it has no annotation.
    pub(crate) fn parse(field: &Field) -> Result<Option<Role>> {
        let mut role = None;
        let mut is_random = false;
        for attribute in partition_attributes(&field.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("part") {
                    let number = if meta.input.peek(Token![=]) {
                        Some(meta.value()?.parse::<LitInt>()?.base10_parse()?)
                    } else {
                        None
                    };
                    role = Some(Role::Part(number));
                } else if meta.path.is_ident("base") {
                    role = Some(Role::Base { is_random });
                } else if meta.path.is_ident("hashed") {
                    role = Some(Role::Hashed);
                } else if meta.path.is_ident("random") {
                    is_random = true;
                } else {
                    return Err(meta.error("expected part, base, random or hashed"));
                }
                Ok(())
            })?;
        }
        match role {
            Some(Role::Base { .. }) => Ok(Some(Role::Base { is_random })),
            _ if is_random => Err(Error::new_spanned(field, "random stands beside base")),
            role => Ok(role),
        }
    }
}

fn partition_attributes(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|it| it.path().is_ident("partition"))
}

/// The name of a field in JSON.
pub(crate) fn json_name(field: &Field, rename_all: Option<&str>) -> Result<String> {
    if let Some(name) = serde_value(&field.attrs, "rename")? {
        return Ok(name);
    }
    let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let name = ident.trim_start_matches("r#");
    match rename_all {
        None | Some("snake_case") => Ok(name.to_owned()),
        Some("camelCase") => Ok(joined(name, false)),
        Some("PascalCase") => Ok(joined(name, true)),
        Some("lowercase") => Ok(name.to_lowercase()),
        Some("UPPERCASE" | "SCREAMING_SNAKE_CASE") => Ok(name.to_uppercase()),
        Some("kebab-case") => Ok(name.replace('_', "-")),
        Some("SCREAMING-KEBAB-CASE") => Ok(name.to_uppercase().replace('_', "-")),
        Some(other) => Err(Error::new_spanned(field, format!("unknown rename_all {other:?}"))),
    }
}

/// Words without underscores, each with a capital; the first only if asked for.
fn joined(name: &str, is_first_capital: bool) -> String {
    let mut text = String::new();
    let mut is_capital = is_first_capital;
    for c in name.chars() {
        if c == '_' {
            is_capital = true;
        } else if is_capital {
            text.extend(c.to_uppercase());
            is_capital = false;
        } else {
            text.push(c);
        }
    }
    text
}

/// Finds `name = "…"` in `#[serde(…)]`, also as `name(serialize = "…")`, and leaves all else alone.
fn serde_value(attributes: &[Attribute], name: &str) -> Result<Option<String>> {
    for attribute in attributes.iter().filter(|it| it.path().is_ident("serde")) {
        let parts = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
        for part in parts.iter().filter(|it| it.path().is_ident(name)) {
            match part {
                Meta::NameValue(pair) => return Ok(text_of(&pair.value)),
                Meta::List(list) => {
                    let inner =
                        list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
                    let mut pairs = inner.iter().filter(|it| it.path().is_ident("serialize"));
                    if let Some(Meta::NameValue(pair)) = pairs.next() {
                        return Ok(text_of(&pair.value));
                    }
                }
                Meta::Path(_) => {}
            }
        }
    }
    Ok(None)
}

fn text_of(value: &syn::Expr) -> Option<String> {
    match value {
        syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}
