//! Emulator-style identity tokens: a JWT whose third part is the account key instead of a signature.
//!
//! Accepted only when the operator opted in; real identity providers are not consulted.

#![deny(clippy::indexing_slicing)]

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use model::Value;

use super::key::KeyRing;
use crate::error::Error;

/// Checks form, key and times of a token.
pub(super) fn check(token: &str, keys: &KeyRing, now_seconds: u64) -> Result<(), Error> {
    let mut parts = token.split('.');
    let (Some(header), Some(claims), Some(key), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Error::IdentityInvalid("it does not have three parts"));
    };
    let key = decode(key).ok_or(Error::IdentityInvalid("its signature is not base64url"))?;
    if !keys.contains_text(&key) {
        return Err(Error::IdentityInvalid("its signature is not a key of this account"));
    }
    object(header).ok_or(Error::IdentityInvalid("its header is not a JSON object"))?;
    let claims =
        object(claims).ok_or(Error::IdentityInvalid("its claims are not a JSON object"))?;
    let expires = seconds(&claims, "exp").ok_or(Error::IdentityInvalid("it has no expiry time"))?;
    let starts = seconds(&claims, "nbf").unwrap_or(0.0);
    #[expect(clippy::cast_precision_loss, reason = "seconds stay below 2^53 for a long time")]
    let now = now_seconds as f64;
    if now >= expires || now + SKEW_SECONDS < starts {
        return Err(Error::IdentityExpired);
    }
    Ok(())
}

/// Limit: how far ahead the client's clock may be.
const SKEW_SECONDS: f64 = 300.0;

fn decode(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).ok()
}

fn object(part: &str) -> Option<Value> {
    let value = model::json::parse(&decode(part)?).ok()?;
    value.as_object().is_some().then_some(value)
}

fn seconds(claims: &Value, name: &str) -> Option<f64> {
    claims.get(name).and_then(Value::as_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Keys, WELL_KNOWN_KEY};

    fn token(claims: &str, key: &str) -> String {
        let header = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"RS256"}"#);
        let claims = URL_SAFE_NO_PAD.encode(claims);
        format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(key))
    }

    #[test]
    fn the_key_and_the_times_decide() {
        let keys = Keys::new(WELL_KNOWN_KEY).ring().unwrap();
        let claims = r#"{"aud":"https://localhost","nbf":100,"exp":200}"#;
        assert!(check(&token(claims, WELL_KNOWN_KEY), &keys, 150).is_ok());
        let expired = check(&token(claims, WELL_KNOWN_KEY), &keys, 200);
        assert!(matches!(expired, Err(Error::IdentityExpired)));
        #[rustfmt::skip]
        let table = [
            token(claims, "AAAA"), token("{}", WELL_KNOWN_KEY), token("[]", WELL_KNOWN_KEY), token("x", WELL_KNOWN_KEY),
            "a.b".to_owned(), "a.b.c.d".to_owned(), String::new(), "..".to_owned(),
        ];
        for bad in table {
            assert!(matches!(check(&bad, &keys, 150), Err(Error::IdentityInvalid(_))), "{bad}");
        }
    }

    #[test]
    fn a_token_from_the_future_is_not_valid_yet() {
        let keys = Keys::new(WELL_KNOWN_KEY).ring().unwrap();
        let token = token(r#"{"nbf":10000,"exp":20000}"#, WELL_KNOWN_KEY);
        assert!(check(&token, &keys, 9_800).is_ok());
        assert!(matches!(check(&token, &keys, 9_000), Err(Error::IdentityExpired)));
    }
}
