//! Every request header that clients of the service are known to send, and what we do with it.
//!
//! Invariant: a known header is used, harmless when ignored (the reason stands beside it), or
//! refused. None is silently wrong. Headers that nobody knows are ignored, as HTTP asks.

/// What the gateway does with a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Read; a bad value is answered with 400.
    Used,
    /// Not read, and no answer is wrong because of that.
    Ignored,
    /// Answered with 400, because without it the answer would be wrong.
    Refused,
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderFact {
    /// In lower case.
    pub name: &'static str,
    pub treatment: Treatment,
    pub about: &'static str,
}

/// Returns the whole table: used, refused, ignored.
pub fn header_table() -> impl Iterator<Item = &'static HeaderFact> {
    USED_FACTS.iter().chain(REFUSED).chain(IGNORED)
}

macro_rules! used_headers {
    ($($name:ident = $text:literal, $about:literal;)*) => {
        /// A header that is read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Name {
            $($name,)*
        }

        impl Name {
            pub(crate) const COUNT: usize = USED.len();

            /// The name on the wire, in lower case.
            pub(crate) const fn text(self) -> &'static str {
                match self {
                    $(Name::$name => $text,)*
                }
            }
        }

        pub(super) const USED: &[Name] = &[$(Name::$name,)*];

        const USED_FACTS: &[HeaderFact] =
            &[$(HeaderFact { name: $text, treatment: Treatment::Used, about: $about },)*];
    };
}

impl Name {
    /// Says whether HTTP allows the header several times.
    pub(super) fn is_list(self) -> bool {
        matches!(self, Name::AcceptEncoding | Name::Prefer | Name::SupportedFeatures)
    }
}

