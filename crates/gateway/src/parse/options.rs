//! The headers that apply to many operations.

use account::{OfferMigration, Options};

use crate::{
    error::Error,
    headers::{Name, RequestHeaders},
};

/// Reads them all; those that are absent cost a look into an array each.
pub(super) fn options(headers: &RequestHeaders<'_>) -> Result<Options, Error> {
    let text = |name| headers.get(name).map(|text| text.map(str::to_owned));
    Ok(Options {
        if_match: text(Name::IfMatch)?,
        if_none_match: text(Name::IfNoneMatch)?,
        items_max: headers.items_max()?,
        continuation: text(Name::Continuation)?,
        continuation_kib_max: headers.continuation_kib_max()?,
        session: headers.session()?,
        consistency: headers.consistency()?,
        intended_container_rid: text(Name::IntendedContainerRid)?,
        cached_container_rid: None,
        throughput: headers.throughput()?,
        token_seconds: headers.token_seconds()?,
        wants_quota: headers.is_on(Name::QuotaInfo)?,
        wants_partition_statistics: headers.is_on(Name::PartitionStatistics)?,
        migrate_offer: migration(headers)?,
        pre_triggers: headers.triggers(Name::PreTriggers)?,
        wants_query_advice: headers.is_on(Name::QueryAdvice)?,
        wants_analysis: false,
        post_triggers: headers.triggers(Name::PostTriggers)?,
        indexing: headers.indexing()?,
        omits_links: headers.is_on(Name::ExcludeSystemProperties)?,
        api_version: headers.version()?.map(str::to_owned),
    })
}

fn migration(headers: &RequestHeaders<'_>) -> Result<Option<OfferMigration>, Error> {
    let to_autoscale = headers.is_on(Name::MigrateToAutopilot)?;
    let to_manual = headers.is_on(Name::MigrateToManual)?;
    match (to_autoscale, to_manual) {
        (true, true) => {
            let expected = "An offer can not migrate both ways at once.";
            Err(Error::header(Name::MigrateToManual.text(), "true", expected))
        }
        (true, false) => Ok(Some(OfferMigration::ToAutoscale)),
        (false, true) => Ok(Some(OfferMigration::ToManual)),
        (false, false) => Ok(None),
    }
}
