//! The resume filter of a request body: start an ordered query at a key.

use model::{Rid, Value};

use crate::error::{Error, Result};
use crate::paging::sort_key::{RowPosition, SortKey, SortOrder};

/// Where an ordered query starts.
///
/// Wire: `{"value":[…],"rid":"…","exclude":false}`, sent by .NET and Rust instead of a text filter.
#[derive(Clone, Debug)]
pub struct ResumeFilter {
    keys: Vec<SortKey>,
    number: Option<u64>,
    exclude: bool,
}

impl ResumeFilter {
    /// Reads the JSON form.
    ///
    /// # Errors
    /// [`Error::ResumeFilter`] when a member is missing or has the wrong type.
    pub fn from_wire(value: &Value) -> Result<ResumeFilter> {
        let keys = value.get("value").and_then(Value::as_array);
        let keys = keys.ok_or(Error::ResumeFilter("'value' must be an array"))?;
        let keys: Option<Vec<SortKey>> = keys.iter().map(SortKey::from_wire).collect();
        let keys = keys.ok_or(Error::ResumeFilter("'value' has an entry of an unknown form"))?;
        let number = match value.get("rid") {
            None | Some(Value::Null) => None,
            Some(rid) => {
                let rid = rid.as_str().and_then(Rid::parse).and_then(|rid| rid.ordinal());
                Some(rid.ok_or(Error::ResumeFilter("'rid' must be the rid of an item"))?)
            }
        };
        let exclude = match value.get("exclude") {
            None => false,
            Some(flag) => {
                flag.as_bool().ok_or(Error::ResumeFilter("'exclude' must be a boolean"))?
            }
        };
        Ok(ResumeFilter { keys, number, exclude })
    }

    /// Returns the keys to start at, and the item.
    pub(crate) fn start(&self) -> (&[SortKey], Option<u64>) {
        (&self.keys, self.number)
    }

    pub(crate) fn check(&self, n_keys: usize) -> Result<()> {
        if self.keys.len() == n_keys {
            return Ok(());
        }
        Err(Error::ResumeFilter("'value' must have one entry for each ORDER BY key"))
    }

    /// Returns whether a row is at or after the start.
    pub(crate) fn admits(&self, order: &SortOrder, place: &RowPosition) -> bool {
        let by_keys = order.compare_keys(&place.keys, &self.keys);
        if by_keys.is_ne() {
            return by_keys.is_gt();
        }
        if self.exclude {
            return false;
        }
        self.number.is_none_or(|number| order.compare_numbers(place.number, number).is_ge())
    }
}
