//! The change feed through the SDK.

use std::num::NonZeroU32;

use azure_data_cosmos::FeedScope;
use azure_data_cosmos::feed::ContinuationToken;
use azure_data_cosmos::options::{ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint};
use futures::StreamExt as _;
use serde_json::Value;

use super::SdkDatabase;
use crate::{BoxFuture, ChangeFeed, ChangePage, ContainerLink, Error, Result};

/// Changes that a range is asked for at once; fewer mean its end.
const PAGE_ITEMS_FULL: usize = 50;

// Limit: changes of several ranges are held at once; a container with many ranges gives them in parts.
const ITEMS_MAX: usize = 1000;

impl ChangeFeed for SdkDatabase {
    /// The SDK asks one range for each page, in turns: a round of short pages means "caught up".
    fn changes<'a>(
        &'a self,
        container: &'a ContainerLink,
        continuation: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ChangePage>> {
        Box::pin(async move {
            let client = self.container(container).await?;
            let n_ranges = client.read_feed_ranges(None).await?.len();
            let n_items = u32::try_from(PAGE_ITEMS_FULL).ok().and_then(NonZeroU32::new);
            let mut options = ChangeFeedOptions::default();
            if let Some(n_items) = n_items {
                options = options.with_max_item_count(MaxItemCountHint::Limit(n_items));
            }
            if let Some(at) = continuation {
                let token = ContinuationToken::from_string(at.to_owned());
                options = options.with_continuation_token(token);
            }
            let scope = FeedScope::full_container();
            let start = ChangeFeedStartFrom::Beginning;
            let mut pages = client.query_change_feed::<Value>(scope, start, Some(options)).await?;
            let mut items = Vec::new();
            let mut is_caught_up = true;
            for _ in 0..n_ranges.max(1) {
                let Some(page) = pages.next().await.transpose()? else {
                    return Err(Error::service(502, "the change feed ended"));
                };
                is_caught_up &= page.items().len() < PAGE_ITEMS_FULL;
                items.extend(page.items().iter().filter_map(|it| it.current()).cloned());
                if items.len() >= ITEMS_MAX {
                    is_caught_up = false;
                    break;
                }
            }
            let continuation = pages.to_continuation_token()?.as_str().to_owned();
            Ok(ChangePage { items, continuation, is_caught_up })
        })
    }
}
