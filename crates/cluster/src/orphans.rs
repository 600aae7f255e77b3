//! Journals that nobody serves: their holder's session is over, or they never had one.

use journal::{Engine, JournalId, JournalRow, SessionId};

use crate::View;

// Limit: rows that are read at once.
const PAGE_ROWS: usize = 1_000;

/// Returns the journals that a living member should open. Sealed ones belong to a relocation and are left alone.
///
/// A view that is out of date does no harm: an open names the epoch that was seen here.
pub async fn orphans(engine: &dyn Engine, view: &View) -> journal::Result<Vec<JournalRow>> {
    let mut found = Vec::new();
    let mut after = JournalId::default();
    loop {
        let page = engine.rows(after, PAGE_ROWS).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after = last.journal;
        found.extend(page.into_iter().filter(|row| is_orphan(row, view)));
    }
}

fn is_orphan(row: &JournalRow, view: &View) -> bool {
    row.sealed == 0 && (row.holder == SessionId::NOBODY || view.has_ended(row.holder))
}
