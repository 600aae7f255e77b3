//! Text to tokens. Offsets are UTF-16 units, because the service reports places that way.
//!
//! Invariant: the last token is `End` or `Invalid`; the number of tokens is bounded by `TEXT_LENGTH_MAX`.

use std::borrow::Cow;
use std::str::Chars;

use crate::error::{Diagnostic, Error, Result, Span};

/// Limit: UTF-16 units of a text, as the service has it; it also bounds every list in the tree.
pub const TEXT_LENGTH_MAX: usize = 512 * 1024;

/// The digits of 64 bits.
const HEX_DIGITS_MAX: usize = 16;

/// A token and the text it was made from.
#[derive(Clone, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind<'t>,
    pub(crate) text: &'t str,
    pub(crate) span: Span,
}

/// The kinds of token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind<'t> {
    Word,
    Keyword(Keyword),
    Number,
    /// A text without its quotes; borrowed unless it has escapes.
    Text(Cow<'t, str>),
    /// A parameter; the text has the `@`.
    Parameter,
    Symbol(Symbol),
    /// What no token starts with; the mistake counts only if the parser gets here.
    Invalid(Box<Diagnostic>),
    End,
}

macro_rules! keywords {
    ($($name:ident = $lower:literal),* ; $($exact:ident = $text:literal),* $(,)?) => {
        /// The reserved words.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Keyword { $($name,)* $($exact),* }

        impl Keyword {
            fn find(word: &str) -> Option<Keyword> {
                // One `match` over bytes looks at each letter once, however many words there are.
                match word.as_bytes() {
                    $($text => return Some(Keyword::$exact),)*
                    _ => {}
                }
                let mut lower = [0; KEYWORD_LENGTH_MAX];
                let lower = lower.get_mut(..word.len())?;
                lower.copy_from_slice(word.as_bytes());
                lower.make_ascii_lowercase();
                match &*lower {
                    $($lower => Some(Keyword::$name),)*
                    _ => None,
                }
            }
        }
    };
}

/// The length of `undefined`.
const KEYWORD_LENGTH_MAX: usize = 9;

// The words after the semicolon are words in this letter case only: `TRUE` is a name.
#[rustfmt::skip]
keywords! {
    And = b"and", Array = b"array", As = b"as", Asc = b"asc", Between = b"between", By = b"by",
    Case = b"case", Cast = b"cast", Convert = b"convert", Cross = b"cross", Desc = b"desc",
    Distinct = b"distinct", Else = b"else", End = b"end", Escape = b"escape",
    Exists = b"exists", For = b"for", From = b"from", Group = b"group", Having = b"having",
    In = b"in", Inner = b"inner", Insert = b"insert", Into = b"into", Is = b"is",
    Join = b"join", Left = b"left", Like = b"like", Limit = b"limit", Not = b"not",
    Offset = b"offset", On = b"on", Or = b"or", Order = b"order", Outer = b"outer",
    Over = b"over", Right = b"right", Select = b"select", Set = b"set", Then = b"then",
    Top = b"top", Update = b"update", Value = b"value", When = b"when", Where = b"where",
    With = b"with";
    False = b"false", Infinity = b"Infinity", NaN = b"NaN", Null = b"null", True = b"true",
    Udf = b"udf", Undefined = b"undefined",
}

/// Operators and punctuation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Symbol {
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Comma,
    Dot,
    Colon,
    Question,
    DoubleQuestion,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Tilde,
    Ampersand,
    Caret,
    Bar,
    DoubleBar,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
}

