//! Users have nothing but a name; they own permissions.

use model::Object;

use crate::error::Result;

/// Nothing of the body is kept besides the id.
#[expect(clippy::unnecessary_wraps, reason = "one signature for every kind of resource")]
pub(crate) fn complete(_body: &Object) -> Result<Object> {
    Ok(Object::new())
}
