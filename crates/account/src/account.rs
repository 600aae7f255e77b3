//! The door of the crate: one account over one store.

use std::sync::Arc;
use std::time::Duration;

use model::{Charge, Env, Failure};
use query::{MemoryPool, ParseCache};
use store::Store;

use crate::catalog::Catalog;
use crate::catalog::permissions;
use crate::error::{Error, Refuser, Result};
use crate::grant::Grant;
use crate::media::{MediaUploads, MediaUsage};
use crate::meter::{ContainerHeat, Enforcement, HeatHistory, SharedBuckets};
use crate::metrics::{self, AccountMetrics, Metrics, RangeMetrics};
use crate::operation::{Call, Consistency, Link, Operation, Options, Principal, ResourceKind};
use crate::outcome::{Facts, Failed, Outcome};
use crate::relocate::{RelocationOptions, Relocations};
use crate::scripts::Scripts;
use crate::{items, jobs, ranges, resources};

/// Wire: the service gives an account 2 GB for attachments.
pub const MEDIA_BYTES_DEFAULT: u64 = 2 << 30;

/// Memory for all queries of an account that is not told how much.
const QUERY_BYTES_DEFAULT: usize = 1 << 30;

/// The same for all its scripts.
const SCRIPT_BYTES_DEFAULT: usize = 1 << 30;

/// Settings of a whole account.
#[derive(Debug, Clone)]
pub struct AccountOptions {
    /// Physical partitions that a new container gets at least.
    pub min_partitions: u32,
    pub default_consistency: Consistency,
    /// How long all-versions-and-deletes entries are kept in containers without a policy of their own;
    /// `None` leaves that feed off for them.
    pub version_retention: Option<Duration>,
    /// Whether requests over the provisioned throughput are refused.
    pub enforcement: Enforcement,
    /// Slow ranges save idle throughput and spend it later.
    pub has_burst: bool,
    pub relocation: RelocationOptions,
    /// Whether partitions keep the indexes of their containers. Without them every query scans, and answers the same.
    pub keeps_indexes: bool,
    /// Bytes of media that the account keeps for attachments.
    pub media_bytes_max: u64,
    /// Memory that all queries may hold together.
    pub query_bytes_max: usize,
    /// Memory that all scripts may use together.
    pub script_bytes_max: usize,
}

impl Default for AccountOptions {
    fn default() -> AccountOptions {
        AccountOptions {
            min_partitions: 1,
            default_consistency: Consistency::Session,
            version_retention: None,
            relocation: RelocationOptions::default(),
            enforcement: Enforcement::Off,
            has_burst: false,
            keeps_indexes: true,
            media_bytes_max: MEDIA_BYTES_DEFAULT,
            query_bytes_max: QUERY_BYTES_DEFAULT,
            script_bytes_max: SCRIPT_BYTES_DEFAULT,
        }
    }
}

/// One account over one store.
#[derive(Debug)]
pub struct Account {
    pub(crate) inner: Inner,
}

/// What the operations of the account share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) scripts: Scripts,
    pub(crate) shared_buckets: Arc<SharedBuckets>,
    pub(crate) relocations: Arc<Relocations>,
    pub(crate) heat_history: Arc<HeatHistory>,
    /// The query texts that applications send again and again.
    pub(crate) parses: Arc<ParseCache>,
    /// What all queries hold together.
    pub(crate) query_memory: Arc<MemoryPool>,
    pub(crate) media_uploads: Arc<MediaUploads>,
    metrics: Arc<Metrics>,
}

impl Inner {
    /// The same account, for work that outlives the request.
    pub(crate) fn share(&self) -> Inner {
        Inner {
            catalog: Arc::clone(&self.catalog),
            scripts: self.scripts.clone(),
            shared_buckets: Arc::clone(&self.shared_buckets),
            relocations: Arc::clone(&self.relocations),
            heat_history: Arc::clone(&self.heat_history),
            parses: Arc::clone(&self.parses),
            query_memory: Arc::clone(&self.query_memory),
            media_uploads: Arc::clone(&self.media_uploads),
            metrics: Arc::clone(&self.metrics),
        }
    }

    pub(crate) fn env(&self) -> &Env {
        &self.catalog.env
    }

    pub(crate) fn options(&self) -> &AccountOptions {
        &self.catalog.options
    }
}

