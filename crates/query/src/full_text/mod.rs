//! Full text: languages, stemming and stop words.

pub(crate) mod language;
pub(crate) mod stop_words;
