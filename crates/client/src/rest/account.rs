//! The connection to an account: TLS, signing, retries.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::Uri;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::request::{Answer, Request};
use super::sign::authorization;
use crate::{Env, Error, Result, Retry};

// Limit: the service answers with pages of 4 MB; an item beyond it, or a proxy's page, is not ours.
const ANSWER_BYTES_MAX: usize = 64 << 20;

// Limit: beyond it a request that the service never answers would hold its caller for ever.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(65);

/// What is escaped in a path; names of resources may hold anything but `/`, `\`, `?` and `#`.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'[')
    .add(b']')
    .add(b'\\')
    .add(b'^')
    .add(b'|');

/// An account: its address and its key. Clones share their connections.
#[derive(Clone)]
pub struct Account {
    endpoint: Arc<str>,
    key: Arc<[u8]>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    retry: Retry,
    env: Env,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Account {
    /// Prepares to talk to an account; nothing is sent yet.
    ///
    /// `endpoint` is `https://HOST[:PORT]/`, or `http://…` for a server that speaks it. Certificates are checked
    /// against the roots of the machine, except on localhost, where a server has a self-signed one.
    pub fn new(endpoint: &str, key: &str, env: Env) -> Result<Account> {
        let invalid = |why: &str| Error::EndpointInvalid(format!("{endpoint}: {why}"));
        let uri: Uri = endpoint.parse().map_err(|_| invalid("is not a URL"))?;
        let host = uri.host().ok_or_else(|| invalid("has no host"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(invalid("begins with neither http:// nor https://"));
        }
        let key = BASE64.decode(key.trim()).map_err(|_| invalid("the key is not base64"))?;
        let tls = tls::config(host).map_err(|it| invalid(&it.to_string()))?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Account {
            endpoint: endpoint.trim_end_matches('/').into(),
            key: key.into(),
            client: Client::builder(TokioExecutor::new()).build(connector),
            retry: Retry::default(),
            env,
        })
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Sends a request, again when the service asks for it, and returns an answer below 400.
    pub(super) async fn call(&self, request: &Request) -> Result<Answer> {
        let mut attempt = 0;
        loop {
            match self.send(request).await {
                Ok(answer) => return Ok(answer),
                // A gone range is the caller's matter: sending the same again does not help.
                Err(error) if error.is_service(410) => return Err(error),
                Err(error) => match self.retry.wait(attempt, &error) {
                    Some(time) => tokio::time::sleep(time).await,
                    None => return Err(error),
                },
            }
            attempt += 1;
        }
    }

    async fn send(&self, request: &Request) -> Result<Answer> {
        let exchange = self.exchange(request);
        let Ok(answer) = tokio::time::timeout(ANSWER_TIMEOUT, exchange).await else {
            return Err(Error::service(408, "the service did not answer in time"));
        };
        let answer = answer?;
        if answer.status < 400 { Ok(answer) } else { Err(failure(&request.path, &answer)) }
    }

    async fn exchange(&self, request: &Request) -> Result<Answer> {
        let now = UNIX_EPOCH + Duration::from_millis(self.env.now_ms());
        let date = httpdate::fmt_http_date(now);
        let authorization = authorization(&self.key, request.method.as_str(), &request.path, &date)
            .ok_or_else(|| Error::EndpointInvalid("the key cannot sign".to_owned()))?;
        let path = utf8_percent_encode(&request.path, PATH);
        let mut builder = http::Request::builder()
            .method(request.method.clone())
            .uri(format!("{}/{path}", self.endpoint))
            .header("x-ms-date", date)
            .header("x-ms-version", "2020-07-15")
            .header("accept", "application/json");
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        // A request that says by itself who asks is not signed.
        if !request.headers.iter().any(|(name, _)| *name == "authorization") {
            builder = builder.header("authorization", authorization);
        }
        let message = builder
            .body(Full::new(request.body.clone()))
            .map_err(|it| Error::service(400, it.to_string()))?;
        // 503 makes a broken connection a failure that is tried again; every call here may be repeated, since
        // a create that arrived twice answers 409 and the caller looks at what is there.
        let lost = |it: &dyn std::error::Error| Error::service(503, causes(it));
        let answer = self.client.request(message).await.map_err(|it| lost(&it))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|it| lost(&*it))?.to_bytes();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }
}

/// An error with all that led to it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// The sub-status of a missing owner.
const OWNER_MISSING: u32 = 1003;

fn failure(path: &str, answer: &Answer) -> Error {
    let number = |name| answer.header(name).and_then(|it| it.parse::<f64>().ok());
    // The service has no sub-status for a missing container; a missing item is told by the range that would have it.
    let is_container_missing = answer.status == 404
        && path.contains("/docs")
        && answer.header("x-ms-documentdb-partitionkeyrangeid").is_none();
    let message = answer.json().ok().and_then(|it| it["message"].as_str().map(ToOwned::to_owned));
    let message = message.unwrap_or_else(|| String::from_utf8_lossy(&answer.body).into_owned());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small number of the service; a cast saturates"
    )]
    Error::Service {
        status: answer.status,
        sub_status: match number("x-ms-substatus") {
            Some(sub_status) => sub_status as u32,
            None if is_container_missing => OWNER_MISSING,
            None => 0,
        },
        message: message.lines().next().unwrap_or_default().to_owned(),
        retry_after: number("x-ms-retry-after-ms").map(|it| Duration::from_millis(it as u64)),
    }
}

mod tls {
    //! What a certificate must be.

    use std::sync::Arc;

    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

    pub(super) fn config(host: &str) -> Result<ClientConfig, Error> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let host = host.trim_matches(['[', ']']);
        if matches!(host, "localhost" | "127.0.0.1" | "::1") {
            let verifier = Arc::new(Local(provider));
            let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
            return Ok(builder.with_no_client_auth());
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }

    /// Accepts any certificate, as the SDKs do for an emulator: the connection never leaves the machine.
    #[derive(Debug)]
    struct Local(Arc<CryptoProvider>);

    impl ServerCertVerifier for Local {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let schemes = &self.0.signature_verification_algorithms;
            verify_tls12_signature(message, certificate, signature, schemes)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let schemes = &self.0.signature_verification_algorithms;
            verify_tls13_signature(message, certificate, signature, schemes)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }
}
