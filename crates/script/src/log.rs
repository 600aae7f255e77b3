//! What a script logged, in the form of a header.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

// Wire: the header is URL-encoded; these stay as they are, as in encodeURIComponent.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Collects text up to a limit on its encoded length; the rest is dropped without a word, as a log may be.
#[derive(Debug)]
pub(crate) struct Log {
    encoded: String,
    bytes_max: usize,
    is_on: bool,
    is_full: bool,
}

impl Log {
    pub(crate) fn off() -> Log {
        Log { encoded: String::new(), bytes_max: 0, is_on: false, is_full: false }
    }

    pub(crate) fn on(bytes_max: usize) -> Log {
        Log { encoded: String::new(), bytes_max, is_on: true, is_full: false }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on && !self.is_full
    }

    pub(crate) fn push(&mut self, text: &str) {
        if !self.is_on() {
            return;
        }
        let mut buffer = [0; 4];
        for character in text.chars() {
            let before = self.encoded.len();
            self.encoded.extend(utf8_percent_encode(character.encode_utf8(&mut buffer), ENCODED));
            if self.encoded.len() > self.bytes_max {
                self.encoded.truncate(before);
                self.is_full = true;
                return;
            }
        }
    }

    /// Returns the header, if logging was asked for.
    pub(crate) fn take(&mut self) -> Option<String> {
        let log = std::mem::replace(self, Log::off());
        log.is_on.then_some(log.encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_and_joined_without_newline() {
        let mut log = Log::on(100);
        log.push("a b");
        log.push("ü%");
        assert_eq!(log.take().as_deref(), Some("a%20b%C3%BC%25"));
    }

    #[test]
    fn a_full_log_ends_between_characters() {
        let mut log = Log::on(7);
        log.push("aüü");
        log.push("b");
        assert_eq!(log.take().as_deref(), Some("a%C3%BC"));
    }

    #[test]
    fn nothing_is_kept_when_logging_is_off() {
        let mut log = Log::off();
        log.push("a");
        assert_eq!(log.take(), None);
    }
}
