//! Writers: every kind of write, on items that are their own.

use azure_data_cosmos::TransactionalBatch;
use azure_data_cosmos::models::{PatchInstructions, PatchOperation};
use azure_data_cosmos::options::SessionToken;
use conformance_rust::Result;
use serde_json::{Value, json};

use super::{Acknowledged, Work, count, key};

impl Work {
    pub async fn write(&self, writer: u64) -> Result {
        for n in 0.. {
            if self.is_over() {
                break;
            }
            let (id, key) = (format!("w{writer}-{n}"), key(n * 31 + writer * 7));
            self.life_of_an_item(&id, &key, n % 3 != 0)
                .await
                .map_err(|error| format!("{id}: {error}"))?;
            self.batch(&id, &key).await.map_err(|error| format!("batch of {id}: {error}"))?;
        }
        Ok(())
    }

    async fn life_of_an_item(&self, id: &str, key: &str, is_kept: bool) -> Result {
        let body = |version: u64| json!({"id": id, "pk": key, "version": version});
        let pk = || key.to_owned();
        let created = self.container.create_item(pk(), id, body(1), None).await?;
        self.put(id, key, 1, created.headers().session_token());
        let upserted = self.container.upsert_item(pk(), id, body(2), None).await?;
        self.put(id, key, 2, upserted.headers().session_token());
        let replaced = self.container.replace_item(pk(), id, body(3), None).await?;
        self.put(id, key, 3, replaced.headers().session_token());
        let increment =
            PatchInstructions::new().with_operation(PatchOperation::replace("/version", json!(4)));
        let patched = self.container.patch_item(pk(), id, increment, None).await?;
        self.put(id, key, 4, patched.headers().session_token());
        if is_kept {
            return Ok(());
        }
        // Readers stop looking before it goes.
        self.live.lock().unwrap().remove(id);
        self.container.delete_item(pk(), id, None).await?;
        count(&self.n_written);
        Ok(())
    }

    async fn batch(&self, id: &str, key: &str) -> Result {
        let names: Vec<String> = (0..3).map(|n| format!("{id}-b{n}")).collect();
        let body = |name: &str, version: u64| -> Value {
            json!({"id": name, "pk": key, "version": version})
        };
        let mut batch = TransactionalBatch::new(key.to_owned());
        for name in &names {
            batch = batch.create_item(body(name, 1))?;
        }
        batch = batch.upsert_item(body(&names[0], 2), None)?;
        let response = self.container.execute_transactional_batch(batch, None).await?;
        let token = response.headers().session_token().cloned();
        let results = response.into_model()?;
        let statuses: Vec<u16> = results.results().iter().map(|it| it.status_code()).collect();
        if statuses != [201, 201, 201, 200] {
            return Err(format!("{statuses:?}").into());
        }
        for (name, version) in names.iter().zip([2, 1, 1]) {
            self.put(name, key, version, token.as_ref());
        }
        Ok(())
    }

    fn put(&self, id: &str, key: &str, version: u64, token: Option<&SessionToken>) {
        count(&self.n_written);
        let acknowledged = Acknowledged { key: key.to_owned(), version, token: token.cloned() };
        self.live.lock().unwrap().insert(id.to_owned(), acknowledged);
    }
}
