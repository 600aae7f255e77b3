//! Offers: the throughput of a database or a container as a resource of its own.
//!
//! Wire: An offer is made and deleted with its target, read by rid, and replaced.

use model::{Object, Value};

use super::link::self_link;
use super::record::{Record, number_value, read_number};
use super::tables::Tables;
use super::{Draft, containers};
use crate::body;
use crate::error::{Error, Result};
use crate::operation::{OfferMigration, ResourceKind};
use crate::relocate;
use crate::throughput::{Throughput, ThroughputError, Usage, check_manual, migrated_to_autoscale};

/// What an offer record holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Number of the database or container.
    pub(crate) target: u64,
    pub(crate) throughput: Throughput,
    /// The highest throughput ever provisioned: it bounds how low one may go.
    pub(crate) max_ever: u64,
}

impl Offer {
    pub(crate) fn new(target: u64, throughput: Throughput) -> Offer {
        Offer { target, max_ever: throughput.max(), throughput }
    }

    /// `None` if the record is no offer.
    pub(crate) fn of(record: &Record) -> Option<Offer> {
        if record.kind != ResourceKind::Offer {
            return None;
        }
        Some(Offer {
            target: record.state.get("target").and_then(read_number)?,
            throughput: Throughput::from_state(record.state.get("throughput")?)?,
            max_ever: record.state.get("maxEver").and_then(read_number)?,
        })
    }

    pub(crate) fn to_state(&self) -> Object {
        body::object([
            ("target", number_value(self.target)),
            ("throughput", self.throughput.to_state()),
            ("maxEver", number_value(self.max_ever)),
        ])
    }

    fn with(&self, throughput: Throughput) -> Offer {
        let max_ever = self.max_ever.max(throughput.max());
        Offer { target: self.target, throughput, max_ever }
    }

    /// Wire: `content` of the resource.
    fn content(&self, storage_bytes: u64, peak: f64) -> Value {
        let current = match &self.throughput {
            Throughput::Manual(units) => *units,
            Throughput::Level(level) => level.units(),
            Throughput::Autoscale { max, .. } => scaled(*max, peak),
        };
        let parameters = body::object([
            ("maxThroughputEverProvisioned", number_value(self.max_ever)),
            ("maxConsumedStorageEverInKB", number_value(storage_bytes >> 10)),
        ]);
        let mut content = body::object([
            ("offerThroughput", number_value(current)),
            ("offerIsRUPerMinuteThroughputEnabled", false.into()),
            ("offerMinimumThroughputParameters", Value::Object(parameters)),
        ]);
        if let Throughput::Autoscale { max, increment_percent } = &self.throughput {
            let settings = autoscale_settings(*max, *increment_percent);
            content.insert("offerAutopilotSettings", Value::Object(settings));
        }
        Value::Object(content)
    }
}

/// What autoscale provisions for a use: as much as is needed, never less than a tenth.
///
/// `peak` is the busiest range's use over its share.
fn scaled(max: u64, peak: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "throughput is at most a million"
    )]
    let needed = (max as f64 * peak.clamp(0.0, 1.0)).ceil() as u64;
    needed.max(max / 10)
}

/// The use of the busiest range over its share, in the busiest second of the last minute.
fn peak(tables: &Tables, offer: &Offer) -> f64 {
    let Some(target) = tables.get(offer.target) else { return 0.0 };
    let numbers: Vec<u64> = match target.kind {
        ResourceKind::Database => sharing(tables, target.number).collect(),
        _ => vec![target.number],
    };
    let containers = numbers.into_iter().filter_map(|number| tables.container(number));
    containers.map(|container| container.peak(tables)).fold(0.0, f64::max)
}

fn autoscale_settings(max: u64, increment_percent: Option<u64>) -> Object {
    let mut settings = body::object([
        ("tier", 0.into()),
        ("maximumTierThroughput", number_value(max)),
        ("autoUpgrade", false.into()),
        ("maxThroughput", number_value(max)),
    ]);
    if let Some(percent) = increment_percent {
        let throughput = body::object([("incrementPercent", number_value(percent))]);
        let policy = body::object([("throughputPolicy", Value::Object(throughput))]);
        settings.insert("autoUpgradePolicy", Value::Object(policy));
    }
    settings
}

