//! The baseline of point reads: a hyper server in a process of its own that answers every request with one
//! recorded response, head and body.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;

use crate::client::Response;

/// Keeps a response for [`serve`].
pub(crate) fn record(response: &Response, file: &Path) -> Result<()> {
    let mut text = String::new();
    for (name, value) in response.headers() {
        // Hyper writes these two itself.
        if !matches!(name, "content-length" | "date") {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    text.push('\n');
    text.push_str(&response.text());
    std::fs::write(file, text).with_context(|| file.display().to_string())
}

/// Serves until it is killed.
pub(crate) fn serve(recorded: &Path) -> Result<()> {
    let text = std::fs::read_to_string(recorded).with_context(|| recorded.display().to_string())?;
    let (head, body) = text.split_once("\n\n").context("no empty line in the recording")?;
    let mut headers = HeaderMap::new();
    for line in head.lines() {
        let (name, value) = line.split_once(": ").context("bad header line")?;
        headers.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value)?);
    }
    let body = Bytes::copy_from_slice(body.as_bytes());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(accept(headers, body))
}

async fn accept(headers: HeaderMap, body: Bytes) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("ready http://{}/", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (headers, body) = (headers.clone(), body.clone());
        let service = service_fn(move |_request| {
            let mut response = hyper::Response::new(Full::new(body.clone()));
            response.headers_mut().clone_from(&headers);
            async move { Ok::<_, Infallible>(response) }
        });
        tokio::spawn(async move {
            // The load ends by closing its connections: no error worth a word.
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
