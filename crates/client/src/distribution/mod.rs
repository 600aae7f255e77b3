//! How evenly rings and synthetic keys spread: measured, as a table and as a drawing.

mod svg;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use model::PartitionKeyDefinition;
use serde_json::{Value, json};

use crate::{
    Concat, Error, HashGenerator, HashedSuffix, Key, Md5, Murmur3, RandomSuffix, Result, Ring,
    RingRule, SyntheticKey, XxHash,
};

/// Containers of the rings that are measured.
pub const CONTAINERS: [usize; 5] = [4, 8, 16, 32, 64];

/// Virtual nodes of the rings that are measured.
pub const VIRTUAL_NODES: [usize; 6] = [1, 4, 16, 64, 128, 512];

/// Physical partitions that synthetic keys are spread over.
pub const PHYSICAL: u32 = 10;

/// Vehicles that write in the scenario of synthetic keys.
const N_VEHICLES: usize = 10_000;

const DAY: &str = "2018-08-09";

/// How evenly some things hold some keys, in percent of an even share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// What the fullest holds; 100 is even.
    pub fullest: f64,
    /// What the emptiest holds.
    pub emptiest: f64,
}

impl Spread {
    #[expect(clippy::cast_precision_loss, reason = "percents are not a matter of single keys")]
    fn of(counts: impl IntoIterator<Item = u64>) -> Spread {
        let counts: Vec<u64> = counts.into_iter().collect();
        let total: u64 = counts.iter().sum();
        let even = total as f64 / counts.len().max(1) as f64;
        let percent = |it: Option<&u64>| {
            it.map_or(0.0, |it| *it as f64 * 100.0 / even.max(f64::MIN_POSITIVE))
        };
        Spread { fullest: percent(counts.iter().max()), emptiest: percent(counts.iter().min()) }
    }
}

/// The rings of one hash.
#[derive(Clone, Debug, PartialEq)]
pub struct RingSpread {
    /// The hash.
    pub hash: String,
    /// By [`CONTAINERS`], then by [`VIRTUAL_NODES`].
    pub rows: Vec<Vec<Spread>>,
}

/// One way to make a partition key, for items of one day.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySpread {
    /// Its name.
    pub strategy: String,
    /// Logical partitions.
    pub n_keys: usize,
    /// How evenly the logical partitions are filled.
    pub logical: Spread,
    /// How evenly the physical partitions are filled.
    pub physical: Spread,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Keys that were placed on each ring, and items that got each synthetic key.
    pub n_keys: usize,
    /// The rings, by hash.
    pub rings: Vec<RingSpread>,
    /// The ways to make a partition key.
    pub keys: Vec<KeySpread>,
}

impl Report {
    /// Measures all rings and strategies with this many keys; calls `report` after each.
    pub fn measure(n_keys: usize, report: &mut dyn FnMut(&str)) -> Result<Report> {
        let keys: Vec<Key> = (0..n_keys).map(|it| Key::from(format!("user-{it}"))).collect();
        let hashes: [Arc<dyn HashGenerator>; 3] =
            [Arc::new(Md5), Arc::new(Murmur3), Arc::new(XxHash)];
        let mut rings = Vec::new();
        for hash in hashes {
            let mut rows = Vec::new();
            for n_containers in CONTAINERS {
                let row = VIRTUAL_NODES.iter();
                let row = row.map(|n_nodes| ring_spread(&keys, &hash, n_containers, *n_nodes));
                rows.push(row.collect::<Result<Vec<_>>>()?);
                report(&format!("{}, {n_containers} containers", hash.name()));
            }
            rings.push(RingSpread { hash: hash.name().to_owned(), rows });
        }
        let keys = key_spreads(n_keys, report)?;
        Ok(Report { n_keys, rings, keys })
    }

    /// Returns the tables as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for ring in &self.rings {
            let _ = writeln!(
                text,
                "Ring with {}, {} keys: the fullest and the emptiest container, in percent of an even share.\n",
                ring.hash, self.n_keys
            );
            let _ = write!(text, "| containers |");
            for n_nodes in VIRTUAL_NODES {
                let plural = if n_nodes == 1 { "" } else { "s" };
                let _ = write!(text, " {n_nodes} node{plural} |");
            }
            let _ = writeln!(text, "\n|---|{}", "---|".repeat(VIRTUAL_NODES.len()));
            for (n_containers, row) in CONTAINERS.iter().zip(&ring.rows) {
                let _ = write!(text, "| {n_containers} |");
                for cell in row {
                    let _ = write!(text, " {:.0} / {:.0} |", cell.fullest, cell.emptiest);
                }
                text.push('\n');
            }
            text.push('\n');
        }
        self.keys_to_markdown(&mut text);
        text
    }

    fn keys_to_markdown(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "Partition keys of {} items of one day from {N_VEHICLES} vehicles: the fullest of the logical partitions \
             and of {PHYSICAL} physical partitions, in percent of an even share.\n\n\
             | partition key | logical partitions | fullest logical | fullest physical |\n|---|---|---|---|",
            self.n_keys
        );
        for key in &self.keys {
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} | {:.0} |",
                key.strategy, key.n_keys, key.logical.fullest, key.physical.fullest
            );
        }
    }

    /// Returns a drawing of the same as SVG.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }
}

