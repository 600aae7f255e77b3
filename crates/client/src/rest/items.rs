//! Items over HTTP.

use http::Method;
use serde_json::{Value, json};

use super::RestDatabase;
use super::request::{Answer, Request};
use crate::items::id_of;
use crate::{
    BoxFuture, ContainerLink, ItemPage, ItemStore, Key, PageRequest, Result, Statement, Stored,
};

impl RestDatabase {
    /// Sends a request to a container with its session token, and keeps the token of the answer.
    pub(super) async fn call(&self, container: &ContainerLink, request: Request) -> Result<Answer> {
        let name = container.name();
        let request = request.header_if("x-ms-session-token", self.sessions.token(name));
        let answer = self.account.call(&request).await?;
        if let Some(token) = answer.header("x-ms-session-token") {
            self.sessions.remember(name, token);
        }
        Ok(answer)
    }

    async fn write(
        &self,
        container: &ContainerLink,
        partition: &Key,
        item: &Value,
        is_upsert: bool,
    ) -> Result<String> {
        let request = Request::post(self.items_path(container), item)
            .partition(partition)
            .header_if("x-ms-documentdb-is-upsert", is_upsert.then_some("True"))
            .header("prefer", "return=minimal");
        Ok(self.call(container, request).await?.etag())
    }

    fn item(
        &self,
        method: Method,
        container: &ContainerLink,
        partition: &Key,
        id: &str,
    ) -> Request {
        let path = format!("{}/{id}", self.items_path(container));
        Request::new(method, path).partition(partition)
    }
}

/// Makes "not found" an absence.
pub(super) fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A missing item is 404/0; a missing container is 404/1003 to us, and never an absent item.
fn is_absence(error: &crate::Error) -> bool {
    matches!(error, crate::Error::Service { status: 404, sub_status: 0, .. })
}

impl ItemStore for RestDatabase {
    fn create<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(self.write(container, partition, item, false))
    }

    fn upsert<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(self.write(container, partition, item, true))
    }

    fn read<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>>> {
        Box::pin(async move {
            let request = self.item(Method::GET, container, partition, id);
            let Some(answer) = found(self.call(container, request).await)? else { return Ok(None) };
            Ok(Some(Stored { item: answer.json()?, etag: answer.etag() }))
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
            let request = self
                .item(Method::PUT, container, partition, id_of(item)?)
                .body(item)
                .header_if("if-match", if_match)
                .header("prefer", "return=minimal");
            Ok(found(self.call(container, request).await)?.map(|it| it.etag()))
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
            let request =
                self.item(Method::DELETE, container, partition, id).header_if("if-match", if_match);
            Ok(found(self.call(container, request).await)?.is_some())
        })
    }

    fn page<'a>(&'a self, request: PageRequest<'a>) -> BoxFuture<'a, Result<ItemPage>> {
        Box::pin(async move {
            let body = query(request.statement);
            let mut call = Request::post(self.items_path(request.container), &body)
                .header("content-type", "application/query+json")
                .header("x-ms-documentdb-isquery", "True")
                .header_if("x-ms-max-item-count", request.rows_max.map(|it| it.to_string()))
                .header_if("x-ms-continuation", request.continuation);
            call = match request.partition {
                Some(key) => call.partition(key),
                None => call.header("x-ms-documentdb-query-enablecrosspartition", "True"),
            };
            let answer = self.call(request.container, call).await?;
            Ok(ItemPage { rows: answer.list("Documents")?, continuation: answer.continuation() })
        })
    }
}

fn query(statement: &Statement) -> Value {
    let parameters: Vec<Value> = statement
        .parameters
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    json!({"query": statement.text, "parameters": parameters})
}