/// Returns the longest symbol that bytes start with, and its length.
fn symbol_at(bytes: &[u8]) -> Option<(Symbol, usize)> {
    Some(match bytes {
        [b'>', b'>', b'>', ..] => (Symbol::ShiftRightZero, 3),
        [b'<', b'<', ..] => (Symbol::ShiftLeft, 2),
        [b'>', b'>', ..] => (Symbol::ShiftRight, 2),
        [b'<', b'=', ..] => (Symbol::LessEqual, 2),
        [b'>', b'=', ..] => (Symbol::GreaterEqual, 2),
        [b'<', b'>', ..] | [b'!', b'=', ..] => (Symbol::NotEqual, 2),
        [b'?', b'?', ..] => (Symbol::DoubleQuestion, 2),
        [b'|', b'|', ..] => (Symbol::DoubleBar, 2),
        [b'(', ..] => (Symbol::OpenParen, 1),
        [b')', ..] => (Symbol::CloseParen, 1),
        [b'[', ..] => (Symbol::OpenBracket, 1),
        [b']', ..] => (Symbol::CloseBracket, 1),
        [b'{', ..] => (Symbol::OpenBrace, 1),
        [b'}', ..] => (Symbol::CloseBrace, 1),
        [b',', ..] => (Symbol::Comma, 1),
        [b'.', ..] => (Symbol::Dot, 1),
        [b':', ..] => (Symbol::Colon, 1),
        [b'?', ..] => (Symbol::Question, 1),
        [b'+', ..] => (Symbol::Plus, 1),
        [b'-', ..] => (Symbol::Minus, 1),
        [b'*', ..] => (Symbol::Star, 1),
        [b'/', ..] => (Symbol::Slash, 1),
        [b'%', ..] => (Symbol::Percent, 1),
        [b'~', ..] => (Symbol::Tilde, 1),
        [b'&', ..] => (Symbol::Ampersand, 1),
        [b'^', ..] => (Symbol::Caret, 1),
        [b'|', ..] => (Symbol::Bar, 1),
        [b'<', ..] => (Symbol::Less, 1),
        [b'>', ..] => (Symbol::Greater, 1),
        [b'=', ..] => (Symbol::Equal, 1),
        _ => return None,
    })
}

/// Splits a text into tokens.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    if text.len() > TEXT_LENGTH_MAX && utf16_length(text) as usize > TEXT_LENGTH_MAX {
        return Err(too_long(text));
    }
    let mut lexer = Lexer { rest: text, offset: 0 };
    let mut list = Vec::with_capacity(text.len() / 4 + 1);
    loop {
        let token = lexer.next_token();
        let is_last = matches!(token.kind, Kind::End | Kind::Invalid(_));
        list.push(token);
        if is_last {
            return Ok(list);
        }
    }
}

/// Returns whether a text would be read as a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(is_word_start)
        && word_length(text) == text.len()
        && Keyword::find(text).is_none()
}

struct Lexer<'t> {
    rest: &'t str,
    offset: u32,
}

impl<'t> Lexer<'t> {
    fn next_token(&mut self) -> Token<'t> {
        self.skip_blank();
        let Some(first) = self.rest.chars().next() else {
            return self.take(0, Kind::End);
        };
        if is_word_start(first) {
            let length = word_length(self.rest);
            let kind = self.rest.get(..length).and_then(Keyword::find);
            return self.take(length, kind.map_or(Kind::Word, Kind::Keyword));
        }
        match first {
            '@' => self.parameter(),
            '\'' | '"' => self.text(first),
            '0'..='9' => self.number(),
            '.' if self.rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) => self.number(),
            _ => self.symbol(first),
        }
    }

    /// Cuts `length` bytes off the rest and makes them a token.
    fn take(&mut self, length: usize, kind: Kind<'t>) -> Token<'t> {
        let (text, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        let start = self.offset;
        self.offset += utf16_length(text);
        self.rest = rest;
        Token { kind, text, span: Span { start, end: self.offset } }
    }

    fn skip_blank(&mut self) {
        loop {
            let length = length_while(self.rest, |byte| byte == b' ', is_blank);
            if length > 0 {
                self.take(length, Kind::End);
            }
            if !self.rest.starts_with("--") {
                return;
            }
            let length = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
            self.take(length, Kind::End);
        }
    }

    fn parameter(&mut self) -> Token<'t> {
        let name = self.rest.get(1..).unwrap_or_default();
        if !name.starts_with(is_word_start) {
            return self.invalid(1, 1010, "token");
        }
        let length = 1 + word_length(name);
        self.take(length, Kind::Parameter)
    }

    /// Digits with what stands right behind them: `1x` is a bad number, not a number and a name.
    fn number(&mut self) -> Token<'t> {
        let (number, is_whole) = number_length(self.rest.as_bytes());
        let length = number + self.rest.get(number..).map_or(0, word_length);
        let is_held = self.rest.get(..number).is_some_and(is_held);
        if is_whole && length == number && is_held {
            self.take(length, Kind::Number)
        } else {
            self.invalid_number(length)
        }
    }

    fn invalid_number(&mut self, length: usize) -> Token<'t> {
        self.invalid(length, 1011, "numeric value token")
    }

    fn text(&mut self, quote: char) -> Token<'t> {
        let rest = self.rest;
        let mut value = Cow::Borrowed("");
        let mut at = quote.len_utf8();
        while let Some(length) = rest.get(at..).and_then(|rest| rest.find([quote, '\\'])) {
            // Most texts have no escapes: adding to nothing borrows.
            value += rest.get(at..at + length).unwrap_or_default();
            at += length + 1;
            if rest.as_bytes().get(at - 1) != Some(&b'\\') {
                return self.take(at, Kind::Text(value));
            }
            let mut chars = rest.get(at..).unwrap_or_default().chars();
            if escape(&mut chars, value.to_mut()).is_none() {
                // What no escape can be belongs to the token.
                let length = rest.len() - chars.as_str().len();
                return self.invalid(length, 1012, "string literal token");
            }
            at = rest.len() - chars.as_str().len();
        }
        self.invalid(rest.len(), 1012, "string literal token")
    }

    fn symbol(&mut self, first: char) -> Token<'t> {
        if let Some((symbol, length)) = symbol_at(self.rest.as_bytes()) {
            return self.take(length, Kind::Symbol(symbol));
        }
        self.invalid(first.len_utf8(), 1010, "token")
    }

    fn invalid(&mut self, length: usize, code: u16, what: &str) -> Token<'t> {
        let mut token = self.take(length, Kind::End);
        let message = format!("Syntax error, invalid {what} '{}'.", excerpt(token.text));
        token.kind = Kind::Invalid(Box::new(Diagnostic::sc(code, message, token.span)));
        token
    }
}

