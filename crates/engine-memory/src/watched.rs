//! The one module with `unsafe`: the engine's allocator works on raw memory.
#![expect(
    unsafe_code,
    reason = "the trait of the engine's allocator is unsafe; see the invariant in lib.rs"
)]

use std::ptr::null_mut;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

use crate::{IsOver, MemoryInUse, Meter};

/// The allocator of one engine.
pub struct WatchedAllocator {
    inner: RustAllocator,
    meter: Meter,
}

impl WatchedAllocator {
    /// Makes an allocator that asks `is_over` now and then, and adds what it gives to `total`, which should not exceed
    /// `total_max`.
    pub fn new(is_over: Rc<IsOver>, total: MemoryInUse, total_max: usize) -> WatchedAllocator {
        WatchedAllocator { inner: RustAllocator, meter: Meter::new(is_over, total, total_max) }
    }

    fn given(&self, memory: *mut u8) -> *mut u8 {
        if !memory.is_null() {
            // SAFETY: the inner allocator has just given it.
            self.meter.add(unsafe { RustAllocator::usable_size(memory) });
        }
        memory
    }
}

impl std::fmt::Debug for WatchedAllocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchedAllocator").field("used", &self.meter.used).finish_non_exhaustive()
    }
}

// SAFETY: every pointer is one of the inner allocator, which keeps the promises of the trait, or null.
unsafe impl Allocator for WatchedAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.meter.admits(size) {
            return null_mut();
        }
        let memory = self.inner.alloc(size);
        self.given(memory)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        match count.checked_mul(size) {
            Some(bytes) if self.meter.admits(bytes) => {
                let memory = self.inner.calloc(count, size);
                self.given(memory)
            }
            _ => null_mut(),
        }
    }

    unsafe fn dealloc(&mut self, memory: *mut u8) {
        // SAFETY: the caller says that it is ours, and all that is ours is the inner allocator's.
        unsafe {
            self.meter.remove(RustAllocator::usable_size(memory));
            self.inner.dealloc(memory);
        }
    }

    unsafe fn realloc(&mut self, memory: *mut u8, new_size: usize) -> *mut u8 {
        if memory.is_null() {
            return self.alloc(new_size);
        }
        // SAFETY: as above. Memory that does not become larger is not new, so it is never refused.
        unsafe {
            let before = RustAllocator::usable_size(memory);
            if new_size > before && !self.meter.admits(new_size) {
                return null_mut();
            }
            let moved = self.inner.realloc(memory, new_size);
            if !moved.is_null() {
                self.meter.remove(before);
            }
            self.given(moved)
        }
    }

    unsafe fn usable_size(memory: *mut u8) -> usize {
        // SAFETY: as above.
        unsafe { RustAllocator::usable_size(memory) }
    }
}
