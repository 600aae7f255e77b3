//! A static check: may a script run inline, on the request's own thread?
//!
//! Only a script that the engine can stop at any time may. The engine looks at the clock between instructions, not within a native function, and some of these go on for as
//! long as one likes: `indexOf` over an object that says its length is 2⁵³. A script whose text names no native function
//! but those listed here cannot get hold of another one, and is stopped when it takes too long.
//!
//! It looks at the clock after some thousand steps, and one step may turn a long array into text. So a script passes
//! only if it repeats nothing: its text is short, has no loop, and calls no function of its own. What it
//! gives to functions of the server is called by these, with a look at the clock.
//!
//! Invariant: a script that passes cannot reach a native function that is not on the allow list. In doubt the answer is
//! no, and the script runs in the pool.

use std::collections::HashSet;

use crate::limits::INLINE_BODY_BYTES;

/// Native functions that end soon whatever they are given, as long as the engine has little memory.
#[rustfmt::skip]
const ALLOWED: [&str; 42] = [
    "getContext", "getCollection", "getRequest", "getResponse", "getSelfLink", "getAltLink", "readDocument",
    "createDocument", "upsertDocument", "replaceDocument", "deleteDocument", "getBody", "setBody", "getValue", "setValue",
    "getOperationType", "Error", "Number", "String", "Boolean", "Date", "Object", "isNaN", "isFinite", "parseInt",
    "parseFloat", "isInteger", "floor", "ceil", "round", "abs", "min", "max", "now", "getTime", "toISOString", "keys",
    "hasOwnProperty", "push", "toLowerCase", "toUpperCase", "trim",
];

/// Functions of the server that look at many items. The engine cannot stop these either, and they know when to stop.
#[rustfmt::skip]
const LONG: [&str; 11] = [
    "queryDocuments", "readDocuments", "filter", "map", "pluck", "flatten", "sortBy", "sortByDescending", "unwind",
    "chain", "value",
];

/// Words of the language that may stand before a bracket.
const BEFORE_BRACKETS: [&str; 9] =
    ["if", "switch", "function", "catch", "return", "throw", "typeof", "void", "delete"];

/// Words of the language that make a loop.
const LOOPS: [&str; 3] = ["for", "while", "do"];

/// Words of the language that are also names of native functions. Not `with`, which makes variables of properties.
const RESERVED: [&str; 7] = ["for", "return", "throw", "catch", "finally", "delete", "try"];

/// A script that enumerates the names of all native functions, to be run before any other.
pub(crate) const NAMES: &str = include_str!("prelude/native_names.js");

/// The names of native functions.
#[derive(Debug, Default)]
pub(crate) struct Natives {
    variables: HashSet<String>,
    properties: HashSet<String>,
}

