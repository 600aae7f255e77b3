//! The allocator of the script engine, which looks at the clock and counts.
//!
//! The engine looks at its clock every ten thousandth jump, whatever lies between two jumps: `a * a` of large integers
//! takes a tenth of a second each time. What takes long mostly makes something large, so the allocator looks too, after
//! so many bytes, and gives nothing large to a run that is over. The script sees that memory is short, and whoever
//! started it that its time is up.
//!
//! All engines share a bound, too. A run that finds it reached gets nothing more, except for what every run may have, so
//! that a few large ones cannot stop the small ones.
//!
//! Invariant: memory comes from the allocator of rquickjs and goes back to it; here it is only refused and counted.

mod watched;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

pub use watched::WatchedAllocator;

/// Bytes that are asked for between two looks at the clock.
const LOOK_EVERY: usize = 128 << 10;
/// What one allocation counts for beside its size, for the work around it.
const BYTES_OF_CALL: usize = 32;
/// What a run may still have when it is over: enough to say so, too little to work for long.
const SMALL_BYTES: usize = 512;
/// Bytes by which the engine's count may differ from what all engines together are said to use.
const COUNT_EVERY: usize = 64 << 10;

/// Limit: what a run may have however much the others use.
const OWN_BYTES_MIN: usize = 8 << 20;

/// Memory in use by all engines that share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryInUse(Arc<AtomicUsize>);

impl MemoryInUse {
    /// Returns the count of all engines of this process.
    pub fn of_process() -> MemoryInUse {
        static ALL: LazyLock<MemoryInUse> = LazyLock::new(MemoryInUse::default);
        ALL.clone()
    }

    /// Returns the bytes in use, but for less than 64 KiB per engine.
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Says whether the run that asks for memory is over.
pub type IsOver = dyn Fn() -> bool;

/// What one engine asked for.
struct Meter {
    is_over: Rc<IsOver>,
    credit: Cell<usize>,
    /// In use, and how much of it the others know about.
    used: Cell<usize>,
    told: Cell<usize>,
    total: MemoryInUse,
    total_max: usize,
}

impl Meter {
    fn new(is_over: Rc<IsOver>, total: MemoryInUse, total_max: usize) -> Meter {
        Meter {
            is_over,
            credit: Cell::new(LOOK_EVERY),
            used: Cell::new(0),
            told: Cell::new(0),
            total,
            total_max,
        }
    }

    /// Says whether so many bytes may be had.
    fn admits(&self, size: usize) -> bool {
        let cost = size.saturating_add(BYTES_OF_CALL);
        if let Some(credit) = self.credit.get().checked_sub(cost) {
            self.credit.set(credit);
            return true;
        }
        if (self.is_over)() || self.is_too_much(size) {
            // The credit stays spent: the next one is asked about, too.
            return size <= SMALL_BYTES;
        }
        self.credit.set(LOOK_EVERY);
        true
    }

    /// Says whether all engines have what they may, and this one more than its own.
    fn is_too_much(&self, size: usize) -> bool {
        let own = self.used.get().saturating_add(size);
        own > OWN_BYTES_MIN && self.total.bytes().saturating_add(size) > self.total_max
    }

    fn add(&self, size: usize) {
        self.used.set(self.used.get().wrapping_add(size));
        if self.used.get() >= self.told.get().saturating_add(COUNT_EVERY) {
            self.tell();
        }
    }

    fn remove(&self, size: usize) {
        self.used.set(self.used.get().wrapping_sub(size));
        if self.used.get().saturating_add(COUNT_EVERY) <= self.told.get() {
            self.tell();
        }
    }

    fn tell(&self) {
        let change = self.used.get().wrapping_sub(self.told.replace(self.used.get()));
        self.total.0.fetch_add(change, Ordering::Relaxed);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.total.0.fetch_sub(self.told.get(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use rquickjs::{Context, Runtime};

    use super::*;

    #[test]
    fn a_run_that_is_over_gets_nothing_large_and_the_count_ends_at_nothing() {
        let (over, total) = (Rc::new(Cell::new(false)), MemoryInUse::default());
        let it = Rc::clone(&over);
        let allocator = WatchedAllocator::new(Rc::new(move || it.get()), total.clone(), usize::MAX);
        let runtime = Runtime::new_with_alloc(allocator).unwrap();
        let context = Context::full(&runtime).unwrap();
        let make = |text: &str| context.with(|ctx| ctx.eval::<usize, _>(text).ok());
        assert_eq!(make("globalThis.kept = new Uint8Array(5e6); 1"), Some(1));
        assert!((5_000_000..7_000_000).contains(&total.bytes()), "{}", total.bytes());
        assert_eq!(make("new Uint8Array(5e6).length"), Some(5_000_000));
        over.set(true);
        assert_eq!(make("new Uint8Array(5e6).length"), None);
        assert_eq!(make("({a: 1}).a"), Some(1), "what is small is still there");
        over.set(false);
        assert_eq!(make("new Uint8Array(5e6).length"), Some(5_000_000));
        drop((context, runtime));
        assert_eq!(total.bytes(), 0);
    }

    #[test]
    fn engines_share_a_bound_and_each_has_a_little_of_its_own() {
        const MIB: usize = 1 << 20;
        let total = MemoryInUse::default();
        let engine = || {
            let allocator = WatchedAllocator::new(Rc::new(|| false), total.clone(), 40 * MIB);
            let runtime = Runtime::new_with_alloc(allocator).unwrap();
            let context = Context::full(&runtime).unwrap();
            (context, runtime)
        };
        let (large, small) = (engine(), engine());
        let fill =
            "var all = []; try { for (;;) all.push(new Uint8Array(1e6)); } catch (e) {} all.length";
        let n_large: usize = large.0.with(|ctx| ctx.eval(fill)).unwrap();
        assert!((30..42).contains(&n_large), "{n_large}");
        let n_small: usize = small.0.with(|ctx| ctx.eval(fill)).unwrap();
        assert!((4..9).contains(&n_small), "{n_small}");
        assert!(total.bytes() < 50 * MIB, "{}", total.bytes());
        drop(large);
        let n_small: usize = small.0.with(|ctx| ctx.eval(fill)).unwrap();
        assert!(n_small > 25, "{n_small}");
    }
}
