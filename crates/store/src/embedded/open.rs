//! The two ways to open an embedded store: a directory, or an engine made elsewhere.

use std::path::Path;
use std::sync::Arc;

use super::engine::{self, Engine};
use super::store::EmbeddedStore;
use crate::{EmbeddedOptions, Result, Store};

/// Opens the store in `dir`, and creates both when they do not exist.
///
/// Answers `Unavailable` when another process has the directory (and names it), and `Corrupt` when
/// the directory was written by a version of Orrery with another format.
pub fn open_embedded(dir: &Path, options: &EmbeddedOptions) -> Result<Arc<dyn Store>> {
    let start = options.env.monotonic();
    let engine = engine::open(dir, options)?;
    let store = open_on(engine, options)?;
    let took = options.env.monotonic().saturating_sub(start);
    tracing::info!(dir = %dir.display(), ?took, "store opened");
    Ok(store)
}

/// Opens a store over an engine that is open already: the seam for other engines and for tests
/// that make one fail.
pub fn open_on(engine: Arc<dyn Engine>, options: &EmbeddedOptions) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(EmbeddedStore::start(engine, options)?))
}
