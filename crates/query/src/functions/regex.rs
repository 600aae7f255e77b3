//! Functions of regular expressions.
//!
//! One search takes at most the product of text and pattern, and is bounded by it, for nothing ends a search. Looking for
//! all matches can be quadratic, whatever the engine: these functions count their work with the run, which ends what
//! takes too long.

use std::borrow::Cow;
use std::ops::Range;

use model::Value;
use model::json::{ALLOCATION_BYTES, ELEMENT_BYTES};
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

use super::string::RESULT_BYTES_MAX;
use super::{Call, Prepared};
use crate::context::Run;
use crate::error::{Error, Result};
use crate::value::{Datum, Maybe, boolean, text};

/// Limit: memory of one compiled regular expression.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// Limit: bytes of a pattern; its syntax tree is a few hundred times as large.
const PATTERN_BYTES_MAX: usize = 32 * 1024;

/// Bytes of a syntax tree for each byte of its pattern, about.
const TREE_BYTES: usize = 400;

/// Returns the memory that a pattern of so many bytes takes while it is compiled, and for the searches of one call.
pub(super) fn compiled_bytes(pattern_bytes: usize) -> usize {
    pattern_bytes.min(PATTERN_BYTES_MAX).saturating_mul(TREE_BYTES)
}

/// Limit: positions of a pattern times bytes of a text; a few seconds at worst, when all positions are in reach at
/// every byte.
const SEARCH_MAX: usize = 1 << 27;

/// Positions of a pattern that make a search take twice as long, or so.
const POSITIONS_PER_BYTE: usize = 8;

/// What compiling costs, in bytes of text to search.
const COMPILE_BYTES: usize = 128 * 1024;

/// Which argument has the options, for each function that takes a pattern as its second argument.
const OPTIONS_AT: [(&str, usize); 5] = [
    ("REGEXMATCH", AFTER_PATTERN),
    ("REGEXEXTRACT", AFTER_PATTERN),
    ("REGEXEXTRACTALL", AFTER_PATTERN),
    ("REGEXREPLACE", AFTER_REPLACEMENT),
    ("REGEXREPLACEALL", AFTER_REPLACEMENT),
];
const PATTERN_AT: usize = 1;
const AFTER_PATTERN: usize = 2;
const AFTER_REPLACEMENT: usize = 3;

/// Returns the arguments of a function that make its regular expression, pattern first; `None` for other functions.
pub(crate) fn pattern_arguments<'a, T>(name: &str, arguments: &'a [T]) -> Option<Vec<&'a T>> {
    let (_, options_at) = OPTIONS_AT.iter().find(|(own, _)| *own == name)?;
    Some([arguments.get(PATTERN_AT), arguments.get(*options_at)].into_iter().flatten().collect())
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    n_positions: usize,
}

impl Pattern {
    fn compile(pattern: &str, options: &str) -> Option<Pattern> {
        let mut parser = regex_syntax::ParserBuilder::new();
        let mut builder = RegexBuilder::new(pattern);
        for option in options.chars() {
            match option {
                'm' => (parser.multi_line(true), builder.multi_line(true)),
                's' => (parser.dot_matches_new_line(true), builder.dot_matches_new_line(true)),
                'i' => (parser.case_insensitive(true), builder.case_insensitive(true)),
                'x' => (parser.ignore_whitespace(true), builder.ignore_whitespace(true)),
                _ => return None,
            };
        }
        let regex = builder.size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build();
        let n_positions = n_positions(&parser.build().parse(pattern).ok()?);
        Some(Pattern { regex: regex.ok()?, n_positions })
    }

