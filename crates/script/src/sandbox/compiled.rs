//! Scripts that an engine has compiled, so that the next run of one of them need not.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use rquickjs::{Function, Persistent};

use crate::invocation::Script;

// Limit: compiled scripts that an engine keeps, and how long the text of each may be. They count for the memory of
// every run in the engine, so there is little of them.
const SCRIPTS_MAX: usize = 16;
const TEXT_MAX: usize = 16 << 10;

type Factory = Persistent<Function<'static>>;

/// By version, the one that was used last at the end.
#[derive(Default)]
pub(super) struct Compiled(RefCell<VecDeque<(Arc<str>, Factory)>>);

impl Compiled {
    pub(super) fn get(&self, version: &str) -> Option<Factory> {
        let mut kept = self.0.borrow_mut();
        let at = kept.iter().rposition(|(of, _)| **of == *version)?;
        if at + 1 < kept.len() {
            let found = kept.remove(at)?;
            kept.push_back(found);
        }
        kept.back().map(|(_, factory)| factory.clone())
    }

    pub(super) fn keep(&self, script: &Script, factory: Factory) {
        if script.body.len() > TEXT_MAX {
            return;
        }
        let mut kept = self.0.borrow_mut();
        if kept.len() >= SCRIPTS_MAX {
            kept.pop_front();
        }
        kept.push_back((Arc::clone(&script.version), factory));
    }
}
