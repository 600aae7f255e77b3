//! `docs/errors.md` lists every error of the account and of a partition; `UPDATE_EXPECT=1` rewrites it.

use std::fmt::Write;

use account::{Error, PolicyError, RelocationError, ThroughputError};
use expect_test::expect_file;
use model::{Charge, Failure, RangeId};

/// One of each. The match below breaks the build when a variant is missing here.
fn account_errors() -> Vec<Error> {
    let text = || "…".to_owned();
    vec![
        Error::NotFound,
        Error::ContainerNotFound,
        Error::OwnerNotFound,
        Error::AlreadyExists,
        Error::EtagMismatch,
        Error::LinkInvalid("…"),
        Error::OperationNotAllowed { operation: "…" },
        Error::NotSupported("…"),
        Error::BodyMalformed,
        Error::BodyTooLarge { bytes: 2, bytes_max: 1 },
        Error::PropertyMissing { property: "…" },
        Error::PropertyInvalid { property: text() },
        Error::RangeGone { range: RangeId(0), container: text() },
        Error::ContainerRidStale,
        Error::ContainerNameStale,
        Error::Throttled { retry_after_ms: 1 },
        Error::SessionUnavailable,
        Error::ConsistencyTooStrong { requested: "Strong", default: "Session" },
        Error::KeyRequired,
        Error::KeyMismatch,
        Error::KeyUnfit,
        Error::ProcedureKeyRequired,
        Error::SharedKeyMissing,
        Error::ContinuationInvalid,
        Error::ContinuationTooLong,
        Error::CrossPartitionDisabled,
        Error::CrossPartitionUnservable { plan: text() },
        Error::CrossPartitionAggregate,
        Error::TriggerMissing { name: text() },
        Error::TriggerUnfit { name: text(), kind: "Pre", operation: "Create" },
        Error::BatchEmpty,
        Error::BatchTooLong,
        Error::BatchTooLarge { bytes: 2, bytes_max: 1 },
        Error::MediaFull { bytes_max: 2 << 30 },
        Error::VersionsDisabled,
        Error::VersionsStart,
        Error::FeedPositionInvalid(text()),
        Error::Forbidden,
        Error::ReadOnlyKey,
        Error::TokenInvalid,
        Error::TokenExpired { expired_seconds: 1, now_seconds: 2 },
        Error::TokenLifetime { seconds: 1, min: 10, max: 86_400 },
        Error::SharedDatabaseFull(25),
        Error::OfferReplacePending,
        Error::PartitionInconsistent { range: RangeId(0), problem: text() },
        Error::CatalogCorrupt(text()),
        Error::CatalogChanged,
        Error::TaskLost,
    ]
}

/// Invariant: a new variant must be listed above or be a wrapper.
fn is_wrapper(error: &Error) -> bool {
    match error {
        Error::Id(_)
        | Error::Policy(_)
        | Error::Throughput(_)
        | Error::Relocation(_)
        | Error::Session(_)
        | Error::PartitionKey(_)
        | Error::Item(_)
        | Error::Partition(_)
        | Error::Query(_)
        | Error::Store(_) => true,
        Error::NotFound
        | Error::ContainerNotFound
        | Error::OwnerNotFound
        | Error::AlreadyExists
        | Error::EtagMismatch
        | Error::LinkInvalid(_)
        | Error::OperationNotAllowed { .. }
        | Error::NotSupported(_)
        | Error::BodyMalformed
        | Error::BodyTooLarge { .. }
        | Error::PropertyMissing { .. }
        | Error::PropertyInvalid { .. }
        | Error::RangeGone { .. }
        | Error::ContainerRidStale
        | Error::ContainerNameStale
        | Error::Throttled { .. }
        | Error::SessionUnavailable
        | Error::ConsistencyTooStrong { .. }
        | Error::KeyRequired
        | Error::KeyMismatch
        | Error::KeyUnfit
        | Error::ProcedureKeyRequired
        | Error::SharedKeyMissing
        | Error::ContinuationInvalid
        | Error::ContinuationTooLong
        | Error::CrossPartitionDisabled
        | Error::CrossPartitionUnservable { .. }
        | Error::CrossPartitionAggregate
        | Error::TriggerMissing { .. }
        | Error::TriggerUnfit { .. }
        | Error::BatchEmpty
        | Error::BatchTooLong
        | Error::BatchTooLarge { .. }
        | Error::MediaFull { .. }
        | Error::VersionsDisabled
        | Error::VersionsStart
        | Error::FeedPositionInvalid(_)
        | Error::Forbidden
        | Error::ReadOnlyKey
        | Error::TokenInvalid
        | Error::TokenExpired { .. }
        | Error::TokenLifetime { .. }
        | Error::SharedDatabaseFull(_)
        | Error::OfferReplacePending
        | Error::PartitionInconsistent { .. }
        | Error::CatalogCorrupt(_)
        | Error::CatalogChanged
        | Error::TaskLost => false,
    }
}

