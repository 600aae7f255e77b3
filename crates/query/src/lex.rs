//! Text to tokens. Offsets are UTF-16 units, because the service reports places that way.
//!
//! Invariant: the last token is `End`; the number of tokens is bounded by `TEXT_BYTES_MAX`.

use crate::error::{Diagnostic, Error, Result, Span};

/// Limit: the service refuses longer texts; it also bounds every list in the tree.
pub const TEXT_BYTES_MAX: usize = 512 * 1024;

/// A token and the text it was made from.
#[derive(Clone, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    pub(crate) text: &'t str,
    pub(crate) span: Span,
}

/// The kinds of token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Word,
    Keyword(Keyword),
    Number,
    Text(String),
    /// A parameter; the text has the `@`.
    Parameter,
    Symbol(Symbol),
    End,
}

macro_rules! keywords {
    ($($name:ident),* $(,)?) => {
        /// The reserved words.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Keyword { $($name),* }

        impl Keyword {
            fn find(word: &str) -> Option<Keyword> {
                $(if word.eq_ignore_ascii_case(stringify!($name)) { return Some(Keyword::$name); })*
                None
            }
        }
    };
}

keywords! {
    All, And, Array, As, Asc, Between, By, Cross, Desc, Distinct, Escape, Exists, False, First, For,
    From, Group, Having, In, Inner, Is, Join, Last, Left, Let, Like, Limit, Not, Null, Offset, Or,
    Order, Over, Rank, Right, Select, Set, Top, True, Udf, Undefined, Value, Where,
}

impl Keyword {
    /// Returns whether the word may stand where a name is expected.
    pub(crate) fn is_name(self) -> bool {
        matches!(self, Keyword::All | Keyword::First | Keyword::Last)
    }

    /// Returns whether the word may follow a dot. Only words whose reservation we have from weak
    /// sources are let through: refusing them would break working queries.
    pub(crate) fn is_property(self) -> bool {
        self.is_name()
            || matches!(
                self,
                Keyword::Cross
                    | Keyword::For
                    | Keyword::Inner
                    | Keyword::Is
                    | Keyword::Let
                    | Keyword::Over
                    | Keyword::Rank
                    | Keyword::Set
            )
    }
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
    DoubleAmpersand,
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

/// Longest first, so that the first match is the right one.
const SYMBOLS: [(&str, Symbol); 32] = [
    (">>>", Symbol::ShiftRightZero),
    ("<<", Symbol::ShiftLeft),
    (">>", Symbol::ShiftRight),
    ("<=", Symbol::LessEqual),
    (">=", Symbol::GreaterEqual),
    ("<>", Symbol::NotEqual),
    ("!=", Symbol::NotEqual),
    ("??", Symbol::DoubleQuestion),
    ("||", Symbol::DoubleBar),
    ("&&", Symbol::DoubleAmpersand),
    ("(", Symbol::OpenParen),
    (")", Symbol::CloseParen),
    ("[", Symbol::OpenBracket),
    ("]", Symbol::CloseBracket),
    ("{", Symbol::OpenBrace),
    ("}", Symbol::CloseBrace),
    (",", Symbol::Comma),
    (".", Symbol::Dot),
    (":", Symbol::Colon),
    ("?", Symbol::Question),
    ("+", Symbol::Plus),
    ("-", Symbol::Minus),
    ("*", Symbol::Star),
    ("/", Symbol::Slash),
    ("%", Symbol::Percent),
    ("~", Symbol::Tilde),
    ("&", Symbol::Ampersand),
    ("^", Symbol::Caret),
    ("|", Symbol::Bar),
    ("<", Symbol::Less),
    (">", Symbol::Greater),
    ("=", Symbol::Equal),
];

/// Splits a text into tokens.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::Limit { what: "the query text in bytes", limit: TEXT_BYTES_MAX });
    }
    let mut lexer = Lexer { rest: text, offset: 0 };
    let mut list = Vec::with_capacity(text.len() / 4 + 1);
    loop {
        let token = lexer.next_token()?;
        let is_end = token.kind == Kind::End;
        list.push(token);
        if is_end {
            return Ok(list);
        }
    }
}

struct Lexer<'t> {
    rest: &'t str,
    offset: u32,
}

impl<'t> Lexer<'t> {
    fn next_token(&mut self) -> Result<Token<'t>> {
        self.skip_blank()?;
        let Some(first) = self.rest.chars().next() else {
            return Ok(self.take(0, Kind::End));
        };
        if is_word_start(first) {
            let length = word_length(self.rest);
            let kind = self.rest.get(..length).and_then(Keyword::find);
            return Ok(self.take(length, kind.map_or(Kind::Word, Kind::Keyword)));
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
    fn take(&mut self, length: usize, kind: Kind) -> Token<'t> {
        let (text, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        let start = self.offset;
        self.offset += utf16_length(text);
        self.rest = rest;
        Token { kind, text, span: Span { start, end: self.offset } }
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            let trimmed = self.rest.trim_start();
            let n_blank = self.rest.len() - trimmed.len();
            self.take(n_blank, Kind::End);
            if self.rest.starts_with("--") {
                let length = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(length, Kind::End);
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else {
                    return Err(self.unexpected("/*"));
                };
                self.take(end + 2, Kind::End);
            } else {
                return Ok(());
            }
        }
    }

