//! Full-text search: words are runs of letters and digits, in lower case, stemmed in the language of their path.

use model::Value;

use super::{Call, Prepared};
use crate::full_text::language::Language;
use crate::value::{Datum, Maybe, boolean, integer, number};

/// BM25: how fast repeated words saturate.
const K1: f64 = 1.2;
/// BM25: how much long texts are discounted.
const B: f64 = 0.75;

/// Tokenises terms once, if they are constant.
pub(crate) fn prepare(language: Language, terms: Option<&[Option<&Datum<'_>>]>) -> Prepared {
    let term = |term: Option<&Datum<'_>>| SearchTerm::read(term?.value()?, language);
    let terms = terms.map(|terms| terms.iter().copied().map(term).collect());
    Prepared::Text { language, terms }
}

/// Returns the language of a call.
fn language(call: &Call<'_>) -> Language {
    call.prepared.language().unwrap_or_default()
}

/// What is searched for: words in a row, each of which may differ in some letters.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchTerm {
    words: Vec<String>,
    distance: usize,
}

impl SearchTerm {
    /// Limit: letters that a word may differ in, as the service has it.
    const DISTANCE_MAX: usize = 2;

    /// Reads a text, or a fuzzy term `{"term": text, "distance": 0 to 2}`.
    pub(crate) fn read(term: &Value, language: Language) -> Option<SearchTerm> {
        let (text, distance) = SearchTerm::parts(term)?;
        Some(SearchTerm { words: language.words(text), distance })
    }

    /// Returns the text of a term, and how many letters of its words may differ.
    pub(crate) fn parts(term: &Value) -> Option<(&str, usize)> {
        let (text, distance) = match term {
            Value::String(text) => (text.as_str(), 0),
            Value::Object(fuzzy) => {
                let distance = usize::try_from(fuzzy.get("distance")?.as_i64()?).ok()?;
                (fuzzy.get("term")?.as_str()?, distance)
            }
            _ => return None,
        };
        (distance <= SearchTerm::DISTANCE_MAX).then_some((text, distance))
    }

    /// Returns how often the term occurs in a text.
    pub(crate) fn n_occurrences(&self, text: &[String]) -> usize {
        if self.words.is_empty() {
            return 0;
        }
        let is_same = |(own, other): (&String, &String)| {
            own == other || self.distance > 0 && is_within(own, other, self.distance)
        };
        let windows = text.windows(self.words.len());
        windows.filter(|window| self.words.iter().zip(*window).all(is_same)).count()
    }
}

/// Says whether one word becomes another by so many letters at most that are put in, left out or replaced.
///
/// It skips what both begin with, then tries the three edits: at most nine passes over a word for two letters, and no
/// memory, however long the words are.
fn is_within(left: &str, right: &str, distance: usize) -> bool {
    let (mut left, mut right) = (left.chars(), right.chars());
    loop {
        let (left_rest, right_rest) = (left.as_str(), right.as_str());
        let (own, other) = (left.next(), right.next());
        if own == other {
            if own.is_none() {
                return true;
            }
            continue;
        }
        let Some(distance) = distance.checked_sub(1) else { return false };
        return is_within(left.as_str(), right.as_str(), distance)
            || is_within(left.as_str(), right_rest, distance)
            || is_within(left_rest, right.as_str(), distance);
    }
}

/// Tests each term and folds with three-valued logic: `decisive` wins.
fn each<'e>(call: &Call<'_>, arguments: &[Maybe<'_>], decisive: bool) -> Maybe<'e> {
    let language = language(call);
    let text = language.words(arguments.first()?.as_ref()?.as_text()?);
    let computed;
    let terms = match call.prepared {
        Prepared::Text { terms: Some(terms), .. } => terms,
        Prepared::Text { .. }
        | Prepared::Nothing
        | Prepared::Regex(_)
        | Prepared::Vector(_)
        | Prepared::Shapes(_) => {
            let term = |term: &Maybe<'_>| SearchTerm::read(term.as_ref()?.value()?, language);
            computed = arguments.iter().skip(1).map(term).collect::<Vec<_>>();
            &computed
        }
    };
    let mut is_undefined = false;
    for term in terms {
        match term {
            None => is_undefined = true,
            Some(term) if (term.n_occurrences(&text) > 0) == decisive => {
                return boolean(decisive);
            }
            Some(_) => {}
        }
    }
    if is_undefined { None } else { boolean(!decisive) }
}

pub(super) fn contains<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    each(call, arguments, true)
}

pub(super) fn contains_all<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    each(call, arguments, false)
}

pub(super) fn contains_any<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    each(call, arguments, true)
}

pub(super) fn word_count<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let text = arguments.first()?.as_ref()?.as_text()?;
    integer(i64::try_from(language(call).words(text).len()).ok()?)
}

/// Statistics of the texts that are compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) n_items: f64,
    pub(crate) n_words: f64,
    /// For each term, how many texts have it.
    pub(crate) hits: Vec<f64>,
}

/// `_FullTextScore(text, terms, n_items, n_words, n_items_with_each_term)`.
pub(super) fn score<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let [Some(text), Some(terms), Some(n_items), Some(n_words), Some(hits)] = arguments else {
        return None;
    };
    let (terms, hits) = (terms.as_array()?, hits.as_array()?);
    let statistics = Statistics {
        n_items: n_items.as_f64()?,
        n_words: n_words.as_f64()?,
        hits: hits.iter().map(Value::as_f64).collect::<Option<_>>()?,
    };
    if terms.len() != hits.len() || statistics.n_items <= 0.0 {
        return None;
    }
    let language = language(call);
    let text = text.as_text()?;
    let words = language.words(text);
    let count = |term: &Value| Some(SearchTerm::read(term, language)?.n_occurrences(&words));
    let counts: Option<Vec<usize>> = terms.iter().map(count).collect();
    number(bm25_of_counts(language.length(text), &counts?, &statistics))
}

/// Scores a text of a length (see [`Language::length`]) in which each term occurs so many times.
#[expect(clippy::cast_precision_loss, reason = "word counts are far below 2^53")]
pub(crate) fn bm25_of_counts(length: usize, counts: &[usize], statistics: &Statistics) -> f64 {
    let mean_length = (statistics.n_words / statistics.n_items).max(1.0);
    let length_factor = K1 * (1.0 - B + B * length as f64 / mean_length);
    let score = |(n_found, n_with): (&usize, &f64)| {
        let n_found = *n_found as f64;
        let rarity = (1.0 + (statistics.n_items - n_with + 0.5).max(0.0) / (n_with + 0.5)).ln();
        rarity * n_found * (K1 + 1.0) / (n_found + length_factor)
    };
    counts.iter().zip(&statistics.hits).map(score).sum()
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn words_are_near_by_letters() {
        for (left, right, distance) in [
            ("dog", "dog", 0),
            ("dog", "dig", 1),
            ("dog", "do", 1),
            ("og", "dog", 1),
            ("dog", "gdo", 2),
            ("", "ab", 2),
            ("abcdef", "bcdefg", 2),
            ("abcd", "badc", 3),
        ] {
            assert!(is_within(left, right, distance), "{left} {right}");
            assert!(distance == 0 || !is_within(left, right, distance - 1), "{left} {right}");
        }
        assert!(!is_within("dog", "cats", 2));
    }
}
