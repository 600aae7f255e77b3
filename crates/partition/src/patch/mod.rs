//! Patch: up to ten small changes to one item, applied in order, all or none.
//!
//! [`Patch::parse`] checks everything that can be known without the item: shape, kinds, paths, protected properties. The
//! result of [`Patch::apply`] goes through the same checks as the body of a replace.

mod added;
mod condition;
mod operation;
mod parse;
mod pointer;

use model::{PartitionKeyDefinition, Value};

pub(crate) use added::{bytes_added, names_written};
pub(crate) use condition::{Condition, holds};
use operation::Operation;

use crate::{Error, Result};

// Limit: operations in one patch, as on the service.
pub const PATCH_OPERATIONS_MAX: usize = 10;

/// A checked patch.
#[derive(Debug, Clone)]
pub struct Patch {
    operations: Vec<Operation>,
    condition: Option<Condition>,
}

impl Patch {
    pub fn n_operations(&self) -> usize {
        self.operations.len()
    }

    pub(crate) fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// Refuses operations on the partition key.
    pub(crate) fn check_paths(&self, definition: &PartitionKeyDefinition) -> Result<()> {
        let mut pointers = self.operations.iter().flat_map(Operation::pointers);
        let is_key =
            |segments: &[String]| definition.paths.iter().any(|path| path.segments() == segments);
        if pointers.any(|pointer| is_key(pointer.segments())) {
            return Err(Patch::touches_partition_key());
        }
        Ok(())
    }

    pub(crate) fn touches_partition_key() -> Error {
        Error::PatchInvalid(
            "Invalid patch request: Patch Operation cannot modify the partition key. \
             Learn more: https://aka.ms/cosmosdbpatchdocs"
                .to_owned(),
        )
    }

    /// Returns the item after all operations.
    pub(crate) fn apply(&self, mut item: Value) -> Result<Value> {
        for (index, operation) in self.operations.iter().enumerate() {
            operation
                .apply(&mut item)
                .map_err(|reason| Error::PatchUnfit { operation: index + 1, reason })?;
        }
        Ok(item)
    }
}