fn ring_spread(
    keys: &[Key],
    hash: &Arc<dyn HashGenerator>,
    n_containers: usize,
    n_nodes: usize,
) -> Result<Spread> {
    let links = (0..n_containers).map(|it| format!("container-{it}").into()).collect();
    let ring = Ring::new(links, n_nodes, hash.clone(), RingRule::Successor)?;
    let mut counts = vec![0; n_containers];
    for key in keys {
        if let Some(count) = counts.get_mut(ring.owner_index(key)) {
            *count += 1;
        }
    }
    Ok(Spread::of(counts))
}

/// A strategy: its name, the paths of the partition key, and what writes it into an item.
struct Strategy {
    name: &'static str,
    paths: &'static [&'static str],
    scheme: Option<Box<dyn SyntheticKey>>,
}

fn strategies() -> Result<Vec<Strategy>> {
    let concat = Concat::new("/pk", ["/date", "/vin"])?;
    let random = RandomSuffix::new("/pk", "/date")?;
    let hashed = HashedSuffix::new("/pk", "/date", "/vin")?;
    Ok(vec![
        Strategy { name: "the date alone", paths: &["/date"], scheme: None },
        Strategy {
            name: "`Concat` of date and vehicle",
            paths: &["/pk"],
            scheme: Some(Box::new(concat)),
        },
        Strategy { name: "`RandomSuffix` of 400", paths: &["/pk"], scheme: Some(Box::new(random)) },
        Strategy { name: "`HashedSuffix` of 400", paths: &["/pk"], scheme: Some(Box::new(hashed)) },
        Strategy {
            name: "hierarchical: date, then vehicle",
            paths: &["/date", "/vin"],
            scheme: None,
        },
        Strategy {
            name: "hierarchical: vehicle, then date",
            paths: &["/vin", "/date"],
            scheme: None,
        },
    ])
}

fn key_spreads(n_items: usize, report: &mut dyn FnMut(&str)) -> Result<Vec<KeySpread>> {
    let mut all = Vec::new();
    for strategy in strategies()? {
        let mut counts: HashMap<String, (u64, Value)> = HashMap::new();
        for number in 0..n_items {
            let mut item = json!({"date": DAY, "vin": format!("VIN{:08}", number % N_VEHICLES)});
            if let Some(scheme) = &strategy.scheme {
                scheme.apply(&mut item)?;
            }
            let texts = strategy.paths.iter().filter_map(|it| item[it.trim_matches('/')].as_str());
            let key = texts.collect::<Vec<_>>().join("\n");
            counts.entry(key).or_insert((0, item)).0 += 1;
        }
        all.push(KeySpread {
            strategy: strategy.name.to_owned(),
            n_keys: counts.len(),
            logical: Spread::of(counts.values().map(|(n_items, _)| *n_items)),
            physical: physical_spread(&strategy, counts.values())?,
        });
        report(strategy.name);
    }
    Ok(all)
}

/// Places logical partitions as a new container with ten physical partitions does.
fn physical_spread<'a>(
    strategy: &Strategy,
    counts: impl Iterator<Item = &'a (u64, Value)>,
) -> Result<Spread> {
    let invalid = |it: &dyn std::fmt::Display| Error::StateInvalid(it.to_string());
    let definition = PartitionKeyDefinition::new(strategy.paths).map_err(|it| invalid(&it))?;
    let ranges = definition.boundaries(PHYSICAL);
    let mut sums = vec![0; ranges.len()];
    for (n_items, item) in counts {
        let item = model::json::parse(item.to_string().as_bytes()).map_err(|it| invalid(&it))?;
        let epk = definition.epk(&definition.extract(&item));
        let index = ranges.iter().position(|it| it.contains(&epk));
        if let Some(sum) = index.and_then(|it| sums.get_mut(it)) {
            *sum += n_items;
        }
    }
    Ok(Spread::of(sums))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_nodes_are_more_even_and_every_key_is_counted() {
        let report = Report::measure(5_000, &mut |_| {}).unwrap();
        assert_eq!(report.rings.len(), 3);
        for ring in &report.rings {
            for row in &ring.rows {
                let (first, last) = (row[0], row[row.len() - 1]);
                assert!(first.fullest > last.fullest && last.fullest < 170.0, "{row:?}");
                assert!(row.iter().all(|it| it.fullest >= 100.0 && it.emptiest <= 100.0));
            }
        }
        let physical: Vec<f64> = report.keys.iter().map(|it| it.physical.fullest).collect();
        assert!((physical[0] - 1000.0).abs() < 0.01, "one day is on one partition: {physical:?}");
        assert!(physical[1..4].iter().all(|it| *it < 200.0), "{physical:?}");
        assert_eq!(report.keys[2].n_keys, 400);
        let markdown = report.to_markdown();
        assert!(markdown.contains("| 64 |") && markdown.contains("`HashedSuffix`"), "{markdown}");
        let svg = report.to_svg();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
