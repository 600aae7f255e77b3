//! Quota, usage and statistics of a container, for those who ask for them and for clients from before one could ask.
//!
//! Wire: Sizes are in KB.

use model::{Object, Value};

use crate::body;
use crate::catalog::record::number_value;
use crate::catalog::tables::Tables;
use crate::container::Container;
use crate::operation::{Options, ResourceKind};
use crate::outcome::Facts;
use crate::range_map::Range;

/// Limit: 50 GB per physical partition.
const RANGE_KB: u64 = 50 << 20;
/// Wire: clients of older API versions are told quota and usage without asking (their resolvers decide by them).
const QUOTA_ASKED_SINCE: &str = "2018-12-31";
/// Limit: logical partitions listed per range; the service samples three.
const LOGICAL_SAMPLE: usize = 3;

impl Container {
    /// Bytes of item text in all ranges.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.partition.statistics().bytes).sum()
    }

    fn n_items(&self) -> u64 {
        self.ranges.iter().map(|range| range.partition.statistics().n_items).sum()
    }
}

/// Adds what the request asks for.
pub(crate) fn add(
    options: &Options,
    tables: &Tables,
    container: &Container,
    resource: &mut Object,
    facts: &mut Facts,
) {
    if options.wants_quota || options.is_before(QUOTA_ASKED_SINCE) {
        facts.quota = Some(quota(container));
        facts.usage = Some(usage(tables, container));
        let progress = container.ranges.iter().map(|range| range.partition.index_progress());
        let progress = progress.min().unwrap_or(100).into();
        facts.index_progress = Some(progress);
        facts.lazy_index_progress = is_lazy(container).then_some(progress);
    }
    if options.wants_partition_statistics {
        let ranges = container.ranges.iter().map(statistics).collect();
        resource.insert("statistics", Value::Array(ranges));
    }
}

/// Wire: such an index is behind its items for a while, and says how far it is. Ours never is.
fn is_lazy(container: &Container) -> bool {
    let policy = container.record().body.get("indexingPolicy");
    let mode = policy.and_then(|policy| policy.get("indexingMode")).and_then(Value::as_str);
    mode == Some("lazy")
}

pub(crate) fn quota(container: &Container) -> String {
    let kb = quota_kb(container);
    format!(
        "functions=50;storedProcedures=100;triggers=25;documentSize=10240;documentsSize={kb};\
         documentsCount=-1;collectionSize={kb};"
    )
}

/// What a container can hold. One without a partition key is one logical partition for old clients.
fn quota_kb(container: &Container) -> u64 {
    let first = container.ranges.iter().next();
    match first.filter(|_| container.properties.definition.system_key) {
        Some(range) => range.partition.settings().logical_bytes_max >> 10,
        None => RANGE_KB * u64::try_from(container.ranges.len()).unwrap_or(1),
    }
}

pub(crate) fn usage(tables: &Tables, container: &Container) -> String {
    let number = container.record().number;
    let count = |kind| tables.n_children(number, kind);
    let kb = container.n_bytes().div_ceil(1024);
    format!(
        "functions={};storedProcedures={};triggers={};documentSize=0;documentsSize={kb};\
         documentsCount={};collectionSize={kb};",
        count(ResourceKind::Udf),
        count(ResourceKind::StoredProcedure),
        count(ResourceKind::Trigger),
        container.n_items(),
    )
}

fn statistics(range: &Range) -> Value {
    let statistics = range.partition.statistics();
    let logical = range.partition.logical_partitions(None, LOGICAL_SAMPLE).unwrap_or_default();
    let keys = logical.iter().map(|logical| {
        Value::Object(body::object([
            ("partitionKey", logical.key.to_value()),
            ("sizeInKB", number_value(logical.bytes.div_ceil(1024))),
        ]))
    });
    Value::Object(body::object([
        ("id", range.id().to_string().into()),
        ("sizeInKB", number_value(statistics.bytes.div_ceil(1024))),
        ("documentCount", number_value(statistics.n_items)),
        ("sampledDistinctPartitionKeyCount", number_value(statistics.n_logical)),
        ("partitionKeys", Value::Array(keys.collect())),
    ]))
}