fn container_errors() -> Vec<Error> {
    let text = || "…".to_owned();
    let policies = [
        PolicyError::NotSupported { property: "…" },
        PolicyError::UnknownValue { property: "…", value: text() },
        PolicyError::TtlInvalid { property: "defaultTtl", value: text() },
        PolicyError::PartitionKeyInvalid { reason: text() },
        PolicyError::TooManyKeyPaths { count: 4, max: 3 },
        PolicyError::MultiHashTooOld,
        PolicyError::HashPaths { count: 2 },
        PolicyError::TtlPathWithoutTtl,
        PolicyError::EncryptionKeyMissing { id: text() },
        PolicyError::VectorShardPaths { count: 2 },
        PolicyError::VectorIndexChanged { path: text() },
        PolicyError::VectorEmbeddingChanged,
        PolicyError::AutomaticWithoutIndex,
        PolicyError::RootPathMissing,
        PolicyError::IndexPathInvalid { path: text(), position: 1 },
        PolicyError::SpatialTypesEmpty { path: text() },
        PolicyError::VectorDataType { value: text() },
        PolicyError::VectorDistance { value: text() },
        PolicyError::VectorDimensions { dimensions: 0, max: 4096 },
        PolicyError::VectorIndexType { value: text() },
        PolicyError::VectorIndexPath { path: text() },
        PolicyError::VectorShardPath { path: text() },
        PolicyError::FullTextPath { path: text() },
        PolicyError::FullTextLanguage { language: text(), supported: "…" },
        PolicyError::UniqueKeyPath { path: text() },
        PolicyError::ComputedQuery { name: text(), reason: text() },
        PolicyError::ComputedTwice { name: text() },
        PolicyError::ComputedReserved { name: text() },
        PolicyError::ComputedEmpty { name: "…" },
        PolicyError::InputInvalid,
        PolicyError::PartitionKeyChanged,
        PolicyError::UniqueKeysChanged,
        PolicyError::Changed { property: "…" },
    ];
    let throughputs = [
        ThroughputError::Both,
        ThroughputError::TooLow { requested: 1, min: 400 },
        ThroughputError::ManualStep,
        ThroughputError::SharesIncomplete,
        ThroughputError::ShareOutside,
        ThroughputError::SharesSum,
        ThroughputError::SharesShared,
        ThroughputError::SharesUnprovisioned,
        ThroughputError::AutoscaleStep,
        ThroughputError::KindChanged,
    ];
    let policies = policies.into_iter().map(Error::from);
    policies.chain(throughputs.into_iter().map(Error::from)).collect()
}

