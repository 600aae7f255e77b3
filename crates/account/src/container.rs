//! A container at work: its definition, its settings, its ranges. Swapped whole when it is replaced.

use std::sync::{Arc, OnceLock};

use model::{ETag, Env, Object, RangeId, Value};
use partition::{Partition, Settings};
use query::PrepareOptions;
use query::index::IndexPolicy;
use store::Store;

use crate::account::AccountOptions;
use crate::body;
use crate::catalog::Draft;
use crate::catalog::containers::Properties;
use crate::catalog::link::{name_path, self_link};
use crate::catalog::record::Record;
use crate::catalog::tables::Tables;
use crate::error::{Error, Result};
use crate::meter;
use crate::range_map::{OpenPartition, Range, RangeEntry, RangeMap};

#[derive(Debug)]
pub(crate) struct Container {
    /// The database and the container itself.
    pub(crate) chain: Vec<Arc<Record>>,
    pub(crate) properties: Properties,
    pub(crate) ranges: RangeMap,
    /// Wire: `dbs/d/colls/c`.
    pub(crate) name_path: Arc<str>,
    pub(crate) rid_text: Arc<str>,
    /// How its queries are prepared, once there was one.
    pub(crate) prepare_options: OnceLock<PrepareOptions>,
}

impl Container {
    /// Opens a container whose record, with its database in front, is `chain`. Partitions that are `open` already are
    /// taken as they are and get its settings.
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        env: &Env,
        options: &AccountOptions,
        chain: &[Arc<Record>],
        open: impl IntoIterator<Item = OpenPartition>,
    ) -> Result<Container> {
        let record = last(chain)?;
        let properties = Properties::of(&record.body)?;
        let settings = Arc::new(settings(options, chain, record, &properties));
        let ranges = RangeMap::open(store, env, &record.state, &settings, open)?;
        Ok(Container::new(chain, record, properties, ranges))
    }

    fn new(
        chain: &[Arc<Record>],
        record: &Record,
        properties: Properties,
        ranges: RangeMap,
    ) -> Container {
        Container {
            chain: chain.to_vec(),
            properties,
            ranges,
            name_path: name_path(chain).into(),
            rid_text: record.rid.to_string().into(),
            prepare_options: OnceLock::new(),
        }
    }

    pub(crate) fn record(&self) -> &Record {
        // Invariant: `open` refuses an empty chain.
        #[expect(clippy::expect_used, reason = "checked when the container was opened")]
        self.chain.last().expect("a container's chain ends with its record")
    }

    /// Names of the database and the container.
    pub(crate) fn names(&self) -> [String; 2] {
        let database = self.chain.first().map(|record| record.id.clone()).unwrap_or_default();
        [database, self.record().id.clone()]
    }

    /// What a range uses of what it may use: the busiest second of the last minute over its share. Wire: normalised
    /// consumption.
    pub(crate) fn normalised(&self, tables: &Tables, range: &Range) -> f64 {
        match meter::provisioned(tables, self) {
            None => 0.0,
            Some((units, Some(_))) => range.meter.peak() / units,
            Some((units, None)) => range.meter.peak() / (units * range.share),
        }
    }

    /// The highest of its ranges.
    pub(crate) fn peak(&self, tables: &Tables) -> f64 {
        self.ranges.iter().map(|range| self.normalised(tables, range)).fold(0.0, f64::max)
    }

    pub(crate) fn partitions(&self) -> impl Iterator<Item = &Partition> {
        self.ranges.iter().map(|range| &range.partition)
    }

    /// Range ids that session tokens of `range` may name: its ancestors.
    pub(crate) fn parents(&self, range: RangeId) -> &[RangeId] {
        self.ranges.by_id(range).map_or(&[], |range| &range.entry.parents)
    }
}

fn last(chain: &[Arc<Record>]) -> Result<&Arc<Record>> {
    chain.last().ok_or_else(|| Error::CatalogCorrupt("container without a record".into()))
}

fn settings(
    options: &AccountOptions,
    chain: &[Arc<Record>],
    record: &Record,
    properties: &Properties,
) -> Settings {
    Settings {
        container: record.rid,
        container_link: self_link(chain).into(),
        definition: properties.definition.clone(),
        unique_keys: properties.unique_keys.clone(),
        default_ttl: properties.default_ttl,
        ttl_path: properties.ttl_path.clone(),
        version_retention: properties.version_retention.or(options.version_retention),
        logical_bytes_max: options.relocation.logical_partition_bytes,
        is_indexed: properties.is_indexed,
        is_automatic: properties.is_automatic,
        index_policy: if options.keeps_indexes {
            properties.index_policy.clone()
        } else {
            IndexPolicy::none()
        },
    }
}

/// The state of a new container: `n_ranges` fresh partitions with the service's boundaries.
pub(crate) fn new_state(draft: &mut Draft<'_>, properties: &Properties, n_ranges: u32) -> Object {
    let ts = draft.env.now_seconds();
    let mut ranges = Vec::new();
    for (id, epks) in (0..).zip(properties.definition.boundaries(n_ranges)) {
        let rid_prefix = u16::try_from(id).unwrap_or(u16::MAX);
        let incarnation = draft.new_partition(rid_prefix);
        let entry =
            RangeEntry { id: RangeId(id), epks, incarnation, rid_prefix, parents: Vec::new(), ts };
        ranges.push(entry.to_value());
    }
    body::object([
        ("ranges", Value::Array(ranges)),
        ("rangesEtag", ETag::random(draft.env).as_str().into()),
    ])
}
