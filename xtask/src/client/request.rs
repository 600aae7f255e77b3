//! Building signed requests as bytes.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use model::Env;
use sha2::Sha256;

/// Who signs: the server's address and a master key.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) authority: String,
    key: Vec<u8>,
    env: Env,
}

impl Account {
    pub(crate) fn new(authority: &str, key: &str, env: &Env) -> Result<Account> {
        let key = BASE64.decode(key).context("the key is not base64")?;
        Ok(Account { authority: authority.to_owned(), key, env: env.clone() })
    }

    /// `Tue, 01 Nov 1994 08:12:31 GMT`
    pub(crate) fn date(&self) -> String {
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(self.env.now_ms()))
    }

    /// What the authorization header or token of a request holds.
    pub(crate) fn authorization(&self, verb: &str, path: &str, date: &str) -> Result<String> {
        let (kind, link) = resource(path);
        self.signature(verb, kind, link, date)
    }

    fn signature(&self, verb: &str, kind: &str, link: &str, date: &str) -> Result<String> {
        // Wire: verb, type and date lower-case, the link as it is, one empty line at the end.
        let text = format!(
            "{}\n{kind}\n{link}\n{}\n\n",
            verb.to_ascii_lowercase(),
            date.to_ascii_lowercase()
        );
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).context("bad key")?;
        mac.update(text.as_bytes());
        let signature = BASE64.encode(mac.finalize().into_bytes());
        let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        Ok(format!("type%3Dmaster%26ver%3D1.0%26sig%3D{signature}"))
    }
}

/// One request. Names in `path` must need no percent-encoding.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) verb: &'static str,
    /// Without the leading slash: `dbs/d/colls/c/docs`.
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(verb: &'static str, path: impl Into<String>) -> Request {
        Request { verb, path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Request {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn partition_key(self, key: &str) -> Request {
        self.header("x-ms-documentdb-partitionkey", format!("[\"{key}\"]"))
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    /// The bytes to send, signed with the time of now.
    pub(crate) fn sign(&self, account: &Account) -> Result<Vec<u8>> {
        let date = account.date();
        let signature = account.authorization(self.verb, &self.path, &date)?;
        let mut head = String::with_capacity(512);
        write!(
            head,
            "{} /{} HTTP/1.1\r\nhost: {}\r\nauthorization: {signature}\r\nx-ms-date: {date}\r\n\
             x-ms-version: 2020-07-15\r\naccept: application/json\r\n",
            self.verb, self.path, account.authority
        )?;
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n")?;
        }
        if matches!(self.verb, "POST" | "PUT" | "PATCH") {
            let has = |wanted: &str| self.headers.iter().any(|(name, _)| *name == wanted);
            if !has("content-type") {
                let kind = if has("x-ms-documentdb-isquery") { "query+json" } else { "json" };
                write!(head, "content-type: application/{kind}\r\n")?;
            }
            write!(head, "content-length: {}\r\n", self.body.len())?;
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        Ok(bytes)
    }
}

/// What is signed: an even path names a resource, an odd one a feed of its owner.
fn resource(path: &str) -> (&str, &str) {
    let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    match segments[..] {
        [] => ("", ""),
        [only] => (only, ""),
        [.., kind, _] if segments.len().is_multiple_of(2) => (kind, path),
        [.., last] => (last, path.rsplit_once('/').map_or("", |(owner, _)| owner)),
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
}
