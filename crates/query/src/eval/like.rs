//! LIKE: `%` any run, `_` one character, `[a-f]` and `[^a-f]` sets.

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct LikePattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Run,
    One,
    Literal(char),
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Part {
    fn accepts(&self, c: char) -> bool {
        match self {
            Part::Run => false,
            Part::One => true,
            Part::Literal(own) => *own == c,
            Part::Set { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
            }
        }
    }
}

impl LikePattern {
    /// Returns the memory that a pattern takes at most, compiled and on the way there.
    pub(crate) fn bytes_max(pattern: &str) -> usize {
        // Its characters, in a list that grows, and a part or a range of a set for each.
        const BYTES_PER_CHAR: usize = size_of::<char>() * 3 + size_of::<Part>();
        pattern.len().saturating_mul(BYTES_PER_CHAR)
    }

    /// Compiles a pattern; every text is one.
    pub(crate) fn new(pattern: &str, escape: Option<char>) -> LikePattern {
        let chars: Vec<char> = pattern.chars().collect();
        let mut parts = Vec::with_capacity(chars.len());
        let mut index = 0;
        while let Some(&c) = chars.get(index) {
            index += 1;
            if Some(c) == escape {
                if let Some(&literal) = chars.get(index) {
                    parts.push(Part::Literal(literal));
                    index += 1;
                }
                continue;
            }
            match c {
                // Two runs are one; matching then never goes back further than the last run.
                '%' if parts.last() == Some(&Part::Run) => {}
                '%' => parts.push(Part::Run),
                '_' => parts.push(Part::One),
                '[' => match set(chars.get(index..).unwrap_or_default()) {
                    Some((part, length)) => {
                        parts.push(part);
                        index += length;
                    }
                    None => parts.push(Part::Literal('[')),
                },
                c => parts.push(Part::Literal(c)),
            }
        }
        LikePattern { parts }
    }

    /// Returns the only text that matches, if the pattern has no live wildcard.
    pub(crate) fn as_literal(&self) -> Option<String> {
        let literal = |part: &Part| match part {
            Part::Literal(c) => Some(*c),
            Part::Run | Part::One | Part::Set { .. } => None,
        };
        self.parts.iter().map(literal).collect()
    }

    /// Returns the characters that every matching text begins with.
    pub(crate) fn prefix(&self) -> String {
        let literal = |part: &Part| match part {
            Part::Literal(c) => Some(*c),
            Part::Run | Part::One | Part::Set { .. } => None,
        };
        self.parts.iter().map_while(literal).collect()
    }

    /// Says whether a text matches as soon as it begins with [`LikePattern::prefix`].
    pub(crate) fn is_prefix(&self) -> bool {
        let n_literals =
            self.parts.iter().take_while(|part| matches!(part, Part::Literal(_))).count();
        let rest = self.parts.get(n_literals..).unwrap_or_default();
        !rest.is_empty() && rest.iter().all(|part| matches!(part, Part::Run))
    }

    /// Returns whether the whole text matches. Time is bounded by text length times pattern length.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let (mut part, mut rest) = (0, text);
        let mut retry: Option<(usize, &str)> = None;
        loop {
            match self.parts.get(part) {
                Some(Part::Run) => {
                    part += 1;
                    retry = Some((part, rest));
                    continue;
                }
                Some(own) => {
                    let mut chars = rest.chars();
                    if chars.next().is_some_and(|c| own.accepts(c)) {
                        part += 1;
                        rest = chars.as_str();
                        continue;
                    }
                }
                None if rest.is_empty() => return true,
                None => {}
            }
            // Let the last run take one character more.
            let Some((after_run, from)) = retry else { return false };
            let mut chars = from.chars();
            if chars.next().is_none() {
                return false;
            }
            part = after_run;
            rest = chars.as_str();
            retry = Some((after_run, rest));
        }
    }
}

/// Reads a set after its bracket; returns it with its length, `None` when it never closes.
fn set(chars: &[char]) -> Option<(Part, usize)> {
    let negated = chars.first() == Some(&'^');
    let start = usize::from(negated);
    // A bracket right after the opening one is a member: `[[]` and `[]]`.
    let close = chars.iter().skip(start + 1).position(|c| *c == ']')? + start + 1;
    let members = chars.get(start..close)?;
    let mut ranges = Vec::new();
    let mut index = 0;
    while let Some(&low) = members.get(index) {
        if let (Some('-'), Some(&high)) = (members.get(index + 1), members.get(index + 2)) {
            ranges.push((low, high));
            index += 3;
        } else {
            ranges.push((low, low));
            index += 1;
        }
    }
    Some((Part::Set { negated, ranges }, close + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_sets_and_escapes() {
        #[rustfmt::skip]
        let table = [
            ("car%", None, "carpet", true), ("car%", None, "scar", false),
            ("%car", None, "scar", true), ("%a%b%", None, "xaxbx", true),
            ("c_r", None, "car", true), ("c_r", None, "caar", false),
            ("c[_]r", None, "c_r", true), ("c[_]r", None, "car", false),
            ("[a-d]ar", None, "car", true), ("[^a-d]ar", None, "car", false),
            ("[[]x", None, "[x", true), ("a]", None, "a]", true), ("[a", None, "[a", true),
            ("%!%", Some('!'), "50%", true), ("%!%", Some('!'), "50", false),
            ("", None, "", true), ("%", None, "", true), ("_", None, "😀", true),
        ];
        for (pattern, escape, text, expected) in table {
            let compiled = LikePattern::new(pattern, escape);
            assert_eq!(compiled.matches(text), expected, "{text} LIKE {pattern}");
        }
    }

    #[test]
    fn a_pattern_without_live_wildcards_is_a_text() {
        assert_eq!(LikePattern::new("a!%", Some('!')).as_literal().as_deref(), Some("a%"));
        assert_eq!(LikePattern::new("a%", None).as_literal(), None);
    }
}