impl Natives {
    /// Takes what the script above gives.
    pub(crate) fn parse(text: &str) -> Option<Natives> {
        let set = |line: &str| line.split(' ').map(str::to_owned).collect();
        let (variables, properties) = text.split_once('\n')?;
        Some(Natives { variables: set(variables), properties: set(properties) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    /// Whether it is a whole number of a few digits.
    Number(bool),
    Text,
    Sign(u8),
}

/// Says whether a body names no native function that might take long.
pub(crate) fn may_run_inline(body: &str, natives: &Natives) -> bool {
    if body.len() > INLINE_BODY_BYTES {
        return false;
    }
    // Comments that only some know of, and ends of lines that only some see.
    let is_odd = ["<!--", "-->", "\u{2028}", "\u{2029}"].iter().any(|it| body.contains(it));
    let Some(tokens) = (!is_odd).then(|| tokens(body)).flatten() else { return false };
    let mut open = Vec::new();
    tokens.iter().enumerate().all(|(at, token)| {
        let near = Near {
            before: at.checked_sub(1).and_then(|at| tokens.get(at)).copied(),
            next: tokens.get(at + 1).copied(),
            after_next: tokens.get(at + 2).copied(),
            is_in_braces: open.last() == Some(&b'{'),
        };
        match token {
            Token::Sign(sign @ (b'(' | b'[' | b'{')) => open.push(*sign),
            Token::Sign(b')' | b']' | b'}') => drop(open.pop()),
            _ => {}
        }
        match token {
            Token::Name(name) => near.is_quick(name, natives) && near.happens_once(name),
            // A call of whatever stands before it.
            Token::Sign(b'(') => {
                !matches!(near.before, Some(Token::Sign(b')' | b']' | b'}' | b'.')))
            }
            // A name that is made at run time could be any.
            Token::Sign(b'[') => !near.before.is_some_and(ends_value) || near.is_few_digits(),
            // What stands in brackets or quotes may name a property there too.
            Token::Sign(b']') => !matches!(near.next, Some(Token::Sign(b':' | b'('))),
            Token::Text => near.next != Some(Token::Sign(b':')),
            _ => true,
        }
    })
}

/// What stands around a token.
struct Near<'t> {
    before: Option<Token<'t>>,
    next: Option<Token<'t>>,
    after_next: Option<Token<'t>>,
    is_in_braces: bool,
}

impl Near<'_> {
    /// Says whether a name stands for nothing that may take long.
    fn is_quick(&self, name: &str, natives: &Natives) -> bool {
        let is_member = self.before == Some(Token::Sign(b'.'));
        // A property that is taken apart from others, or something that looks like it.
        let is_part = self.is_in_braces
            && matches!(self.before, Some(Token::Sign(b'{' | b',')))
            && matches!(self.next, Some(Token::Sign(b'}' | b',' | b':' | b'=')));
        let is_property = is_member || is_part || self.next == Some(Token::Sign(b':'));
        if !is_property && RESERVED.contains(&name) {
            return true;
        }
        // An array that says it is long is gone through to its end when it becomes text.
        if is_property && LONG.contains(&name) || name == "length" {
            return false;
        }
        let is_native = natives.variables.contains(name)
            || is_property && natives.properties.contains(name)
            || name == "with";
        // Called or looked into, not kept.
        let is_used = matches!(self.next, Some(Token::Sign(b'(' | b'.')));
        !is_native || is_used && ALLOWED.contains(&name)
    }

    /// Says whether a name neither makes a loop nor calls a function of the script.
    fn happens_once(&self, name: &str) -> bool {
        let is_member = self.before == Some(Token::Sign(b'.'));
        if LOOPS.contains(&name) && !is_member {
            return false;
        }
        match (self.before, self.next) {
            // The name of a function expression; to call it by that name is refused.
            (Some(Token::Name("function")), _) => true,
            (_, Some(Token::Sign(b'('))) => {
                ALLOWED.contains(&name) || !is_member && BEFORE_BRACKETS.contains(&name)
            }
            (Some(Token::Name("new")), _) => ALLOWED.contains(&name),
            _ => true,
        }
    }

    /// Says whether what follows is a short whole number in brackets.
    fn is_few_digits(&self) -> bool {
        self.next == Some(Token::Number(true)) && self.after_next == Some(Token::Sign(b']'))
    }
}

/// Says whether a bracket behind this token looks something up. Words that cannot end a value are taken for such that can.
fn ends_value(token: Token<'_>) -> bool {
    match token {
        Token::Name("const" | "var" | "return") => false,
        Token::Name(_) | Token::Text | Token::Number(_) => true,
        Token::Sign(sign) => b")]}.?".contains(&sign),
    }
}

/// The tokens of a body; `None` if there is something that needs a closer look: templates, regular expressions or
/// divisions, escapes in names, characters of other scripts.
fn tokens(body: &str) -> Option<Vec<Token<'_>>> {
    let bytes = body.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 4);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => 1,
            b'/' => comment(rest)?,
            b'\'' | b'"' => {
                tokens.push(Token::Text);
                text(rest)?
            }
            b'0'..=b'9' => {
                let length = number(rest)?;
                tokens.push(Token::Number(length <= 4 && !rest[..length].contains(&b'.')));
                length
            }
            byte if is_name(byte) => {
                let length = count(rest, is_name);
                tokens.push(Token::Name(body.get(at..at + length)?));
                length
            }
            b'`' | b'\\' | b'#' | b'@' => return None,
            byte if byte.is_ascii_graphic() => {
                tokens.push(Token::Sign(byte));
                1
            }
            _ => return None,
        };
        at += length;
    }
    Some(tokens)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn count(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_part(**byte)).count()
}

fn comment(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'/' => Some(count(bytes, |byte| byte != b'\n' && byte != b'\r')),
        b'*' => bytes.get(2..)?.windows(2).position(|pair| pair == b"*/").map(|length| length + 4),
        _ => None,
    }
}

fn text(bytes: &[u8]) -> Option<usize> {
    let quote = bytes.first()?;
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            byte if byte == quote => return Some(at + 1),
            b'\\' => at += 2,
            b'\n' | b'\r' => return None,
            _ => at += 1,
        }
    }
}

