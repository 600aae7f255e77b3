//! A pull reader: the events of a JSON text one by one, checked as strictly as JSON is defined.
//!
//! Invariants:
//! - No recursion: what is open is a bit per level, so depth costs nothing and is bounded.
//! - A caller that pulls until `None` has seen a whole, well-formed text.
//! - After an error the reader must be dropped.
//!
//! Hot path: runs over every item written. No allocation per event; the inner step returns a byte
//! and leaves places in the reader, so that skipped values are never turned into events.

#![deny(clippy::indexing_slicing)]

use super::{
    error::{JsonError, JsonFault},
    names::Names,
    scan,
    text::Text,
};

/// Limit: objects and arrays inside each other, as the service has it. Also bounds the recursion of
/// everything that walks a [`super::Value`].
pub const DEPTH_MAX: usize = 128;

/// One step through a JSON text.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// `{`
    BeginObject,
    /// `}`
    EndObject,
    /// `[`
    BeginArray,
    /// `]`
    EndArray,
    /// The name of a property; its value comes next.
    Name(Text<'a>),
    /// A string value.
    String(Text<'a>),
    /// A number as written. It is in the range of a double.
    Number(&'a str),
    /// `true` or `false`
    Bool(bool),
    /// `null`
    Null,
}

impl Event<'_> {
    /// Says whether this is a whole value: a string, number, boolean or null.
    pub fn is_scalar(&self) -> bool {
        match self {
            Self::String(_) | Self::Number(_) | Self::Bool(_) | Self::Null => true,
            Self::BeginObject
            | Self::EndObject
            | Self::BeginArray
            | Self::EndArray
            | Self::Name(_) => false,
        }
    }
}

/// Reads a JSON text event by event.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    /// The next byte to look at; after a fault, where it is.
    at: usize,
    /// Where the event returned last begins.
    event_start: usize,
    /// Whether the string or name read last has escapes.
    has_escapes: bool,
    /// The closing quote of the string or name read last.
    quote: usize,
    leniency: Leniency,
    expects: Expects,
    depth: usize,
    /// One bit per open level, the innermost lowest: 1 for an object.
    objects: u128,
    names: Names<'a>,
}

/// What is overlooked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leniency {
    None,
    DuplicateNames,
}

#[derive(Debug, Clone, Copy)]
enum Expects {
    Value,
    FirstNameOrEnd,
    FirstElementOrEnd,
    CommaOrEnd,
}

/// What was read; where it stands is in the reader.
#[derive(Debug, Clone, Copy)]
enum ReaderStep {
    BeginObject,
    EndObject,
    BeginArray,
    EndArray,
    Name,
    String,
    Number,
    True,
    False,
    Null,
    EndOfText,
}

type StepResult = Result<ReaderStep, JsonFault>;

