//! Which headers which kind of answer has: the only place that says so.
//!
//! Wire: as recorded from the hosted service (API version 2018-12-31). An answer has no header that its row lacks, and
//! all that its row has; [`answer_table`] lets a test walk it.

use account::{Refuser, ResourceKind};
use http::{Method, StatusCode};

use crate::parse::Action;

/// Headers that come and go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groups(u32);

macro_rules! groups {
    ($($(#[$about:meta])* $name:ident = [$($header:literal),* $(,)?];)*) => {
        #[derive(Clone, Copy)]
        #[expect(clippy::upper_case_acronyms, non_camel_case_types, reason = "names of groups are letters and words")]
        enum GroupIndex { $($name,)* }

        $($(#[$about])* pub(crate) const $name: Groups = Groups(1 << GroupIndex::$name as u32);)*

        /// The headers of each group.
        const HEADERS: &[(Groups, &[&str])] = &[$(($name, &[$($header,)*]),)*];
    };
}

groups! {
    /// Every answer. Over TLS also `strict-transport-security`; `date` is written by the server below us.
    G = ["content-type", "server", "x-ms-gatewayversion"];
    A = ["x-ms-activity-id"];
    /// A partition or the catalog answered.
    P = [
        "lsn", "x-ms-cosmos-llsn", "x-ms-global-committed-lsn", "x-ms-schemaversion", "x-ms-serviceversion", "x-ms-xp-role",
        "x-ms-number-of-read-regions", "x-ms-transport-request-id", "x-ms-request-duration-ms", "x-ms-last-state-change-utc",
    ];
    S = ["x-ms-session-token"];
    I = ["x-ms-cosmos-internal-partition-id"];
    Y = ["x-ms-cosmos-physical-partition-id"];
    R = ["x-ms-documentdb-partitionkeyrangeid"];
    /// A write went to a quorum.
    W = [
        "x-ms-quorum-acked-lsn", "x-ms-cosmos-quorum-acked-llsn", "x-ms-current-write-quorum", "x-ms-current-replica-set-size",
    ];
    C = ["cache-control", "pragma"];
    /// Not on a POST.
    L = ["content-location"];
    N = ["x-ms-alt-content-path", "x-ms-content-path"];
    /// The first half of N.
    ALT = ["x-ms-alt-content-path"];
    Q = ["x-ms-resource-quota", "x-ms-resource-usage"];
    T = ["x-ms-item-lsn", "x-ms-cosmos-item-llsn"];
    CHARGE = ["x-ms-request-charge"];
    ETAG = ["etag"];
    COUNT = ["x-ms-item-count"];
    INFO = ["x-ms-cosmos-query-execution-info"];
    KEY_DELETE = ["x-ms-cosmos-is-partition-key-delete-pending"];
    /// Where a container is.
    PLACE = [
        "collection-service-index", "collection-partition-index", "x-ms-share-throughput", "x-ms-cosmos-max-content-length",
    ];
    OFFER = ["x-ms-offer-replace-pending"];
    /// Where media is, how much of it the account has.
    MEDIA = ["x-ms-media-storage-usage-mb", "x-ms-max-media-storage-usage-mb"];
    /// The name under which media came.
    SLUG = ["slug"];
    MEGABYTES = [
        "x-ms-databaseaccount-consumed-mb", "x-ms-databaseaccount-reserved-mb", "x-ms-databaseaccount-provisioned-mb",
    ];
    /// What is left of P when the request was not looked at.
    BRIEF = ["x-ms-schemaversion", "x-ms-serviceversion", "x-ms-transport-request-id", "x-ms-request-duration-ms"];
    VALIDATION = ["x-ms-request-validation-failure"];
    REGIONS = ["x-ms-cosmos-global-nregion-committed-glsn"];
}

/// What every answer in direct mode has, errors too.
pub(crate) const DIRECT: Groups = P.and(S).and(R).and(Y).and(N).and(CHARGE).and(ETAG).and(COUNT);

impl Groups {
    pub(crate) const fn and(self, other: Groups) -> Groups {
        Groups(self.0 | other.0)
    }

    pub(crate) const fn has(self, group: Groups) -> bool {
        self.0 & group.0 != 0
    }
}

macro_rules! answers {
    ($($(#[$about:meta])* $name:ident = $first:ident $($group:ident)*;)*) => {
        /// A kind of answer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Answer {
            $($(#[$about])* $name,)*
        }

        const ROWS: &[(Answer, &str)] = &[$((Answer::$name, stringify!($name)),)*];

        impl Answer {
            /// What it has.
            pub(crate) const fn groups(self) -> Groups {
                match self {
                    $(Answer::$name => const { $first$(.and($group))* },)*
                }
            }
        }
    };
}

answers! {
    Account = G C L MEDIA MEGABYTES;
    QueryPlan = G C;
    /// Refused by the gateway itself: address, rights, query text, page size, continuation, 400/1004.
    Refused = G A L;
    /// The same, for a number of items or a body that cannot be.
    Invalid = G A L VALIDATION;
    DatabaseCreate = G A P S I Y CHARGE C Q W T ETAG;
    DatabaseRead = G A P S I CHARGE C Q L T ETAG;
    DatabaseDelete = G A P S I CHARGE C Q W L;
    ContainerCreate = G A P S I Y R CHARGE C T ETAG ALT W PLACE;
    ContainerRead = G A P S I Y R CHARGE C T ETAG N L PLACE;
    ContainerReplace = G A P S I Y R CHARGE C T ETAG N L W PLACE;
    /// The catalog forgets it: there is no range any more.
    ContainerDelete = G A P S I CHARGE C N L W;
    /// The list of databases, which have no owner.
    Databases = G A P S I CHARGE C Q L COUNT;
    /// Lists of containers, users, permissions, encryption keys.
    Children = G A P S I CHARGE C N Q L COUNT;
    Offers = G A P S I CHARGE C L COUNT;
    Offer = G A P S I CHARGE C L ETAG OFFER;
    OfferReplace = G A P S I CHARGE C L ETAG OFFER W;
    Ranges = G A P S I C N L COUNT;
    /// The ranges since a position.
    RangesSince = G A P S I C N L COUNT ETAG;
    /// Users, permissions, encryption keys.
    ResourceCreate = G A P S I CHARGE C N Q W ETAG;
    ResourceRead = G A P S I CHARGE C N Q L ETAG;
    ResourceReplace = G A P S I CHARGE C N Q W L ETAG;
    ResourceDelete = G A P S I CHARGE C N Q W L;
    ItemCreate = G A P S I Y R CHARGE C N Q W ETAG;
    ItemReplace = G A P S I Y R CHARGE C N Q W ETAG L;
    ItemDelete = G A P S I Y R CHARGE C N Q W L;
    ItemRead = G A P S I Y R CHARGE C N Q L T ETAG;
    ItemUnchanged = G A P S I Y R CHARGE C N Q L ETAG;
    Query = G A P S I Y R CHARGE C N Q COUNT INFO KEY_DELETE;
    /// Refused by a value that the query met.
    QueryRefused = G A P S I Y R CHARGE Q KEY_DELETE;
    ReadFeed = G A P S I Y R CHARGE C N Q L COUNT;
    ChangeFeed = G A P S I Y R CHARGE C N Q L COUNT ETAG;
    AttachmentCreate = G A P S I Y R CHARGE C N Q W ETAG;
    /// An attachment that came with media.
    AttachmentUpload = G A P S I Y R CHARGE C N Q W ETAG MEDIA;
    AttachmentReplace = G A P S I Y R CHARGE C N Q W ETAG L;
    AttachmentDelete = G A P S I Y R CHARGE C N Q W L;
    AttachmentRead = G A P S I Y R CHARGE C N Q L T ETAG;
    AttachmentUnchanged = G A P S I Y R CHARGE C N Q L ETAG;
    Attachments = G A P S I Y R CHARGE C N Q L COUNT;
    MediaRead = G A P S I Y R CHARGE C N Q L ETAG MEDIA SLUG;
    MediaReplace = G A P S I Y R CHARGE C N Q W L ETAG MEDIA;
    Scripts = G A P S I Y R CHARGE C N Q L COUNT;
    ScriptCreate = G A P S I Y R CHARGE C N W Q ETAG;
    ScriptRead = G A P S I Y R CHARGE C N L Q ETAG;
    ScriptReplace = G A P S I Y R CHARGE C N W L Q ETAG;
    ScriptDelete = G A P S I Y R CHARGE C N W L Q;
    Execute = G A P S I Y R CHARGE C N W;
    DeleteLogicalPartition = G A P S I Y R CHARGE C N W;
    /// All of its operations took effect, or it was not all or nothing.
    Batch = G A P S I Y R CHARGE C N W COUNT;
    BatchFailed = G A P S I Y R CHARGE C W COUNT;
    BatchTooLong = G A P S I Y W;
    ReadRefused = G A P S I Y R CHARGE L;
    WriteRefused = G A P S I Y R CHARGE L W;
    /// The catalog has no such thing, or will not have it.
    CatalogRefused = G A P S I CHARGE L;
    /// There is a database of this name, or it cannot be made.
    DatabaseRefused = G A P S I CHARGE W;
    ContainerRefused = G A P S CHARGE W;
    TooLarge = G A BRIEF VALIDATION;
    Throttled = G A P I Y CHARGE REGIONS;
    /// Pages beside the protocol, and the management API.
    Page = G A C;
}

impl Answer {
    /// The answer to a request that worked; requests for metadata say more ([`Answer::of_list`], [`Answer::of_resource`]).
    pub(crate) fn of(action: Action) -> Answer {
        match action {
            Action::AccountRead | Action::Addresses => Answer::Account,
            Action::ItemCreate | Action::ItemUpsert => Answer::ItemCreate,
            Action::ItemRead => Answer::ItemRead,
            Action::ItemReplace | Action::ItemPatch => Answer::ItemReplace,
            Action::ItemDelete => Answer::ItemDelete,
            Action::Batch | Action::Bulk => Answer::Batch,
            Action::ReadFeed | Action::Barrier => Answer::ReadFeed,
            Action::ChangeFeed => Answer::ChangeFeed,
            Action::Query => Answer::Query,
            Action::QueryPlan => Answer::QueryPlan,
            Action::DeleteLogicalPartition => Answer::DeleteLogicalPartition,
            Action::Execute => Answer::Execute,
            Action::AttachmentRead => Answer::AttachmentRead,
            Action::AttachmentWrite => Answer::AttachmentReplace,
            Action::MediaRead => Answer::MediaRead,
            Action::MediaWrite => Answer::MediaReplace,
            Action::Ranges => Answer::Ranges,
            Action::ResourceRead => Answer::ResourceRead,
            Action::ResourceWrite => Answer::ResourceReplace,
            Action::Page | Action::Manage => Answer::Page,
            Action::Refused => Answer::Refused,
        }
    }

    /// A list of resources, or a query over them.
    pub(crate) fn of_list(kind: ResourceKind) -> Answer {
        use ResourceKind as Kind;
        match kind {
            Kind::Database => Answer::Databases,
            Kind::Offer => Answer::Offers,
            Kind::StoredProcedure | Kind::Trigger | Kind::Udf | Kind::Conflict => Answer::Scripts,
            _ => Answer::Children,
        }
    }

    /// One resource.
    pub(crate) fn of_resource(kind: ResourceKind, method: &Method) -> Answer {
        use ResourceKind as Kind;
        let [create, read, replace, delete] = match kind {
            Kind::Database => [
                Answer::DatabaseCreate,
                Answer::DatabaseRead,
                Answer::DatabaseRead,
                Answer::DatabaseDelete,
            ],
            Kind::Container => [
                Answer::ContainerCreate,
                Answer::ContainerRead,
                Answer::ContainerReplace,
                Answer::ContainerDelete,
            ],
            Kind::Offer => [Answer::Offer, Answer::Offer, Answer::OfferReplace, Answer::Offer],
            Kind::StoredProcedure | Kind::Trigger | Kind::Udf | Kind::Conflict => [
                Answer::ScriptCreate,
                Answer::ScriptRead,
                Answer::ScriptReplace,
                Answer::ScriptDelete,
            ],
            _ => [
                Answer::ResourceCreate,
                Answer::ResourceRead,
                Answer::ResourceReplace,
                Answer::ResourceDelete,
            ],
        };
        match *method {
            Method::POST => create,
            Method::PUT | Method::PATCH => replace,
            Method::DELETE => delete,
            _ => read,
        }
    }

    /// The same answer with this status. `is_atomic` is about a batch.
    pub(crate) fn with_status(self, status: StatusCode, is_atomic: bool) -> Answer {
        match (self, status) {
            (Answer::ItemRead, StatusCode::NOT_MODIFIED) => Answer::ItemUnchanged,
            (Answer::AttachmentRead | Answer::MediaRead, StatusCode::NOT_MODIFIED) => {
                Answer::AttachmentUnchanged
            }
            (Answer::Batch, StatusCode::MULTI_STATUS) if is_atomic => Answer::BatchFailed,
            _ => self,
        }
    }

    /// The refusal of a request that would have got this answer. `has_range` if a range of items refused it.
    pub(crate) fn refused(self, by: Refuser, status: u16, has_range: bool) -> Answer {
        match (by, status) {
            (Refuser::Gateway | Refuser::Parser, _) => Answer::Refused,
            (_, 413) => Answer::TooLarge,
            (_, 429) => Answer::Throttled,
            _ => match self {
                Answer::DatabaseCreate => Answer::DatabaseRefused,
                Answer::ContainerCreate if status != 404 => Answer::ContainerRefused,
                _ if !has_range => Answer::CatalogRefused,
                Answer::Query => Answer::QueryRefused,
                _ if self.groups().has(W) => Answer::WriteRefused,
                _ => Answer::ReadRefused,
            },
        }
    }
}

/// Every kind of answer with the names of its headers, for tests and documents.
pub fn answer_table() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    ROWS.iter().map(|(answer, name)| {
        let groups = HEADERS.iter().filter(|(group, _)| answer.groups().has(*group));
        (*name, groups.flat_map(|(_, headers)| *headers).copied().collect())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::headers::response;

    #[test]
    fn no_answer_has_a_header_twice_and_all_are_known_to_browsers() {
        for (name, headers) in answer_table() {
            let distinct: HashSet<_> = headers.iter().collect();
            assert_eq!(distinct.len(), headers.len(), "{name}");
            for header in headers.iter().filter(|header| header.starts_with("x-ms-")) {
                assert!(response::ALL.contains(header), "{name}: {header}");
            }
        }
    }

    #[test]
    fn who_refuses_decides_what_is_told() {
        use Refuser as By;
        #[rustfmt::skip]
        let table = [
            (Answer::ItemRead,        By::Item,      404, true,  Answer::ReadRefused),
            (Answer::ItemCreate,      By::Item,      409, true,  Answer::WriteRefused),
            (Answer::ItemCreate,      By::Partition, 404, false, Answer::CatalogRefused),
            (Answer::Query,           By::Parser,    400, true,  Answer::Refused),
            (Answer::Query,           By::Partition, 400, true,  Answer::QueryRefused),
            (Answer::ItemCreate,      By::Partition, 413, true,  Answer::TooLarge),
            (Answer::ItemRead,        By::Partition, 429, true,  Answer::Throttled),
            (Answer::ContainerCreate, By::Partition, 409, false, Answer::ContainerRefused),
            (Answer::DatabaseCreate,  By::Partition, 409, false, Answer::DatabaseRefused),
        ];
        for (answer, by, status, has_range, expected) in table {
            assert_eq!(answer.refused(by, status, has_range), expected, "{answer:?} {status}");
        }
    }
}