impl Inner {
    /// A failure that no range found out is the catalog's.
    fn locate(&self, options: &Options, mut failed: Failed, is_new_container: bool) -> Failed {
        let is_here = matches!(failed.error.refuser(), Refuser::Partition | Refuser::Item);
        if is_here && failed.facts.partition.is_none() {
            let charge = match failed.error.status().code {
                404 => partition::charge::metadata_read(),
                // Wire: unlike a database, a container that cannot be made costs nothing.
                _ if is_new_container => Charge::ZERO,
                _ => partition::charge::refused(),
            };
            let facts = resources::catalog_facts(options, &self.catalog.tables());
            failed.facts = Box::new(Facts { charge, ..facts });
        }
        failed
    }
}

/// Who asks, and with which settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) options: &'a Options,
}

impl Account {
    /// Opens the account that `store` holds, or makes an empty one.
    pub async fn open(
        store: Arc<dyn Store>,
        options: AccountOptions,
        env: Env,
    ) -> Result<Arc<Account>> {
        let scripts = Scripts::new(env.clone(), options.script_bytes_max);
        let relocations = Arc::new(Relocations::new(&options.relocation, env.clone()));
        let query_memory = MemoryPool::new(options.query_bytes_max);
        let catalog = Arc::new(Catalog::open(store, options, env).await?);
        let (shared_buckets, metrics) = (Arc::default(), Arc::default());
        let (parses, media_uploads) = (Arc::default(), Arc::default());
        let inner = Inner {
            catalog,
            scripts,
            shared_buckets,
            relocations,
            heat_history: Arc::default(),
            parses,
            query_memory,
            media_uploads,
            metrics,
        };
        Ok(Arc::new(Account { inner }))
    }

    /// Answers one call.
    pub async fn execute(&self, call: Call) -> Result<Outcome, Failed> {
        let Call { principal, operation, options } = call;
        let request = Request { principal: &principal, options: &options };
        let index = metrics::index(&operation);
        let is_new_container = operation.is_new_container();
        let answer = self.dispatch(request, operation).await;
        let locate = |failed| self.inner.locate(&options, failed, is_new_container);
        let answer = answer.map_err(locate);
        match &answer {
            Ok(outcome) => self.inner.metrics.count(index, outcome.status, outcome.facts.charge),
            Err(failed) => {
                self.inner.metrics.count(index, failed.error.status(), failed.facts.charge);
            }
        }
        answer
    }

    async fn dispatch(
        &self,
        request: Request<'_>,
        operation: Operation,
    ) -> Result<Outcome, Failed> {
        let inner = &self.inner;
        // The future of a request is moved about, and it is as large as the largest of these: rare ones are boxed.
        match operation {
            Operation::Create { owner, kind, body, is_upsert } => {
                let create = resources::create(inner, request, &owner, kind, &body, is_upsert);
                Ok(Box::pin(create).await?)
            }
            Operation::Read { link } => Ok(resources::read(inner, request, &link)?),
            Operation::Replace { link, body } => {
                Ok(Box::pin(resources::replace(inner, request, &link, &body)).await?)
            }
            Operation::Delete { link } => {
                Ok(Box::pin(resources::delete(inner, request, &link)).await?)
            }
            Operation::List { owner, kind } => Ok(resources::list(inner, request, &owner, kind)?),
            Operation::QueryResources {
                kind: ResourceKind::Conflict,
                cross_partition: false,
                ..
            } => Err(Error::CrossPartitionDisabled.into()),
            Operation::QueryResources { owner, kind, query, .. } => {
                Ok(resources::query(inner, request, &owner, kind, &query)?)
            }
            Operation::Ranges { container, since, is_incremental } => {
                let since = since.as_deref();
                Ok(ranges::feed(inner, request, &container, since, is_incremental)?)
            }
            Operation::Item(operation) => items::execute(inner, request, operation).await,
            Operation::Media { id, action } => {
                Box::pin(items::execute_media(inner, request, &id, action)).await
            }
        }
    }

    /// Verifies the seal and lifetime of a resource token (`type=resource&ver=1.0&sig=…`, percent-decoded,
    /// with or without that prefix) and returns what it grants.
    pub fn open_token(&self, token: &str) -> Result<Grant> {
        let catalog = &self.inner.catalog;
        let sealer = catalog.sealer();
        permissions::open(&sealer, &catalog.env, &catalog.tables(), token)
    }

