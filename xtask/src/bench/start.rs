//! Start-to-ready and idle memory, with the embedded store open.

use std::time::Duration;

use anyhow::Result;

use super::setup::Subject;
use super::{Bench, Table};

const STARTS: usize = 10;
const OPTIONS: [&str; 0] = [];

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let mut subject = Subject::start(&bench.binary, &OPTIONS, &bench.env).await?;
    let first = subject.server.start;
    subject.fill(0, 1000).await?;
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        subject = subject.restart(&bench.binary, &OPTIONS, &bench.env)?;
        starts.push(subject.server.start);
    }
    starts.sort_unstable();
    let median = starts[starts.len() / 2];
    tokio::time::sleep(Duration::from_secs(1)).await;
    let resident = subject.server.resident_bytes().unwrap_or(0);
    subject.server.stop(&bench.env)?;
    table.add("first start to ready", ms(first), "", "", "< 50 ms");
    table.add(format!("start to ready, median of {STARTS}"), ms(median), "", "", "< 50 ms");
    table.add("idle memory", format!("{:.1} MB", mb(resident)), "", "", "< 40 MB");
    Ok(())
}

fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

#[expect(clippy::cast_precision_loss, reason = "memory sizes stay far below 2^52 bytes")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
