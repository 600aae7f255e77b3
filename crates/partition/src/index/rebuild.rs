//! Moves the index from the policies it was written under to the one of the container, in small commits.

use crate::Result;
use crate::keys::number_of_item;
use crate::partition::Partition;
use crate::record::ItemRecord;
use crate::writer::Marks;

use super::terms::TermChange;

// Limit: item text of one step; the writer lock is held while its terms are derived.
const STEP_BYTES_MAX: usize = 1 << 20;

impl Partition {
    /// Does one step of a rebuild: at most `items_max` items. Returns whether more is to do.
    pub async fn rebuild_index(&self, items_max: usize) -> Result<bool> {
        if self.inner().writer.lock().dictionary.rules().is_settled() {
            return Ok(false);
        }
        let mut is_done = true;
        self.commit_marks(None, |marks| {
            is_done = step(marks, items_max.max(1))?;
            Ok(true)
        })
        .await?;
        Ok(!is_done)
    }

    /// Returns how much of the index fits the policy of the container, in percent.
    pub fn index_progress(&self) -> u8 {
        let writer = self.inner().writer.lock();
        if writer.dictionary.rules().is_settled() {
            return 100;
        }
        let (first, next) = writer.head.numbers();
        let done = writer.dictionary.progress().saturating_sub(first).saturating_mul(100);
        u8::try_from(done / next.saturating_sub(first).max(1)).unwrap_or(99).min(99)
    }
}

/// Returns whether the rebuild is done.
fn step(marks: &mut Marks<'_>, items_max: usize) -> Result<bool> {
    let rules = marks.dictionary.rules().clone();
    if rules.is_settled() {
        return Ok(true);
    }
    let keys = marks.keys;
    let view = marks.view;
    let after = Some(marks.dictionary.progress()).filter(|progress| *progress > 0);
    let mut texts = Vec::new();
    let (mut last, mut n_bytes, mut is_done) = (after, 0, true);
    for entry in view.snapshot.scan(keys.items(after), store::Direction::Forward) {
        if texts.len() >= items_max || n_bytes >= STEP_BYTES_MAX {
            is_done = false;
            break;
        }
        let (key, _) = entry?;
        let number = number_of_item(&key)?;
        last = Some(number);
        // As submitted: what a commit on its way has rewritten or deleted counts.
        if let Some(bytes) = view.get(&key)? {
            let record = ItemRecord::decode(bytes)?;
            n_bytes += record.text().len();
            texts.push((number, record));
        }
    }
    for (number, record) in &texts {
        let text = record.text();
        let dictionary = marks.dictionary.view();
        let change = TermChange::new(Some(text), Some(text), &dictionary)?;
        change.seal(keys, *number, &mut marks.dictionary, &mut marks.batch);
    }
    marks.dictionary.advance(last.filter(|_| !is_done));
    Ok(is_done)
}
