//! Seals bytes that leave the server and come back: resource tokens and continuations.
//!
//! Invariant: what [`Sealer::open`] returns was sealed by this account for the same purpose.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// What sealed bytes are for; a seal for one purpose does not open for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Token,
    Continuation,
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Purpose::Token => b"orrery resource token",
            Purpose::Continuation => b"orrery continuation",
        }
    }

    /// Continuations travel in headers of limited size and grant nothing: a short tag is enough.
    fn tag_bytes(self) -> usize {
        match self {
            Purpose::Token => 32,
            Purpose::Continuation => 8,
        }
    }
}

/// Holds the account's secret. The secret is in the catalog, so seals survive a restart.
#[derive(Clone)]
pub(crate) struct Sealer([u8; 32]);

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(..)")
    }
}

impl Sealer {
    pub(crate) fn new(secret: [u8; 32]) -> Sealer {
        Sealer(secret)
    }

    /// Returns `bytes` and their tag as URL-safe text.
    pub(crate) fn seal(&self, purpose: Purpose, bytes: &[u8]) -> String {
        let mut sealed = bytes.to_vec();
        let tag = self.mac(purpose, bytes).finalize().into_bytes();
        sealed.extend_from_slice(tag.get(..purpose.tag_bytes()).unwrap_or(&tag));
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Returns the bytes behind `text` if the tag is ours. Compares in constant time.
    pub(crate) fn open(&self, purpose: Purpose, text: &str) -> Option<Vec<u8>> {
        let mut sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let at = sealed.len().checked_sub(purpose.tag_bytes())?;
        let tag = sealed.split_off(at);
        self.mac(purpose, &sealed).verify_truncated_left(&tag).ok()?;
        Some(sealed)
    }

    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    fn mac(&self, purpose: Purpose, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes any key length");
        mac.update(purpose.label());
        mac.update(bytes);
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_opens_only_unchanged_and_for_its_purpose() {
        let sealer = Sealer::new([7; 32]);
        for purpose in [Purpose::Token, Purpose::Continuation] {
            let text = sealer.seal(purpose, b"position");
            assert_eq!(sealer.open(purpose, &text).as_deref(), Some(b"position".as_slice()));
            assert_eq!(Sealer::new([8; 32]).open(purpose, &text), None, "another account's");
            for index in 0..text.len() {
                let mut forged = text.clone().into_bytes();
                forged[index] = if forged[index] == b'A' { b'B' } else { b'A' };
                let forged = String::from_utf8(forged).unwrap();
                assert_eq!(sealer.open(purpose, &forged), None, "byte {index}");
            }
        }
        let text = sealer.seal(Purpose::Continuation, b"position");
        assert_eq!(sealer.open(Purpose::Token, &text), None);
        assert_eq!(sealer.open(Purpose::Token, ""), None);
        assert_eq!(sealer.open(Purpose::Token, "%%%"), None);
    }
}
