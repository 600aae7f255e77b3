//! What a server takes at one moment, and whether it has levelled off.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::client::Connection;
use crate::server::Server;

const MIB: u64 = 1 << 20;

/// What may be more in the last quarter than in the third, as a part and at least.
const GROWTH_PERCENT: u64 = 5;
const MEMORY_GROWTH: u64 = 12 * MIB;
/// Logs of 64 MiB come and go.
const DISK_GROWTH: u64 = 96 * MIB;
const COUNT_GROWTH: u64 = 12;

#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    memory: u64,
    descriptors: u64,
    threads: u64,
    disk: u64,
    /// By part: `cache`, `queries` …
    parts: Vec<(String, u64)>,
}

impl Sample {
    pub(super) const HEAD: &'static str =
        "memory MiB, descriptors, threads, disk MiB; of the memory, in MiB";

    pub(super) async fn take(server: &Server, data: &Path) -> Result<Sample> {
        let process = Path::new("/proc").join(server.process_id().to_string());
        let status = std::fs::read_to_string(process.join("status")).context("no /proc")?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next());
            word.and_then(|word| word.parse::<u64>().ok()).with_context(|| format!("no {name}"))
        };
        Ok(Sample {
            memory: number("VmRSS:")? * 1024,
            descriptors: std::fs::read_dir(process.join("fd"))?.count() as u64,
            threads: number("Threads:")?,
            disk: folder_bytes(data),
            parts: parts(server).await?,
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (memory, disk) = (self.memory / MIB, self.disk / MIB);
        write!(f, "{memory:>5} {:>5} {:>4} {disk:>6}; ", self.descriptors, self.threads)?;
        let parts = self.parts.iter().map(|(part, bytes)| format!("{part} {}", bytes / MIB));
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// What the server says of its memory.
async fn parts(server: &Server) -> Result<Vec<(String, u64)>> {
    let mut connection = Connection::open(&server.authority).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\n\r\n", server.authority);
    let text = connection.send(request.as_bytes()).await?.expect_success("metrics")?.text();
    let parts = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("orrery_memory_used_bytes{part=\"")?;
        let (part, bytes) = rest.split_once("\"} ")?;
        Some((part.to_owned(), bytes.parse().ok()?))
    });
    Ok(parts.collect())
}

/// Bytes that the files take, not those that they are long: logs are made longer before they are written.
fn folder_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        // It was deleted meanwhile.
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(bytes).sum()
}

/// One of the four numbers.
type Figure = fn(&Sample) -> u64;

#[derive(Debug, Default)]
pub(super) struct Series(Vec<Sample>);

impl Series {
    pub(super) fn push(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// Names what is more in the last quarter of the run than it was in the one before.
    pub(super) fn judge(&self) -> Vec<String> {
        let quarter = self.0.len() / 4;
        let most = |from: usize, of: Figure| {
            self.0.iter().skip(from * quarter).take(quarter).map(of).max().unwrap_or(0)
        };
        let kinds: [(&str, Figure, u64); 4] = [
            ("memory", |sample| sample.memory, MEMORY_GROWTH),
            ("descriptors", |sample| sample.descriptors, COUNT_GROWTH),
            ("threads", |sample| sample.threads, COUNT_GROWTH),
            ("disk", |sample| sample.disk, DISK_GROWTH),
        ];
        let mut grown = Vec::new();
        for (name, of, least) in kinds {
            let quarters = [0, 1, 2, 3].map(|from| most(from, of));
            println!("soak: most {name} in each quarter: {quarters:?}");
            let [.., third, last] = quarters;
            if last > third + least.max(third / 100 * GROWTH_PERCENT) {
                grown.push(format!("{name} rose from {third} to {last}"));
            }
        }
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(memory: impl Fn(u64) -> u64) -> Series {
        let sample = |at| Sample { memory: memory(at) * MIB, threads: 20, ..Sample::default() };
        Series((0..100).map(sample).collect())
    }

    #[test]
    fn what_grows_without_end_is_told_from_what_levels_off() {
        assert_eq!(series(|at| 100 + at).judge().len(), 1, "a leak");
        assert!(series(|at| 100 + at.min(50)).judge().is_empty(), "a cache");
        assert!(series(|at| 100 + at % 20).judge().is_empty(), "something that comes and goes");
        assert!(series(|at| 300 - at).judge().is_empty());
    }
}
