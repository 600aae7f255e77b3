//! Paths of the indexing policy: `/*`, `/a/?`, `/a/*`, `/a/[]/b/?`, `/"odd name"/?`.

use model::PropertyPath;

use crate::policy_error::PolicyError;

/// Where a path ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PathEnd {
    /// `/?`: the value itself.
    Scalar,
    /// `/*`: everything below.
    Subtree,
}

/// A checked path. Equal paths with different quotes are equal here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct IndexPath {
    /// Property names; an array step is `None`.
    pub(crate) segments: Vec<Option<String>>,
    pub(crate) end: PathEnd,
}

impl IndexPath {
    pub(crate) fn parse(text: &str) -> Result<IndexPath, PolicyError> {
        let invalid = |position| PolicyError::IndexPathInvalid { path: text.to_owned(), position };
        let (stem, end) = match (text.strip_suffix("/?"), text.strip_suffix("/*")) {
            (Some(stem), _) => (stem, PathEnd::Scalar),
            (None, Some(stem)) => (stem, PathEnd::Subtree),
            (None, None) => return Err(invalid(text.len())),
        };
        if stem.is_empty() && end == PathEnd::Scalar {
            return Err(invalid(1));
        }
        let mut segments = Vec::new();
        let mut rest = stem;
        while !rest.is_empty() {
            let position = text.len() - rest.len();
            if let Some(after) = rest.strip_prefix("/[]") {
                segments.push(None);
                rest = after;
                continue;
            }
            let (names, after) = rest.split_once("/[]").map_or((rest, ""), |(names, _)| {
                (names, rest.get(names.len()..).unwrap_or_default())
            });
            let path = PropertyPath::parse(names).map_err(|_| invalid(position))?;
            segments.extend(path.segments().iter().cloned().map(Some));
            rest = after;
        }
        Ok(IndexPath { segments, end })
    }

    /// `/*`.
    pub(crate) fn is_root(&self) -> bool {
        self.segments.is_empty() && self.end == PathEnd::Subtree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_end_in_a_question_mark_or_a_star() {
        for text in
            ["/*", "/a/?", "/a/*", "/a/b/?", "/a/[]/?", "/a/[]/b/?", "/\"_etag\"/?", "/'x y'/*"]
        {
            assert!(IndexPath::parse(text).is_ok(), "{text}");
        }
        for text in
            ["", "/", "/?", "*", "a/?", "/a", "/a/", "/a/[]", "//?", "/a//b/?", "/\"a/?", "/a/*/?"]
        {
            assert!(IndexPath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn quotes_do_not_make_another_path() {
        assert_eq!(IndexPath::parse("/\"_etag\"/?"), IndexPath::parse("/_etag/?"));
        assert_ne!(IndexPath::parse("/a/*"), IndexPath::parse("/a/?"));
        assert!(IndexPath::parse("/*").unwrap().is_root());
    }
}
