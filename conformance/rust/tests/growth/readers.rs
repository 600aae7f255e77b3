//! Readers: points with session tokens, queries over one key and over all, and the change feed.

use std::collections::BTreeMap;
use std::time::Duration;

use azure_data_cosmos::feed::FeedScope;
use azure_data_cosmos::options::{
    ChangeFeedOptions, ChangeFeedStartFrom, ItemReadOptions, MaxItemCountHint, QueryOptions,
};
use conformance_rust::Result;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use tokio::time::sleep;

use super::{Acknowledged, FIXED_ITEMS, KEYS, RANGES_MAX, Work, count, key};

/// The fixed items, by rank.
const IN_ORDER: &str = "SELECT VALUE c.rank FROM c WHERE c.fixed = true ORDER BY c.rank";

impl Work {
    /// Reads what was acknowledged: by the writers' session, or with the token of the write.
    pub async fn read(&self, is_own: bool) -> Result {
        for n in 0.. {
            if self.is_over() {
                break;
            }
            let Some((id, item)) = self.pick(n) else {
                sleep(Duration::from_millis(10)).await;
                continue;
            };
            let token = if is_own { None } else { item.token };
            let options = token.map(|it| ItemReadOptions::default().with_session_token(it));
            let found: Value = match self.container.read_item(item.key, &id, options).await {
                Ok(found) => found.into_model()?,
                // It may have been deleted meanwhile, and only then be missing.
                Err(error)
                    if u16::from(error.status().status_code()) == 404
                        && !self.live.lock().unwrap().contains_key(&id) =>
                {
                    continue;
                }
                Err(error) => return Err(format!("read of {id}: {error}").into()),
            };
            let version = found["version"].as_u64().unwrap_or_default();
            if version < item.version {
                return Err(format!("{id}: {version} after {}", item.version).into());
            }
            count(&self.n_reads);
        }
        Ok(())
    }

    fn pick(&self, n: usize) -> Option<(String, Acknowledged)> {
        let live = self.live.lock().unwrap();
        let index = n.wrapping_mul(7919) % live.len().max(1);
        live.iter().nth(index).map(|(id, item)| (id.clone(), item.clone()))
    }

    /// The fixed items over all ranges: all of them, once, in order, however the ranges move.
    pub async fn query_in_order(&self) -> Result {
        let expected: Vec<u64> = (0..FIXED_ITEMS).collect();
        while !self.is_over() {
            let ranks = self.ranks(FeedScope::full_container(), 25, false).await?;
            if ranks != expected {
                return Err(format!("{} ranks over all ranges: {ranks:?}", ranks.len()).into());
            }
        }
        Ok(())
    }

    /// One logical partition, each page by a new query, so that only the token carries over.
    pub async fn query_one_key(&self) -> Result {
        for n in 0.. {
            if self.is_over() {
                break;
            }
            let number = n * 17 % KEYS;
            let ranks = self.ranks(FeedScope::partition(key(number)), 2, true).await?;
            if !ranks.iter().copied().eq((number..FIXED_ITEMS).step_by(KEYS as usize)) {
                return Err(format!("ranks of k{number}: {ranks:?}").into());
            }
        }
        Ok(())
    }

    async fn ranks(&self, scope: FeedScope, page: u32, is_resumed: bool) -> Result<Vec<u64>> {
        let hint = MaxItemCountHint::Limit(page.try_into()?);
        let options = || QueryOptions::default().with_max_item_count(hint);
        let query = async |options| -> Result<_> {
            let rows = self.container.query_items::<u64>(IN_ORDER, scope.clone(), options).await?;
            Ok(rows.into_pages())
        };
        let mut pages = query(Some(options())).await?;
        let mut ranks = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| format!("query: {error}"))?;
            count(&self.n_pages);
            ranks.extend(page.into_items());
            sleep(Duration::from_millis(20)).await;
            if is_resumed && ranks.len() < (FIXED_ITEMS / KEYS) as usize {
                let token = pages.to_continuation_token()?;
                pages = query(Some(options().with_continuation_token(token))).await?;
            }
        }
        Ok(ranks)
    }

    /// Follows the change feed from the beginning; stops when the writers have and nothing is new.
    pub async fn follow(&self) -> Result {
        let mut options = None;
        loop {
            let is_last = self.is_over();
            let (n_new, token) = self.follow_until_idle(options).await?;
            if is_last && n_new == 0 {
                return Ok(());
            }
            // A new reader goes on from here: only the token carries over.
            options = Some(ChangeFeedOptions::default().with_continuation_token(token));
        }
    }

    async fn follow_until_idle(
        &self,
        options: Option<ChangeFeedOptions>,
    ) -> Result<(u64, azure_data_cosmos::feed::ContinuationToken)> {
        let scope = FeedScope::full_container();
        let start = ChangeFeedStartFrom::Beginning;
        let mut pages = self.container.query_change_feed::<Value>(scope, start, options).await?;
        let (mut n_new, mut n_empty) = (0, 0);
        // A page comes from one range: only a whole round of empty ones says that nothing is new.
        while n_empty <= RANGES_MAX {
            let page = pages.next().await.ok_or("the change feed ended")?;
            let page = page.map_err(|error| format!("change feed: {error}"))?;
            n_empty = if page.items().is_empty() { n_empty + 1 } else { 0 };
            for item in page.into_items() {
                self.see(item.current().ok_or("a change without an item")?)?;
                n_new += 1;
            }
        }
        Ok((n_new, pages.to_continuation_token()?))
    }

    fn see(&self, item: &Value) -> Result {
        count(&self.n_changes);
        let id = item["id"].as_str().ok_or("an item without id")?;
        let version = item["version"].as_u64().unwrap_or_default();
        let before = self.seen.lock().unwrap().insert(id.to_owned(), version);
        match before {
            Some(before) if version <= before => {
                Err(format!("{id}: version {version} in the feed after {before}").into())
            }
            _ => Ok(()),
        }
    }

    /// At the end: the container, the change feed and the ledger agree.
    pub async fn check(&self) -> Result {
        let text = "SELECT c.id, c.version FROM c WHERE NOT IS_DEFINED(c.fixed)";
        let rows: Vec<Value> = self
            .container
            .query_items(text, FeedScope::full_container(), None)
            .await?
            .try_collect()
            .await?;
        let version = |row: &Value| row["version"].as_u64().unwrap_or_default();
        let stored: BTreeMap<String, u64> = rows
            .iter()
            .map(|it| (it["id"].as_str().unwrap_or_default().to_owned(), version(it)))
            .collect();
        assert_eq!(rows.len(), stored.len(), "an item is stored twice");
        let live = self.live.lock().unwrap();
        let expected: BTreeMap<String, u64> =
            live.iter().map(|(id, it)| (id.clone(), it.version)).collect();
        assert_eq!(stored, expected);
        let seen = self.seen.lock().unwrap();
        for (id, version) in expected {
            assert_eq!(seen.get(&id), Some(&version), "{id} in the change feed");
        }
        Ok(())
    }
}
