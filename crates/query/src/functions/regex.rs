//! Functions of regular expressions.
//!
//! One search is linear in the text, but looking for all matches can be quadratic, whatever the engine: these functions
//! count their work with the run, which ends what takes too long.

use std::borrow::Cow;

use model::Value;
use regex::{Regex, RegexBuilder};

use super::string::RESULT_BYTES_MAX;
use super::{Call, Prepared};
use crate::context::Run;
use crate::error::Result;
use crate::value::{Datum, Maybe, boolean, text};

/// Limit: memory of one compiled regular expression.
const REGEX_BYTES_MAX: usize = 1 << 20;

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

/// Compiles a constant pattern with its constant options.
pub(crate) fn prepare(arguments: &[Option<&Datum<'_>>]) -> Prepared {
    Prepared::Regex(compile_arguments(arguments))
}

fn compile_arguments(arguments: &[Option<&Datum<'_>>]) -> Option<Regex> {
    let pattern = arguments.first().copied()??.as_text()?;
    let options = match arguments.get(1) {
        None => "",
        Some(options) => options.as_ref()?.as_text()?,
    };
    compile(pattern, options)
}

fn compile(pattern: &str, options: &str) -> Option<Regex> {
    let mut builder = RegexBuilder::new(pattern);
    for option in options.chars() {
        match option {
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            _ => return None,
        };
    }
    builder.size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build().ok()
}

/// Returns the regular expression of a call; `None` when it is invalid.
fn regex_of<'r>(
    call: &Call<'r>,
    run: &Run<'_>,
    arguments: &[Maybe<'_>],
    options_at: usize,
) -> Result<Option<Cow<'r, Regex>>> {
    if let Prepared::Regex(regex) = call.prepared {
        return Ok(regex.as_ref().map(Cow::Borrowed));
    }
    run.work(COMPILE_BYTES)?;
    let own = [arguments.get(PATTERN_AT), arguments.get(options_at)];
    let own: Vec<_> = own.into_iter().flatten().map(Option::as_ref).collect();
    Ok(compile_arguments(&own).map(Cow::Owned))
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
    let Some(regex) = regex_of(call, run, arguments, AFTER_PATTERN)? else { return Ok(None) };
    run.work(subject.len())?;
    Ok(boolean(regex.is_match(subject)))
}

/// What an extraction looks for: a group of the matches in a text.
struct Extraction<'c, 'v> {
    regex: Cow<'c, Regex>,
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
        let regex = regex_of(call, run, arguments, AFTER_PATTERN)?;
        let regex = regex.filter(|regex| group < regex.captures_len());
        Ok(regex.map(|regex| Extraction { regex, group, subject }))
    }

    /// Returns the group of every match; `None` where it took no part.
    fn found(&self) -> Box<dyn Iterator<Item = Option<&'v str>> + '_> {
        if self.group == 0 {
            return Box::new(self.regex.find_iter(self.subject).map(|found| Some(found.as_str())));
        }
        let own = |captures: regex::Captures<'v>| Some(captures.get(self.group)?.as_str());
        Box::new(self.regex.captures_iter(self.subject).map(own))
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
    run.work(extraction.subject.len())?;
    let first = extraction.found().next().flatten();
    Ok(first.and_then(text))
}

pub(super) fn extract_all<'e>(
    call: &Call<'_>,
    run: &Run<'_>,
    arguments: &mut [Maybe<'e>],
) -> Result<Maybe<'e>> {
    let Some(extraction) = Extraction::of(call, run, arguments)? else { return Ok(None) };
    let mut list = Vec::new();
    let mut bytes = 0;
    for part in extraction.found() {
        run.work(extraction.subject.len())?;
        let Some(part) = part else { continue };
        // Quotes and a comma.
        bytes += part.len() + 3;
        if bytes > RESULT_BYTES_MAX {
            return Ok(None);
        }
        list.push(Value::from(part));
    }
    Ok(Some(Datum::Owned(Value::Array(list))))
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
    let Some(regex) = regex_of(call, run, arguments, AFTER_REPLACEMENT)? else { return Ok(None) };
    let mut result = String::new();
    let mut rest = subject;
    for found in regex.find_iter(subject).take(n_max) {
        run.work(subject.len())?;
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
