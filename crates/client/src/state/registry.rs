//! What a saved state cannot hold: closures, hash functions, connections.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::{
    ContainerHost, Env, Error, HashGenerator, Key, KeySource, Md5, Murmur3, Result, XxHash,
};

type Extractor = dyn Fn(&Value) -> Option<Key> + Send + Sync;

/// Gives life to names in a state.
#[derive(Clone)]
pub struct Registry {
    extractors: HashMap<String, Arc<Extractor>>,
    hashes: HashMap<String, Arc<dyn HashGenerator>>,
    host: Option<Arc<dyn ContainerHost>>,
    env: Env,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::new()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("extractors", &self.extractors.keys())
            .field("hashes", &self.hashes.keys())
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// A registry with the three hashes of this crate.
    pub fn new() -> Registry {
        let hashes: [Arc<dyn HashGenerator>; 3] =
            [Arc::new(Md5), Arc::new(Murmur3), Arc::new(XxHash)];
        Registry {
            extractors: HashMap::new(),
            hashes: hashes.into_iter().map(|it| (it.name().to_owned(), it)).collect(),
            host: None,
            env: Env::system(),
        }
    }

    /// Adds a key extractor.
    #[must_use]
    pub fn extractor(
        mut self,
        name: impl Into<String>,
        extract: impl Fn(&Value) -> Option<Key> + Send + Sync + 'static,
    ) -> Registry {
        self.extractors.insert(name.into(), Arc::new(extract));
        self
    }

    /// Adds a hash of your own.
    #[must_use]
    pub fn hash_generator(mut self, hash: Arc<dyn HashGenerator>) -> Registry {
        self.hashes.insert(hash.name().to_owned(), hash);
        self
    }

    /// Sets the host for resolvers that make containers.
    #[must_use]
    pub fn container_host(mut self, host: Arc<dyn ContainerHost>) -> Registry {
        self.host = Some(host);
        self
    }

    /// Sets clock and randomness.
    #[must_use]
    pub fn with_env(mut self, env: Env) -> Registry {
        self.env = env;
        self
    }

    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    pub(crate) fn host(&self) -> Result<Arc<dyn ContainerHost>> {
        self.host.clone().ok_or(Error::NoHost)
    }

    pub(crate) fn hash(&self, name: &str) -> Result<Arc<dyn HashGenerator>> {
        self.hashes.get(name).cloned().ok_or_else(|| Error::UnknownHash(name.to_owned()))
    }

    /// Puts closures in the place of their names.
    pub(crate) fn bind(&self, source: &KeySource) -> Result<KeySource> {
        Ok(match source {
            KeySource::Path(_) | KeySource::Paths(_) => source.clone(),
            KeySource::ByType { path, cases, otherwise } => {
                let bound = cases.iter().map(|(name, it)| Ok((name.clone(), self.bind(it)?)));
                let otherwise = otherwise.as_deref().map(|it| self.bind(it)).transpose()?;
                KeySource::ByType {
                    path: path.clone(),
                    cases: bound.collect::<Result<BTreeMap<_, _>>>()?,
                    otherwise: otherwise.map(Box::new),
                }
            }
            KeySource::Named(named) => {
                let mut named = named.clone();
                if let Some(extract) = self.extractors.get(named.name()) {
                    named.bind(extract.clone());
                } else if named.extractor().is_none() {
                    return Err(Error::UnknownExtractor(named.name().to_owned()));
                }
                KeySource::Named(named)
            }
        })
    }
}
