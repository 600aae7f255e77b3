//! Attachments of the crash run: what a writer sends, and what the server shows of it afterwards.
//!
//! An item has at most two: one whose text names a link, and one with media that the server keeps. Text and media
//! follow from name and version, so that any byte can be checked.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use model::Env;
use serde_json::{Value, json};

use super::CONTAINER;
use super::ledger::{Change, ItemName};
use super::writer::{Step, one, padding};
use crate::client::{Account, Connection, Request, Response};

const LINK: &str = "link";
const MEDIA: &str = "media";
/// Media of one attachment in this many has several pieces in the store.
const LONG_EVERY: u64 = 8;
const SHORT_BYTES: u64 = 3_000;
const LONG_BYTES: u64 = 200_000;

/// Where the media of attachments can be replaced, as far as this run was told.
pub(super) type Links = BTreeMap<ItemName, String>;

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Create,
    Upsert,
    Replace,
    /// Of the media alone, by its own link.
    ReplaceMedia,
    Delete,
}

pub(super) fn any_id(choices: &Env) -> &'static str {
    if choices.random_u64().is_multiple_of(2) { LINK } else { MEDIA }
}

/// What to do with an attachment that is there.
pub(super) fn any_change(choices: &Env) -> Kind {
    match choices.random_u64() % 4 {
        0 => Kind::Upsert,
        1 => Kind::Replace,
        2 => Kind::ReplaceMedia,
        _ => Kind::Delete,
    }
}

pub(super) fn step(name: &ItemName, kind: Kind, version: u64, links: &Links) -> Step {
    let feed = format!("{CONTAINER}/docs/{}/attachments", name.id);
    let path = format!("{feed}/{}", name.attachment.as_deref().unwrap_or_default());
    let (request, status) = match (kind, links.get(name)) {
        (Kind::Create, _) => (Request::new("POST", feed), 201),
        (Kind::Upsert, _) => {
            (Request::new("POST", feed).header("x-ms-documentdb-is-upsert", "True"), 200)
        }
        (Kind::ReplaceMedia, Some(link)) => (Request::new("PUT", link.as_str()), 200),
        (Kind::Replace | Kind::ReplaceMedia, _) => (Request::new("PUT", path), 200),
        (Kind::Delete, _) => (Request::new("DELETE", path), 204),
    };
    let request = request.partition_key(&name.key);
    let state = (!matches!(kind, Kind::Delete)).then_some(version);
    let request = if state.is_some() { with_content(request, name, version) } else { request };
    Step { request, change: one(name.clone(), state), status }
}

fn with_content(request: Request, name: &ItemName, version: u64) -> Request {
    if name.attachment.as_deref() == Some(MEDIA) {
        request
            .header("content-type", "application/octet-stream")
            .header("slug", MEDIA)
            .body(media(&name.id, version))
    } else {
        let text = json!({
            "id": LINK, "contentType": "text/plain", "media": "http://elsewhere.invalid/",
            "version": version, "padding": padding(&name.id, version),
        });
        request.body(text.to_string())
    }
}

/// The bytes to keep: one line that says what they are, and many that are not text.
fn media(id: &str, version: u64) -> Vec<u8> {
    let most = if version.is_multiple_of(LONG_EVERY) { LONG_BYTES } else { SHORT_BYTES };
    let n_bytes = version.wrapping_mul(7919) % most;
    let rest = (0..n_bytes).map(|at| at.wrapping_mul(31).wrapping_add(version).to_le_bytes()[0]);
    format!("{id} {version}\n").into_bytes().into_iter().chain(rest).collect()
}

/// Remembers the link of media that an answer names.
pub(super) fn note_link(links: &mut Links, change: &Change, answer: &Response) {
    let Some((name, Some(_))) = change.items.first() else { return };
    if name.attachment.as_deref() == Some(MEDIA)
        && let Ok(text) = answer.json()
        && let Some(link) = text["media"].as_str()
    {
        links.insert(name.clone(), link.trim_matches('/').to_owned());
    }
}

/// Reads all attachments of these items, and their media; their bytes together must be what the account counts.
pub(super) async fn observe(
    account: &Account,
    connection: &mut Connection,
    items: impl Iterator<Item = &ItemName>,
) -> Result<BTreeMap<ItemName, u64>> {
    let mut seen = BTreeMap::new();
    let (mut n_bytes, mut counted_mib) = (0, None);
    for item in items {
        let path = format!("{CONTAINER}/docs/{}/attachments", item.id);
        let list = Request::new("GET", path.as_str()).partition_key(&item.key);
        let list = connection.call(account, &list).await?.expect_success(&path)?.json()?;
        for text in list["Attachments"].as_array().context("a list of no attachments")? {
            let id = text["id"].as_str().context("an attachment without id")?;
            let version = if id == MEDIA {
                let link = text["media"].as_str().context("no media")?.trim_matches('/');
                let answer = connection.call(account, &Request::new("GET", link)).await?;
                let answer = answer.expect_success(link)?;
                n_bytes += answer.body.len() as u64;
                counted_mib = answer.header("x-ms-media-storage-usage-mb").map(str::to_owned);
                checked_media(&item.id, &answer.body)
            } else {
                checked_text(&item.id, text)
            };
            let name = item.attachment(id);
            let version = version.with_context(|| format!("{name:?}"))?;
            ensure!(seen.insert(name, version).is_none(), "{item:?} has {id} twice");
        }
    }
    let expected = (n_bytes > 0).then(|| n_bytes.div_ceil(1 << 20).to_string());
    ensure!(
        counted_mib == expected,
        "{n_bytes} bytes of media are there, counted: {counted_mib:?}"
    );
    Ok(seen)
}

fn checked_text(item: &str, text: &Value) -> Result<u64> {
    let version = text["version"].as_u64().context("no version")?;
    ensure!(text["padding"] == padding(item, version), "foreign content: {text}");
    Ok(version)
}

fn checked_media(item: &str, bytes: &[u8]) -> Result<u64> {
    let line = bytes.split(|it| *it == b'\n').next().and_then(|it| std::str::from_utf8(it).ok());
    let version = line.and_then(|it| it.rsplit_once(' ')).and_then(|(_, text)| text.parse().ok());
    let version = version.context("media without a version")?;
    let is_whole = bytes == media(item, version);
    ensure!(is_whole, "media of version {version} has foreign bytes, {} of them", bytes.len());
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_of_media_that_differs_is_found() {
        for version in [1, 8, 12_345] {
            let mut bytes = media("a", version);
            assert_eq!(checked_media("a", &bytes).unwrap(), version);
            assert!(checked_media("b", &bytes).is_err());
            assert!(checked_media("a", &bytes[..bytes.len() - 1]).is_err());
            *bytes.last_mut().unwrap() ^= 1;
            assert!(checked_media("a", &bytes).is_err());
        }
    }
}
