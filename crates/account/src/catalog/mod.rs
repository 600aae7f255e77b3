//! The catalog: every metadata resource of the account.
//!
//! It is small, so it is kept in memory whole ([`tables::Tables`]); the store holds one record per resource.
//! A change ([`Draft`]) is computed under the writer's lock, committed as one batch, and only then applied
//! to the tables: nobody sees what is not durable, and of two creates of one name one finds the other.

pub(crate) mod containers;
pub(crate) mod databases;
mod draft;
pub(crate) mod encryption_keys;
mod head;
pub(crate) mod keys;
pub(crate) mod link;
pub(crate) mod offers;
pub(crate) mod permissions;
pub(crate) mod record;
pub(crate) mod scripts;
pub(crate) mod show;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod users;

use std::sync::Arc;

use bytes::Bytes;
use model::Env;
use parking_lot::{RwLock, RwLockReadGuard};
use partition::Partition;
use store::{Batch, Direction, Store};

use draft::Plan;
pub(crate) use draft::{Draft, Garbage};
use head::Head;
use record::Record;
use tables::Tables;

use crate::account::AccountOptions;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::operation::ResourceKind;
use crate::range_map::{self, OpenPartition};
use crate::seal::Sealer;

/// Reads foreign bytes as what the catalog keeps; used by the fuzz target.
pub(crate) fn fuzz(bytes: &[u8]) {
    if let Ok(record) = Record::decode(bytes) {
        assert_eq!(Record::decode(&record.encode()).ok(), Some(record), "it is written as read");
    }
    if let Ok(head) = Head::decode(bytes) {
        assert_eq!(Head::decode(&head.encode()).ok(), Some(head), "it is written as read");
    }
}

#[derive(Debug)]
pub(crate) struct Catalog {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) env: Env,
    pub(crate) options: AccountOptions,
    tables: RwLock<Tables>,
    /// One change at a time; held over the commit.
    writer: tokio::sync::Mutex<()>,
    /// Partitions whose bytes are still to be removed.
    garbage: parking_lot::Mutex<Vec<Garbage>>,
    /// Held by whoever removes them.
    pub(crate) reclaiming: tokio::sync::Mutex<()>,
}

impl Catalog {
    /// Reads the catalog from the store, or starts an empty one.
    pub(crate) async fn open(
        store: Arc<dyn Store>,
        options: AccountOptions,
        env: Env,
    ) -> Result<Catalog> {
        let snapshot = store.snapshot();
        let head = match snapshot.get(&keys::head())? {
            Some(bytes) => Head::decode(&bytes)?,
            None => first_head(&store, &env).await?,
        };
        let mut tables = Tables::new(head);
        for entry in snapshot.scan(keys::records(), Direction::Forward) {
            tables.insert(Arc::new(Record::decode(&entry?.1)?));
        }
        for record in tables.children_of_kind(ResourceKind::Container) {
            let chain = tables.chain(&record);
            let container = Container::open(&store, &env, &options, &chain, [])?;
            tables.insert_container(record.number, Arc::new(container));
        }
        let garbage = snapshot
            .scan(keys::garbages(), Direction::Forward)
            .map(|entry| {
                let (key, _) = entry?;
                let number = keys::number(&key);
                let number = number.ok_or_else(|| Error::CatalogCorrupt("garbage key".into()))?;
                Ok(Garbage::closed(number))
            })
            .collect::<Result<Vec<Garbage>>>()?;
        Ok(Catalog {
            store,
            env,
            options,
            tables: RwLock::new(tables),
            writer: tokio::sync::Mutex::new(()),
            garbage: parking_lot::Mutex::new(garbage),
            reclaiming: tokio::sync::Mutex::new(()),
        })
    }

    pub(crate) fn tables(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read()
    }

    pub(crate) fn sealer(&self) -> Sealer {
        Sealer::new(self.tables.read().head.secret)
    }

    /// Computes a change and makes it durable, then visible. Runs in a task of its own: a caller that goes
    /// away in the middle must not leave memory and store apart.
    pub(crate) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        draft: impl FnOnce(&mut Draft<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let catalog = Arc::clone(self);
        let task = tokio::spawn(async move {
            let _writer = catalog.writer.lock().await;
            let (answer, plan) = {
                let tables = catalog.tables.read();
                let mut sheet = Draft::new(&tables, &catalog.env, &catalog.options);
                (draft(&mut sheet)?, sheet.finish())
            };
            catalog.carry_out(plan).await?;
            Ok(answer)
        });
        task.await.map_err(|_| Error::TaskLost)?
    }

    async fn carry_out(&self, plan: Plan) -> Result<()> {
        let Some((batch, plan)) = plan.into_batch() else { return Ok(()) };
        // Invariant: what is committed can be opened. A layout with a gap would be durable, and refused ever after.
        for record in plan.puts.iter().filter(|record| record.kind == ResourceKind::Container) {
            range_map::read_layout(&record.state)?;
        }
        self.store.commit(batch).await.map_err(|error| match error {
            store::Error::Conflict => Error::CatalogChanged,
            other => Error::Store(other),
        })?;
        let mut opened = Vec::new();
        for record in plan.puts.iter().filter(|record| record.kind == ResourceKind::Container) {
            opened.push((record.number, Arc::new(self.container_of(record, &plan.open)?)));
        }
        let mut tables = self.tables.write();
        tables.head = plan.head;
        for number in plan.deletes {
            tables.remove(number);
        }
        for record in plan.puts {
            tables.insert(record);
        }
        for (number, container) in opened {
            tables.insert_container(number, container);
        }
        drop(tables);
        self.garbage.lock().extend(plan.garbage);
        Ok(())
    }

    /// The runtime of a new or replaced container, over the partitions that it had and those of `open`.
    fn container_of(&self, record: &Arc<Record>, open: &[Partition]) -> Result<Container> {
        let (old, mut chain) = {
            let tables = self.tables.read();
            let owner = tables.get(record.owner).ok_or(Error::OwnerNotFound)?;
            (tables.container(record.number).cloned(), tables.chain(owner))
        };
        chain.push(Arc::clone(record));
        let old = old.iter().flat_map(|container| container.ranges.iter()).map(OpenPartition::of);
        let open = open.iter().map(|partition| OpenPartition::new(partition, &self.env));
        Container::open(&self.store, &self.env, &self.options, &chain, old.chain(open))
    }

    pub(crate) fn garbage(&self) -> Vec<Garbage> {
        self.garbage.lock().clone()
    }

    /// Has a partition reclaimed that the store knows as garbage already.
    pub(crate) fn add_garbage(&self, garbage: Garbage) {
        self.garbage.lock().push(garbage);
    }

    /// Forgets a reclaimed incarnation.
    pub(crate) async fn reclaimed(&self, incarnation: u64) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(keys::garbage(incarnation));
        self.store.commit(batch).await?;
        self.garbage.lock().retain(|other| other.incarnation != incarnation);
        Ok(())
    }
}

async fn first_head(store: &Arc<dyn Store>, env: &Env) -> Result<Head> {
    let head = Head::new(env);
    let mut batch = Batch::new();
    batch.expect(keys::head(), None);
    batch.put(keys::head(), head.encode());
    match store.commit(batch).await {
        Ok(()) => Ok(head),
        // Another server was faster: its head counts.
        Err(store::Error::Conflict) => {
            let bytes: Option<Bytes> = store.snapshot().get(&keys::head())?;
            Head::decode(&bytes.ok_or(Error::CatalogChanged)?)
        }
        Err(error) => Err(error.into()),
    }
}
