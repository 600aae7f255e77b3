//! The grammar of the `authorization` header: `type=…&ver=1.0&sig=…`, usually percent-encoded.

#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

use crate::error::Error;

/// Limit: encoded sizes that the reference parser accepts, per type of token.
const MASTER_BYTES_MAX: usize = 1024;
const RESOURCE_BYTES_MAX: usize = 8 << 10;
const IDENTITY_BYTES_MAX: usize = 16 << 10;

/// As every SDK writes it for an account key.
const USUAL_START: &str = "type=master&ver=1.0&sig=";

/// What the client shows to prove who it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Credential<'a> {
    Master {
        signature: &'a str,
    },
    /// The whole text is the token: it was handed out in this form.
    Resource {
        token: &'a str,
    },
    Identity {
        token: &'a str,
    },
}

/// Percent-decodes once. `+` stays: it is a base64 digit, not a space.
pub(super) fn decode(value: &str) -> Result<Cow<'_, str>, Error> {
    if value.len() > IDENTITY_BYTES_MAX {
        return Err(Error::AuthorizationMalformed("it is too long"));
    }
    if !value.contains('%') {
        return Ok(Cow::Borrowed(value));
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let (plain, encoded) = rest.split_at(at);
        bytes.extend_from_slice(plain);
        let octet = match encoded {
            [_, high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        // What is no octet stays as it is.
        bytes.push(octet.unwrap_or(b'%'));
        let n_read = if octet.is_some() { 3 } else { 1 };
        rest = encoded.get(n_read..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest);
    let text = String::from_utf8(bytes);
    text.map(Cow::Owned).map_err(|_| Error::AuthorizationMalformed("it is not UTF-8"))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

pub(super) fn parse(text: &str) -> Result<Credential<'_>, Error> {
    let text = text.trim();
    let (kind, version, signature) = match text.strip_prefix(USUAL_START) {
        Some(signature) => ("master", "1.0", signature),
        None => fields(text)?,
    };
    if version != "1.0" {
        return Err(Error::AuthorizationMalformed("its version is not 1.0"));
    }
    if signature.is_empty() {
        return Err(Error::AuthorizationMalformed("its signature is empty"));
    }
    let (bytes_max, credential) = if kind.eq_ignore_ascii_case("master") {
        // Wire: the signature ends at the first comma.
        let signature = signature.split(',').next().unwrap_or(signature);
        (MASTER_BYTES_MAX, Credential::Master { signature })
    } else if kind.eq_ignore_ascii_case("resource") {
        (RESOURCE_BYTES_MAX, Credential::Resource { token: text })
    } else if kind.eq_ignore_ascii_case("aad") {
        (IDENTITY_BYTES_MAX, Credential::Identity { token: signature })
    } else {
        return Err(Error::AuthorizationMalformed("its type is none of master, resource, aad"));
    };
    if text.len() > bytes_max {
        return Err(Error::AuthorizationMalformed("it is too long"));
    }
    Ok(credential)
}

fn fields(text: &str) -> Result<(&str, &str, &str), Error> {
    let mut parts = text.splitn(3, '&');
    let kind = field(parts.next(), "type")?;
    let version = field(parts.next(), "ver")?;
    let signature = field(parts.next(), "sig")?;
    Ok((kind, version, signature))
}

fn field<'a>(part: Option<&'a str>, name: &str) -> Result<&'a str, Error> {
    part.and_then(|part| part.split_once('='))
        .filter(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .ok_or(Error::AuthorizationMalformed("it is not of the form type=…&ver=1.0&sig=…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Option<&Credential<'_>>) {
        let decoded = decode(value);
        let parsed = decoded.as_ref().ok().and_then(|text| parse(text).ok());
        assert_eq!(parsed.as_ref(), expected, "{value}");
    }

    #[test]
    fn every_encoding_in_use_is_read() {
        let master = Credential::Master { signature: "a+b/c=" };
        check("type%3dmaster%26ver%3d1.0%26sig%3da%2bb%2fc%3d", Some(&master));
        check("type%3Dmaster%26ver%3D1.0%26sig%3Da%2Bb%2Fc%3D", Some(&master));
        check("type=master&ver=1.0&sig=a+b/c=", Some(&master));
        check("Type=Master&Ver=1.0&Sig=a+b/c=,trailer", Some(&master));
        check("type=aad&ver=1.0&sig=x.y.z", Some(&Credential::Identity { token: "x.y.z" }));
        let token = "type=resource&ver=1.0&sig=abc&def;ghi;";
        check(token, Some(&Credential::Resource { token }));
    }

    #[test]
    fn decoding_agrees_with_the_rules_of_urls() {
        for value in ["", "%", "a%", "%2", "%zz", "%41%4a%4A", "%25%32%35", "é%C3%A9", "100%+"] {
            let expected = percent_encoding::percent_decode_str(value).decode_utf8().unwrap();
            assert_eq!(decode(value).unwrap(), expected, "{value}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        #[rustfmt::skip]
        let table = [
            "", "x", "type=master", "type=master&ver=1.0", "type=master&ver=2.0&sig=a", "type=master&ver=1.0&sig=",
            "ver=1.0&type=master&sig=a", "type=sas&ver=1.0&sig=a", "Bearer abc", "type%3Dmaster%26ver%3D1.0%26sig%3D%ff",
        ];
        for value in table {
            check(value, None);
        }
        check(&format!("type=master&ver=1.0&sig={}", "a".repeat(2000)), None);
        check(&format!("type=aad&ver=1.0&sig={}", "a".repeat(20_000)), None);
    }
}
