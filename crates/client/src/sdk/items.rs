//! Items through the SDK.

use std::num::NonZeroU32;

use azure_core::http::Etag;
use azure_data_cosmos::feed::ContinuationToken;
use azure_data_cosmos::models::ItemResponse;
use azure_data_cosmos::options::{ItemWriteOptions, MaxItemCountHint, Precondition, QueryOptions};
use azure_data_cosmos::{FeedScope, Query};
use futures::StreamExt as _;
use serde_json::Value;

use super::{SdkDatabase, found, partition_key};
use crate::items::id_of;
use crate::{
    BoxFuture, ContainerLink, Error, ItemPage, ItemStore, Key, PageRequest, Result, Statement,
    Stored,
};

impl ItemStore for SdkDatabase {
    fn create<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let client = self.container(container).await?;
            let partition = partition_key(partition)?;
            Ok(etag(&client.create_item(partition, id_of(item)?, item, None).await?))
        })
    }

    fn upsert<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let client = self.container(container).await?;
            let partition = partition_key(partition)?;
            Ok(etag(&client.upsert_item(partition, id_of(item)?, item, None).await?))
        })
    }

    fn read<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>>> {
        Box::pin(async move {
            let client = self.container(container).await?;
            let answer = client.read_item(partition_key(partition)?, id, None).await;
            let Some(answer) = found(answer.map_err(Error::from))? else { return Ok(None) };
            let etag = etag(&answer);
            Ok(Some(Stored { item: answer.into_model()?, etag }))
        })
    }

    fn replace<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
        if_match: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            let client = self.container(container).await?;
            let partition = partition_key(partition)?;
            let answer = client.replace_item(partition, id_of(item)?, item, guard(if_match)).await;
            Ok(found(answer.map_err(Error::from))?.map(|it| etag(&it)))
        })
    }

    fn delete<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
        if_match: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let client = self.container(container).await?;
            let answer = client.delete_item(partition_key(partition)?, id, guard(if_match)).await;
            Ok(found(answer.map_err(Error::from))?.is_some())
        })
    }

    /// The continuation of the SDK never says that it is the last: the page after it is empty and final.
    fn page<'a>(&'a self, request: PageRequest<'a>) -> BoxFuture<'a, Result<ItemPage>> {
        Box::pin(async move {
            let client = self.container(request.container).await?;
            let scope = match request.partition {
                Some(key) => FeedScope::partition(partition_key(key)?),
                None => FeedScope::full_container(),
            };
            let mut options = QueryOptions::default();
            if let Some(n_rows) = request.rows_max.and_then(NonZeroU32::new) {
                options = options.with_max_item_count(MaxItemCountHint::Limit(n_rows));
            }
            if let Some(at) = request.continuation {
                let token = ContinuationToken::from_string(at.to_owned());
                options = options.with_continuation_token(token);
            }
            let query =
                client.query_items::<Value>(query(request.statement)?, scope, Some(options));
            let mut pages = query.await?.into_pages();
            let Some(page) = pages.next().await.transpose()? else {
                return Ok(ItemPage::default());
            };
            let continuation = Some(pages.to_continuation_token()?.as_str().to_owned());
            Ok(ItemPage { rows: page.into_items(), continuation })
        })
    }
}

fn etag(answer: &ItemResponse) -> String {
    answer.headers().etag().map(ToString::to_string).unwrap_or_default()
}

fn guard(if_match: Option<&str>) -> Option<ItemWriteOptions> {
    let etag = Etag::from(if_match?);
    Some(ItemWriteOptions::default().with_precondition(Precondition::IfMatch(etag)))
}

fn query(statement: &Statement) -> Result<Query> {
    let mut query = Query::from(statement.text.clone());
    for (name, value) in &statement.parameters {
        query = query.with_parameter(name.clone(), value)?;
    }
    Ok(query)
}
