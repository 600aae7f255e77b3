//! The rows of a query as a stream.

use futures::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use crate::{Error, QueryRun, Result};

impl QueryRun {
    /// Returns the rows that are left, one by one. At most one round of pages is held in memory.
    pub fn into_stream(self) -> impl Stream<Item = Result<Value>> + Send {
        let pages = stream::try_unfold(self, |mut run| async move {
            let page = run.next_page().await?;
            Ok::<_, Error>(page.map(|page| (page.rows, run)))
        });
        pages.map_ok(|rows| stream::iter(rows).map(Ok)).try_flatten()
    }
}