/// Says whether a number fits: into 64 bits if it is written in base 16, else into a double.
fn is_held(number: &str) -> bool {
    /// Digits that every double has room for.
    const SHORT: usize = 300;
    let bytes = number.as_bytes();
    match bytes {
        [b'0', b'x' | b'X', digits @ ..] => {
            digits.iter().skip_while(|digit| **digit == b'0').count() <= 16
        }
        _ if bytes.len() <= SHORT && !bytes.contains(&b'e') && !bytes.contains(&b'E') => true,
        _ => number.parse::<f64>().is_ok_and(f64::is_finite),
    }
}

fn too_long(text: &str) -> Error {
    let message =
        format!("The SQL query text exceeded the maximum limit of {TEXT_LENGTH_MAX} characters.");
    Error::one(Diagnostic::sc(3020, message, Span { start: 0, end: utf16_length(text) }))
}

/// Makes the diagnostic for a token that cannot stand where it stands.
pub(crate) fn near_diagnostic(near: &str, span: Span) -> Diagnostic {
    let near = excerpt(near);
    Diagnostic::sc(1001, format!("Syntax error, incorrect syntax near '{near}'."), span)
}

/// Returns as much of a token as a message shows.
pub(crate) fn excerpt(text: &str) -> &str {
    const LENGTH_MAX: usize = 127;
    let end = text.char_indices().nth(LENGTH_MAX).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{180e}'
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || (!c.is_ascii() && c.is_alphabetic())
}

fn is_word_part(c: char) -> bool {
    is_word_start(c) || c.is_ascii_digit() || (!c.is_ascii() && c.is_numeric())
}

fn word_length(text: &str) -> usize {
    length_while(text, |byte| byte.is_ascii_alphanumeric() || byte == b'_', is_word_part)
}

/// Returns how many bytes of a text hold. `is_common` tells the most common characters by their byte alone, because reading
/// characters costs several times as much.
fn length_while(text: &str, is_common: fn(u8) -> bool, holds: fn(char) -> bool) -> usize {
    let n_common = text.bytes().take_while(|byte| is_common(*byte)).count();
    let rest = text.get(n_common..).unwrap_or_default();
    n_common + rest.find(|c: char| !holds(c)).unwrap_or(rest.len())
}

fn utf16_length(text: &str) -> u32 {
    let n_units = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
    u32::try_from(n_units).unwrap_or(u32::MAX)
}

