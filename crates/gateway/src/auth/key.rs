//! The keys of the account, ready to verify signatures.

use account::Principal;
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The key of the official emulators, which every SDK sample and test suite knows.
pub const WELL_KNOWN_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// The keys of an account as base64 text. An empty text means that there is no such key.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Keys {
    /// May do everything, as may the secondary one.
    pub primary: String,
    pub secondary: String,
    /// May only read, as may the secondary one.
    pub read_only: String,
    pub secondary_read_only: String,
}

/// The keys, ready to verify signatures; the primary one stands first because most requests use it.
#[derive(Clone)]
pub(crate) struct KeyRing {
    keys: Vec<Key>,
}

/// What is wrong with a key. The key itself is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a key must be base64 text")]
    NotBase64,
    #[error("a key must have at least 16 bytes, this one has {0}")]
    TooShort(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    All,
    ReadOnly,
}

#[derive(Clone)]
pub(crate) struct Key {
    access: Access,
    /// HMAC with the key already mixed in; cloning it is cheaper than keying anew.
    state: Hmac<Sha256>,
    text: Box<str>,
}

/// Limit: shorter keys could be guessed.
const KEY_BYTES_MIN: usize = 16;

impl Keys {
    /// Only a primary key.
    pub fn new(primary: &str) -> Keys {
        Keys { primary: primary.to_owned(), ..Keys::default() }
    }

    /// Says whether every key that is there can sign, and the primary one is there.
    pub fn check(&self) -> Result<(), KeyError> {
        self.ring().map(|_| ())
    }

    pub(crate) fn ring(&self) -> Result<KeyRing, KeyError> {
        let mut keys = vec![Key::parse(&self.primary, Access::All)?];
        let others = [
            (&self.secondary, Access::All),
            (&self.read_only, Access::ReadOnly),
            (&self.secondary_read_only, Access::ReadOnly),
        ];
        for (text, access) in others.into_iter().filter(|(text, _)| !text.is_empty()) {
            keys.push(Key::parse(text, access)?);
        }
        Ok(KeyRing { keys })
    }
}

impl KeyRing {
    /// A ring that verifies nothing.
    pub(crate) fn empty() -> KeyRing {
        KeyRing { keys: Vec::new() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter()
    }

    /// Says whether `text` is one of the keys with all rights.
    pub(crate) fn contains_text(&self, text: &[u8]) -> bool {
        let all = self.keys.iter().filter(|key| key.access == Access::All);
        // Every key is compared, so that time says nothing about which one matched.
        all.fold(false, |found, key| is_equal(key.text.as_bytes(), text) | found)
    }

    /// The key that `text` is, be it one that only reads.
    pub(crate) fn find_text(&self, text: &[u8]) -> Option<&Key> {
        // Every key is compared, so that time says nothing about which one matched.
        self.keys.iter().fold(None, |found, key| {
            let is_it = is_equal(key.text.as_bytes(), text);
            if is_it { found.or(Some(key)) } else { found }
        })
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A key must never reach a log or a panic message.
        f.write_str("Keys(hidden)")
    }
}

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyRing({})", self.keys.len())
    }
}

impl Key {
    fn parse(text: &str, access: Access) -> Result<Key, KeyError> {
        let text = text.trim();
        let bytes = STANDARD.decode(text).map_err(|_| KeyError::NotBase64)?;
        if bytes.len() < KEY_BYTES_MIN {
            return Err(KeyError::TooShort(bytes.len()));
        }
        let state = Hmac::new_from_slice(&bytes).map_err(|_| KeyError::TooShort(bytes.len()))?;
        Ok(Key { access, state, text: text.into() })
    }

    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// A fresh HMAC computation under this key.
    pub(crate) fn mac(&self) -> Hmac<Sha256> {
        self.state.clone()
    }
}

impl Access {
    pub(crate) fn principal(self) -> Principal {
        match self {
            Access::All => Principal::Master,
            Access::ReadOnly => Principal::ReadOnly,
        }
    }
}

/// Compares in time that depends on the lengths only.
fn is_equal(left: &[u8], right: &[u8]) -> bool {
    let difference = left.iter().zip(right).fold(0_u8, |all, (left, right)| all | (left ^ right));
    left.len() == right.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_must_be_long_base64() {
        assert!(Keys::new(WELL_KNOWN_KEY).check().is_ok());
        assert_eq!(Keys::new("not base64!").check(), Err(KeyError::NotBase64));
        assert_eq!(Keys::new("AAAA").check(), Err(KeyError::TooShort(3)));
        assert_eq!(Keys::new("").check(), Err(KeyError::TooShort(0)));
        let bad = Keys { read_only: "x".to_owned(), ..Keys::new(WELL_KNOWN_KEY) };
        assert_eq!(bad.check(), Err(KeyError::NotBase64));
    }

    #[test]
    fn keys_do_not_print_themselves() {
        let keys = Keys::new(WELL_KNOWN_KEY);
        let printed = format!("{keys:?} {:?}", keys.ring().unwrap());
        assert!(!printed.contains("C2y6"), "{printed}");
    }

    #[test]
    fn read_only_keys_do_not_count_as_full_keys() {
        let other = STANDARD.encode([7; 32]);
        let keys = Keys { read_only: other.clone(), ..Keys::new(WELL_KNOWN_KEY) };
        let ring = keys.ring().unwrap();
        assert!(ring.contains_text(WELL_KNOWN_KEY.as_bytes()));
        assert!(!ring.contains_text(other.as_bytes()));
        assert!(!ring.contains_text(b""));
        assert!(!ring.contains_text(&WELL_KNOWN_KEY.as_bytes()[..20]));
        assert!(!KeyRing::empty().contains_text(b""));
    }
}