    fn parameter(&mut self) -> Result<Token<'t>> {
        let name = self.rest.get(1..).unwrap_or_default();
        if !name.starts_with(is_word_start) {
            return Err(self.unexpected("@"));
        }
        let length = 1 + word_length(name);
        Ok(self.take(length, Kind::Parameter))
    }

    fn number(&mut self) -> Result<Token<'t>> {
        let length = number_length(self.rest.as_bytes());
        let token = self.take(length, Kind::Number);
        if self.rest.starts_with(is_word_start) {
            let word = self.rest.get(..word_length(self.rest)).unwrap_or_default();
            return Err(self.unexpected(word));
        }
        Ok(token)
    }

    fn text(&mut self, quote: char) -> Result<Token<'t>> {
        let mut value = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((index, c)) = chars.next() {
            if c == quote {
                return Ok(self.take(index + 1, Kind::Text(value)));
            }
            if c < ' ' {
                break;
            }
            if c != '\\' {
                value.push(c);
                continue;
            }
            let Some(unescaped) = escape(&mut chars) else { break };
            value.push_str(&unescaped);
        }
        // The rest of the line is what the reader must look at.
        let line = self.rest.lines().next().unwrap_or_default();
        Err(self.unexpected(line))
    }

    fn symbol(&mut self, first: char) -> Result<Token<'t>> {
        for (text, symbol) in SYMBOLS {
            if self.rest.starts_with(text) {
                return Ok(self.take(text.len(), Kind::Symbol(symbol)));
            }
        }
        Err(self.unexpected(first.encode_utf8(&mut [0; 4])))
    }

    fn unexpected(&self, near: &str) -> Error {
        let span = Span { start: self.offset, end: self.offset + utf16_length(near) };
        Error::one(near_diagnostic(near, span))
    }
}

/// Makes the diagnostic for a token that cannot stand where it stands.
pub(crate) fn near_diagnostic(near: &str, span: Span) -> Diagnostic {
    Diagnostic::sc(1001, format!("Syntax error, incorrect syntax near '{near}'."), span)
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn utf16_length(text: &str) -> u32 {
    let n_units = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
    u32::try_from(n_units).unwrap_or(u32::MAX)
}

/// Returns the length of a number: hexadecimal, or decimal with fraction and exponent.
fn number_length(bytes: &[u8]) -> usize {
    let digits =
        |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
    if at(0) == b'0' && matches!(at(1), b'x' | b'X') {
        let n_hex = bytes.iter().skip(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
        return if n_hex == 0 { 1 } else { 2 + n_hex };
    }
    let mut length = digits(0);
    if at(length) == b'.' {
        length += 1 + digits(length + 1);
    }
    if matches!(at(length), b'e' | b'E') {
        let sign = usize::from(matches!(at(length + 1), b'+' | b'-'));
        let n_digits = digits(length + 1 + sign);
        if n_digits > 0 {
            length += 1 + sign + n_digits;
        }
    }
    length
}

/// Reads what follows a backslash; `None` when it is no escape.
fn escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<String> {
    let c = match chars.next()?.1 {
        c @ ('\'' | '"' | '\\' | '/') => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode_escape(chars),
        _ => return None,
    };
    Some(c.to_string())
}

/// Reads `XXXX`, and a second `\uXXXX` after a high surrogate. Lone surrogates become U+FFFD.
fn unicode_escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<String> {
    let mut units = vec![hex_unit(chars)?];
    if matches!(units[..], [0xD800..=0xDBFF]) {
        // A high surrogate without its partner would swallow the next character otherwise.
        let (_, backslash) = chars.next()?;
        let (_, u) = chars.next()?;
        if (backslash, u) != ('\\', 'u') {
            return None;
        }
        units.push(hex_unit(chars)?);
    }
    Some(String::from_utf16_lossy(&units))
}

fn hex_unit(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<u16> {
    let mut unit: u16 = 0;
    for _ in 0..4 {
        let digit = chars.next()?.1.to_digit(16)?;
        unit = unit << 4 | u16::try_from(digit).ok()?;
    }
    Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
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
    fn unfinished_tokens_are_refused() {
        for text in ["'abc", "/* x", "@", "'\\q'", "1x", "#", "'\\ud800x'", "'a\nb'"] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
