//! Queries that call user-defined functions: they run on a script thread, functions and all.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use model::Value;
use partition::scripts::{Script, call_udf};
use query::UdfHost;

use super::ItemRequest;
use super::query::Extras;
use crate::account::Inner;
use crate::meter::Budget;
use crate::operation::{Options, QueryText, ResourceKind};
use crate::outcome::{Failed, Outcome};
use crate::scripts::script_of;

/// The functions of a container by name. They run where [`partition::scripts::Runtime::with_udfs`] put the query.
#[derive(Debug)]
struct ContainerUdfs(HashSet<String>);

impl UdfHost for ContainerUdfs {
    fn exists(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    fn call(&self, name: &str, arguments: &[Option<Value>]) -> Result<Option<Value>, String> {
        call_udf(name, arguments)
    }
}

/// Says whether a query might call a function; one that only looks so runs a little dearer.
pub(super) fn may_call(text: &str) -> bool {
    let is_call =
        |window: &[u8]| matches!(window, [b'u' | b'U', b'd' | b'D', b'f' | b'F', b'.' | b' ']);
    text.as_bytes().windows(4).any(is_call)
}

/// The host that knows these functions.
pub(super) fn host_of(scripts: &[Script]) -> Arc<dyn UdfHost> {
    Arc::new(ContainerUdfs(scripts.iter().map(|script| script.id.to_string()).collect()))
}

impl ItemRequest<'_> {
    pub(super) fn udf_scripts(&self) -> Vec<Script> {
        let tables = self.inner.catalog.tables();
        let number = self.container.record().number;
        tables.children(number, ResourceKind::Udf, 0).map(|record| script_of(record)).collect()
    }

    pub(super) fn udf_host(&self) -> Arc<dyn UdfHost> {
        host_of(&self.udf_scripts())
    }

    /// The same query on a script thread.
    pub(super) async fn query_with_udfs(
        &self,
        query: QueryText,
        cross_partition: bool,
        extras: Extras,
    ) -> Result<Outcome, Failed> {
        let owned = OwnedRequest {
            inner: self.inner.share(),
            options: self.options.clone(),
            // What the request borrows is put in when it runs.
            container: Arc::clone(&self.container),
            is_by_rid: self.is_by_rid,
            allowed: self.allowed.clone(),
            key: self.key.clone(),
            range: self.range,
            epks: self.epks.clone(),
            budget: self.budget.clone(),
            fingerprint: self.fingerprint,
        };
        let work = move || owned.borrow().query(&query, cross_partition, extras);
        let ended = self.inner.scripts.runtime.with_udfs(self.udf_scripts(), work).await;
        ended.unwrap_or_else(|error| Err(self.fail(partition::Error::Script(error))))
    }
}

/// An item request that lives on its own.
struct OwnedRequest {
    inner: Inner,
    options: Options,
    container: Arc<crate::container::Container>,
    is_by_rid: bool,
    allowed: crate::access::Allowed,
    key: Option<model::PartitionKey>,
    range: Option<model::RangeId>,
    epks: Option<model::EpkRange>,
    budget: Option<Budget>,
    fingerprint: u64,
}

impl OwnedRequest {
    fn borrow(&self) -> ItemRequest<'_> {
        ItemRequest {
            inner: &self.inner,
            options: &self.options,
            container: Arc::clone(&self.container),
            is_by_rid: self.is_by_rid,
            allowed: self.allowed.clone(),
            key: self.key.clone(),
            range: self.range,
            epks: self.epks.clone(),
            budget: self.budget.clone(),
            fingerprint: self.fingerprint,
            routed: OnceLock::new(),
            // Queries read.
            is_write: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_may_call_a_function_are_found() {
        for text in ["SELECT udf.f(c.x) FROM c", "SELECT UDF.f(1)", "SELECT udf . f(1)"] {
            assert!(may_call(text), "{text}");
        }
        assert!(!may_call("SELECT c.udfs FROM c"));
        assert!(!may_call(""));
    }
}
