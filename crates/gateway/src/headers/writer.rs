//! Writing many header values with few allocations.
//!
//! Hot path: the values of one response share one buffer; numbers are written without `fmt`.

use std::fmt::Write;

use bytes::{BufMut, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{CONTROLS, utf8_percent_encode};

/// Room for the values of a typical response.
const BUFFER_BYTES: usize = 384;

/// Adds headers to a map. Invariant: the buffer holds only the value under construction.
#[derive(Debug)]
pub(crate) struct HeaderWriter<'a> {
    headers: &'a mut HeaderMap,
    buffer: BytesMut,
}

impl<'a> HeaderWriter<'a> {
    pub(crate) fn new(headers: &'a mut HeaderMap) -> HeaderWriter<'a> {
        HeaderWriter { headers, buffer: BytesMut::with_capacity(BUFFER_BYTES) }
    }

    /// A value that is always the same: made by the compiler (`const { … }`), which need not check it every time.
    pub(crate) fn fixed(&mut self, name: &HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    /// For what some answers say themselves.
    pub(crate) fn unless_there(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.entry(name).or_insert(value);
    }

    pub(crate) fn number(&mut self, name: &HeaderName, number: u64) {
        put_number(&mut self.buffer, number);
        self.insert(name);
    }

    /// The same number under several names.
    pub(crate) fn numbers(&mut self, names: &[&HeaderName], number: u64) {
        put_number(&mut self.buffer, number);
        let value = self.take();
        for name in names {
            self.headers.insert(*name, value.clone());
        }
    }

    /// A text. Wire: values are ASCII; anything else is percent-encoded.
    pub(crate) fn text(&mut self, name: &HeaderName, text: &str) {
        let is_value = |byte: &u8| matches!(byte, b' '..=b'~');
        if text.as_bytes().iter().all(is_value) {
            self.buffer.put_slice(text.as_bytes());
        } else {
            // Writing into memory does not fail.
            let _ = write!(self.buffer, "{}", utf8_percent_encode(text, CONTROLS));
        }
        self.insert(name);
    }

    /// A value that `write` puts together.
    pub(crate) fn with(&mut self, name: &HeaderName, write: impl FnOnce(&mut BytesMut)) {
        write(&mut self.buffer);
        self.insert(name);
    }

    fn insert(&mut self, name: &HeaderName) {
        let value = self.take();
        self.headers.insert(name, value);
    }

    fn take(&mut self) -> HeaderValue {
        HeaderValue::from_maybe_shared(self.buffer.split().freeze())
            .unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

/// Writes a number in decimal digits.
pub(crate) fn put_number(out: &mut impl BufMut, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut n_digits = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        n_digits += 1;
        if number == 0 {
            break;
        }
    }
    out.put_slice(digits.get(digits.len() - n_digits..).unwrap_or_default());
}

/// Writes a number that may be negative.
pub(crate) fn put_signed(out: &mut BytesMut, number: i64) {
    if number < 0 {
        out.put_u8(b'-');
    }
    put_number(out, number.unsigned_abs());
}

/// Writes `hundredths` / 100 without trailing zeros, as charges are shown.
pub(crate) fn put_hundredths(out: &mut BytesMut, hundredths: u64) {
    put_number(out, hundredths / 100);
    let (tens, ones) = (hundredths / 10 % 10, hundredths % 10);
    if tens + ones > 0 {
        out.put_u8(b'.');
        put_number(out, tens);
    }
    if ones > 0 {
        put_number(out, ones);
    }
}

#[cfg(test)]
mod tests {
    use model::Charge;

    use super::*;

    fn written(write: impl FnOnce(&mut BytesMut)) -> String {
        let mut out = BytesMut::new();
        write(&mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    #[test]
    fn numbers_are_written_as_fmt_would() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(written(|out| put_number(out, number)), number.to_string());
        }
        for number in [0, -1, 7, i64::MIN, i64::MAX] {
            assert_eq!(written(|out| put_signed(out, number)), number.to_string());
        }
    }

    #[test]
    fn charges_are_written_as_the_model_shows_them() {
        for hundredths in [0, 1, 10, 11, 100, 105, 150, 571, 100_000, 123_456_789] {
            let shown = Charge::from_hundredths(hundredths).to_string();
            assert_eq!(written(|out| put_hundredths(out, hundredths)), shown);
        }
    }

    #[test]
    fn texts_that_are_no_header_values_are_encoded() {
        let name = HeaderName::from_static("x");
        for (text, expected) in
            [("plain {\"a\"}", "plain {\"a\"}"), ("a\nb", "a%0Ab"), ("日", "%E6%97%A5"), ("", "")]
        {
            let mut headers = HeaderMap::new();
            HeaderWriter::new(&mut headers).text(&name, text);
            assert_eq!(headers["x"], expected);
        }
    }

    #[test]
    fn values_do_not_run_into_each_other() {
        let (a, b, c) = (
            HeaderName::from_static("a"),
            HeaderName::from_static("b"),
            HeaderName::from_static("c"),
        );
        let mut headers = HeaderMap::new();
        let mut writer = HeaderWriter::new(&mut headers);
        writer.number(&a, 12);
        writer.text(&b, &"long".repeat(200));
        writer.numbers(&[&a, &c], 34);
        assert_eq!(
            (&headers["a"], &headers["c"], headers["b"].len()),
            (&"34".parse().unwrap(), &"34".parse().unwrap(), 800)
        );
    }
}
