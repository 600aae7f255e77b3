//! Parts of a text as a tree, without a look at the rest.
//!
//! Hot path: runs over every item that a query reads. What is not picked is skipped as bytes, and reading ends with the
//! last part that is wanted; nothing is allocated but what is picked.
//!
//! Invariant: the text was checked when it was written ([`super::ItemBody::parse`]), so no object has a name twice and the
//! first one found is the only one. A text that is broken nevertheless gives an error or some tree, never a panic.

#![deny(clippy::indexing_slicing)]

use super::{JsonError, Number, Object, Value, error::JsonFault, parse, scan, text::Text};

// Limit: names of a path that are told apart; below, all is picked. Bounds the recursion over picks.
const PATH_MAX: usize = 16;

/// Which parts of a value are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picks {
    /// All of it.
    Whole,
    /// The properties with these names, each once; of a value that is no object, nothing.
    Members(Vec<(String, Picks)>),
}

impl Picks {
    /// Picks nothing yet.
    pub const NOTHING: Picks = Picks::Members(Vec::new());

    /// Adds what stands at the end of a path of names.
    pub fn add<'n>(&mut self, path: impl IntoIterator<Item = &'n str>) {
        let mut own = self;
        for name in path.into_iter().take(PATH_MAX) {
            let Picks::Members(members) = own else { return };
            let at = members.iter().position(|(known, _)| known == name).unwrap_or(members.len());
            if at == members.len() {
                members.push((name.to_owned(), Picks::NOTHING));
            }
            let Some((_, below)) = members.get_mut(at) else { return };
            own = below;
        }
        *own = Picks::Whole;
    }

    /// Returns whether all is picked.
    pub fn is_whole(&self) -> bool {
        matches!(self, Picks::Whole)
    }

    /// Returns the properties that are picked by name.
    pub fn members(&self) -> &[(String, Picks)] {
        match self {
            Picks::Whole => &[],
            Picks::Members(members) => members,
        }
    }
}

/// Returns an object with the properties that are picked, in the order of the text.
///
/// What is picked of a value that is no object is `null`: a path through it leads nowhere either way. With `n_absent` the
/// caller says how many of the picked properties it knows not to be there, so that they are not looked for to the end.
pub fn pick(text: &[u8], picks: &Picks, n_absent: usize) -> Result<Value, JsonError> {
    match picks {
        Picks::Whole => parse(text),
        Picks::Members(members) => {
            let mut scanner = Scanner { text, at: 0 };
            scanner.space();
            let n_wanted = members.len().saturating_sub(n_absent);
            Ok(scanner.members(members, n_wanted)?.0)
        }
    }
}

pub(super) struct Scanner<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
}

/// What is between the quotes of a name, and whether it has escapes.
pub(super) type Name<'t> = (&'t [u8], bool);

/// Whether the scanner stands behind the value, or somewhere inside because all was found.
#[derive(PartialEq, Eq)]
enum StoppedAt {
    Behind,
    Inside,
}

impl<'t> Scanner<'t> {
    /// Reads the properties of the object at the place; recursion is bounded by the depth of the picks.
    fn members(
        &mut self,
        picks: &[(String, Picks)],
        n_wanted: usize,
    ) -> Result<(Value, StoppedAt), JsonError> {
        if self.peek() != Some(b'{') {
            self.skip()?;
            return Ok((Value::Null, StoppedAt::Behind));
        }
        let mut object = Object::with_capacity(n_wanted);
        if n_wanted == 0 {
            return Ok((Value::Object(object), StoppedAt::Inside));
        }
        self.at += 1;
        loop {
            let Some(name) = self.next_name()? else {
                return Ok((Value::Object(object), StoppedAt::Behind));
            };
            let Some((name, below)) = picks.iter().find(|(own, _)| is(name, own)) else {
                self.skip()?;
                continue;
            };
            let is_last = object.len() + 1 == n_wanted;
            let value = match below {
                Picks::Whole => self.value()?,
                Picks::Members(members) => {
                    let start = self.at;
                    let (value, place) = self.members(members, members.len())?;
                    if place == StoppedAt::Inside && !is_last {
                        self.at = start;
                        self.skip()?;
                    }
                    value
                }
            };
            object.push_new(name.clone(), value);
            if is_last {
                return Ok((Value::Object(object), StoppedAt::Inside));
            }
        }
    }