fn partition_errors() -> Vec<Error> {
    let errors = [
        partition::Error::ItemMissing { charge: Charge::ZERO },
        partition::Error::ItemExists { charge: Charge::ZERO },
        partition::Error::UniqueKeyTaken { charge: Charge::ZERO },
        partition::Error::EtagMismatch,
        partition::Error::PatchConditionUnmet,
        partition::Error::PartitionKeyMismatch,
        partition::Error::LogicalPartitionFull { bytes_max: 20 << 30 },
        partition::Error::AttachmentPropertyMissing { property: "media" },
        partition::Error::AttachmentPropertyInvalid { property: "media" },
        partition::Error::AttachmentsFull { n_max: partition::ATTACHMENTS_MAX },
        partition::Error::AttachmentsSpent,
        partition::Error::MediaTooLarge { bytes: 2, bytes_max: 1 },
        partition::Error::PatchInvalid("…".into()),
        partition::Error::PatchUnfit { operation: 1, reason: "….".into() },
        partition::Error::FailedDependency { charge: Charge::ZERO },
        partition::Error::AnswerTooLarge,
        partition::Error::VersionsTrimmed,
        partition::Error::Forgotten,
        partition::Error::Fenced,
        partition::Error::Raced,
        partition::Error::Relocating,
    ];
    errors.into_iter().map(Error::from).collect()
}

fn relocation_errors() -> Vec<Error> {
    let (a, b) = (RangeId(1), RangeId(2));
    let errors = [
        RelocationError::Busy(a),
        RelocationError::OneLogicalPartition(a),
        RelocationError::TooNarrow(a),
        RelocationError::PointOutside(model::EpkRange::full()),
        RelocationError::NotAdjacent(a, b),
        RelocationError::TooMuchThroughput { ranges: 1, throughput: 20_000, per_range: 10_000 },
        RelocationError::TooManyBytes { bytes: 2, bytes_max: 1 },
        RelocationError::UnknownStore("…".into()),
        RelocationError::IdsExhausted,
        RelocationError::TooManyRanges(1000),
        RelocationError::Unknown(1),
        RelocationError::Cancelled,
        RelocationError::LayoutChanged,
    ];
    errors.into_iter().map(Error::from).collect()
}

/// Scripts whose own errors carry a number show other statuses too.
fn script_errors() -> Vec<Error> {
    use partition::scripts::Error as Script;
    let text = || "…".to_owned();
    let threw = |status| Script::Threw { status, text: text(), stack: text() };
    let errors = [
        Script::Uncompilable { text: text(), stack: text() },
        threw(model::Status::BAD_REQUEST),
        Script::TimedOut { id: text(), limit_ms: 5000 },
        Script::Blocked { id: text() },
        Script::FunctionBlocked { id: text() },
        Script::ArgumentsInvalid,
        Script::ResponseTooLarge { limit: 4_194_304 },
        Script::Busy,
        Script::Closed,
    ];
    errors.into_iter().map(|error| Error::from(partition::Error::from(error))).collect()
}

fn rows(title: &str, errors: &[Error], out: &mut String) {
    writeln!(out, "\n## {title}\n\n| status | sub | code | message |\n|---|---|---|---|").unwrap();
    let mut lines: Vec<_> = errors
        .iter()
        .map(|error| {
            let status = error.status();
            let message = error.to_string().replace('|', "\\|").replace("\r\n", " ");
            (status.code, status.sub, status.name(), message)
        })
        .collect();
    lines.sort();
    for (code, sub, name, message) in lines {
        writeln!(out, "| {code} | {sub} | {name} | {message} |").unwrap();
    }
}

#[test]
fn every_error_is_listed_with_its_status() {
    let account = account_errors();
    assert!(!account.iter().any(is_wrapper));
    let mut out = String::from(
        "# Errors\n\nGenerated from the error types (`UPDATE_EXPECT=1 cargo test -p orrery-account --test behaviour errors`).\n\
         The message is what the client gets; `…` stands for a value.\n",
    );
    rows("Account", &account, &mut out);
    rows("Containers and throughput", &container_errors(), &mut out);
    rows("Items", &partition_errors(), &mut out);
    rows("Splits, merges and moves", &relocation_errors(), &mut out);
    rows("Scripts", &script_errors(), &mut out);
    expect_file!["../../../../docs/errors.md"].assert_eq(&out);
}
