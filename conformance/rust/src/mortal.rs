//! A service whose process dies at a chosen call: what is left behind is what a kill leaves.
//!
//! Over signed requests instead of the SDK: a process that starts in milliseconds can be killed at every call.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use orrery_client::rest::RestDatabase;
use orrery_client::{
    BoxFuture, ChangeFeed, ChangePage, ContainerHost, ContainerLink, ContainerTemplate, Creation,
    Fill, ItemPage, ItemStore, Key, PageRequest, Result, Stored,
};
use serde_json::Value;

#[derive(Debug)]
pub struct Mortal {
    inner: RestDatabase,
    calls_left: AtomicI64,
}

impl Mortal {
    /// Lives for this many calls; a negative number lives for ever.
    pub fn new(inner: RestDatabase, n_calls: i64) -> Arc<Mortal> {
        Arc::new(Mortal { inner, calls_left: AtomicI64::new(n_calls) })
    }

    fn live(&self) -> &RestDatabase {
        if self.calls_left.fetch_sub(1, Ordering::SeqCst) == 0 {
            // No destructor runs and no connection is closed in order, as with SIGKILL.
            std::process::abort();
        }
        &self.inner
    }
}

impl ItemStore for Mortal {
    fn create<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>> {
        ItemStore::create(self.live(), container, partition, item)
    }

    fn upsert<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>> {
        self.live().upsert(container, partition, item)
    }

    fn read<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>>> {
        self.live().read(container, partition, id)
    }

    fn replace<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
        if_match: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        self.live().replace(container, partition, item, if_match)
    }

    fn delete<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
        if_match: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool>> {
        ItemStore::delete(self.live(), container, partition, id, if_match)
    }

    fn page<'a>(&'a self, request: PageRequest<'a>) -> BoxFuture<'a, Result<ItemPage>> {
        self.live().page(request)
    }
}

impl ContainerHost for Mortal {
    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        self.live().list()
    }

    fn create<'a>(
        &'a self,
        name: &'a str,
        template: &'a ContainerTemplate,
    ) -> BoxFuture<'a, Result<Creation>> {
        ContainerHost::create(self.live(), name, template)
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        ContainerHost::delete(self.live(), name)
    }

    fn fill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Fill>> {
        self.live().fill(name)
    }

    fn template<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<ContainerTemplate>>> {
        self.live().template(name)
    }

    fn pause(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.inner.pause(time)
    }
}

impl ChangeFeed for Mortal {
    fn changes<'a>(
        &'a self,
        container: &'a ContainerLink,
        continuation: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ChangePage>> {
        self.live().changes(container, continuation)
    }
}
