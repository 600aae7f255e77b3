//! Durable 1 KiB creates against the raw store committing the same bytes, and what they take on disk.

use anyhow::Result;

use super::load::{self, ROUNDS, Rounds, Source};
use super::raw_store::{self, RawStore};
use super::setup::{self, BARE_CONTAINER, CONTAINER, ITEM_BYTES, Subject};
use super::{Bench, CONNECTIONS, Table};

/// Writers with which the cost of the index is measured.
const INDEX_WRITERS: usize = 16;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let subject = Subject::start(&bench.binary, &[], &bench.env).await?;
    let raw = RawStore::open(&bench.env)?;
    let mut n_created = 0;
    for n in CONNECTIONS {
        let mut rounds = Rounds::default();
        for round in 0..ROUNDS {
            let duration = bench.duration / ROUNDS;
            let sources = sources(&subject, CONTAINER, n, round)?;
            let ours =
                load::run(&subject.server.authority, sources, duration, 201, &bench.env).await?;
            rounds.push(ours, raw.run(n, duration).await?);
        }
        n_created += rounds.n_ours();
        table.add(
            format!("durable 1 KiB creates, {n} writers; raw store, same bytes and group commit"),
            rounds.ours(),
            rounds.baseline(),
            format!("{:.2}", rounds.ratio()),
            "≥ 0.5",
        );
    }
    raw.close()?;
    n_created += index_cost(bench, &subject, table).await?;
    let store = subject.store_folder();
    let written = n_created * ITEM_BYTES as u64;
    let before = setup::folder_bytes(&store);
    subject.server.stop(&bench.env)?;
    let after = setup::folder_bytes(&store);
    table.add(
        format!("bytes on disk per byte written ({n_created} creates)"),
        format!("{:.2} running, {:.2} stopped", ratio(before, written), ratio(after, written)),
        "",
        "",
        "",
    );
    Ok(())
}

/// Creates with the default index beside creates in a container that has none; returns how many were made.
async fn index_cost(bench: &Bench, subject: &Subject, table: &mut Table) -> Result<u64> {
    let mut rounds = Rounds::default();
    for round in 0..ROUNDS {
        let mut rates = Vec::new();
        // Rounds of the measurements above used the first numbers.
        let round = ROUNDS + round;
        for container in [CONTAINER, BARE_CONTAINER] {
            let sources = sources(subject, container, INDEX_WRITERS, round)?;
            let authority = &subject.server.authority;
            let duration = bench.duration / ROUNDS;
            rates.push(load::run(authority, sources, duration, 201, &bench.env).await?);
        }
        rounds.push(rates[0], rates[1]);
    }
    let terms = raw_store::terms(&setup::item(7));
    let bytes: usize = terms.iter().map(|term| term.len() + raw_store::TERM_KEY_BYTES).sum();
    table.add(
        format!(
            "creates with the default index, {} entries of {bytes} bytes in all; without, {INDEX_WRITERS} writers",
            terms.len()
        ),
        rounds.ours(),
        rounds.baseline(),
        format!("{:.2}", rounds.ratio()),
        "",
    );
    Ok(rounds.n_ours() + rounds.n_baseline())
}

pub(super) fn sources(
    subject: &Subject,
    container: &str,
    n_connections: usize,
    round: u32,
) -> Result<Vec<Source>> {
    let head = subject.create_head(container)?;
    Ok((0..n_connections)
        .map(|connection| {
            let head = head.clone();
            let source: Source = Box::new(move |n| {
                let id = format!("c{n_connections}-{round}-{connection}-{n}");
                let key = format!("p{}-{}", connection, n % 50);
                let body = setup::item_with_key(&id, &key, n);
                format!(
                    "{head}content-length: {}\r\nx-ms-documentdb-partitionkey: [\"{key}\"]\r\n\r\n{body}",
                    body.len()
                )
                .into_bytes()
            });
            source
        })
        .collect())
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^52 bytes")]
fn ratio(left: u64, right: u64) -> f64 {
    left as f64 / right.max(1) as f64
}
