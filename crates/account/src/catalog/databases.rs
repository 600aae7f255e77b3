//! Databases have nothing but a name and, optionally, throughput for their containers to share.

use std::sync::Arc;

use model::Object;

use super::Draft;
use super::offers::Offer;
use super::record::Record;
use crate::error::Result;
use crate::operation::ResourceKind;
use crate::throughput::Throughput;

pub(crate) fn create(
    draft: &mut Draft<'_>,
    id: &str,
    throughput: Option<Throughput>,
) -> Result<Arc<Record>> {
    let record = draft.add(None, ResourceKind::Database, id, Object::new(), Object::new())?;
    if let Some(throughput) = throughput {
        let offer = Offer::new(record.number, throughput);
        draft.add(None, ResourceKind::Offer, "", Object::new(), offer.to_state())?;
    }
    Ok(record)
}
