//! Full-text search: words are runs of letters and digits, in lower case, stemmed in the language of their path.

use model::Value;

use super::{Call, Prepared};
use crate::language::Language;
use crate::value::{Datum, Maybe, boolean, integer, number};

/// BM25: how fast repeated words saturate.
const K1: f64 = 1.2;
/// BM25: how much long texts are discounted.
const B: f64 = 0.75;

/// Tokenises terms once, if they are constant.
pub(crate) fn prepare(language: Language, terms: Option<&[Option<&Datum<'_>>]>) -> Prepared {
    let words = |term: Option<&Datum<'_>>| Some(language.words(term?.as_text()?));
    let terms = terms.map(|terms| terms.iter().copied().map(words).collect());
    Prepared::Text { language, terms }
}

/// Returns the language of a call.
fn language(call: &Call<'_>) -> Language {
    call.prepared.language().unwrap_or_default()
}

pub(crate) fn n_occurrences(text: &[String], phrase: &[String]) -> usize {
    if phrase.is_empty() {
        return 0;
    }
    text.windows(phrase.len()).filter(|window| *window == phrase).count()
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
            let words = |text| language.words(text);
            let rest = arguments.iter().skip(1);
            computed = rest
                .map(|term| term.as_ref().and_then(Datum::as_text).map(words))
                .collect::<Vec<_>>();
            &computed
        }
    };
    let mut is_undefined = false;
    for term in terms {
        match term {
            None => is_undefined = true,
            Some(term) if (n_occurrences(&text, term) > 0) == decisive => {
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
    let count = |term: &Value| Some(n_occurrences(&words, &language.words(term.as_str()?)));
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
