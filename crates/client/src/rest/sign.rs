//! The signature of a request by the account key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// Returns the `authorization` header for a call, or `None` if the key cannot sign.
pub(super) fn authorization(key: &[u8], verb: &str, path: &str, date: &str) -> Option<String> {
    let (kind, link) = resource(path);
    // Wire: verb, type and date lower-case, the link as it is, one empty line at the end.
    let text =
        format!("{}\n{kind}\n{link}\n{}\n\n", verb.to_ascii_lowercase(), date.to_ascii_lowercase());
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text.as_bytes());
    let signature = BASE64.encode(mac.finalize().into_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    Some(format!("type%3Dmaster%26ver%3D1.0%26sig%3D{signature}"))
}

/// What is signed: an even path names a resource, an odd one a feed of its owner.
fn resource(path: &str) -> (&str, &str) {
    let n_segments = path.split('/').filter(|it| !it.is_empty()).count();
    match path.rsplit_once('/') {
        None => (path, ""),
        Some((owner, name)) if n_segments % 2 == 1 => (name, owner),
        Some((feed, _)) => (feed.rsplit_once('/').map_or(feed, |(_, kind)| kind), path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_link_follows_the_path() {
        for (path, kind, link) in [
            ("", "", ""),
            ("dbs", "dbs", ""),
            ("dbs/d", "dbs", "dbs/d"),
            ("dbs/d/colls", "colls", "dbs/d"),
            ("dbs/d/colls/c/docs/i", "docs", "dbs/d/colls/c/docs/i"),
        ] {
            assert_eq!(resource(path), (kind, link), "{path}");
        }
    }

    #[test]
    fn a_known_request_has_its_known_signature() {
        // Computed by hand with openssl for the key "key" (base64 "a2V5").
        let header = authorization(b"key", "GET", "dbs/d", "Tue, 01 Nov 1994 08:12:31 GMT");
        assert_eq!(
            header.as_deref(),
            Some(
                "type%3Dmaster%26ver%3D1.0%26sig%3DN07PdCMaSUTg9LYUCaQ5RhGQeZ86KM4nLa%2FvJN16do0%3D"
            )
        );
    }
}