used_headers! {
    Authorization = "authorization", "who asks";
    Date = "x-ms-date", "the signed date";
    HttpDate = "date", "the signed date of clients without x-ms-date";
    Version = "x-ms-version", "API version; decides whether hierarchical keys are allowed";
    ActivityId = "x-ms-activity-id", "echoed; made up when absent";
    ContentType = "content-type", "tells queries from creates, and is the kind of media; else never a reason to refuse";
    Slug = "slug", "the name of an attachment that is made from media";
    ContentEncoding = "content-encoding", "gzip and identity bodies";
    AcceptEncoding = "accept-encoding", "gzip answers, if the operator allows them";
    Origin = "origin", "cross-origin rules";
    ConsistencyLevel = "x-ms-consistency-level", "read consistency, not stronger than the account's";
    ReadConsistencyStrategy = "x-ms-cosmos-read-consistency-strategy", "checked; every read is as strong as any of them asks";
    SessionToken = "x-ms-session-token", "what the client has seen";
    PartitionKey = "x-ms-documentdb-partitionkey", "one logical partition";
    RangeId = "x-ms-documentdb-partitionkeyrangeid", "one range; a retired one is 410";
    StartEpk = "x-ms-start-epk", "lower bound of effective partition keys, inclusive";
    EndEpk = "x-ms-end-epk", "upper bound of effective partition keys, exclusive";
    ReadKeyType = "x-ms-read-key-type", "must be EffectivePartitionKeyRange";
    MaxItemCount = "x-ms-max-item-count", "page size";
    Continuation = "x-ms-continuation", "where a page starts";
    ContinuationLimit = "x-ms-documentdb-responsecontinuationtokenlimitinkb", "largest continuation the client takes";
    IfMatch = "if-match", "precondition";
    IfNoneMatch = "if-none-match", "precondition; position of a change feed";
    IfModifiedSince = "if-modified-since", "start of a change feed";
    AIm = "a-im", "change feed and its mode";
    Capabilities = "x-ms-cosmos-sdk-supportedcapabilities", "bit 0, from API version 2020-11-05 on (Go): positions of a change feed name their span, so that they hold after a merge";
    WireFormatVersion = "x-ms-cosmos-changefeed-wire-format-version", "2021-09-15: latest versions come in envelopes with metadata, as all versions do";
    Prefer = "prefer", "return=minimal on item writes and batches";
    IsUpsert = "x-ms-documentdb-is-upsert", "create becomes upsert";
    IndexingDirective = "x-ms-indexing-directive", "whether queries find the item that is written";
    ExcludeSystemProperties = "x-ms-exclude-system-properties", "items that are written so are answered without _self and _attachments to who asks so";
    PreTriggers = "x-ms-documentdb-pre-trigger-include", "triggers to run before a write";
    PostTriggers = "x-ms-documentdb-post-trigger-include", "triggers to run after a write";
    IsQuery = "x-ms-documentdb-isquery", "a POST is a query";
    Query = "x-ms-documentdb-query", "a POST is a query (Go)";
    CrossPartition = "x-ms-documentdb-query-enablecrosspartition", "allows queries over several partitions";
    Parallelize = "x-ms-documentdb-query-parallelizecrosspartitionquery", "the client reads the ranges of a query side by side: it gets the plan";
    Merge = "x-orrery-merge", "the server merges a query over several ranges: true, or how many ranges to read at once";
    EnableScan = "x-ms-documentdb-query-enable-scan", "allows queries without an index";
    ForceScan = "x-ms-documentdb-force-query-scan", "allows queries without an index (Go)";
    QueryMetrics = "x-ms-documentdb-populatequerymetrics", "adds query metrics";
    IndexMetrics = "x-ms-cosmos-populateindexmetrics", "adds index metrics, base64";
    IndexMetricsV2 = "x-ms-cosmos-populateindexmetrics-v2", "adds index metrics, percent-encoded";
    QueryAdvice = "x-ms-cosmos-populatequeryadvice", "adds which of the service's rules a query meets";
    IsQueryPlan = "x-ms-cosmos-is-query-plan-request", "a POST asks for a query plan";
    OptimisticExecution = "x-ms-cosmos-query-optimisticdirectexecute", "the query is run whole; the answer says whether a plan is needed";
    SupportedFeatures = "x-ms-cosmos-supported-query-features", "what a query plan may use";
    ContentFormat = "x-ms-documentdb-content-serialization-format", "CosmosBinary: items, queries and feeds are answered in binary JSON";
    SupportedFormats = "x-ms-cosmos-supported-serialization-formats", "with CosmosBinary: items and queries are answered in binary JSON";
    IsBatch = "x-ms-cosmos-is-batch-request", "a POST is a batch";
    BatchAtomic = "x-ms-cosmos-batch-atomic", "all or nothing";
    BatchOrdered = "x-ms-cosmos-batch-ordered", "checked; batches always run in order";
    BatchContinueOnError = "x-ms-cosmos-batch-continue-on-error", "bulk goes on after a failure";
    IntendedContainerRid = "x-ms-cosmos-intended-collection-rid", "a stale one is 400/1024";
    OfferThroughput = "x-ms-offer-throughput", "manual throughput";
    OfferType = "x-ms-offer-type", "a performance level: S1, S2 or S3";
    AutopilotSettings = "x-ms-cosmos-offer-autopilot-settings", "autoscale throughput";
    MigrateToAutopilot = "x-ms-cosmos-migrate-offer-to-autopilot", "manual to autoscale";
    MigrateToManual = "x-ms-cosmos-migrate-offer-to-manual-throughput", "autoscale to manual";
    QuotaInfo = "x-ms-documentdb-populatequotainfo", "adds quota and usage";
    PartitionStatistics = "x-ms-documentdb-populatepartitionstatistics", "adds statistics of a container";
    ExpirySeconds = "x-ms-documentdb-expiry-seconds", "lifetime of a resource token";
    ScriptLogging = "x-ms-documentdb-script-enable-logging", "returns console output";
    PriorityLevel = "x-ms-cosmos-priority-level", "checked; all requests have the same priority";
    ThroughputBucket = "x-ms-cosmos-throughput-bucket", "checked; there is one bucket";
}

macro_rules! facts {
    ($treatment:ident: $($name:literal, $about:literal;)*) => {
        &[$(HeaderFact { name: $name, treatment: Treatment::$treatment, about: $about },)*]
    };
}

pub(super) const REFUSED: &[HeaderFact] = facts! { Refused:
    "x-ms-start-id", "ranges of resource ids can not be read";
    "x-ms-end-id", "ranges of resource ids can not be read";
    "x-ms-enumeration-direction", "feeds can not be read backwards";
    "x-ms-time-to-live-in-seconds", "set ttl in the item";
    "x-ms-binary-id", "items are addressed by text ids";
    "x-ms-cosmos-collection-truncate", "a container can not be truncated; delete and create it";
    "x-ms-cosmos-start-full-fidelity-if-none-match", "one request reads one mode of the change feed";
    "x-ms-documentdb-filterby-schema-rid", "schemas do not exist";
    "x-ms-documentdb-migratecollectiondirective", "containers do not migrate between tiers";
    "x-ms-migratecollection-directive", "containers do not migrate between tiers";
    "x-ms-cosmos-shared-offer-throughput", "give the database its throughput with x-ms-offer-throughput";
    "x-ms-documentdb-supportspatiallegacycoordinates", "coordinates have one order";
    "x-ms-documentdb-usepolygonssmallerthanahemisphere", "polygons have one meaning";
    "x-ms-restore-metadata-filter", "restored accounts do not exist";
    "x-ms-restore-params", "restored accounts do not exist";
    "x-ms-merge-static-id", "item parts can not be written alone";
    "x-ms-cosmos-sdk-change-feed-format", "changes have one format";
    "x-ms-effective-partition-key", "name the partition key itself";
    "x-ms-documentdb-remote-storage-type", "storage is local";
    "x-ms-cosmos-force-sidebyside-indexmigration", "there is one kind of index";
    "x-http-method", "use the method itself";
    "x-http-method-override", "use the method itself";
};

