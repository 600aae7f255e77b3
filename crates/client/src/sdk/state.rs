//! State and job in a container, so that several processes share them.

use std::fmt;

use azure_core::http::Etag;
use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::options::{ItemWriteOptions, Precondition};
use serde_json::{Value, json};

use super::found;
use crate::repartition::{Job, JobStore};
use crate::{BoxFuture, Error, ResolverState, Result, StateStore, StateVersion};

/// Keeps a state as one item of a container whose partition key is `/id`. Its etag guards changes.
#[derive(Clone)]
pub struct ContainerStateStore {
    container: ContainerClient,
    id: String,
}

impl fmt::Debug for ContainerStateStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainerStateStore").field("id", &self.id).finish_non_exhaustive()
    }
}

impl ContainerStateStore {
    /// Uses the item with this id.
    pub fn new(container: ContainerClient, id: impl Into<String>) -> ContainerStateStore {
        ContainerStateStore { container, id: id.into() }
    }
}

impl StateStore for ContainerStateStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<(ResolverState, StateVersion)>>> {
        Box::pin(async move {
            let Some((body, etag)) = read(&self.container, &self.id).await? else {
                return Ok(None);
            };
            let state = ResolverState::from_json(&body["state"].to_string())?;
            Ok(Some((state, StateVersion(etag))))
        })
    }

    fn save<'a>(
        &'a self,
        state: &'a ResolverState,
        expected: Option<&'a StateVersion>,
    ) -> BoxFuture<'a, Result<StateVersion>> {
        Box::pin(async move {
            let state: Value = serde_json::from_str(&state.to_json()?).map_err(invalid)?;
            let body = json!({"id": self.id, "state": state});
            let (id, key) = (self.id.as_str(), self.id.clone());
            let answer = match expected {
                None => self.container.create_item(key, id, &body, None).await,
                Some(version) => {
                    let guard = Precondition::IfMatch(Etag::from(version.0.as_str()));
                    let options = ItemWriteOptions::default().with_precondition(guard);
                    self.container.replace_item(key, id, &body, Some(options)).await
                }
            };
            match answer.map_err(Error::from) {
                Ok(it) => {
                    let etag = it.headers().etag().map(ToString::to_string);
                    Ok(StateVersion(etag.unwrap_or_default()))
                }
                Err(error) if [404, 409, 412].iter().any(|it| error.is_service(*it)) => {
                    Err(Error::StateChanged)
                }
                Err(error) => Err(error),
            }
        })
    }
}

/// Keeps a job as one item of a container whose partition key is `/id`.
#[derive(Clone)]
pub struct ContainerJobStore {
    container: ContainerClient,
    id: String,
}

impl fmt::Debug for ContainerJobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainerJobStore").field("id", &self.id).finish_non_exhaustive()
    }
}

impl ContainerJobStore {
    /// Uses the item with this id.
    pub fn new(container: ContainerClient, id: impl Into<String>) -> ContainerJobStore {
        ContainerJobStore { container, id: id.into() }
    }
}

impl JobStore for ContainerJobStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<Job>>> {
        Box::pin(async move {
            let Some((mut body, _)) = read(&self.container, &self.id).await? else {
                return Ok(None);
            };
            serde_json::from_value(body["job"].take()).map(Some).map_err(invalid)
        })
    }

    fn save<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let body = json!({"id": self.id, "job": serde_json::to_value(job).map_err(invalid)?});
            self.container.upsert_item(self.id.clone(), &self.id, &body, None).await?;
            Ok(())
        })
    }
}

async fn read(container: &ContainerClient, id: &str) -> Result<Option<(Value, String)>> {
    let answer = container.read_item(id.to_owned(), id, None).await.map_err(Error::from);
    let Some(answer) = found(answer)? else { return Ok(None) };
    let etag = answer.headers().etag().map(ToString::to_string).unwrap_or_default();
    Ok(Some((answer.into_model()?, etag)))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn invalid(error: serde_json::Error) -> Error {
    Error::StateInvalid(error.to_string())
}
