//! Functions about the item as a whole, and the conditional.

use model::Rid;

use super::Call;
use crate::value::{Datum, Maybe, integer};

pub(super) fn iif<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let [condition, then, otherwise] = arguments else { return None };
    let holds = condition.as_ref().and_then(Datum::as_bool) == Some(true);
    if holds { then.take() } else { otherwise.take() }
}

/// Wire: bytes 8 to 15 of the rid, as an integer.
pub(super) fn document_id<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let [Some(item)] = arguments else { return None };
    let rid = Rid::parse(item.as_object()?.get("_rid")?.as_str()?)?;
    integer(i64::try_from(rid.ordinal()?).ok()?)
}
