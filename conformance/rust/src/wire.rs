//! Plain HTTP, signed with the key, for what the SDK has no call for.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::{key, setting};

/// A response whose body has been read.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {:?}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Checks status and pieces of the body.
    #[track_caller]
    pub fn expect(self, status: u16, texts: &[&str]) -> Answer {
        assert_eq!(self.status, status, "{}", self.body);
        for text in texts {
            assert!(self.body.contains(text), "{text:?} is missing in {}", self.body);
        }
        self
    }
}

/// Sends one request. A path with an even number of parts names a resource, with an odd one a feed.
pub async fn send(verb: &str, path: &str, headers: &[(&str, &str)], body: String) -> Answer {
    // The certificate of a local server is self-signed.
    static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
        reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build().expect("a client")
    });
    let parts: Vec<&str> = path.split('/').collect();
    let (kind, link) = match parts.as_slice() {
        [owner @ .., kind] if parts.len() % 2 == 1 => (*kind, owner.join("/")),
        [.., kind, _] => (*kind, path.to_owned()),
        _ => panic!("{path:?} names nothing"),
    };
    let date = date();
    let url = format!("{}/{path}", setting("ORRERY_ENDPOINT").trim_end_matches('/'));
    let mut request = CLIENT
        .request(verb.parse().expect("a verb"), url)
        .header("authorization", authorization(verb, kind, &link, &date))
        .header("x-ms-date", &date)
        .header("x-ms-version", "2020-07-15")
        .header("content-type", "application/json")
        .body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, body: response.text().await.expect("a body") }
}

fn date() -> String {
    let form = format_description!(
        "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
    );
    OffsetDateTime::now_utc().format(&form).expect("a date")
}

/// What the service expects of a key: a hash over verb, kind, link and date.
fn authorization(verb: &str, kind: &str, link: &str, date: &str) -> String {
    let secret = STANDARD.decode(key()).expect("a key in base64");
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret).expect("keys of any length");
    let (verb, date) = (verb.to_lowercase(), date.to_lowercase());
    mac.update(format!("{verb}\n{kind}\n{link}\n{date}\n\n").as_bytes());
    let sum = STANDARD.encode(mac.finalize().into_bytes());
    let sum = sum.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("type%3Dmaster%26ver%3D1.0%26sig%3D{sum}")
}
