//! A pull reader: the events of a JSON text one by one, checked as strictly as JSON is defined.
//!
//! Invariants:
//! - No recursion: what is open is a bit per level, so depth costs nothing and is bounded.
//! - Every event but the last has been checked to be followed by something legal when it matters:
//!   a caller that pulls until `None` has seen a whole, well-formed text.
//! - After an error the reader must be dropped.
//!
//! Hot path: runs over every item written. No allocation per event.

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
    /// The next byte to look at.
    at: usize,
    /// Where the event returned last begins.
    event_start: usize,
    expects: Expects,
    depth: usize,
    /// One bit per open level, the innermost lowest: 1 for an object.
    objects: u128,
    names: Names<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Expects {
    Value,
    FirstNameOrEnd,
    FirstElementOrEnd,
    CommaOrEnd,
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            event_start: 0,
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
        self.skip_space();
        self.event_start = self.at;
        match self.expects {
            Expects::CommaOrEnd if self.depth == 0 => self.end(),
            Expects::CommaOrEnd => self.comma_or_end().map(Some),
            Expects::FirstNameOrEnd if self.peek() == Some(b'}') => self.close_object().map(Some),
            Expects::FirstNameOrEnd => self.name().map(Some),
            Expects::FirstElementOrEnd if self.peek() == Some(b']') => self.close_array().map(Some),
            Expects::Value | Expects::FirstElementOrEnd => self.value().map(Some),
        }
    }

    /// Reads over the rest of the value whose first event was just returned.
    ///
    /// Returns the number of scalars (strings, numbers, booleans, nulls) passed over, the first
    /// event not counted.
    pub fn skip(&mut self, first: Event<'a>) -> Result<usize, JsonError> {
        let mut n_scalars = 0;
        let mut n_open = usize::from(matches!(first, Event::BeginObject | Event::BeginArray));
        while n_open > 0 {
            match self.next()? {
                Some(Event::BeginObject | Event::BeginArray) => n_open += 1,
                Some(Event::EndObject | Event::EndArray) => n_open -= 1,
                Some(Event::Name(_)) => {}
                Some(Event::String(_) | Event::Number(_) | Event::Bool(_) | Event::Null) => {
                    n_scalars += 1;
                }
                None => return Err(self.fault(JsonFault::End)),
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

    #[inline]
    fn value(&mut self) -> Result<Event<'a>, JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(Event::String),
            Some(b'{') => self.open(Expects::FirstNameOrEnd, Event::BeginObject),
            Some(b'[') => self.open(Expects::FirstElementOrEnd, Event::BeginArray),
            Some(b't') => self.word("true", Event::Bool(true)),
            Some(b'f') => self.word("false", Event::Bool(false)),
            Some(b'n') => self.word("null", Event::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.fault(JsonFault::Unexpected)),
            None => Err(self.fault(JsonFault::End)),
        }
    }

    #[inline]
    fn comma_or_end(&mut self) -> Result<Event<'a>, JsonError> {
        let is_object = self.objects & 1 == 1;
        match (self.peek(), is_object) {
            (Some(b','), _) => {
                self.at += 1;
                self.skip_space();
                self.event_start = self.at;
                if is_object { self.name() } else { self.value() }
            }
            (Some(b'}'), true) => self.close_object(),
            (Some(b']'), false) => self.close_array(),
            (Some(_), _) => Err(self.fault(JsonFault::Unexpected)),
            (None, _) => Err(self.fault(JsonFault::End)),
        }
    }

    #[inline]
    fn name(&mut self) -> Result<Event<'a>, JsonError> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err(self.fault(JsonFault::Unexpected)),
            None => return Err(self.fault(JsonFault::End)),
        }
        let name = self.string()?;
        if !self.names.push(name) {
            return Err(JsonError { fault: JsonFault::DuplicateName, offset: self.event_start });
        }
        self.skip_space();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return Err(self.fault(JsonFault::Unexpected)),
            None => return Err(self.fault(JsonFault::End)),
        }
        self.expects = Expects::Value;
        Ok(Event::Name(name))
    }

    #[inline]
    fn open(&mut self, expects: Expects, event: Event<'a>) -> Result<Event<'a>, JsonError> {
        if self.depth == DEPTH_MAX {
            return Err(self.fault(JsonFault::Depth));
        }
        let is_object = matches!(event, Event::BeginObject);
        if is_object {
            self.names.open();
        }
        self.at += 1;
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(is_object);
        self.expects = expects;
        Ok(event)
    }

    #[inline]
    fn close_object(&mut self) -> Result<Event<'a>, JsonError> {
        if !self.names.close() {
            return Err(self.fault(JsonFault::DuplicateName));
        }
        self.close();
        Ok(Event::EndObject)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the same shape as its siblings")]
    fn close_array(&mut self) -> Result<Event<'a>, JsonError> {
        self.close();
        Ok(Event::EndArray)
    }

    #[inline]
    fn close(&mut self) {
        self.at += 1;
        self.depth -= 1;
        self.objects >>= 1;
        self.expects = Expects::CommaOrEnd;
    }

    fn end(&self) -> Result<Option<Event<'a>>, JsonError> {
        if self.at == self.text.len() { Ok(None) } else { Err(self.fault(JsonFault::Trailing)) }
    }

    #[inline]
    fn string(&mut self) -> Result<Text<'a>, JsonError> {
        let start = self.at + 1;
        let end = scan::string_end(self.text.as_bytes(), start).map_err(located)?;
        self.at = end.quote + 1;
        self.expects = Expects::CommaOrEnd;
        Ok(Text::new(&self.text[start..end.quote], end.has_escapes))
    }

    #[inline]
    fn number(&mut self) -> Result<Event<'a>, JsonError> {
        let end = scan::number_end(self.text.as_bytes(), self.at).map_err(located)?;
        let number = &self.text[self.at..end];
        if !is_in_range(number) {
            return Err(self.fault(JsonFault::NumberRange));
        }
        self.at = end;
        self.expects = Expects::CommaOrEnd;
        Ok(Event::Number(number))
    }

    #[inline]
    fn word(&mut self, word: &str, event: Event<'a>) -> Result<Event<'a>, JsonError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            let is_cut = word.as_bytes().starts_with(rest);
            return Err(self.fault(if is_cut { JsonFault::End } else { JsonFault::Unexpected }));
        }
        self.at += word.len();
        self.expects = Expects::CommaOrEnd;
        Ok(event)
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self, fault: JsonFault) -> JsonError {
        JsonError { fault, offset: self.at }
    }
}

fn located((fault, offset): (JsonFault, usize)) -> JsonError {
    JsonError { fault, offset }
}

/// Says whether a number, well formed, is finite as a double. Only long ones and those with an
/// exponent can fail, so the others are not converted.
#[inline]
fn is_in_range(number: &str) -> bool {
    const DIGITS_SAFE: usize = 300;
    let is_suspect = number.len() > DIGITS_SAFE || number.bytes().any(|b| matches!(b, b'e' | b'E'));
    !is_suspect || number.parse::<f64>().is_ok_and(f64::is_finite)
}