/// The properties of an offer between `id` and the system ones.
pub(crate) fn show(tables: &Tables, record: &Record) -> Object {
    let Some(offer) = Offer::of(record) else { return Object::new() };
    let target = tables.get(offer.target);
    let link = target.map(|target| self_link(&tables.chain(target))).unwrap_or_default();
    let rid = target.map(|target| target.rid.to_string()).unwrap_or_default();
    let (version, kind) = match offer.throughput {
        Throughput::Level(level) => ("V1", level.name()),
        Throughput::Manual(_) | Throughput::Autoscale { .. } => ("V2", "Invalid"),
    };
    body::object([
        ("resource", link.into()),
        ("offerType", kind.into()),
        ("offerResourceId", rid.into()),
        ("offerVersion", version.into()),
        ("content", offer.content(usage(tables, &offer).storage_bytes, peak(tables, &offer))),
    ])
}

/// The lowest throughput that may be set now.
pub(crate) fn min_throughput(tables: &Tables, record: &Record) -> Option<u64> {
    let offer = Offer::of(record)?;
    let usage = usage(tables, &offer);
    Some(match offer.throughput {
        Throughput::Manual(_) | Throughput::Level(_) => usage.manual_min(),
        Throughput::Autoscale { .. } => usage.autoscale_min(),
    })
}

fn usage(tables: &Tables, offer: &Offer) -> Usage {
    let bytes_of = |number| tables.container(number).map_or(0, |container| container.n_bytes());
    let Some(target) = tables.get(offer.target) else { return Usage::default() };
    if target.kind != ResourceKind::Database {
        return Usage {
            max_ever: offer.max_ever,
            storage_bytes: bytes_of(target.number),
            n_sharing: 0,
        };
    }
    let sharing: Vec<u64> = sharing(tables, target.number).collect();
    Usage {
        max_ever: offer.max_ever,
        storage_bytes: sharing.iter().map(|number| bytes_of(*number)).sum(),
        n_sharing: sharing.len(),
    }
}

/// Containers of a database without throughput of their own.
pub(crate) fn sharing(tables: &Tables, database: u64) -> impl Iterator<Item = u64> {
    let containers = tables.children(database, ResourceKind::Container, 0);
    containers.map(|record| record.number).filter(|number| tables.offer_of(*number).is_none())
}

/// Puts the offer that a replace asks for.
pub(crate) fn replace(
    draft: &mut Draft<'_>,
    record: &Record,
    wanted: &Object,
    migration: Option<OfferMigration>,
) -> Result<std::sync::Arc<Record>> {
    let offer = Offer::of(record).ok_or(Error::NotFound)?;
    check_unchanged(draft.tables, record, wanted)?;
    let usage = usage(draft.tables, &offer);
    let throughput = match migration {
        Some(migration) => migrate(&offer, wanted, migration)?,
        None => match wanted_level(&offer, wanted)? {
            Some(level) => level,
            None => rescale(&offer, wanted, usage)?,
        },
    };
    let container = draft.tables.container(offer.target);
    if container.is_some_and(|container| container.properties.definition.system_key) {
        throughput.check_without_key()?;
    }
    if relocate::auto::is_pending(draft.tables, &draft.options.relocation, record) {
        return Err(Error::OfferReplacePending);
    }
    let state = offer.with(throughput).to_state();
    Ok(draft.update(record, |record| record.state = state))
}

fn check_unchanged(tables: &Tables, record: &Record, wanted: &Object) -> Result<()> {
    let shown = show(tables, record);
    for name in ["resource", "offerResourceId"] {
        if let Some(value) = body::present(wanted, name)
            && shown.get(name) != Some(value)
        {
            return Err(ThroughputError::OfferProperty(name).into());
        }
    }
    let names = ["id", "_rid"];
    // Wire: an offer must say which one it is.
    if names.iter().all(|name| body::present(wanted, name).is_none()) {
        return Err(Error::PropertyMissing { property: "id" });
    }
    for name in names {
        if let Some(text) = body::optional_text(wanted, name)?
            && text != record.id
        {
            return Err(ThroughputError::OfferProperty(name).into());
        }
    }
    Ok(())
}