/// Plain decimal numbers: what others look like could hide a name, or make numbers without end.
fn number(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| count(&bytes[from..], |byte| byte.is_ascii_digit());
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') {
        let fraction = digits(length + 1);
        if fraction > 0 {
            length += 1 + fraction;
        }
    }
    let is_over = bytes.get(length).is_none_or(|byte| !is_name(*byte));
    is_over.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn natives() -> Natives {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let variables = ["getContext", "isNaN", "Number", "Date", "Error", "Array", "toString"];
        let others =
            ["indexOf", "join", "from", "call", "repeat", "slice", "for", "return", "link"];
        let properties = [ALLOWED.as_slice(), &variables, &others].concat();
        Natives { variables: set(&variables), properties: set(&properties) }
    }

    #[test]
    fn short_procedures_pass() {
        for body in [
            "function () {}",
            "function (id) {
                // Counts, and says '/docs/' `without` harm: indexOf.
                var link = __.getAltLink() + '/docs/' + id; /* a [b] c */
                var accepted = __.readDocument(link, function (err, item) {
                    if (err) throw err;
                    item.total += 1.5; item.list[0] = [1, 2]; item.seen = true;
                    if (!__.replaceDocument(item._self, item, function (err) { if (err) throw err; })) {
                        throw new Error('not accepted');
                    }
                });
                if (!accepted) throw new Error(\"not \\\"accepted\\\"\");
            }",
            "function (a) { getContext().getResponse().setBody({sum: Math.max(a, 2), at: Date.now(), all: [a]}); }",
            "(a) => { const [x, y] = [1, 2]; return {x, y}; }",
            "function (id, link) { id = 1; link = id; return (link); }",
            "function (n) { try { n += 1; } catch (e) { delete e.x; } finally { return 1; } }",
            "function (id) { __.readDocument(id, function again(err, item) { if (err) __.readDocument(id, again); }); }",
            "function (x) { switch (x) { case 1: return new Date(); default: throw new Error('x'); } }",
        ] {
            assert!(may_run_inline(body, &natives()), "{body}");
        }
    }

    #[test]
    fn whatever_could_reach_another_native_function_is_not() {
        for body in [
            "function (x) { x.indexOf(1); }",
            "function (x) { x.toString = [].join; return '' + x; }",
            "function (x) { var { indexOf } = x; }",
            "function (x) { var f = isNaN; }",
            "function (x) { var f = x.for; }",
            "function (x) { with (x) { y = link; } }",
            "function (x) { var { link } = x; }",
            "function (x) { var { a, link: b, c } = x; }",
            "function ({ link = 1 }) {}",
            "function (x) { var f = toString; }",
            "function (x) { var {return: f} = x; }",
            "function (x) { [Number].x; }",
            "function (x) { x['index' + 'Of'](1); }",
            "function (x, i) { x[i](1); }",
            "function (x) { (x)[y](1); x()[y]; x[0][y]; 'a'[y]; ({})[y]; x?.[y]; }",
            "function (x) { x\n[y](1); }",
            "function (x) { var {['index' + 'Of']: f} = x; }",
            "function (x) { var {a: {[x]: f}} = x; ({b: 1, [x]: f} = x); }",
            "function (x) { Array.from({length: 9}); }",
            "function (x) { return x.\\u0069ndexOf(1); }",
            "function (x) { return `${x.indexOf(1)}`; }",
            "function (x) { return /a/.test(x); }",
            "function (x) { return 1..indexOf(x); }",
            "function (x) { return 2n ** 9n; }",
            "function (x) { return 0x10; }",
            "function (x) { x.length = 4e9; }",
            "function (x) { ({length: x.y} = {length: 4000000000}); }",
            "function (x) { x[4294967294] = 1; }",
            "function () { var { 'indexOf': f } = []; return '' + { 'toString': f, 'length': 9007199254740991 }; }",
            "function (x) { var { a, \"index\\\nOf\": f } = []; }",
            "function (x) { x <!-- /*\n x.indexOf(1); /* */ }",
            "function (x) { // \u{2028} x.indexOf(1);\n}",
            "function (x) { // \r x.indexOf(1);\n}",
            "function (x) { return 'a\\\n'; } /* ' */ 'indexOf",
            "function (é) {}",
            "function (x) { x.queryDocuments(1); }",
            "class A { #x = 1; }",
            "function (n) { for (var i = 0; i < n; i++) '' + a; }",
            "function (n) { while (n > 0) n--; }",
            "function (n) { do n--; while (n > 0); }",
            "function f(n) { f(n); }",
            "function (n) { var g = () => n; g(); }",
            "function (n) { (() => n)(); }",
            "function (n) { (function () {})(); }",
            "function (n) { [n][0](); }",
            "function (n) { n?.(); n.a?.(); }",
            "function (n) { new n; new (n); new n(); new n.a; }",
            "function (n) { ({ a() {}, get b() {}, get c () {} }); }",
            "class A { constructor() {} }",
            "function (n) { import('x'); super(n); }",
            "function (x) { /* not closed",
        ] {
            assert!(!may_run_inline(body, &natives()), "{body}");
        }
    }
}
