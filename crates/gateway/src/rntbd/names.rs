//! Numbers on the wire: resource types, operation types, token ids.

/// Resource types.
pub(crate) mod resource {
    pub(crate) const CONNECTION: u16 = 0x0000;
    pub(crate) const DATABASE: u16 = 0x0001;
    pub(crate) const CONTAINER: u16 = 0x0002;
    pub(crate) const ITEM: u16 = 0x0003;
    pub(crate) const ATTACHMENT: u16 = 0x0004;
    pub(crate) const USER: u16 = 0x0005;
    pub(crate) const PERMISSION: u16 = 0x0006;
    pub(crate) const STORED_PROCEDURE: u16 = 0x0007;
    pub(crate) const CONFLICT: u16 = 0x0008;
}

/// Operation types.
pub(crate) mod operation {
    pub(crate) const CONNECTION: u16 = 0x0000;
    pub(crate) const CREATE: u16 = 0x0001;
    pub(crate) const PATCH: u16 = 0x0002;
    pub(crate) const READ: u16 = 0x0003;
    pub(crate) const READ_FEED: u16 = 0x0004;
    pub(crate) const DELETE: u16 = 0x0005;
    pub(crate) const REPLACE: u16 = 0x0006;
    pub(crate) const EXECUTE: u16 = 0x0008;
    pub(crate) const SQL_QUERY: u16 = 0x0009;
    pub(crate) const QUERY: u16 = 0x000F;
    pub(crate) const HEAD: u16 = 0x0011;
    pub(crate) const HEAD_FEED: u16 = 0x0012;
    pub(crate) const UPSERT: u16 = 0x0013;
    pub(crate) const BATCH: u16 = 0x0025;
}

/// Tokens of requests that are more than a header.
pub(crate) mod request {
    pub(crate) const RESOURCE_ID: u16 = 0x0000;
    pub(crate) const PAYLOAD_PRESENT: u16 = 0x0002;
    pub(crate) const SESSION_TOKEN: u16 = 0x0005;
    pub(crate) const MATCH: u16 = 0x0008;
    pub(crate) const REPLICA_PATH: u16 = 0x0013;
    pub(crate) const DATABASE_NAME: u16 = 0x0015;
    pub(crate) const CONTAINER_NAME: u16 = 0x0016;
    pub(crate) const ITEM_NAME: u16 = 0x0017;
    pub(crate) const ATTACHMENT_NAME: u16 = 0x0018;
    pub(crate) const USER_NAME: u16 = 0x0019;
    pub(crate) const PERMISSION_NAME: u16 = 0x001A;
    pub(crate) const STORED_PROCEDURE_NAME: u16 = 0x001B;
    pub(crate) const CONFLICT_NAME: u16 = 0x0020;
    pub(crate) const CONTAINER_RID: u16 = 0x0035;
    pub(crate) const TRANSPORT_REQUEST_ID: u16 = 0x004D;
    pub(crate) const EFFECTIVE_KEY: u16 = 0x005A;
    pub(crate) const START_EPK: u16 = 0x0062;
    pub(crate) const END_EPK: u16 = 0x0063;
    pub(crate) const READ_KEY_TYPE: u16 = 0x0064;
    pub(crate) const RETURN_PREFERENCE: u16 = 0x0082;
    pub(crate) const SUPPORTED_FORMATS: u16 = 0x00C4;
    pub(crate) const CORRELATED_ACTIVITY: u16 = 0x00B0;
}

/// Tokens of responses that are more than a header.
pub(crate) mod response {
    pub(crate) const PAYLOAD_PRESENT: u16 = 0x0000;
    pub(crate) const LSN: u16 = 0x0013;
    pub(crate) const QUORUM_ACKED_LSN: u16 = 0x001A;
    pub(crate) const VALIDATION_FAILURE: u16 = 0x001B;
    pub(crate) const CURRENT_WRITE_QUORUM: u16 = 0x001E;
    pub(crate) const CURRENT_REPLICA_SET_SIZE: u16 = 0x001F;
    pub(crate) const RANGE_ID: u16 = 0x0021;
    pub(crate) const N_READ_REGIONS: u16 = 0x0030;
    pub(crate) const TRANSPORT_REQUEST_ID: u16 = 0x0035;
    pub(crate) const LOCAL_LSN: u16 = 0x003A;
    pub(crate) const QUORUM_ACKED_LOCAL_LSN: u16 = 0x003B;
    pub(crate) const SESSION_TOKEN: u16 = 0x003E;
    pub(crate) const CORRELATED_ACTIVITY: u16 = 0x0052;
    pub(crate) const SCRIPT_LOG: u16 = 0x0025;
}

/// Tokens of the first frame of a connection and of its answer.
pub(crate) mod context {
    pub(crate) const PROTOCOL_VERSION: u16 = 0x0000;
    pub(crate) const CLIENT_VERSION: u16 = 0x0001;
    pub(crate) const SERVER_AGENT: u16 = 0x0002;
    pub(crate) const SERVER_VERSION: u16 = 0x0003;
    pub(crate) const IDLE_TIMEOUT_SECONDS: u16 = 0x0004;
    pub(crate) const UNAUTHENTICATED_TIMEOUT_SECONDS: u16 = 0x0005;
}
