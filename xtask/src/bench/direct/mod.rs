//! Direct mode beside HTTP/1.1 and HTTP/2, all over TLS: point reads, creates, latency, bytes on the wire.
//!
//! Sixty-four requests in flight are one connection in direct mode and over HTTP/2. Over HTTP/1.1 they are 64 connections,
//! as its clients have it, or one on which requests are pipelined, as no client does.

mod frames;
mod http2;
mod pipeline;
mod tls;

use anyhow::Result;

use super::load::{self, ROUNDS, Rate, Rounds, Source};
use super::setup::{CONTAINER, Subject};
use super::{Bench, Table, creates, reads};
use pipeline::Protocol;
use tls::Trust;

const IN_FLIGHT: usize = 64;
const ITEMS: u64 = 1000;

/// How requests travel.
#[derive(Debug, Clone, Copy)]
enum Transport {
    Direct,
    /// One connection, requests written without waiting.
    Pipelined,
    /// As many connections as requests in flight.
    Http1,
    Http2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Reads,
    Creates,
}

impl Work {
    fn status(self) -> u16 {
        if self == Work::Reads { 200 } else { 201 }
    }

    fn name(self) -> &'static str {
        if self == Work::Reads { "point reads" } else { "durable 1 KiB creates" }
    }
}

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let subject = Subject::start(&bench.binary, &[], &bench.env).await?;
    subject.fill(0, ITEMS).await?;
    let pem = subject.folder.path().join("data/certificate.pem");
    let mut run = Run { bench, subject: &subject, trust: Trust::in_file(&pem)?, n_runs: 0 };
    for work in [Work::Reads, Work::Creates] {
        for (way, name, goal) in [
            (Transport::Http1, "HTTP/1.1 on 64 connections", "≥ 1.2"),
            (Transport::Pipelined, "HTTP/1.1 pipelined on one", "–"),
            (Transport::Http2, "HTTP/2 on one", "–"),
        ] {
            run.compare(table, (work, way, IN_FLIGHT), name, goal).await?;
        }
    }
    run.compare(table, (Work::Reads, Transport::Http1, 1), "HTTP/1.1", "–").await?;
    run.bytes(table).await?;
    subject.server.stop(&bench.env)
}

struct Run<'a> {
    bench: &'a Bench,
    subject: &'a Subject,
    trust: Trust,
    /// Names of created items must differ between runs.
    n_runs: u32,
}

impl Run<'_> {
    async fn compare(
        &mut self,
        table: &mut Table,
        (work, way, in_flight): (Work, Transport, usize),
        name: &str,
        goal: &str,
    ) -> Result<()> {
        let mut rounds = Rounds::default();
        for _ in 0..ROUNDS {
            let direct = self.rate(work, Transport::Direct, in_flight).await?;
            rounds.push(direct.0, self.rate(work, way, in_flight).await?.0);
        }
        table.add(
            format!(
                "{} in direct mode, {in_flight} in flight on one connection; {name}",
                work.name()
            ),
            rounds.ours(),
            rounds.baseline(),
            format!("{:.2}", rounds.ratio()),
            goal,
        );
        Ok(())
    }

    /// Bytes of a point read in both directions, TLS included.
    async fn bytes(&mut self, table: &mut Table) -> Result<()> {
        let mut per_request = Vec::new();
        for way in [Transport::Direct, Transport::Http1, Transport::Http2] {
            let (rate, n_bytes) = self.rate(Work::Reads, way, 1).await?;
            per_request.push(n_bytes / rate.n.max(1));
        }
        let [direct, http1, http2] = per_request[..] else { return Ok(()) };
        table.add(
            "bytes of a point read of 1 KiB in direct mode, both directions, with TLS; HTTP/1.1, HTTP/2",
            direct.to_string(),
            format!("{http1}, {http2}"),
            format!("{:.2}", f64::from(u32::try_from(direct)?) / f64::from(u32::try_from(http1)?)),
            "< 1",
        );
        Ok(())
    }

    /// Also returns the bytes on the wire.
    async fn rate(&mut self, work: Work, way: Transport, in_flight: usize) -> Result<(Rate, u64)> {
        self.n_runs += 1;
        let env = &self.bench.env;
        let begin = env.monotonic();
        let end = begin + self.bench.duration / ROUNDS;
        let (n_connections, depth) =
            if matches!(way, Transport::Http1) { (in_flight, 1) } else { (1, in_flight) };
        let protocol = match way {
            Transport::Direct => Protocol::Direct,
            Transport::Pipelined | Transport::Http1 => Protocol::Http1,
            Transport::Http2 => Protocol::Http2,
        };
        let sources = match way {
            Transport::Direct => vec![self.frames(work)?],
            _ => self.requests(work, n_connections)?,
        };
        let load = pipeline::Load { protocol, depth, status: work.status(), end, env: env.clone() };
        let authority = &self.subject.server.authority;
        let (latencies, n_bytes) = load.run(authority, &self.trust, sources).await?;
        let elapsed = env.monotonic().saturating_sub(begin);
        Ok((load::summary(latencies, elapsed), n_bytes))
    }

    fn requests(&self, work: Work, n_connections: usize) -> Result<Vec<Source>> {
        match work {
            Work::Reads => reads::sources(self.subject, n_connections),
            Work::Creates => creates::sources(self.subject, CONTAINER, n_connections, self.n_runs),
        }
    }

    fn frames(&self, work: Work) -> Result<Source> {
        match work {
            Work::Reads => frames::reads(&self.subject.account, ITEMS),
            Work::Creates => frames::creates(&self.subject.account, self.n_runs),
        }
    }
}