    /// Moves to the value of the next property and returns the name of it; behind the object there is none.
    #[inline]
    pub(super) fn next_name(&mut self) -> Result<Option<Name<'t>>, JsonError> {
        loop {
            self.space();
            match self.peek() {
                Some(b'"') => break,
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(None);
                }
                other => return Err(self.unexpected(other)),
            }
        }
        let name = self.string()?;
        self.space();
        self.expect(b':')?;
        self.space();
        Ok(Some(name))
    }

    /// Moves into the object at the place; says whether there is one.
    pub(super) fn enter(&mut self) -> bool {
        self.space();
        let is_object = self.peek() == Some(b'{');
        self.at += usize::from(is_object);
        is_object
    }

    /// Moves behind the value at the place and returns its bytes, and whether it is a string with escapes.
    #[inline]
    pub(super) fn raw(&mut self) -> Result<(&'t [u8], bool), JsonError> {
        let start = self.at;
        let has_escapes = if self.peek() == Some(b'"') {
            self.string()?.1
        } else {
            self.skip()?;
            false
        };
        Ok((self.text.get(start..self.at).unwrap_or_default(), has_escapes))
    }

    /// Reads the whole value at the place.
    fn value(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        let first = self.peek();
        if first == Some(b'"') {
            let (raw, has_escapes) = self.string()?;
            let text = Text::new(utf8(raw, start)?, has_escapes);
            return Ok(Value::String(text.decode().into_owned()));
        }
        self.skip()?;
        let bytes = self.text.get(start..self.at).unwrap_or_default();
        match (first, bytes) {
            (_, b"true") => Ok(Value::Bool(true)),
            (_, b"false") => Ok(Value::Bool(false)),
            (_, b"null") => Ok(Value::Null),
            (Some(b'-' | b'0'..=b'9'), _) => {
                Ok(Value::Number(Number::from_checked_text(utf8(bytes, start)?)))
            }
            _ => parse(bytes),
        }
    }

    /// Moves behind the value at the place.
    fn skip(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{' | b'[') => self.skip_open(),
            Some(b',' | b'}' | b']') | None => Err(self.unexpected(self.peek())),
            Some(_) => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
                Ok(())
            }
        }
    }

    /// Moves behind the object or array at the place. Only brackets outside of strings count.
    fn skip_open(&mut self) -> Result<(), JsonError> {
        let mut n_open = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                    continue;
                }
                Some(b'{' | b'[') => n_open += 1,
                Some(b'}' | b']') => n_open -= 1,
                Some(_) => {}
                None => return Err(self.unexpected(None)),
            }
            self.at += 1;
            if n_open == 0 {
                return Ok(());
            }
        }
    }

    /// Reads the string at the place: what is between its quotes, and whether it has escapes.
    #[inline]
    fn string(&mut self) -> Result<(&'t [u8], bool), JsonError> {
        let start = self.at + 1;
        let plain = scan::plain_length(self.text.get(start..).unwrap_or_default());
        let mut end = start + plain;
        let has_escapes = self.text.get(end) != Some(&b'"');
        if has_escapes {
            end = scan::string_end(self.text, end)
                .map_err(|(fault, offset)| JsonError { fault, offset })?;
        }
        self.at = end + 1;
        Ok((self.text.get(start..end).unwrap_or_default(), has_escapes))
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(self.peek()));
        }
        self.at += 1;
        Ok(())
    }

    fn unexpected(&self, found: Option<u8>) -> JsonError {
        let fault = if found.is_some() { JsonFault::Unexpected } else { JsonFault::End };
        JsonError { fault, offset: self.at }
    }
}