    fn of(arguments: &[Option<&Datum<'_>>]) -> Option<Pattern> {
        let pattern = arguments.first().copied()??.as_text()?;
        let options = match arguments.get(1) {
            None => "",
            Some(options) => options.as_ref()?.as_text()?,
        };
        Pattern::compile(pattern, options)
    }

    /// Counts a search with the run.
    fn search(&self, subject: &str, run: &Run<'_>) -> Result<()> {
        if subject.len().saturating_mul(self.n_positions) > SEARCH_MAX {
            let what = "the length of a regular expression, repetitions written out, times that of the text it searches";
            return Err(Error::Limit { what, limit: SEARCH_MAX });
        }
        run.work(subject.len().saturating_mul(1 + self.n_positions / POSITIONS_PER_BYTE))
    }
}

/// Returns how many places of a pattern a search can be at, repetitions written out.
fn n_positions(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(_) => 1,
        HirKind::Capture(capture) => n_positions(&capture.sub),
        HirKind::Repetition(repetition) => {
            let n_times = repetition.max.unwrap_or(repetition.min).max(1);
            n_positions(&repetition.sub).saturating_mul(n_times as usize)
        }
        // These are compiled to a tree, and a search is at one place of each depth.
        HirKind::Alternation(list)
            if list.iter().all(|hir| matches!(hir.kind(), HirKind::Literal(_))) =>
        {
            list.iter().map(n_positions).max().unwrap_or_default()
        }
        HirKind::Concat(list) | HirKind::Alternation(list) => {
            list.iter().fold(0_usize, |sum, hir| sum.saturating_add(n_positions(hir)))
        }
    }
}

/// Compiles a constant pattern with its constant options. One that is too long is left to the rows, which refuse it.
pub(crate) fn prepare(arguments: &[Option<&Datum<'_>>]) -> Prepared {
    let pattern = arguments.first().copied().flatten().and_then(Datum::as_text);
    if pattern.is_some_and(|pattern| pattern.len() > PATTERN_BYTES_MAX) {
        return Prepared::Nothing;
    }
    Prepared::Regex(Pattern::of(arguments))
}

/// Returns the pattern of a call; `None` when it is invalid.
fn pattern_of<'r>(
    call: &Call<'r>,
    run: &Run<'_>,
    arguments: &[Maybe<'_>],
    options_at: usize,
) -> Result<Option<Cow<'r, Pattern>>> {
    if let Prepared::Regex(pattern) = call.prepared {
        return Ok(pattern.as_ref().map(Cow::Borrowed));
    }
    if text_at(arguments, PATTERN_AT).is_some_and(|pattern| pattern.len() > PATTERN_BYTES_MAX) {
        let what = "the length of a regular expression, in bytes,";
        return Err(Error::Limit { what, limit: PATTERN_BYTES_MAX });
    }
    run.work(COMPILE_BYTES)?;
    let own = [arguments.get(PATTERN_AT), arguments.get(options_at)];
    let own: Vec<_> = own.into_iter().flatten().map(Option::as_ref).collect();
    Ok(Pattern::of(&own).map(Cow::Owned))
}

fn text_at<'v>(arguments: &'v [Maybe<'_>], index: usize) -> Option<&'v str> {
    arguments.get(index)?.as_ref()?.as_text()
}

pub(super) fn matches<'e>(
    call: &Call<'_>,
    run: &Run<'_>,
    arguments: &mut [Maybe<'e>],
) -> Result<Maybe<'e>> {
    let Some(subject) = text_at(arguments, 0) else { return Ok(None) };
    let Some(pattern) = pattern_of(call, run, arguments, AFTER_PATTERN)? else { return Ok(None) };
    pattern.search(subject, run)?;
    Ok(boolean(pattern.regex.is_match(subject)))
}

/// What an extraction looks for: a group of the matches in a text.
struct Extraction<'c, 'v> {
    pattern: Cow<'c, Pattern>,
    /// Zero is the whole match.
    group: usize,
    subject: &'v str,
}

impl<'c, 'v> Extraction<'c, 'v> {
    fn of(
        call: &Call<'c>,
        run: &Run<'_>,
        arguments: &'v [Maybe<'_>],
    ) -> Result<Option<Extraction<'c, 'v>>> {
        let Some(subject) = text_at(arguments, 0) else { return Ok(None) };
        let Some(group) = group_number(arguments) else { return Ok(None) };
        let pattern = pattern_of(call, run, arguments, AFTER_PATTERN)?;
        let pattern = pattern.filter(|pattern| group < pattern.regex.captures_len());
        Ok(pattern.map(|pattern| Extraction { pattern, group, subject }))
    }

    fn search(&self, run: &Run<'_>) -> Result<()> {
        self.pattern.search(self.subject, run)
    }

    /// Returns where the group of every match is; `None` where it took no part.
    fn found(&self) -> Box<dyn Iterator<Item = Option<Range<usize>>> + '_> {
        let regex = &self.pattern.regex;
        if self.group == 0 {
            return Box::new(regex.find_iter(self.subject).map(|found| Some(found.range())));
        }
        let own = |captures: regex::Captures<'v>| Some(captures.get(self.group)?.range());
        Box::new(regex.captures_iter(self.subject).map(own))
    }
}

