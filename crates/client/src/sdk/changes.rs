//! The change feed through the SDK.

use azure_data_cosmos::FeedScope;
use azure_data_cosmos::feed::ContinuationToken;
use azure_data_cosmos::options::{ChangeFeedOptions, ChangeFeedStartFrom};
use futures::StreamExt as _;
use serde_json::Value;

use super::SdkDatabase;
use crate::{BoxFuture, ChangeFeed, ChangePage, ContainerLink, Error, Result};

impl ChangeFeed for SdkDatabase {
    /// The SDK asks one range for each page, in turns: as many empty pages as ranges mean "caught up".
    fn changes<'a>(
        &'a self,
        container: &'a ContainerLink,
        continuation: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ChangePage>> {
        Box::pin(async move {
            let client = self.container(container).await?;
            let n_ranges = client.read_feed_ranges(None).await?.len();
            let mut options = ChangeFeedOptions::default();
            if let Some(at) = continuation {
                let token = ContinuationToken::from_string(at.to_owned());
                options = options.with_continuation_token(token);
            }
            let scope = FeedScope::full_container();
            let start = ChangeFeedStartFrom::Beginning;
            let mut pages = client.query_change_feed::<Value>(scope, start, Some(options)).await?;
            let mut items = Vec::new();
            for _ in 0..n_ranges.max(1) {
                let Some(page) = pages.next().await.transpose()? else {
                    return Err(Error::service(502, "the change feed ended"));
                };
                items.extend(page.items().iter().filter_map(|it| it.current()).cloned());
                if !items.is_empty() {
                    break;
                }
            }
            let is_caught_up = items.is_empty();
            let continuation = pages.to_continuation_token()?.as_str().to_owned();
            Ok(ChangePage { items, continuation, is_caught_up })
        })
    }
}
