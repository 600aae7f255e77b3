//! The same load over HTTP/2: one connection, a stream for each request in flight.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::JoinSet;

use super::pipeline::Load;
use super::tls::Stream;
use crate::bench::load::Source;

pub(super) async fn run(load: &Load, stream: Stream, mut source: Source) -> Result<Vec<Duration>> {
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut latencies = Vec::new();
    let mut open = JoinSet::new();
    let mut n_sent = 0;
    loop {
        while load.env.monotonic() < load.end && open.len() < load.depth {
            open.spawn(one(load.clone(), sender.clone(), request(&source(n_sent))?));
            n_sent += 1;
        }
        match open.join_next().await {
            Some(done) => latencies.push(done??),
            None => return Ok(latencies),
        }
    }
}

async fn one(
    load: Load,
    mut sender: SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<Duration> {
    let begin = load.env.monotonic();
    let answer = sender.send_request(request).await?;
    let status = answer.status().as_u16();
    ensure!(status == load.status, "the server answered {status}");
    answer.into_body().collect().await?;
    Ok(load.env.monotonic().saturating_sub(begin))
}

/// The request that the bytes of HTTP/1.1 are.
fn request(bytes: &[u8]) -> Result<Request<Full<Bytes>>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(n_head) = head.parse(bytes)? else { bail!("half a request") };
    let (method, path) = (head.method.context("no method")?, head.path.context("no path")?);
    let mut authority = "localhost";
    let mut request = Request::builder().method(method);
    for header in head.headers.iter() {
        match header.name {
            "host" => authority = std::str::from_utf8(header.value)?,
            name => request = request.header(name, header.value),
        }
    }
    let body = Bytes::copy_from_slice(&bytes[n_head..]);
    Ok(request.uri(format!("https://{authority}{path}")).body(Full::new(body))?)
}