impl<'a> Reader<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a str) -> Reader<'a> {
        Reader::with(text, Leniency::None)
    }

    pub(super) fn with(text: &'a str, leniency: Leniency) -> Reader<'a> {
        Reader {
            text,
            leniency,
            at: 0,
            event_start: 0,
            has_escapes: false,
            quote: 0,
            expects: Expects::Value,
            depth: 0,
            objects: 0,
            names: Names::default(),
        }
    }

    /// Checks that `bytes` are UTF-8 and starts at their beginning.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Reader<'a>, JsonError> {
        let not_utf8 = |error: std::str::Utf8Error| JsonError {
            fault: JsonFault::Utf8,
            offset: error.valid_up_to(),
        };
        std::str::from_utf8(bytes).map(Reader::new).map_err(not_utf8)
    }

    /// Returns the next event, or `None` at the end of a well-formed text.
    #[expect(clippy::should_implement_trait, reason = "an iterator of results hides the end check")]
    pub fn next(&mut self) -> Result<Option<Event<'a>>, JsonError> {
        let event = match self.step().map_err(|fault| self.located(fault))? {
            ReaderStep::BeginObject => Event::BeginObject,
            ReaderStep::EndObject => Event::EndObject,
            ReaderStep::BeginArray => Event::BeginArray,
            ReaderStep::EndArray => Event::EndArray,
            ReaderStep::Name => Event::Name(self.last_text()),
            ReaderStep::String => Event::String(self.last_text()),
            ReaderStep::Number => Event::Number(&self.text[self.event_start..self.at]),
            ReaderStep::True => Event::Bool(true),
            ReaderStep::False => Event::Bool(false),
            ReaderStep::Null => Event::Null,
            ReaderStep::EndOfText => return Ok(None),
        };
        Ok(Some(event))
    }

    /// Reads over the rest of the value whose first event was just returned.
    ///
    /// Returns the number of scalars (strings, numbers, booleans, nulls) passed over, the first
    /// event not counted.
    pub fn skip(&mut self, first: Event<'a>) -> Result<usize, JsonError> {
        let mut n_scalars = 0;
        if !matches!(first, Event::BeginObject | Event::BeginArray) {
            return Ok(n_scalars);
        }
        let outer_depth = self.depth - 1;
        while self.depth > outer_depth {
            match self.step().map_err(|fault| self.located(fault))? {
                ReaderStep::String
                | ReaderStep::Number
                | ReaderStep::True
                | ReaderStep::False
                | ReaderStep::Null => {
                    n_scalars += 1;
                }
                ReaderStep::BeginObject
                | ReaderStep::EndObject
                | ReaderStep::BeginArray
                | ReaderStep::EndArray
                | ReaderStep::Name => {}
                ReaderStep::EndOfText => return Err(self.located(JsonFault::End)),
            }
        }
        Ok(n_scalars)
    }

    /// Returns the text being read.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the byte where the event returned last begins (a string's quote, for instance).
    pub fn event_start(&self) -> usize {
        self.event_start
    }

    /// Returns the byte after the event returned last; after a name, that is after its colon.
    pub fn event_end(&self) -> usize {
        self.at
    }

    /// Returns how many objects and arrays are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    fn step(&mut self) -> StepResult {
        let next = self.next_byte();
        self.event_start = self.at;
        match self.expects {
            Expects::CommaOrEnd if self.depth == 0 => match next {
                None => Ok(ReaderStep::EndOfText),
                Some(_) => Err(JsonFault::Trailing),
            },
            Expects::CommaOrEnd => self.comma_or_end(next),
            Expects::FirstNameOrEnd if next == Some(b'}') => self.close_object(),
            Expects::FirstNameOrEnd => self.name(next),
            Expects::FirstElementOrEnd if next == Some(b']') => {
                Ok(self.close(ReaderStep::EndArray))
            }
            Expects::Value | Expects::FirstElementOrEnd => self.value(next),
        }
    }

    fn value(&mut self, next: Option<u8>) -> StepResult {
        match next {
            Some(b'"') => self.string(ReaderStep::String),
            Some(b'{') => {
                self.names.open();
                self.open(ReaderStep::BeginObject, Expects::FirstNameOrEnd)
            }
            Some(b'[') => self.open(ReaderStep::BeginArray, Expects::FirstElementOrEnd),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", ReaderStep::True),
            Some(b'f') => self.word(b"false", ReaderStep::False),
            Some(b'n') => self.word(b"null", ReaderStep::Null),
            other => Err(unexpected(other)),
        }
    }

    fn comma_or_end(&mut self, next: Option<u8>) -> StepResult {
        let is_object = self.objects & 1 == 1;
        match (next, is_object) {
            (Some(b','), _) => {
                self.at += 1;
                let next = self.next_byte();
                self.event_start = self.at;
                if is_object { self.name(next) } else { self.value(next) }
            }
            (Some(b'}'), true) => self.close_object(),
            (Some(b']'), false) => Ok(self.close(ReaderStep::EndArray)),
            (other, _) => Err(unexpected(other)),
        }
    }

    fn name(&mut self, next: Option<u8>) -> StepResult {
        if next != Some(b'"') {
            return Err(unexpected(next));
        }
        self.string(ReaderStep::Name)?;
        if !self.names.push(self.last_text()) && self.leniency == Leniency::None {
            self.at = self.event_start;
            return Err(JsonFault::DuplicateName);
        }
        match self.next_byte() {
            Some(b':') => self.at += 1,
            other => return Err(unexpected(other)),
        }
        self.expects = Expects::Value;
        Ok(ReaderStep::Name)
    }

    fn open(&mut self, step: ReaderStep, expects: Expects) -> StepResult {
        if self.depth == DEPTH_MAX {
            return Err(JsonFault::Depth);
        }
        self.at += 1;
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(matches!(step, ReaderStep::BeginObject));
        self.expects = expects;
        Ok(step)
    }

    fn close_object(&mut self) -> StepResult {
        if !self.names.close() && self.leniency == Leniency::None {
            return Err(JsonFault::DuplicateName);
        }
        Ok(self.close(ReaderStep::EndObject))
    }

    fn close(&mut self, step: ReaderStep) -> ReaderStep {
        self.at += 1;
        self.depth -= 1;
        self.objects >>= 1;
        self.expects = Expects::CommaOrEnd;
        step
    }

    fn string(&mut self, step: ReaderStep) -> StepResult {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let end = start + scan::plain_length(bytes.get(start..).unwrap_or_default());
        self.has_escapes = bytes.get(end) != Some(&b'"');
        self.quote = end;
        if self.has_escapes {
            self.quote = scan::string_end(bytes, end).map_err(|fault| self.fault_at(fault))?;
        }
        self.at = self.quote + 1;
        self.expects = Expects::CommaOrEnd;
        Ok(step)
    }

    fn number(&mut self) -> StepResult {
        let end = scan::number_end(self.text.as_bytes(), self.at);
        let end = end.map_err(|fault| self.fault_at(fault))?;
        if end.may_overflow && !is_in_range(&self.text[self.at..end.at]) {
            return Err(JsonFault::NumberRange);
        }
        self.at = end.at;
        self.expects = Expects::CommaOrEnd;
        Ok(ReaderStep::Number)
    }

    fn word(&mut self, word: &[u8], step: ReaderStep) -> StepResult {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(if word.starts_with(rest) {
                JsonFault::End
            } else {
                JsonFault::Unexpected
            });
        }
        self.at += word.len();
        self.expects = Expects::CommaOrEnd;
        Ok(step)
    }

    /// Moves to the next byte that is not space and returns it.
    #[inline]
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// The string or name that the last step read.
    #[inline]
    fn last_text(&self) -> Text<'a> {
        Text::new(&self.text[self.event_start + 1..self.quote], self.has_escapes)
    }

    fn fault_at(&mut self, (fault, at): (JsonFault, usize)) -> JsonFault {
        self.at = at;
        fault
    }

    fn located(&self, fault: JsonFault) -> JsonError {
        JsonError { fault, offset: self.at }
    }
}

fn unexpected(next: Option<u8>) -> JsonFault {
    if next.is_some() { JsonFault::Unexpected } else { JsonFault::End }
}

/// Says whether a number, well formed, is finite as a double.
fn is_in_range(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(f64::is_finite)
}