const IGNORED: &[HeaderFact] = facts! { Ignored:
    "host", "read for the account document only";
    "user-agent", "who the client is does not matter";
    "x-ms-useragent", "who the client is does not matter";
    "accept", "answers are JSON, which every client takes";
    "cache-control", "nothing is cached";
    "pragma", "nothing is cached";
    "x-ms-client-id", "telemetry";
    "x-ms-cosmos-correlated-activityid", "telemetry";
    "x-ms-cosmos-allow-tentative-writes", "there is one write region";
    "x-ms-documentdb-pre-trigger-exclude", "no trigger runs by itself";
    "x-ms-documentdb-post-trigger-exclude", "no trigger runs by itself";
    "x-ms-documentdb-query-iscontinuationexpected", "a hint";
    "x-ms-documentdb-query-emit-traces", "diagnostics";
    "x-ms-documentdb-query-enable-low-precision-order-by", "order is always exact";
    "x-ms-cosmos-query-version", "plans of version 1 suit all clients";
    "x-ms-documentdb-collection-rid", "the path names the container";
    "x-ms-dedicatedgateway-max-age", "nothing is cached";
    "x-ms-dedicatedgateway-bypass-cache", "nothing is cached";
    "x-ms-noretry-449", "the server answers instead of retrying";
    "x-ms-thinclient-proxy-resource-type", "the path says it";
    "x-ms-thinclient-proxy-operation-type", "the method says it";
    "x-ms-cosmos-hub-region-processing-only", "there is one region";
    "x-ms-cosmos-use-thinclient", "the account document offers no thin client";
    "x-ms-cosmos-workload-id", "telemetry";
    "x-ms-cosmos-apitype", "there is one API";
    "x-ms-cosmos-is-client-encrypted", "encrypted properties are ordinary values to the server";
    "x-ms-cosmos-allow-cachedreads", "nothing is cached";
    "x-ms-cosmos-database-rid", "the path names the database";
    "x-ms-force-refresh", "nothing is cached";
    "x-ms-collectionroutingmap-refresh", "nothing is cached";
    "x-ms-use-master-collection-resolver", "nothing is cached";
    "x-ms-client-retry-attempt-count", "telemetry";
    "x-ms-remaining-time-in-ms-on-client", "the client gives up by itself";
    "x-ms-documentdb-disable-ru-per-minute-usage", "legacy";
    "x-ms-offer-is-ru-per-minute-throughput-enabled", "legacy";
    "x-ms-client-request-id", "telemetry";
    "x-ms-request-id", "telemetry";
    "x-ms-databaseaccount-name", "telemetry";
    "x-ms-profile-request", "diagnostics";
    "x-ms-documentdb-populatecollectionthroughputinfo", "the offer tells it";
    "x-ms-is-auto-scale", "the offer tells it";
    "x-ms-is-readonly-script", "a hint for speed";
    "x-ms-is-feed-unfiltered", "feeds are never filtered";
    "x-ms-cancharge", "said between the service's own parts";
    "x-ms-canthrottle", "said between the service's own parts";
    "x-ms-can-offer-replace-complete", "said between the service's own parts";
    "x-ms-gateway-signature", "said between the service's own parts";
    "x-ms-disable-rntbd-channel", "said between the service's own parts";
    "x-ms-target-lsn", "said between the service's own parts";
    "x-ms-target-global-committed-lsn", "said between the service's own parts";
    "x-ms-write-request-trigger-refresh", "said between the service's own parts";
    "if-unmodified-since", "etags are the preconditions, on the service too";
    "if-range", "a whole body is a valid answer";
    "content-md5", "the service does not look at it either";
    "accept-charset", "answers are UTF-8, as JSON is";
    "accept-language", "messages have one language";
    "range", "a whole body is a valid answer";
    "expect", "100-continue is answered below this layer";
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_lower_case_distinct_and_short_enough() {
        let mut seen = HashSet::new();
        for fact in header_table() {
            assert_eq!(fact.name, fact.name.to_ascii_lowercase());
            assert!(fact.name.len() <= super::super::NAME_BYTES_MAX, "{}", fact.name);
            assert!(seen.insert(fact.name), "{} stands twice", fact.name);
            assert!(!fact.about.is_empty());
        }
    }

    #[test]
    fn slots_follow_the_order_of_the_table() {
        for (index, name) in USED.iter().enumerate() {
            assert_eq!(*name as usize, index);
        }
    }
}
