//! Trees of texts that come again and again, as those of applications do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::ast;
use crate::error::Result;
use crate::syntax::parse::parse;

// Limit: bytes of the texts that are remembered; when there are more, remembering starts anew. A tree can be some fifty
// times as large as its text.
const BYTES_MAX: usize = 256 * 1024;

// Limit: bytes of a text that is remembered. Longer ones are rarely sent twice, and their trees are large.
const TEXT_BYTES_MAX: usize = 4096;

/// The tree of a text.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) tree: ast::Query,
}

impl Parsed {
    pub(crate) fn new(text: &str) -> Result<Parsed> {
        Ok(Parsed { tree: parse(text)? })
    }
}

/// Remembers the trees of query texts. Parameters are no part of a text, so one tree serves all their values.
#[derive(Debug, Default)]
pub struct ParseCache {
    trees: Mutex<Trees>,
}

#[derive(Debug, Default)]
struct Trees {
    by_text: HashMap<Box<str>, Arc<Parsed>>,
    text_bytes: usize,
}

impl ParseCache {
    /// Parses a text, unless its tree is remembered.
    pub(crate) fn parse(&self, text: &str) -> Result<Arc<Parsed>> {
        if text.len() > TEXT_BYTES_MAX {
            return Parsed::new(text).map(Arc::new);
        }
        // A lock that a panic left behind guards nothing but a memory.
        if let Ok(trees) = self.trees.lock()
            && let Some(tree) = trees.by_text.get(text)
        {
            return Ok(Arc::clone(tree));
        }
        let tree = Arc::new(Parsed::new(text)?);
        if let Ok(mut trees) = self.trees.lock() {
            if trees.text_bytes + text.len() > BYTES_MAX {
                *trees = Trees::default();
            }
            trees.text_bytes += text.len();
            trees.by_text.insert(text.into(), Arc::clone(&tree));
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_parsed_once() {
        let cache = ParseCache::default();
        let first = cache.parse("SELECT 1").unwrap();
        assert!(Arc::ptr_eq(&first, &cache.parse("SELECT 1").unwrap()));
        assert!(cache.parse("SELECT").is_err());
        assert!(cache.parse("SELECT").is_err(), "mistakes are told again");
    }

    #[test]
    fn memory_is_bounded() {
        let cache = ParseCache::default();
        for n in 0..300 {
            cache.parse(&format!("SELECT '{n}{}'", "x".repeat(2000))).unwrap();
        }
        cache.parse(&format!("SELECT '{}'", "x".repeat(TEXT_BYTES_MAX))).unwrap();
        let trees = cache.trees.lock().unwrap();
        let n_bytes: usize = trees.by_text.keys().map(|text| text.len()).sum();
        assert_eq!(n_bytes, trees.text_bytes);
        assert!((1..=BYTES_MAX).contains(&n_bytes));
        assert!(trees.by_text.keys().all(|text| text.len() <= TEXT_BYTES_MAX));
    }
}
