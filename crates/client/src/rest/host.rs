//! Containers and their scripts over HTTP.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::RestDatabase;
use super::request::Request;
use crate::host::{collection_size, properties};
use crate::{
    BoxFuture, ContainerHost, ContainerTemplate, Creation, Error, Fill, Result, Script, ScriptKind,
};

/// The feeds of scripts and the names of their lists.
const SCRIPT_FEEDS: [(&str, &str); 3] =
    [("sprocs", "StoredProcedures"), ("triggers", "Triggers"), ("udfs", "UserDefinedFunctions")];

impl RestDatabase {
    /// Registers those of the scripts that the container does not have; what it has is left as it is.
    pub async fn create_scripts(&self, container: &str, scripts: &[Script]) -> Result<()> {
        for script in scripts {
            let (feed, body) = script_body(script);
            let request = Request::post(self.path(container, feed), &body);
            match self.account.call(&request).await {
                Err(error) if error.is_service(409) => {}
                answer => drop(answer?),
            }
        }
        Ok(())
    }

    /// Returns the scripts of a container.
    pub async fn scripts(&self, container: &str) -> Result<Vec<Script>> {
        let mut scripts = Vec::new();
        for (feed, list) in SCRIPT_FEEDS {
            let rows = self.feed(&self.path(container, feed), list).await?;
            scripts.extend(rows.iter().filter_map(|it| script(feed, it)));
        }
        Ok(scripts)
    }

    /// Reads all pages of a feed of resources.
    async fn feed(&self, path: &str, list: &str) -> Result<Vec<Value>> {
        let mut rows = Vec::new();
        let mut at: Option<String> = None;
        loop {
            let request = Request::get(path).header_if("x-ms-continuation", at);
            let answer = self.account.call(&request).await?;
            rows.extend(answer.list(list)?);
            at = answer.continuation();
            if at.is_none() {
                return Ok(rows);
            }
        }
    }
}

fn script_body(script: &Script) -> (&'static str, Value) {
    let mut body = json!({"id": script.id, "body": script.body});
    let feed = match &script.kind {
        ScriptKind::StoredProcedure => "sprocs",
        ScriptKind::Function => "udfs",
        ScriptKind::Trigger { trigger_type, trigger_operation } => {
            body["triggerType"] = trigger_type.as_str().into();
            body["triggerOperation"] = trigger_operation.as_str().into();
            "triggers"
        }
    };
    (feed, body)
}

/// Reads a script as the service shows it; `None` if it is not one.
fn script(feed: &str, row: &Value) -> Option<Script> {
    let text = |name: &str| row.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let kind = match feed {
        "sprocs" => ScriptKind::StoredProcedure,
        "udfs" => ScriptKind::Function,
        _ => ScriptKind::Trigger {
            trigger_type: text("triggerType")?,
            trigger_operation: text("triggerOperation")?,
        },
    };
    Some(Script { id: text("id")?, kind, body: text("body")? })
}

impl ContainerHost for RestDatabase {
    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move {
            let path = format!("dbs/{}/colls", self.name);
            let rows = self.feed(&path, "DocumentCollections").await?;
            let names = rows.iter().filter_map(|it| it["id"].as_str().map(ToOwned::to_owned));
            Ok(names.collect())
        })
    }

    fn create<'a>(
        &'a self,
        name: &'a str,
        template: &'a ContainerTemplate,
    ) -> BoxFuture<'a, Result<Creation>> {
        Box::pin(async move {
            let path = format!("dbs/{}/colls", self.name);
            let request = Request::post(path, &properties(name, template))
                .header_if("x-ms-offer-throughput", template.throughput.map(|it| it.to_string()));
            let creation = match self.account.call(&request).await {
                Ok(_) => Creation::Created,
                Err(error) if error.is_service(409) => Creation::Existed,
                Err(error) => return Err(error),
            };
            // Also for one that existed: whoever made it may have died before its scripts were there.
            self.create_scripts(name, &template.scripts).await?;
            Ok(creation)
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = Request::new(Method::DELETE, self.path(name, ""));
            self.sessions.forget(name);
            match self.account.call(&request).await {
                Err(error) if error.is_service(404) => Ok(()),
                answer => answer.map(|_| ()),
            }
        })
    }

    fn fill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Fill>> {
        Box::pin(async move {
            let request = Request::get(self.path(name, ""))
                .header("x-ms-documentdb-populatequotainfo", "True");
            let answer = self.account.call(&request).await?;
            let size = |it| answer.header(it).and_then(collection_size).ok_or(Error::FillUnknown);
            Ok(Fill {
                used_bytes: size("x-ms-resource-usage")?,
                quota_bytes: size("x-ms-resource-quota")?,
            })
        })
    }

    fn template<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<ContainerTemplate>>> {
        Box::pin(async move {
            let answer = match self.account.call(&Request::get(self.path(name, ""))).await {
                Err(error) if error.is_service(404) => return Ok(None),
                answer => answer?,
            };
            let mut template = ContainerTemplate::from_properties(&answer.json()?)
                .ok_or_else(|| Error::service(502, "the container has no partition key"))?;
            template.scripts = self.scripts(name).await?;
            Ok(Some(template))
        })
    }

    fn pause(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }
}