    /// How much media the account keeps for attachments, and how much it may.
    pub fn media_usage(&self) -> MediaUsage {
        self.inner.media_usage()
    }

    /// The default consistency, as the account document shows it.
    pub fn default_consistency(&self) -> Consistency {
        self.inner.options().default_consistency
    }

    /// The account's clock, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.inner.env().now_ms()
    }

    /// Moves the account's clock forward, for tests of expiry. It does not move back; a restart begins with the real time.
    pub fn advance_clock(&self, by: Duration) {
        self.inner.env().advance(by);
    }

    /// Answers how writes are refused now, if the store takes none.
    pub fn check_writable(&self) -> store::Result<()> {
        self.inner.catalog.store.check_writable()
    }

    pub fn metrics(&self) -> AccountMetrics {
        let catalog = &self.inner.catalog;
        let n_partitions_to_reclaim = catalog.garbage().len();
        let tables = catalog.tables();
        let ranges = tables.containers().flat_map(|container| {
            container.ranges.iter().map(|range| {
                let statistics = range.partition.statistics();
                let [database, name] = container.names();
                let heat = range.meter.heat();
                RangeMetrics {
                    database,
                    container: name,
                    range: range.id(),
                    n_items: statistics.n_items,
                    bytes: statistics.bytes,
                    n_crowded: u64::try_from(statistics.n_crowded).unwrap_or(u64::MAX),
                    lsn: statistics.lsn.0,
                    charge: heat.total,
                    n_throttled: heat.n_throttled,
                    normalised: container.normalised(&tables, range),
                }
            })
        });
        AccountMetrics {
            operations: self.inner.metrics.operations(),
            charges: self.inner.metrics.charges(),
            n_databases: tables.n_records(ResourceKind::Database),
            n_containers: tables.n_records(ResourceKind::Container),
            ranges: ranges.collect(),
            n_partitions_to_reclaim,
            is_writable: catalog.store.check_writable().is_ok(),
            store: catalog.store.statistics(),
            query_bytes: self.inner.query_memory.used(),
            query_bytes_max: self.inner.query_memory.limit(),
            script_bytes: self.inner.scripts.runtime.memory_bytes(),
            script_bytes_max: self.inner.scripts.runtime.limits().memory_of_all_bytes_max,
            n_queries_refused: self.inner.query_memory.n_refused(),
        }
    }

    /// Names of all databases and containers, in order.
    pub fn container_names(&self) -> Vec<(String, String)> {
        let tables = self.inner.catalog.tables();
        let mut names: Vec<_> =
            tables.containers().map(|container| container.names().into()).collect();
        names.sort();
        names
    }

    /// What each range of a container used lately.
    pub fn heat(&self, container: &Link) -> Result<ContainerHeat> {
        let tables = self.inner.catalog.tables();
        let found = tables.find_owner(container)?;
        let container = tables.container(found.number()).ok_or(Error::OwnerNotFound)?;
        Ok(ContainerHeat::of(&tables, container))
    }

    /// Runs TTL expiry, version trimming, due splits and the reclaim of deleted containers until `shutdown` resolves.
    pub async fn run_jobs(self: Arc<Self>, shutdown: impl Future<Output = ()> + Send) {
        jobs::run(&self.inner, shutdown).await;
    }

    /// Runs every background job once to its end; for tests and for an orderly stop.
    pub async fn run_jobs_once(&self) -> Result<()> {
        jobs::run_once(&self.inner).await
    }

    /// Reads every partition whole and compares all that it keeps with its items; the first fault is the error.
    /// For tests and for an operator in doubt: it takes as long as reading everything.
    pub fn check_partitions(&self) -> Result<()> {
        let containers: Vec<_> = self.inner.catalog.tables().containers().cloned().collect();
        for partition in containers.iter().flat_map(|container| container.partitions()) {
            let report = partition.check_consistency()?;
            if let Some(problem) = report.problems.first() {
                let range = partition.range();
                return Err(Error::PartitionInconsistent { range, problem: problem.clone() });
            }
        }
        Ok(())
    }

    /// Orderly stop: everything acknowledged is on disk when this returns.
    #[expect(clippy::unused_async, reason = "a remote store will have to wait here")]
    pub async fn close(&self) -> Result<()> {
        Ok(self.inner.catalog.store.close()?)
    }
}
