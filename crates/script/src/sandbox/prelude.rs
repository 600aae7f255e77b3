//! The prelude: our own JavaScript, compiled once per process and loaded into every sandbox as bytecode.
//!
//! Parsing costs about 55 µs per KiB of source and loading its bytecode about a tenth of that, which is most of the
//! price of a fresh run. Scripts themselves stay text: bytecode can be loaded safely for modules only, modules are
//! strict, and scripts are not.

use std::sync::OnceLock;

use rquickjs::loader::bundle::{Bundle, ScaBundleData};
use rquickjs::loader::{BuiltinLoader, BuiltinResolver};
use rquickjs::{Context, Module, Runtime, WriteOptions};

use super::Intrinsics;

const SOURCES: [(&str, &str); 6] = [
    ("guards", include_str!("../prelude/guards.js")),
    ("globals", include_str!("../prelude/globals.js")),
    ("query", include_str!("../prelude/query.js")),
    ("api", include_str!("../prelude/api.js")),
    ("full", include_str!("../prelude/full.js")),
    ("lock", include_str!("../prelude/lock.js")),
];

/// The module that a sandbox starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Procedures and triggers.
    Api,
    /// The same with the JavaScript query API.
    Full,
    /// User-defined functions: the language and its errors.
    Globals,
}

/// What a script must write somewhere to use the query API.
const QUERY_WORDS: [&str; 9] =
    ["filter", "map", "pluck", "flatten", "sortBy", "unwind", "chain", "spatial", "queryDocuments"];

impl Entry {
    /// The smallest prelude that serves the body of a procedure or trigger.
    pub(crate) fn of(body: &str) -> Entry {
        let mentions_queries = QUERY_WORDS.iter().any(|word| body.contains(word));
        if mentions_queries { Entry::Full } else { Entry::Api }
    }

    /// Says whether an engine with this prelude runs a script that needs `other`.
    pub(crate) fn serves(self, other: Entry) -> bool {
        self == other || (self == Entry::Full && other == Entry::Api)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Entry::Api => "api",
            Entry::Full => "full",
            Entry::Globals => "globals",
        }
    }
}

pub(super) type Modules = Bundle<ScaBundleData<&'static [u8]>>;

/// Returns the compiled prelude.
pub(super) fn modules() -> rquickjs::Result<Modules> {
    static MODULES: OnceLock<ScaBundleData<&'static [u8]>> = OnceLock::new();
    if let Some(modules) = MODULES.get() {
        return Ok(Bundle(modules));
    }
    let mut modules = Vec::new();
    for (name, source) in SOURCES {
        // The bytecode lives as long as the process.
        modules.push((name, &*compile(name, source)?.leak()));
    }
    Ok(Bundle(MODULES.get_or_init(|| modules.leak())))
}

// Invariant: what is loaded as bytecode was written here, by the same engine in the same process.
fn compile(name: &str, source: &str) -> rquickjs::Result<Vec<u8>> {
    let runtime = Runtime::new()?;
    let mut resolver = BuiltinResolver::default();
    let mut loader = BuiltinLoader::default();
    for (name, source) in SOURCES {
        resolver.add_module(name);
        loader.add_module(name, source);
    }
    runtime.set_loader(resolver, loader);
    let context = Context::custom::<Intrinsics>(&runtime)?;
    context.with(|ctx| {
        let module = Module::declare(ctx.clone(), name, source)?;
        module.write(WriteOptions {
            strip_source: true,
            strip_debug: true,
            ..WriteOptions::default()
        })
    })
}