/// Says whether a name as written stands for `other`.
#[inline]
pub(super) fn is((raw, has_escapes): Name<'_>, other: &str) -> bool {
    if !has_escapes {
        return raw == other.as_bytes();
    }
    std::str::from_utf8(raw).is_ok_and(|raw| Text::new(raw, true).is(other))
}

fn utf8(bytes: &[u8], offset: usize) -> Result<&str, JsonError> {
    std::str::from_utf8(bytes)
        .map_err(|error| JsonError { fault: JsonFault::Utf8, offset: offset + error.valid_up_to() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(paths: &[&str]) -> Picks {
        let mut picks = Picks::NOTHING;
        for path in paths {
            picks.add(path.split('.'));
        }
        picks
    }

    #[track_caller]
    fn check(text: &str, paths: &[&str], expected: &str) {
        let value = pick(text.as_bytes(), &picks(paths), 0).unwrap();
        assert_eq!(value.to_text(), expected, "{paths:?} of {text}");
    }

    #[test]
    fn only_what_is_picked_is_there() {
        let text = r#" { "a" : 1 , "b" : {"x":[1,{"y":"}"}],"y":"\"}","z":{"w":true}}, "c":null,"d":-1.50e3 } "#;
        check(text, &[], "{}");
        check(text, &["a"], r#"{"a":1}"#);
        check(text, &["d", "a"], r#"{"a":1,"d":-1.50e3}"#);
        check(text, &["b"], r#"{"b":{"x":[1,{"y":"}"}],"y":"\"}","z":{"w":true}}}"#);
        check(text, &["b.x"], r#"{"b":{"x":[1,{"y":"}"}]}}"#);
        check(text, &["b.y", "c"], r#"{"b":{"y":"\"}"},"c":null}"#);
        check(text, &["b.z.w", "d"], r#"{"b":{"z":{"w":true}},"d":-1.50e3}"#);
        check(text, &["b.z.w", "b.y"], r#"{"b":{"y":"\"}","z":{"w":true}}}"#);
        check(text, &["b.none", "d"], r#"{"b":{},"d":-1.50e3}"#);
        check(text, &["b.x", "b"], r#"{"b":{"x":[1,{"y":"}"}],"y":"\"}","z":{"w":true}}}"#);
        check(text, &["none"], "{}");
    }

    #[test]
    fn a_path_through_another_value_leads_nowhere() {
        check(
            r#"{"a":[{"b":1}],"c":"x","d":7}"#,
            &["a.b", "c.b", "d.b"],
            r#"{"a":null,"c":null,"d":null}"#,
        );
        check("[1]", &["a"], "null");
    }

    #[test]
    fn names_are_compared_as_what_they_stand_for() {
        check(r#"{"\u0061b":1,"a\"":2,"é":3}"#, &["ab", "a\"", "é"], r#"{"ab":1,"a\"":2,"é":3}"#);
        check(r#"{"\\u0061":1}"#, &["a"], "{}");
    }

    #[test]
    fn long_paths_pick_more_than_they_name() {
        let path: Vec<&str> = std::iter::repeat_n("a", 1000).collect();
        let mut long = Picks::NOTHING;
        long.add(path.iter().copied());
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert_eq!(pick(deep.as_bytes(), &long, 0).unwrap().to_text(), deep);
    }

    #[test]
    fn absent_properties_are_not_looked_for() {
        let broken = r#"{"a":1,"#;
        let value = pick(broken.as_bytes(), &picks(&["_ts", "a"]), 1).unwrap();
        assert_eq!(value.to_text(), r#"{"a":1}"#);
        assert!(pick(broken.as_bytes(), &picks(&["_ts", "a"]), 0).is_err());
    }

    #[test]
    fn broken_text_is_refused_or_ignored() {
        for text in [
            "",
            "{",
            r#"{"a"#,
            r#"{"a""#,
            r#"{"a":"#,
            r#"{"b":}"#,
            r#"{"b":[}"#,
            r#"{"b":{"#,
            "{1}",
            r#"{"a":"\"#,
        ] {
            assert!(pick(text.as_bytes(), &picks(&["a"]), 0).is_err(), "{text}");
        }
    }
}
