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
    INDEX_UTILIZATION = "x-ms-cosmos-index-utilization";
    QUERY_ADVICE = "x-ms-cosmos-query-advice";
    INDEX_PROGRESS = "x-ms-documentdb-collection-index-transformation-progress";
    OFFER_REPLACE_PENDING = "x-ms-offer-replace-pending";
    MIN_THROUGHPUT = "x-ms-cosmos-min-throughput";
    SCRIPT_LOG = "x-ms-documentdb-script-log-results";
}
