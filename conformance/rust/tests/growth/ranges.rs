//! The ranges of one container, as an operator sees and moves them.

use conformance_rust::{Result, key, setting};
use futures::future::try_join_all;
use serde_json::{Value, json};

pub const RANGES_MAX: usize = 16;
pub const RANGES_MIN: usize = 2;

#[derive(Debug)]
pub struct Ranges {
    client: reqwest::Client,
    url: String,
}

impl Ranges {
    pub fn new(database: &str, container: &str) -> Result<Ranges> {
        let endpoint = setting("ORRERY_ENDPOINT");
        let endpoint = endpoint.trim_end_matches('/');
        // The certificate of a local server is self-signed.
        let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build()?;
        let url = format!("{endpoint}/_orrery/dbs/{database}/colls/{container}/ranges");
        Ok(Ranges { client, url })
    }

    /// In the order of the hash space.
    pub async fn ids(&self) -> Result<Vec<String>> {
        let answer = self.call(self.client.get(&self.url)).await?;
        let text = |range: &Value, name: &str| range[name].as_str().unwrap_or_default().to_owned();
        let ranges = answer["ranges"].as_array().ok_or("no ranges")?;
        let mut ids: Vec<(String, String)> =
            ranges.iter().map(|it| (text(it, "min"), text(it, "id"))).collect();
        ids.sort();
        Ok(ids.into_iter().map(|(_, id)| id).collect())
    }

    /// Splits ranges, all at once, so that there are twice as many, up to the maximum.
    pub async fn grow(&self) -> Result {
        let ids = self.ids().await?;
        let parents = ids.iter().take(RANGES_MAX - ids.len());
        try_join_all(parents.map(|id| self.relocate(format!("{id}/split"), json!({"wait": true}))))
            .await?;
        Ok(())
    }

    /// Merges neighbours, all pairs at once, so that there are half as many, down to the minimum.
    pub async fn shrink(&self) -> Result {
        let ids = self.ids().await?;
        let pairs = ids.chunks_exact(2).take(ids.len() - RANGES_MIN);
        let bodies = pairs.map(|pair| json!({"ranges": pair, "wait": true}));
        try_join_all(bodies.map(|body| self.relocate("merge".to_owned(), body))).await?;
        Ok(())
    }

    async fn relocate(&self, what: String, body: Value) -> Result {
        let request = self.client.post(format!("{}/{what}", self.url)).body(body.to_string());
        let ended = self.call(request).await?;
        if ended["end"] != "done" {
            return Err(format!("{what}: {ended}").into());
        }
        Ok(())
    }

    async fn call(&self, request: reqwest::RequestBuilder) -> Result<Value> {
        let answer = request.bearer_auth(key()).send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        if !status.is_success() {
            return Err(format!("{status} {text}").into());
        }
        Ok(serde_json::from_str(&text)?)
    }
}
