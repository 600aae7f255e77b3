//! How an operation ended, in the numbers of the wire, and the trait by which errors know theirs.
//!
//! The numbers live here and not in `gateway`, because batch results and scripts show them too.

use std::fmt;

/// A status code and sub-status code. `sub` is 0 when there is none.
///
/// Wire: the HTTP status and `x-ms-substatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The sub-status code, 0 for none.
    pub sub: u32,
}

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal / $sub:literal;)*) => {
        impl Status {
            $($(#[$doc])* pub const $name: Status = Status { code: $code, sub: $sub };)*

            /// Every status with a name, for documents and exhaustive tests.
            pub const ALL: &'static [(&'static str, Status)] =
                &[$((stringify!($name), Status::$name),)*];
        }
    };
}

statuses! {
    /// Read, replaced, queried.
    OK = 200 / 0;
    /// Created, or created by an upsert.
    CREATED = 201 / 0;
    /// Accepted; the work goes on in the background.
    ACCEPTED = 202 / 0;
    /// Deleted.
    NO_CONTENT = 204 / 0;
    /// A batch with at least one failed operation.
    MULTI_STATUS = 207 / 0;
    /// Nothing new for the given etag.
    NOT_MODIFIED = 304 / 0;
    /// The request is malformed.
    BAD_REQUEST = 400 / 0;
    /// The partition key of the request does not fit the definition or the item.
    PK_MISMATCH = 400 / 1001;
    /// The query needs a plan and a merge that the client must do.
    CROSS_PARTITION_UNSERVABLE = 400 / 1004;
    /// A container without partition key definition.
    PK_DEFINITION_MISSING = 400 / 1013;
    /// The client's idea of the container's rid is out of date.
    CONTAINER_RID_STALE = 400 / 1024;
    /// A query's answer has a number that JSON lacks: NaN or an infinity.
    NUMBER_NOT_FINITE = 400 / 4001;
    /// Another change of throughput is under way.
    OFFER_PENDING = 400 / 3205;
    /// A script does not compile.
    SCRIPT_COMPILE = 400 / 65535;
    /// Missing or wrong credentials.
    UNAUTHORIZED = 401 / 0;
    /// The principal may not do this.
    FORBIDDEN = 403 / 0;
    /// The logical partition has reached its size limit.
    LOGICAL_PARTITION_FULL = 403 / 1014;
    /// The resource does not exist.
    NOT_FOUND = 404 / 0;
    /// The session token is ahead of what this partition has.
    READ_SESSION_UNAVAILABLE = 404 / 1002;
    /// The database or container around the resource does not exist.
    OWNER_NOT_FOUND = 404 / 1003;
    /// The container is still being created.
    CONTAINER_CREATING = 404 / 1013;
    /// The path exists, but not with this method.
    METHOD_NOT_ALLOWED = 405 / 0;
    /// The operation ran out of time.
    REQUEST_TIMEOUT = 408 / 0;
    /// An item or resource with this id, name or unique key exists.
    CONFLICT = 409 / 0;
    /// The name now belongs to another container.
    GONE_NAME = 410 / 1000;
    /// The range was split or merged away.
    RANGE_GONE = 410 / 1002;
    /// The range is being split or merged right now.
    RANGE_COMPLETING = 410 / 1007;
    /// The range is moving to another store.
    RANGE_MOVING = 410 / 1008;
    /// The etag condition does not hold.
    PRECONDITION_FAILED = 412 / 0;
    /// The condition of a patch does not hold.
    PATCH_CONDITION = 412 / 1110;
    /// The item, batch or request is too large.
    TOO_LARGE = 413 / 0;
    /// The response of a batch is too large.
    BATCH_RESPONSE_TOO_LARGE = 413 / 3402;
    /// The request names a host that this server is not.
    MISDIRECTED = 421 / 0;
    /// The resource is locked by a change of scale.
    LOCKED = 423 / 0;
    /// Inside a batch: another operation failed, so this one was not done.
    FAILED_DEPENDENCY = 424 / 0;
    /// The budget of this second is spent.
    TOO_MANY_REQUESTS = 429 / 3200;
    /// Lost a race with another write; try again.
    RETRY_WITH = 449 / 0;
    /// Our bug, or our disk.
    INTERNAL = 500 / 0;
    /// Orrery does not have this.
    NOT_IMPLEMENTED = 501 / 0;
    /// Not now.
    UNAVAILABLE = 503 / 0;
}

impl Status {
    /// Returns the `code` of the error body (and a readable name for the others).
    ///
    /// Wire: facts recorded from the hosted service; clients match on these words.
    pub fn name(self) -> &'static str {
        match self.code {
            200 => "Ok",
            201 => "Created",
            202 => "Accepted",
            204 => "NoContent",
            207 => "MultiStatus",
            304 => "NotModified",
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            405 => "MethodNotAllowed",
            408 => "RequestTimeout",
            409 => "Conflict",
            410 => "Gone",
            412 => "PreconditionFailed",
            413 => "RequestEntityTooLarge",
            423 => "Locked",
            421 => "MisdirectedRequest",
            424 => "FailedDependency",
            429 => "TooManyRequests",
            449 => "RetryWith",
            500 => "InternalServerError",
            501 => "NotImplemented",
            503 => "ServiceUnavailable",
            _ => "Unknown",
        }
    }

    /// Says whether the operation did what was asked. 207 is not a success: part of it failed.
    pub fn is_success(self) -> bool {
        matches!(self.code, 200..=206)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if self.sub == 0 { Ok(()) } else { write!(f, "/{}", self.sub) }
    }
}

/// An error that knows what the client should be told.
///
/// Each crate implements this once, right below its error enum and without a wildcard arm; a
/// wrapping variant delegates.
pub trait Failure: std::error::Error {
    /// Returns the status that stands for this error.
    fn status(&self) -> Status;

    /// Returns how long the client should wait before it tries again, if that helps.
    fn retry_after_ms(&self) -> Option<u64> {
        None
    }

    /// Says whether this is a bug or a broken disk rather than a bad request: such errors are
    /// logged, and the client sees no inner detail.
    fn is_our_fault(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_named_status_is_distinct_and_has_a_name() {
        let distinct: HashSet<Status> = Status::ALL.iter().map(|(_, status)| *status).collect();
        assert_eq!(distinct.len(), Status::ALL.len());
        for (constant, status) in Status::ALL {
            assert_ne!(status.name(), "Unknown", "{constant}");
        }
    }

    #[test]
    fn only_the_two_hundreds_below_207_succeed() {
        for (constant, status) in Status::ALL {
            let expected = status.code < 300 && *status != Status::MULTI_STATUS;
            assert_eq!(status.is_success(), expected, "{constant}");
        }
    }

    #[test]
    fn statuses_print_their_sub_status_if_any() {
        assert_eq!(Status::RANGE_GONE.to_string(), "410/1002");
        assert_eq!(Status::NOT_FOUND.to_string(), "404");
    }
}