/// The performance level that a replace asks for, if it asks for one.
///
/// Wire: an offer of version `V2` has a number; clients that turn a level into one may leave the old type where it is.
fn wanted_level(offer: &Offer, wanted: &Object) -> Result<Option<Throughput>> {
    let text = body::optional_text(wanted, "offerType")?.unwrap_or_default();
    if text.is_empty() || text == "Invalid" {
        return Ok(None);
    }
    let level = Throughput::level(text)?;
    let has_number = body::optional_text(wanted, "offerVersion")? == Some("V2");
    Ok(if has_number && level == offer.throughput { None } else { Some(level) })
}

fn rescale(offer: &Offer, wanted: &Object, usage: Usage) -> Result<Throughput> {
    let content = body::optional_object(wanted, "content")?
        .ok_or(Error::PropertyMissing { property: "content" })?;
    let settings = body::optional_object(content, "offerAutopilotSettings")?;
    match (&offer.throughput, settings) {
        (Throughput::Autoscale { .. }, Some(settings)) => {
            Throughput::autoscale(settings, usage.autoscale_min())
        }
        (Throughput::Manual(_) | Throughput::Level(_), None) => {
            let units = body::optional_int(content, "offerThroughput")?
                .ok_or(Error::PropertyMissing { property: "offerThroughput" })?;
            Ok(Throughput::Manual(check_manual(units, usage.manual_min())?))
        }
        (Throughput::Autoscale { .. }, None)
        | (Throughput::Manual(_) | Throughput::Level(_), Some(_)) => {
            Err(ThroughputError::KindChanged.into())
        }
    }
}

fn migrate(offer: &Offer, wanted: &Object, migration: OfferMigration) -> Result<Throughput> {
    let content = body::optional_object(wanted, "content")?;
    let has_autoscale =
        content.is_some_and(|content| body::present(content, "offerAutopilotSettings").is_some());
    match (&offer.throughput, migration) {
        (Throughput::Manual(_) | Throughput::Level(_), OfferMigration::ToAutoscale)
            if has_autoscale =>
        {
            Err(ThroughputError::MigrationContent("it must not have offerAutopilotSettings").into())
        }
        (Throughput::Manual(_) | Throughput::Level(_), OfferMigration::ToAutoscale) => {
            let units = offer.throughput.max().max(offer.max_ever / 10);
            let max = migrated_to_autoscale(units);
            Ok(Throughput::Autoscale { max, increment_percent: None })
        }
        (Throughput::Autoscale { max, .. }, OfferMigration::ToManual) => {
            Ok(Throughput::Manual(*max))
        }
        (Throughput::Manual(_) | Throughput::Level(_), OfferMigration::ToManual)
        | (Throughput::Autoscale { .. }, OfferMigration::ToAutoscale) => {
            Err(ThroughputError::MigrationPointless.into())
        }
    }
}

/// Throughput and ranges of a new container.
pub(crate) fn plan_container(
    draft: &Draft<'_>,
    database: &Record,
    own: Option<Throughput>,
    properties: &containers::Properties,
) -> Result<(Option<Throughput>, u32)> {
    let shared = draft.tables.offer_of(database.number).and_then(|record| Offer::of(record));
    let (own, n_ranges) = match (own, shared) {
        (Some(own), _) => {
            let n_ranges = own.n_ranges();
            (Some(own), n_ranges)
        }
        (None, Some(shared)) => {
            let n_sharing = sharing(draft.tables, database.number).count();
            if n_sharing >= crate::throughput::SHARED_CONTAINERS_MAX {
                return Err(Error::SharedDatabaseFull(crate::throughput::SHARED_CONTAINERS_MAX));
            }
            (None, shared.throughput.n_ranges_shared())
        }
        // Wire: without any header the service provisions 400 RU/s.
        (None, None) => (Some(Throughput::Manual(crate::throughput::MANUAL_MIN)), 1),
    };
    if properties.definition.system_key {
        if let Some(own) = &own {
            own.check_without_key()?;
        }
        return Ok((own, 1));
    }
    let min = draft.options.min_partitions;
    Ok((own, n_ranges.max(min).clamp(1, crate::throughput::RANGES_MAX)))
}
