//! Full-text indexes: the words of a text, each once, and how many there are.
//!
//! A word is stored as the term of a text, stemmed as the search functions do it. The number of all words is `02` and four
//! bytes, big-endian; every text has it, an empty one too.

use model::Value;

use super::TermSpan;
use super::term::{Term, successor};
use crate::full_text::language::Language;

const LENGTH: u8 = 2;

/// Calls `emit` with the terms of a text.
pub(super) fn each_term(text: &Value, language: Language, emit: &mut dyn FnMut(&[u8])) {
    let Some(text) = text.as_str() else { return };
    let mut words = language.words(text);
    let mut length = vec![LENGTH];
    length.extend_from_slice(&u32::try_from(words.len()).unwrap_or(u32::MAX).to_be_bytes());
    emit(&length);
    words.sort_unstable();
    words.dedup();
    for word in words {
        emit(Term::of(&Value::String(word)).as_bytes());
    }
}

/// The span of the texts that have a word.
pub(crate) fn word_span(word: &str) -> TermSpan {
    TermSpan::point(&Term::of(&Value::from(word)))
}

/// Returns whether entries of [`word_span`] stand for this word only.
pub(crate) fn is_exact_word(word: &str) -> bool {
    Term::is_exact(Term::of(&Value::from(word)).as_bytes())
}

/// The span of all texts.
pub(crate) fn length_span() -> TermSpan {
    TermSpan { start: vec![LENGTH], end: successor(&[LENGTH]) }
}

/// Returns the number of words that an entry of [`length_span`] tells.
pub(crate) fn length_of(term: &[u8]) -> Option<u32> {
    let (&LENGTH, bytes) = term.split_first()? else { return None };
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
