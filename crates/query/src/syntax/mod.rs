//! Text to tree and back: lexer, parser, abstract syntax tree, printer, and the cache of parsed texts.
//!
//! Invariant: no text makes the parser panic or recurse without bound; what the printer writes parses to the same tree.

pub mod ast;
pub(crate) mod format;
pub(crate) mod lex;
pub(crate) mod parse;
pub(crate) mod parse_cache;
