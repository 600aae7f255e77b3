//! Where a patch operation points: `/a/b~1c/0`.

use model::Value;

/// A parsed path. Invariant: at least one segment, none empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer(Vec<String>);

impl Pointer {
    pub(super) fn parse(text: &str) -> Option<Pointer> {
        let segments: Option<Vec<String>> =
            text.strip_prefix('/')?.split('/').map(unescape).collect();
        Some(Pointer(segments?))
    }

    pub(super) fn segments(&self) -> &[String] {
        &self.0
    }

    /// The path to the parent, and the name or index inside it.
    pub(super) fn split(&self) -> (&[String], &str) {
        match self.0.split_last() {
            Some((last, parent)) => (parent, last),
            None => (&[], ""),
        }
    }

    /// Returns true when `other` lies below this.
    pub(super) fn is_above(&self, other: &Pointer) -> bool {
        other.0.len() > self.0.len() && other.0.starts_with(&self.0)
    }
}

fn unescape(segment: &str) -> Option<String> {
    if segment.is_empty() {
        return None;
    }
    let mut pieces = segment.split('~');
    let mut plain = pieces.next()?.to_owned();
    for piece in pieces {
        let (mark, rest) = piece.split_at_checked(1)?;
        plain.push(match mark {
            "0" => '~',
            "1" => '/',
            _ => return None,
        });
        plain.push_str(rest);
    }
    Some(plain)
}

/// Finds the node at `path`; fails with the first segment that does not exist.
pub(super) fn descend<'v, 'p>(
    root: &'v mut Value,
    path: &'p [String],
) -> Result<&'v mut Value, &'p str> {
    let mut node = root;
    for segment in path {
        let below = match node {
            Value::Object(object) => object.get_mut(segment),
            Value::Array(values) => index(segment).and_then(|index| values.get_mut(index)),
            _ => None,
        };
        node = below.ok_or(segment.as_str())?;
    }
    Ok(node)
}

/// Reads an array index: digits without a leading zero.
pub(super) fn index(segment: &str) -> Option<usize> {
    let is_plain = segment.bytes().all(|byte| byte.is_ascii_digit())
        && (segment.len() == 1 || !segment.starts_with('0'));
    if is_plain { segment.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_unescape_and_reject_what_is_no_path() {
        #[rustfmt::skip]
        let table: [(&str, Option<&[&str]>); 12] = [
            ("/a",        Some(&["a"])),
            ("/a/b/0",    Some(&["a", "b", "0"])),
            ("/a~1b",     Some(&["a/b"])),
            ("/a~0b",     Some(&["a~b"])),
            ("/~01",      Some(&["~1"])),
            ("/é/-",      Some(&["é", "-"])),
            ("",          None),
            ("/",         None),
            ("a",         None),
            ("/a//b",     None),
            ("/a/",       None),
            ("/a~2",      None),
        ];
        for (text, expected) in table {
            let parsed = Pointer::parse(text).map(|pointer| pointer.0);
            let expected = expected.map(|all| all.iter().map(|s| (*s).to_owned()).collect());
            assert_eq!(parsed, expected, "{text}");
        }
        for broken in ["/~", "/a~", "/~é"] {
            assert_eq!(Pointer::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn indexes_are_plain_numbers() {
        for (text, expected) in
            [("0", Some(0)), ("12", Some(12)), ("01", None), ("-", None), ("", None), ("+1", None)]
        {
            assert_eq!(index(text), expected, "{text}");
        }
        assert_eq!(index("99999999999999999999999"), None);
    }
}
