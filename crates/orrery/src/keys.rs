//! The account's four keys, given or derived.
//!
//! Only the primary key has to be kept: the others follow from it by HMAC, so that a restart with the same
//! primary key accepts the same four. Derivation runs one way: who holds a read-only key learns nothing
//! about the primary one.

use std::fmt;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use sha2::Sha512;

use gateway::WELL_KNOWN_KEY as WELL_KNOWN;

use crate::arguments::KeyArguments;

// Limit: a key shorter than a SHA-256 block of entropy is a typing mistake, one longer than this a wrong file.
const KEY_BYTES_MIN: usize = 16;
const KEY_BYTES_MAX: usize = 256;

/// One key: its base64 text, known to decode.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn parse(text: &str) -> Result<Key> {
        let text = text.trim();
        let bytes = BASE64.decode(text).with_context(|| {
            format!("a key must be base64 text with padding, not {}", masked(text))
        })?;
        ensure!(
            (KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&bytes.len()),
            "a key must decode to {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes, this one has {}",
            bytes.len()
        );
        Ok(Key(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_well_known(&self) -> bool {
        self.0 == WELL_KNOWN
    }

    fn bytes(&self) -> Vec<u8> {
        BASE64.decode(&self.0).unwrap_or_default()
    }

    fn derive(&self, label: &str) -> Key {
        Key(BASE64.encode(mac(&self.bytes(), label)))
    }
}

// A key must never reach a log or a panic message.
impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(hidden)")
    }
}

/// The four keys of the account.
#[derive(Debug, Clone)]
pub(crate) struct AccountKeys {
    pub(crate) primary: Key,
    pub(crate) secondary: Key,
    pub(crate) read_only: Key,
    pub(crate) secondary_read_only: Key,
}

impl AccountKeys {
    pub(crate) fn resolve(arguments: &KeyArguments) -> Result<AccountKeys> {
        let primary = primary(arguments)?;
        let given = |text: &Option<String>, option: &str, label: &str| match text {
            Some(text) => Key::parse(text).with_context(|| format!("bad {option}")),
            None => Ok(primary.derive(label)),
        };
        Ok(AccountKeys {
            secondary: given(&arguments.secondary_key, "--secondary-key", "orrery secondary key")?,
            read_only: given(&arguments.read_only_key, "--read-only-key", "orrery read-only key")?,
            secondary_read_only: given(
                &arguments.secondary_read_only_key,
                "--secondary-read-only-key",
                "orrery secondary read-only key",
            )?,
            primary,
        })
    }
}

fn primary(arguments: &KeyArguments) -> Result<Key> {
    match (&arguments.key, &arguments.key_file) {
        (Some(text), _) => Key::parse(text).context("bad --key"),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the key file {}", file.display()))?;
            Key::parse(text.lines().next().unwrap_or_default())
                .with_context(|| format!("bad key in {}", file.display()))
        }
        (None, None) => Ok(Key(WELL_KNOWN.to_owned())),
    }
}

fn mac(key: &[u8], label: &str) -> Vec<u8> {
    #[expect(clippy::expect_used, reason = "HMAC is defined for keys of every length")]
    let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(label.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Enough of a mistyped key to recognise it, too little to use it.
fn masked(text: &str) -> String {
    let head: String = text.chars().take(4).collect();
    format!("{head:?}… ({} characters)", text.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(key: Option<&str>) -> KeyArguments {
        KeyArguments {
            key: key.map(str::to_owned),
            key_file: None,
            secondary_key: None,
            read_only_key: None,
            secondary_read_only_key: None,
        }
    }

    #[test]
    fn no_key_means_the_well_known_one() {
        let keys = AccountKeys::resolve(&arguments(None)).unwrap();
        assert!(keys.primary.is_well_known());
        assert!(!keys.secondary.is_well_known());
    }

    #[test]
    fn derived_keys_differ_and_stay_the_same_over_restarts() {
        let first = AccountKeys::resolve(&arguments(None)).unwrap();
        let again = AccountKeys::resolve(&arguments(None)).unwrap();
        let all = [&first.primary, &first.secondary, &first.read_only, &first.secondary_read_only];
        for (index, key) in all.iter().enumerate() {
            assert!(all.iter().skip(index + 1).all(|other| other != key));
            assert_eq!(key.bytes().len(), 64);
        }
        assert_eq!(first.read_only, again.read_only);
    }

    #[test]
    fn a_bad_key_is_refused_without_being_shown() {
        for text in ["", "not base64!", "c2hvcnQ=", &"A".repeat(1000)] {
            let error = AccountKeys::resolve(&arguments(Some(text))).unwrap_err();
            let message = format!("{error:#}");
            assert!(message.contains("--key"), "{message}");
            assert!(text.is_empty() || text.len() < 9 || !message.contains(text), "{message}");
        }
    }

    #[test]
    fn a_key_file_may_end_with_a_line_feed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, format!("{WELL_KNOWN}\n")).unwrap();
        let keys = AccountKeys::resolve(&KeyArguments { key_file: Some(file), ..arguments(None) })
            .unwrap();
        assert!(keys.primary.is_well_known());
    }

    #[test]
    fn a_key_is_not_printed_by_debug() {
        assert!(!format!("{:?}", Key(WELL_KNOWN.to_owned())).contains("C2y6"));
    }
}
