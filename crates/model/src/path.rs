//! Paths to a property of an item, as partition key definitions and policies write them.
//!
//! `/address/zip` names nested properties. A segment may be quoted with `"` or `'` and then hold
//! any character; inside quotes a backslash makes the quote or a backslash literal. Array indexes
//! and wildcards are not paths to a property and are refused.

#![deny(clippy::indexing_slicing)]

use std::{fmt, str::FromStr};

use crate::{Failure, Status, json::DEPTH_MAX};

/// Limit: segments of one path. A deeper one could never match, since items are not that deep.
const SEGMENTS_MAX: usize = DEPTH_MAX;

/// Limit: bytes of one path as written.
const PATH_BYTES_MAX: usize = 4096;

/// A path to a property. Invariant: at least one segment, none of them empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyPath(Vec<String>);

/// Why a text is not a path to a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Paths start with `/`.
    #[error("the path must start with '/'")]
    NoSlash,
    /// Nothing between two slashes, or after the last.
    #[error("the path has an empty segment")]
    EmptySegment,
    /// A quote without its partner, or text right after a closing quote.
    #[error("the path has an unbalanced quote")]
    Quote,
    /// `*`, `?` or `[]` where a property name must stand.
    #[error("the path must name properties only, without wildcard or array index")]
    Wildcard,
    /// More than any item could hold.
    #[error("the path is too long")]
    TooLong,
}

impl Failure for PathError {
    fn status(&self) -> Status {
        match self {
            Self::NoSlash | Self::EmptySegment | Self::Quote | Self::Wildcard | Self::TooLong => {
                Status::BAD_REQUEST
            }
        }
    }
}

impl PropertyPath {
    /// Parses a path such as `/a/"b c"/d`.
    pub fn parse(text: &str) -> Result<PropertyPath, PathError> {
        if text.len() > PATH_BYTES_MAX {
            return Err(PathError::TooLong);
        }
        if !text.starts_with('/') {
            return Err(PathError::NoSlash);
        }
        let mut segments = Vec::new();
        let mut rest = text;
        while let Some(after_slash) = rest.strip_prefix('/') {
            if segments.len() == SEGMENTS_MAX {
                return Err(PathError::TooLong);
            }
            let (segment, left) = parse_segment(after_slash)?;
            segments.push(segment);
            rest = left;
        }
        if rest.is_empty() { Ok(PropertyPath(segments)) } else { Err(PathError::Quote) }
    }

    /// Makes a path from property names; `None` if there are none or one is empty.
    pub fn from_segments<S: Into<String>>(
        segments: impl IntoIterator<Item = S>,
    ) -> Option<PropertyPath> {
        let segments: Vec<String> = segments.into_iter().map(Into::into).collect();
        let is_path = !segments.is_empty() && segments.iter().all(|segment| !segment.is_empty());
        is_path.then_some(PropertyPath(segments))
    }

    /// Returns the property names from the outside in.
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for PropertyPath {
    /// Writes the canonical form: quotes only where a segment needs them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            if is_plain(segment) {
                write!(f, "/{segment}")?;
            } else {
                let escaped = segment.replace('\\', "\\\\").replace('"', "\\\"");
                write!(f, "/\"{escaped}\"")?;
            }
        }
        Ok(())
    }
}

impl FromStr for PropertyPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<PropertyPath, PathError> {
        PropertyPath::parse(text)
    }
}

fn is_plain(segment: &str) -> bool {
    segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Takes one segment off the front and returns it with what follows: nothing, or the next slash.
fn parse_segment(text: &str) -> Result<(String, &str), PathError> {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => parse_quoted(&text[1..], quote),
        _ => parse_unquoted(text),
    }
}

fn parse_unquoted(text: &str) -> Result<(String, &str), PathError> {
    let end = text.find('/').unwrap_or(text.len());
    let segment = text[..end].trim();
    match segment {
        "" => Err(PathError::EmptySegment),
        "*" | "?" => Err(PathError::Wildcard),
        _ if segment.starts_with('[') => Err(PathError::Wildcard),
        _ if segment.contains(['"', '\'']) => Err(PathError::Quote),
        _ => Ok((segment.to_owned(), &text[end..])),
    }
}

fn parse_quoted(text: &str, quote: char) -> Result<(String, &str), PathError> {
    let mut segment = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        if character == quote {
            let rest = &text[index + 1..];
            let is_empty = segment.is_empty();
            return if is_empty { Err(PathError::EmptySegment) } else { Ok((segment, rest)) };
        }
        let escaped =
            characters.next_if(|&(_, next)| character == '\\' && (next == quote || next == '\\'));
        segment.push(escaped.map_or(character, |(_, next)| next));
    }
    Err(PathError::Quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, segments: &[&str], canonical: &str) {
        let path = PropertyPath::parse(text).unwrap();
        assert_eq!(path.segments(), segments, "{text}");
        assert_eq!(path.to_string(), canonical, "{text}");
        assert_eq!(PropertyPath::parse(canonical), Ok(path), "the canonical form reads back");
    }

    #[test]
    fn plain_nested_and_quoted_paths_parse() {
        check("/pk", &["pk"], "/pk");
        check("/address/zip", &["address", "zip"], "/address/zip");
        check(r#"/a/"b c"/d"#, &["a", "b c", "d"], r#"/a/"b c"/d"#);
        check("/'a/b'", &["a/b"], r#"/"a/b""#);
        check(r#"/"plain""#, &["plain"], "/plain");
        check(r#"/"say \"hi\"""#, &[r#"say "hi""#], r#"/"say \"hi\"""#);
        check(r"/'it\'s'", &["it's"], r#"/"it's""#);
        check(r#"/"back\\slash""#, &[r"back\slash"], r#"/"back\\slash""#);
        check(r#"/"lone\x""#, &[r"lone\x"], r#"/"lone\\x""#);
        check("/ padded ", &["padded"], "/padded");
        check("/größe", &["größe"], r#"/"größe""#);
        check("/a-b", &["a-b"], r#"/"a-b""#);
        check(r#"/"*""#, &["*"], r#"/"*""#);
    }

    #[test]
    fn other_texts_are_refused() {
        #[rustfmt::skip]
        let table = [
            ("", PathError::NoSlash), ("pk", PathError::NoSlash),
            ("/", PathError::EmptySegment), ("//a", PathError::EmptySegment), ("/a/", PathError::EmptySegment),
            ("/ ", PathError::EmptySegment), ("/\"\"", PathError::EmptySegment),
            ("/a/?", PathError::Wildcard), ("/*", PathError::Wildcard), ("/a/[]/b", PathError::Wildcard),
            ("/\"a", PathError::Quote), ("/'a\"", PathError::Quote), ("/\"a\"b", PathError::Quote),
            ("/a\"b", PathError::Quote), ("/\"a\\\"", PathError::Quote),
        ];
        for (text, expected) in table {
            assert_eq!(PropertyPath::parse(text), Err(expected), "{text}");
        }
        assert_eq!(PropertyPath::parse(&"/a".repeat(SEGMENTS_MAX + 1)), Err(PathError::TooLong));
        assert_eq!(PropertyPath::parse(&"/".repeat(1 << 20)), Err(PathError::TooLong));
    }

    #[test]
    fn segments_make_a_path_unless_empty() {
        assert_eq!(PropertyPath::from_segments(["a", "b"]), PropertyPath::parse("/a/b").ok());
        assert_eq!(PropertyPath::from_segments(Vec::<String>::new()), None);
        assert_eq!(PropertyPath::from_segments([""]), None);
    }
}