/// Returns the length of a number, hexadecimal or decimal with fraction and exponent, and whether all of its digits are there.
fn number_length(bytes: &[u8]) -> (usize, bool) {
    let digits =
        |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
    if at(0) == b'0' && matches!(at(1), b'x' | b'X') {
        let n_hex = bytes.iter().skip(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
        return (2 + n_hex, (1..=HEX_DIGITS_MAX).contains(&n_hex));
    }
    let mut length = digits(0);
    if at(length) == b'.' {
        length += 1 + digits(length + 1);
    }
    if !matches!(at(length), b'e' | b'E') {
        return (length, true);
    }
    length += 1 + usize::from(matches!(at(length + 1), b'+' | b'-'));
    let n_digits = digits(length);
    (length + n_digits, n_digits > 0)
}

/// Reads what follows a backslash; `None` when it is no escape. Characters that need no escape stand for themselves.
fn escape(chars: &mut Chars<'_>, value: &mut String) -> Option<()> {
    value.push(match chars.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode_escape(chars, value),
        c => c,
    });
    Some(())
}

/// Reads `XXXX`, and a second `\uXXXX` that completes a pair. Lone surrogates become U+FFFD.
fn unicode_escape(chars: &mut Chars<'_>, value: &mut String) -> Option<()> {
    let high = hex_unit(chars)?;
    let mut ahead = chars.clone();
    let low = (ahead.next() == Some('\\') && ahead.next() == Some('u'))
        .then(|| hex_unit(&mut ahead))
        .flatten();
    if let Some(pair) = low.and_then(|low| String::from_utf16(&[high, low]).ok())
        && (0xD800..0xDC00).contains(&high)
    {
        *chars = ahead;
        value.push_str(&pair);
    } else {
        value.push_str(&String::from_utf16_lossy(&[high]));
    }
    Some(())
}

fn hex_unit(chars: &mut Chars<'_>) -> Option<u16> {
    let mut unit: u16 = 0;
    for _ in 0..4 {
        let digit = chars.next()?.to_digit(16)?;
        unit = unit << 4 | u16::try_from(digit).ok()?;
    }
    Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind<'_>> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_numbers_and_symbols_are_told_apart() {
        assert_eq!(
            kinds("c.a1>>>0x1F"),
            [
                Kind::Word,
                Kind::Symbol(Symbol::Dot),
                Kind::Word,
                Kind::Symbol(Symbol::ShiftRightZero),
                Kind::Number,
                Kind::End
            ]
        );
    }

    #[test]
    fn escapes_become_characters() {
        assert_eq!(kinds(r"'a\u0027\n\ud83d\ude00'")[0], Kind::Text("a'\n😀".into()));
    }

    #[test]
    fn offsets_count_utf16_units() {
        let list = tokens("'😀' x").unwrap();
        assert_eq!(list[1].span, Span { start: 5, end: 6 });
    }

    #[test]
    fn texts_take_any_character() {
        assert_eq!(kinds("'a\tb\n\u{5}'")[0], Kind::Text("a\tb\n\u{5}".into()));
        assert_eq!(kinds(r"'\q\/\x'")[0], Kind::Text("q/x".into()));
        assert_eq!(kinds(r"'\ud800x\udc00'")[0], Kind::Text("\u{fffd}x\u{fffd}".into()));
        assert_eq!(kinds(r"'\ud83d\u0041'")[0], Kind::Text("\u{fffd}A".into()));
    }

    #[test]
    fn words_are_letters_of_any_script() {
        assert_eq!(
            kinds("été\u{a0}TRUE true"),
            [Kind::Word, Kind::Word, Kind::Keyword(Keyword::True), Kind::End]
        );
    }

    #[test]
    fn what_is_no_token_is_named_whole() {
        for (text, code, near) in [
            ("'abc d", "SC1012", "'abc d"),
            (r"'\u12' + 1", "SC1012", r"'\u12'"),
            ("@1", "SC1010", "@"),
            ("#x", "SC1010", "#"),
            ("1x.y", "SC1011", "1x"),
            ("5e+x", "SC1011", "5e+x"),
            ("0x12345678901234567", "SC1011", "0x12345678901234567"),
            ("0x", "SC1011", "0x"),
        ] {
            let list = tokens(text).unwrap();
            let Kind::Invalid(diagnostic) = &list[0].kind else { panic!("{text}") };
            assert_eq!((diagnostic.code.to_string().as_str(), list[0].text), (code, near));
        }
        assert_eq!(kinds("1..x").len(), 4);
    }
}
