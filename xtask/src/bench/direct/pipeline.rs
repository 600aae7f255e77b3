//! The load generator of one connection with many requests in flight.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::{Buf as _, BytesMut};
use model::Env;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use super::http2;
use super::tls::{Stream, Trust};
use super::{Source, frames};
use crate::client;

const READ_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Direct,
    Http1,
    Http2,
}

/// What every connection does.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) protocol: Protocol,
    /// Requests in flight on each connection.
    pub(super) depth: usize,
    /// What every answer must have.
    pub(super) status: u16,
    pub(super) end: Duration,
    pub(super) env: Env,
}

impl Load {
    /// One connection for each source; the latencies of all, and their bytes on the wire.
    pub(super) async fn run(
        &self,
        authority: &str,
        trust: &Trust,
        sources: Vec<Source>,
    ) -> Result<(Vec<Duration>, u64)> {
        let before = trust.n_bytes.load(Ordering::Relaxed);
        let mut tasks = JoinSet::new();
        for source in sources {
            let (load, authority, trust) = (self.clone(), authority.to_owned(), trust.clone());
            tasks.spawn(async move { load.one(&authority, &trust, source).await });
        }
        let mut latencies = Vec::new();
        while let Some(done) = tasks.join_next().await {
            latencies.extend(done??);
        }
        Ok((latencies, trust.n_bytes.load(Ordering::Relaxed) - before))
    }

    async fn one(&self, authority: &str, trust: &Trust, source: Source) -> Result<Vec<Duration>> {
        match self.protocol {
            Protocol::Http2 => {
                let stream = trust.connect(authority, Some("h2")).await?;
                http2::run(self, stream, source).await
            }
            Protocol::Http1 => {
                let stream = trust.connect(authority, Some("http/1.1")).await?;
                self.pipeline(stream, source).await
            }
            Protocol::Direct => {
                let mut stream = trust.connect(authority, None).await?;
                stream.write_all(&frames::context()).await?;
                let length = usize::try_from(stream.read_u32_le().await?)?;
                let mut answer = vec![0; length.saturating_sub(4)];
                stream.read_exact(&mut answer).await?;
                self.pipeline(stream, source).await
            }
        }
    }

    /// Answers in direct mode may overtake each other: a latency is the time since the oldest request that is open.
    async fn pipeline(&self, mut stream: Stream, mut source: Source) -> Result<Vec<Duration>> {
        let (mut latencies, mut sent) = (Vec::new(), VecDeque::new());
        let (mut incoming, mut outgoing) = (BytesMut::new(), Vec::new());
        let mut n_sent = 0;
        loop {
            let now = self.env.monotonic();
            while now < self.end && sent.len() < self.depth {
                outgoing.extend(source(n_sent));
                n_sent += 1;
                sent.push_back(now);
            }
            if sent.is_empty() {
                return Ok(latencies);
            }
            stream.write_all(&outgoing).await?;
            stream.flush().await?;
            outgoing.clear();
            incoming.reserve(READ_BYTES);
            ensure!(stream.read_buf(&mut incoming).await? > 0, "the server closed the connection");
            let now = self.env.monotonic();
            while let Some((status, length)) = self.answer(&incoming)? {
                ensure!(status == self.status, "the server answered {status}");
                incoming.advance(length);
                latencies.extend(sent.pop_front().map(|then| now.saturating_sub(then)));
            }
        }
    }

    /// Status and length of the answer at the start of the bytes, if all of it is there.
    fn answer(&self, bytes: &[u8]) -> Result<Option<(u16, usize)>> {
        let found = match self.protocol {
            Protocol::Direct => frame(bytes),
            Protocol::Http1 | Protocol::Http2 => client::answer_length(bytes)?,
        };
        Ok(found.filter(|(_, length)| *length <= bytes.len()))
    }
}

/// Length, status, activity, then tokens, of which the first says whether a payload follows.
fn frame(bytes: &[u8]) -> Option<(u16, usize)> {
    let number = |at: usize| {
        let word = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(word)).ok()
    };
    let (length, status) = (number(0)?, u16::try_from(number(4)?).ok()?);
    match bytes.get(24..28)? {
        [0, 0, 0, 0] => Some((status, length)),
        _ => Some((status, length + 4 + number(length)?)),
    }
}
