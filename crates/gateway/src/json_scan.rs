//! Cutting a JSON array or object into its parts without building a tree.
//!
//! A batch holds up to a hundred items of up to 2 MB. Their text goes to the account as it came, so
//! numbers keep their form and nothing is copied. Brackets and strings are matched here; whether
//! each part is valid JSON is decided by the strict parser that reads it next.
//!
//! Invariant: one pass, no recursion, no read past the end.

#![deny(clippy::indexing_slicing)]

/// Returns the texts of the elements of an array, or `None` if `text` is not one.
pub(crate) fn elements(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut scan = Scan { rest: text.trim_ascii() };
    scan.expect(b'[')?;
    let mut elements = Vec::new();
    if !scan.skip(b']') {
        loop {
            elements.push(scan.value()?);
            if scan.skip(b']') {
                break;
            }
            scan.expect(b',')?;
        }
    }
    scan.rest.is_empty().then_some(elements)
}

/// Returns the members of an object with their names still quoted, or `None` if `text` is not one.
pub(crate) fn members(text: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut scan = Scan { rest: text.trim_ascii() };
    scan.expect(b'{')?;
    let mut members = Vec::new();
    if !scan.skip(b'}') {
        loop {
            scan.trim();
            let name = scan.string()?;
            scan.expect(b':')?;
            members.push((name, scan.value()?));
            if scan.skip(b'}') {
                break;
            }
            scan.expect(b',')?;
        }
    }
    scan.rest.is_empty().then_some(members)
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    fn trim(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Takes `byte` if it is next.
    fn skip(&mut self, byte: u8) -> bool {
        self.trim();
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            Some(_) | None => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip(byte).then_some(())
    }

    fn value(&mut self) -> Option<&'a [u8]> {
        self.trim();
        match self.rest.first()? {
            b'"' => self.string(),
            b'{' | b'[' => self.nested(),
            _ => self.scalar(),
        }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = string_length(self.rest)?;
        self.take(length)
    }

    fn nested(&mut self) -> Option<&'a [u8]> {
        let mut depth = 0_usize;
        let mut at = 0;
        loop {
            let tail = self.rest.get(at..)?;
            match tail.first()? {
                b'"' => at += string_length(tail)?,
                b'{' | b'[' => {
                    depth += 1;
                    at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    at += 1;
                    if depth == 0 {
                        return self.take(at);
                    }
                }
                _ => at += 1,
            }
        }
    }

    fn scalar(&mut self) -> Option<&'a [u8]> {
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
        let length = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        if length == 0 { None } else { self.take(length) }
    }
}

/// Bytes of the string literal that `text` starts with, quotes included.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut bytes = text.iter().enumerate();
    if bytes.next()?.1 != &b'"' {
        return None;
    }
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next()?;
            }
            b'"' => return Some(index + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(parts: Vec<&[u8]>) -> Vec<String> {
        parts.into_iter().map(|part| String::from_utf8_lossy(part).into_owned()).collect()
    }

    #[test]
    fn arrays_come_apart() {
        #[rustfmt::skip]
        let table = [
            ("[]", vec![]), (" [ ] ", vec![]), ("[1]", vec!["1"]),
            (r#" [ {"a":"]}"} , [1,[2]],"x\"," ,null,1.50 ] "#, vec![r#"{"a":"]}"}"#, "[1,[2]]", r#""x\",""#, "null", "1.50"]),
        ];
        for (text, expected) in table {
            assert_eq!(texts(elements(text.as_bytes()).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn objects_come_apart() {
        let found = members(br#" {"a" : 1, "b":{"c":[]} } "#).unwrap();
        assert_eq!(found, [(&b"\"a\""[..], &b"1"[..]), (&b"\"b\""[..], &b"{\"c\":[]}"[..])]);
        assert_eq!(members(b"{}").unwrap(), []);
    }

    #[test]
    fn broken_text_is_refused() {
        #[rustfmt::skip]
        let table = ["", "[", "]", "[1", "[1,", "[1,]", "[,]", "[1]x", "{", "[\"a]", "[{]", "[\"\\", "1", "[1 2]", "[[[["];
        for text in table {
            assert_eq!(elements(text.as_bytes()), None, "{text}");
        }
        #[rustfmt::skip]
        let table = ["", "{", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1}}", "[]", "{\"a\" 1}"];
        for text in table {
            assert_eq!(members(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert_eq!(elements(deep.as_bytes()).unwrap().len(), 1);
    }
}
