//! The change feed over HTTP, range by range.
//!
//! Invariant: the positions in a continuation cover the hash space. When a range is gone, its children, found by
//! their ancestors, go on where it stood.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RestDatabase;
use super::request::Request;
use crate::state::invalid;
use crate::{BoxFuture, ChangeFeed, ChangePage, ContainerLink, Error, Result};

// Limit: ranges of one container split a few times in a life; more rounds in one call mean a fault.
const SPLITS_MAX: u32 = 20;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Token {
    ranges: Vec<Position>,
    /// The range to ask next: each has its turn, so that a busy one does not starve the others.
    next: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Position {
    range: String,
    /// None: from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// Whether the range has been read to its end since all were.
    #[serde(default)]
    is_at_end: bool,
}

/// Changes that are asked for at once. Fewer in an answer, and not for their size, mean the end of the range:
/// waiting for an answer without any would never end while somebody writes.
const PAGE_ITEMS: usize = 100;
const PAGE_BYTES_FULL: usize = 1 << 20;

#[derive(Deserialize)]
struct Range {
    id: String,
    #[serde(default)]
    parents: Vec<String>,
}

impl RestDatabase {
    async fn ranges(&self, container: &ContainerLink) -> Result<Vec<Range>> {
        let path = self.path(container.name(), "pkranges");
        let answer = self.call(container, Request::get(path)).await?;
        let rows = answer.list("PartitionKeyRanges")?;
        rows.into_iter().map(|it| serde_json::from_value(it).map_err(invalid)).collect()
    }

    /// Puts the children of ranges that are gone in their place.
    async fn refresh(&self, container: &ContainerLink, token: &mut Token) -> Result<()> {
        let ranges = self.ranges(container).await?;
        let position = |range: &Range| {
            let known = token
                .ranges
                .iter()
                .rev()
                .find(|it| it.range == range.id || range.parents.contains(&it.range));
            let etag = known.and_then(|it| it.etag.clone());
            Position { range: range.id.clone(), etag, is_at_end: false }
        };
        let ranges = ranges.iter().map(position).collect();
        *token = Token { ranges, next: 0 };
        Ok(())
    }

    /// Asks one range. Returns its changes, none if there is nothing new.
    async fn ask(&self, container: &ContainerLink, at: &mut Position) -> Result<Vec<Value>> {
        let request = Request::get(self.items_path(container))
            .header("a-im", "Incremental Feed")
            .header("x-ms-documentdb-partitionkeyrangeid", at.range.as_str())
            .header("x-ms-max-item-count", PAGE_ITEMS.to_string())
            .header_if("if-none-match", at.etag.clone());
        let answer = self.call(container, request).await?;
        if let Some(etag) = answer.header("etag") {
            at.etag = Some(etag.to_owned());
        }
        let items = if answer.status == 304 { Vec::new() } else { answer.list("Documents")? };
        at.is_at_end |= items.len() < PAGE_ITEMS && answer.body.len() < PAGE_BYTES_FULL;
        Ok(items)
    }

    async fn next_changes(
        &self,
        container: &ContainerLink,
        token: &mut Token,
    ) -> Result<Vec<Value>> {
        for _ in 0..SPLITS_MAX {
            if token.ranges.is_empty() {
                self.refresh(container, token).await?;
            }
            let next = token.next % token.ranges.len().max(1);
            let at = token.ranges.get_mut(next).ok_or(Error::ContinuationInvalid)?;
            match self.ask(container, at).await {
                Ok(items) => {
                    token.next = next + 1;
                    return Ok(items);
                }
                Err(error) if error.is_service(410) => self.refresh(container, token).await?,
                Err(error) => return Err(error),
            }
        }
        Err(Error::service(410, "the ranges of the container keep changing"))
    }
}

impl ChangeFeed for RestDatabase {
    fn changes<'a>(
        &'a self,
        container: &'a ContainerLink,
        continuation: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ChangePage>> {
        Box::pin(async move {
            let mut token: Token = match continuation {
                Some(text) => serde_json::from_str(text).map_err(|_| Error::ContinuationInvalid)?,
                None => Token::default(),
            };
            let items = self.next_changes(container, &mut token).await?;
            let is_caught_up = token.ranges.iter().all(|it| it.is_at_end);
            if is_caught_up {
                token.ranges.iter_mut().for_each(|it| it.is_at_end = false);
            }
            let continuation = serde_json::to_string(&token).map_err(invalid)?;
            Ok(ChangePage { items, continuation, is_caught_up })
        })
    }
}
