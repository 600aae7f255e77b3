//! One transaction: steps on the items of one logical partition that take effect together or not at all.
//!
//! Plain operations, batches, patches, expiry and deletion by partition key are all this type. [`step`] turns calls
//! into steps and does all the work that needs no store; [`run`] plays them against a [`View`] and gives a [`Draft`];
//! sealing the draft under the writer lock gives it its LSN and turns it into one store batch.
//!
//! Invariant: running reads only the view and changes nothing, so a run that turns out to be stale is thrown away
//! and repeated.

mod attached;
mod attached_draft;
mod draft;
mod run;
mod slot;
mod step;
mod unique;
mod view;

pub(crate) use attached::{AttachedEntry, AttachedImage, AttachedStamp};
pub(crate) use draft::{Done, Draft, Sealed, Shown};
pub(crate) use run::{Paused, Refusal, Running, run};
pub(crate) use slot::{Image, Provisional, Slot};
pub(crate) use step::{Step, TransactionContext};
pub(crate) use unique::claims as claims_of;
pub(crate) use view::{Overlay, Pending, View};

// Limit: operations in one batch, as on the service; also bounds the sequence numbers of one LSN.
pub const BATCH_OPERATIONS_MAX: usize = 100;
