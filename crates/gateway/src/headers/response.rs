//! Names of the headers that we send.

use http::HeaderName;

macro_rules! names {
    ($($name:ident = $text:literal;)*) => {
        $(pub(crate) static $name: HeaderName = HeaderName::from_static($text);)*

        /// All of them, for cross-origin clients.
        pub(crate) const ALL: &[&str] = &[$($text,)*];
    };
}

names! {
    ACTIVITY_ID = "x-ms-activity-id";
    REQUEST_CHARGE = "x-ms-request-charge";
    SESSION_TOKEN = "x-ms-session-token";
    ETAG = "etag";
    ITEM_COUNT = "x-ms-item-count";
    CONTINUATION = "x-ms-continuation";
    SUBSTATUS = "x-ms-substatus";
    RETRY_AFTER_MS = "x-ms-retry-after-ms";
    LSN = "lsn";
    ITEM_LSN = "x-ms-item-lsn";
    ITEM_LOCAL_LSN = "x-ms-cosmos-item-llsn";
    LOCAL_LSN = "x-ms-cosmos-llsn";
    QUORUM_ACKED_LSN = "x-ms-quorum-acked-lsn";
    QUORUM_ACKED_LOCAL_LSN = "x-ms-cosmos-quorum-acked-llsn";
    GLOBAL_COMMITTED_LSN = "x-ms-global-committed-lsn";
    N_READ_REGIONS = "x-ms-number-of-read-regions";
    LAST_STATE_CHANGE = "x-ms-last-state-change-utc";
    TRANSPORT_REQUEST_ID = "x-ms-transport-request-id";
    DURATION_MS = "x-ms-request-duration-ms";
    RANGE_ID = "x-ms-documentdb-partitionkeyrangeid";
    OWNER_PATH = "x-ms-alt-content-path";
    OWNER_RID = "x-ms-content-path";
    QUOTA = "x-ms-resource-quota";
    USAGE = "x-ms-resource-usage";
    SCHEMA_VERSION = "x-ms-schemaversion";
    SERVICE_VERSION = "x-ms-serviceversion";
    GATEWAY_VERSION = "x-ms-gatewayversion";
    QUERY_METRICS = "x-ms-documentdb-query-metrics";
    QUERY_EXECUTION_INFO = "x-ms-cosmos-query-execution-info";
    QUERY_REQUIRES_DISTRIBUTION = "x-ms-cosmos-query-requiresdistribution";
    INDEX_UTILIZATION = "x-ms-cosmos-index-utilization";
    QUERY_ADVICE = "x-ms-cosmos-query-advice";
    INDEX_PROGRESS = "x-ms-documentdb-collection-index-transformation-progress";
    LAZY_INDEX_PROGRESS = "x-ms-documentdb-collection-lazy-indexing-progress";
    OFFER_REPLACE_PENDING = "x-ms-offer-replace-pending";
    MIN_THROUGHPUT = "x-ms-cosmos-min-throughput";
    XP_ROLE = "x-ms-xp-role";
    INTERNAL_PARTITION_ID = "x-ms-cosmos-internal-partition-id";
    PHYSICAL_PARTITION_ID = "x-ms-cosmos-physical-partition-id";
    WRITE_QUORUM = "x-ms-current-write-quorum";
    REPLICA_SET_SIZE = "x-ms-current-replica-set-size";
    KEY_DELETE_PENDING = "x-ms-cosmos-is-partition-key-delete-pending";
    SERVICE_INDEX = "collection-service-index";
    PARTITION_INDEX = "collection-partition-index";
    SHARE_THROUGHPUT = "x-ms-share-throughput";
    MAX_CONTENT_LENGTH = "x-ms-cosmos-max-content-length";
    VALIDATION_FAILURE = "x-ms-request-validation-failure";
    REGIONS_COMMITTED_LSN = "x-ms-cosmos-global-nregion-committed-glsn";
    SLUG = "slug";
    MEDIA_USAGE = "x-ms-media-storage-usage-mb";
    MEDIA_QUOTA = "x-ms-max-media-storage-usage-mb";
    CONSUMED = "x-ms-databaseaccount-consumed-mb";
    RESERVED = "x-ms-databaseaccount-reserved-mb";
    PROVISIONED = "x-ms-databaseaccount-provisioned-mb";
    SCRIPT_LOG = "x-ms-documentdb-script-log-results";
}
