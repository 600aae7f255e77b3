//! Types that know their synthetic key.

use serde::Serialize;
use serde_json::Value;

use super::SyntheticKey;
use crate::Result;

/// A type whose items carry a synthetic key. Derived from annotated fields with the feature `derive`.
///
/// ```
/// # #[cfg(feature = "derive")]
/// # fn main() -> Result<(), orrery_client::Error> {
/// use orrery_client::{Partitioned, ReadPlan};
///
/// #[derive(serde::Serialize, Partitioned)]
/// #[serde(rename_all = "camelCase")]
/// #[partition(property = "partitionKey")]
/// struct Reading {
///     id: String,
///     #[partition(part)]
///     device_id: String,
///     #[partition(part)]
///     date: u32,
/// }
///
/// let reading = Reading { id: "1".into(), device_id: "abc-123".into(), date: 2018 };
/// let item = reading.to_item()?;
/// assert_eq!(item["partitionKey"], "abc-123-2018");
/// assert_eq!(item["deviceId"], "abc-123");
/// let plan = Reading::partition_scheme()?.plan(&["abc-123".into(), 2018.into()])?;
/// assert_eq!(plan, ReadPlan::Point("abc-123-2018".to_owned()));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "derive"))]
/// # fn main() {}
/// ```
pub trait Partitioned {
    /// The scheme that writes the key and plans reads.
    type Scheme: SyntheticKey;

    /// Makes the scheme. Fails if a path or a number of suffixes in an annotation is not valid.
    fn partition_scheme() -> Result<Self::Scheme>;

    /// Serialises the value and writes the key into the result.
    fn to_item(&self) -> Result<Value>
    where
        Self: Serialize + Sized,
    {
        Self::partition_scheme()?.to_item(self)
    }
}
