//! The scores of ORDER BY RANK.

use crate::bind::tree::{Component, Score};
use crate::context::Run;
use crate::error::Result;
use crate::eval::{Frame, eval};
use crate::functions::{SearchTerm, Statistics, bm25_of_counts, words_bytes};
use crate::value::Datum;

/// What a score needs of a row. The score of a text also needs statistics of all texts.
pub(super) enum Input {
    Text { n_words: usize, length: usize, counts: Vec<usize> },
    Number(f64),
    Nothing,
}

impl Input {
    /// Estimates the memory of an input.
    pub(super) fn n_bytes(&self) -> usize {
        match self {
            Input::Text { counts, .. } => 64 + 8 * counts.len(),
            Input::Number(_) | Input::Nothing => 64,
        }
    }
}

/// Scores rows by one component of a rank.
pub(super) struct Scorer<'q> {
    component: &'q Component,
    phrases: Vec<SearchTerm>,
}

impl<'q> Scorer<'q> {
    pub(super) fn new(component: &'q Component) -> Scorer<'q> {
        let phrases = match &component.score {
            Score::FullText { terms, language, .. } => {
                let read = |term| SearchTerm::read(term, *language).unwrap_or_default();
                terms.iter().map(read).collect()
            }
            Score::Vector { .. } => Vec::new(),
        };
        Scorer { component, phrases }
    }

    pub(super) fn n_terms(&self) -> usize {
        self.phrases.len()
    }

    /// Returns whether the largest score is the best one.
    pub(super) fn is_larger_first(&self) -> bool {
        let natural = match &self.component.score {
            Score::FullText { .. } => true,
            Score::Vector { larger_closer, .. } => *larger_closer,
        };
        natural == (self.component.weight >= 0.0)
    }

    pub(super) fn input(&self, frame: &Frame<'_>, run: &Run<'_>) -> Result<Input> {
        Ok(match &self.component.score {
            Score::FullText { text, language, .. } => {
                let value = eval(text, frame, run)?;
                let text = value.as_ref().and_then(Datum::as_text);
                run.scratch(text.map_or(0, words_bytes))?;
                text.map_or(Input::Nothing, |text| {
                    let words = language.words(text);
                    let count = |phrase: &SearchTerm| phrase.n_occurrences(&words);
                    Input::Text {
                        n_words: words.len(),
                        length: language.length(text),
                        counts: self.phrases.iter().map(count).collect(),
                    }
                })
            }
            Score::Vector { expr, .. } => eval(expr, frame, run)?
                .and_then(|datum| datum.as_f64())
                .map_or(Input::Nothing, Input::Number),
        })
    }

    /// Returns what the scores of all rows depend on.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(super) fn statistics<'i>(&self, inputs: impl Iterator<Item = &'i Input>) -> Statistics {
        let mut n_items = 0_usize;
        let mut n_words_all = 0_usize;
        let mut hits = vec![0_usize; self.phrases.len()];
        for input in inputs {
            n_items += 1;
            if let Input::Text { n_words, counts, .. } = input {
                n_words_all += n_words;
                for (n_with, count) in hits.iter_mut().zip(counts) {
                    *n_with += usize::from(*count > 0);
                }
            }
        }
        Statistics {
            n_items: n_items.max(1) as f64,
            n_words: n_words_all as f64,
            hits: hits.into_iter().map(|n_with| n_with as f64).collect(),
        }
    }

    /// Returns the score of a row; `None` if it has none.
    pub(super) fn score(input: &Input, statistics: &Statistics) -> Option<f64> {
        match input {
            Input::Text { length, counts, .. } => Some(bm25_of_counts(*length, counts, statistics)),
            Input::Number(score) => Some(*score),
            Input::Nothing => None,
        }
    }
}
