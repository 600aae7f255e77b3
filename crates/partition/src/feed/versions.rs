//! All versions and deletes: every write of the retention period, with the image before a delete.

use std::io::Write as _;

use bytes::Bytes;
use model::{Component, ETag, ItemBody, Lsn, Object, PartitionKeyDefinition, Value};

use super::latest::Page;
use crate::keys::moment_of;
use crate::partition::Partition;
use crate::reader::{ScopeFilter, render};
use crate::record::{VersionKind, VersionRecord};
use crate::writer::Marks;
use crate::{ChangePage, Error, Logical, PageLimits, Result, Scope, Settings};

// Limit: entries dropped by one commit of the trimmer.
const TRIM_MAX: usize = 1_000;

impl Partition {
    /// Returns what happened in the scope after commit `after`, oldest first, nothing collapsed.
    ///
    /// Fails with `VersionsDisabled`, and with `VersionsTrimmed` when entries after `after` are gone.
    pub fn versions(&self, scope: &Scope, after: Lsn, limits: PageLimits) -> Result<ChangePage> {
        let reader = self.reader();
        if reader.settings.version_retention.is_none() {
            return Err(Error::VersionsDisabled);
        }
        let head = reader.head()?;
        self.has_seen(head.lsn);
        if after < head.versions_trimmed {
            return Err(Error::VersionsTrimmed);
        }
        let scope = ScopeFilter::new(scope, &reader.settings);
        let mut page = Page::new(after, limits);
        let mut is_cut = false;
        for entry in reader.scan(reader.keys.versions(after)) {
            let (key, value) = entry?;
            let lsn = moment_of(&key)?.lsn;
            if !page.goes_on_with(lsn) {
                is_cut = true;
                break;
            }
            let record = VersionRecord::decode(&value)?;
            if scope.contains(record.place.as_bytes())? {
                let size = record.current.len().max(record.previous.len());
                page.add(render_version(&reader.settings, lsn, &record)?, size);
            }
        }
        Ok(page.finish(if is_cut { None } else { Some(head.lsn) }))
    }

    /// Drops entries of the all-versions feed that are older than the retention. Returns how many; call again while
    /// it is not zero.
    pub async fn trim_versions(&self) -> Result<usize> {
        // A relocation copies the feed in order; what is trimmed behind its back would stay in the copy for ever.
        if self.is_captured() {
            return Ok(0);
        }
        let reader = self.reader();
        let keep_seconds = match reader.settings.version_retention {
            Some(retention) => u32::try_from(retention.as_secs()).unwrap_or(u32::MAX),
            // Nobody can read them while the feed is off.
            None => 0,
        };
        let oldest = reader.liveness.now.saturating_sub(keep_seconds);
        let (mut old, mut trimmed) = (Vec::new(), Lsn::ZERO);
        for entry in reader.scan(reader.keys.versions(reader.head()?.versions_trimmed)) {
            let (key, value) = entry?;
            let lsn = moment_of(&key)?.lsn;
            let is_full = old.len() >= TRIM_MAX && lsn != trimmed;
            if is_full || VersionRecord::decode(&value)?.ts >= oldest {
                break;
            }
            trimmed = lsn;
            old.push(key);
        }
        if old.is_empty() {
            return Ok(0);
        }
        self.commit_marks(None, |Marks { head, batch, .. }| {
            for key in &old {
                batch.delete(key.clone());
            }
            head.versions_trimmed = head.versions_trimmed.max(trimmed);
            Ok(true)
        })
        .await?;
        Ok(old.len())
    }
}

/// Writes `{"current":…,"previous":…,"metadata":…}`.
fn render_version(settings: &Settings, lsn: Lsn, record: &VersionRecord) -> Result<Bytes> {
    let image = |text: &[u8], lsn: Lsn, ts: u32| {
        render(settings, record.number, text, &ETag::from_lsn(lsn, u64::from(ts)), ts, None)
    };
    let mut entry = Vec::with_capacity(record.current.len() + record.previous.len() + 640);
    entry.extend_from_slice(b"{\"current\":");
    if record.current.is_empty() {
        entry.extend_from_slice(b"{}");
    } else {
        entry.extend_from_slice(&image(&record.current, lsn, record.ts));
    }
    // Wire: the image before a replace is not sent; before a delete it is the only one there is.
    let is_gone = matches!(record.kind, VersionKind::Delete | VersionKind::Expire);
    if is_gone && !record.previous.is_empty() {
        entry.extend_from_slice(b",\"previous\":");
        entry.extend_from_slice(&image(&record.previous, record.previous_lsn, record.previous_ts));
    }
    entry.extend_from_slice(b",\"metadata\":");
    Value::Object(metadata(settings, lsn, record)?).write_to(&mut entry);
    // Writing to a vector cannot fail.
    let _ = entry.write_all(b"}");
    Ok(entry.into())
}

fn metadata(settings: &Settings, lsn: Lsn, record: &VersionRecord) -> Result<Object> {
    let name = match record.kind {
        VersionKind::Create => "create",
        VersionKind::Replace => "replace",
        VersionKind::Delete | VersionKind::Expire => "delete",
    };
    let mut metadata = Object::new();
    metadata.insert("operationType", name);
    metadata.insert("lsn", number(lsn.0));
    // Wire: .NET requires crts and rejects zero.
    metadata.insert("crts", i64::from(record.ts.max(1)));
    match record.kind {
        VersionKind::Create => {}
        VersionKind::Replace => {
            metadata.insert("previousImageLSN", number(record.previous_lsn.0));
        }
        VersionKind::Delete | VersionKind::Expire => {
            metadata.insert("previousImageLSN", number(record.previous_lsn.0));
            if record.kind == VersionKind::Expire {
                metadata.insert("timeToLiveExpired", true);
            }
            if !record.previous.is_empty() {
                let body = ItemBody::parse(&record.previous)
                    .map_err(|_| Error::Corrupt("a stored image is not an item"))?;
                metadata.insert("id", body.id());
            }
            let at = record.place.to_logical()?;
            metadata.insert("partitionKey", Value::Object(key_object(&settings.definition, &at)));
        }
    }
    Ok(metadata)
}

/// The partition key as an object of its paths, undefined components left out.
fn key_object(definition: &PartitionKeyDefinition, at: &Logical) -> Object {
    let mut object = Object::new();
    for (path, component) in definition.paths.iter().zip(at.key.components()) {
        let value = match component {
            Component::Undefined => continue,
            Component::Null => Value::Null,
            Component::Bool(flag) => Value::from(*flag),
            Component::Number(number) => Value::from(*number),
            Component::String(text) => Value::from(text.as_str()),
        };
        object.insert(path.segments().join("/"), value);
    }
    object
}

fn number(lsn: u64) -> i64 {
    i64::try_from(lsn).unwrap_or(i64::MAX)
}