fn group_number(arguments: &[Maybe<'_>]) -> Option<usize> {
    match arguments.get(AFTER_PATTERN + 1) {
        None => Some(0),
        Some(group) => usize::try_from(group.as_ref()?.as_integer()?).ok(),
    }
}

pub(super) fn extract<'e>(
    call: &Call<'_>,
    run: &Run<'_>,
    arguments: &mut [Maybe<'e>],
) -> Result<Maybe<'e>> {
    let Some(extraction) = Extraction::of(call, run, arguments)? else { return Ok(None) };
    extraction.search(run)?;
    let first = extraction.found().next().flatten();
    Ok(first.and_then(|range| text(extraction.subject.get(range)?)))
}

pub(super) fn extract_all<'e>(
    call: &Call<'_>,
    run: &Run<'_>,
    arguments: &mut [Maybe<'e>],
) -> Result<Maybe<'e>> {
    run.scratch(compiled_bytes(text_at(arguments, PATTERN_AT).map_or(0, str::len)))?;
    let Some(extraction) = Extraction::of(call, run, arguments)? else { return Ok(None) };
    // First the places of the parts, which are smaller: a list that is too long is undefined before it is built.
    let mut parts: Vec<(u32, u32)> = Vec::new();
    let mut bytes = 0;
    extraction.search(run)?;
    for range in extraction.found() {
        // For the next one.
        extraction.search(run)?;
        let Some(range) = range else { continue };
        // Quotes and a comma.
        bytes += range.len() + 3;
        let (Ok(start), Ok(end)) = (u32::try_from(range.start), u32::try_from(range.end)) else {
            return Ok(None);
        };
        if bytes > RESULT_BYTES_MAX {
            return Ok(None);
        }
        // The list doubles when it grows, and stands beside its predecessor meanwhile.
        run.reserve(3 * size_of::<(u32, u32)>())?;
        parts.push((start, end));
    }
    let allocated = |(start, end): &(u32, u32)| {
        let bytes = end.abs_diff(*start) as usize;
        if bytes == 0 { 0 } else { bytes + ALLOCATION_BYTES }
    };
    run.reserve(parts.len() * ELEMENT_BYTES + parts.iter().map(allocated).sum::<usize>())?;
    let part = |(start, end): &(u32, u32)| {
        let range = *start as usize..*end as usize;
        Value::from(extraction.subject.get(range).unwrap_or_default())
    };
    Ok(Some(Datum::Owned(Value::Array(parts.iter().map(part).collect()))))
}

pub(super) fn replace<'e>(
    call: &Call<'_>,
    run: &Run<'_>,
    arguments: &mut [Maybe<'e>],
) -> Result<Maybe<'e>> {
    replaced(call, run, arguments, 1)
}

pub(super) fn replace_all<'e>(
    call: &Call<'_>,
    run: &Run<'_>,
    arguments: &mut [Maybe<'e>],
) -> Result<Maybe<'e>> {
    replaced(call, run, arguments, usize::MAX)
}

/// Puts the replacement, as it is, in the place of the first matches.
fn replaced<'e>(
    call: &Call<'_>,
    run: &Run<'_>,
    arguments: &[Maybe<'_>],
    n_max: usize,
) -> Result<Maybe<'e>> {
    let (Some(subject), Some(replacement)) = (text_at(arguments, 0), text_at(arguments, 2)) else {
        return Ok(None);
    };
    let Some(pattern) = pattern_of(call, run, arguments, AFTER_REPLACEMENT)? else {
        return Ok(None);
    };
    let mut result = String::new();
    let mut rest = subject;
    pattern.search(subject, run)?;
    for found in pattern.regex.find_iter(subject).take(n_max) {
        // For the next one.
        pattern.search(subject, run)?;
        let passed = subject.len() - rest.len();
        let (before, after) = (found.start() - passed, found.end() - passed);
        result.push_str(rest.get(..before).unwrap_or_default());
        result.push_str(replacement);
        rest = rest.get(after..).unwrap_or_default();
        if result.len() + rest.len() > RESULT_BYTES_MAX {
            return Ok(None);
        }
    }
    result.push_str(rest);
    Ok(text(result))
}
