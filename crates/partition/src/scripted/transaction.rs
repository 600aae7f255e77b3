//! A transaction one call at a time, with answers before its commit.
//!
//! What it shows of its own writes is provisional in two things: the etag and the time, which come from the commit.
//! The number of a new item, and so its rid and self link, is promised at once and kept.

use model::{Charge, ETag, Lsn, Rid, RidKind, Status};

use crate::attachments::render as render_attachment;
use crate::charge;
use crate::partition::Partition;
use crate::reader::render;
use crate::transaction::{
    AttachedStamp, Done, Image, Paused, Provisional, Running, Sealed, Shown, Slot, Step,
    TransactionContext, View,
};
use crate::writer::Sent;
use crate::{Error, ItemCall, ItemOp, ItemOutcome, Logical, Result};

// Limit: writes of one run, and the bytes of item text they bring. A commit is one store batch, with room for the
// versions that it overwrites.
const WRITES_MAX: usize = 10_000;
const WRITTEN_BYTES_MAX: usize = 12 << 20;

/// Provisional etags carry an LSN that no partition ever reaches.
const PROVISIONAL_LSN: u64 = 0xFFFF_FFFF_0000_0000;
/// How such an etag reads between its first and its last group.
const PROVISIONAL_MARK: &str = "-ffff-ffff-0000-";

#[derive(Debug)]
pub(crate) struct Transaction {
    pub(super) partition: Partition,
    pub(super) context: TransactionContext,
    pub(super) view: View,
    pub(super) paused: Paused,
    pub(super) relies_on: Lsn,
    pub(super) ts: u32,
    n_writes: usize,
    written_bytes: usize,
    pub(super) charge: Charge,
    /// The answer to the request that triggers surround.
    main: Option<Done>,
}

impl Transaction {
    pub(crate) fn begin(partition: &Partition, at: &Logical) -> Result<Transaction> {
        let context = TransactionContext::new(partition.settings(), partition.keys(), at);
        let (view, relies_on) = partition.script_view(&context.place);
        let paused = Running::begin(&context, &view)?.pause();
        Ok(Transaction {
            ts: partition.inner().now(),
            partition: partition.clone(),
            context,
            view,
            paused,
            relies_on,
            n_writes: 0,
            written_bytes: 0,
            charge: Charge::ZERO,
            main: None,
        })
    }

    pub(crate) fn has_room(&self) -> bool {
        self.n_writes < WRITES_MAX && self.written_bytes < WRITTEN_BYTES_MAX
    }

    /// Carries out one call and shows its answer as it would be if the transaction were committed now.
    pub(crate) fn apply(&mut self, call: ItemCall) -> Result<ItemOutcome> {
        let done = self.step(call)?;
        Ok(self.show(&done))
    }

    /// The same without showing anything.
    pub(crate) fn carry_out(&mut self, call: ItemCall) -> Result<()> {
        self.step(call).map(drop)
    }

    /// The same for the request itself; its final answer comes with the commit.
    pub(crate) fn apply_main(&mut self, call: ItemCall) -> Result<ItemOutcome> {
        let done = self.step(call)?;
        let outcome = self.show(&done);
        self.main = Some(done);
        Ok(outcome)
    }

    fn step(&mut self, call: ItemCall) -> Result<Done> {
        let is_write = !matches!(call.op, ItemOp::Read { .. });
        let step = self.context.step(call, &self.partition.inner().env)?;
        self.play(&step, is_write)
    }

    pub(super) fn play(&mut self, step: &Step, is_write: bool) -> Result<Done> {
        let n_detached = self.paused.attached.n_detached;
        let done = self.with_running(|running| running.step(step));
        match &done {
            Ok(done) => self.charge += done.charge,
            Err(error) => self.charge += error.charge(),
        }
        let done = done?;
        if is_write {
            // What went with an item is removed by the same commit.
            self.n_writes += 1 + (self.paused.attached.n_detached - n_detached);
            self.promise(&done)?;
        }
        Ok(done)
    }

    /// Goes on with the transaction for as long as the work takes.
    pub(super) fn with_running<T>(&mut self, work: impl FnOnce(&mut Running<'_>) -> T) -> T {
        let paused = std::mem::take(&mut self.paused);
        let mut running = Running::resume(&self.context, &self.view, paused);
        let result = work(&mut running);
        self.paused = running.pause();
        result
    }

    /// Gives what was just written its number and an etag that no other version has.
    fn promise(&mut self, done: &Done) -> Result<()> {
        let (slot, new) = match &done.shown {
            Shown::Written { slot, new } => (slot, new),
            Shown::AttachmentWritten { slot, new, .. } => {
                self.written_bytes += new.text.len();
                let lsn = Lsn(PROVISIONAL_LSN | self.n_writes as u64);
                let stamp = AttachedStamp { lsn, ts: self.ts };
                self.paused.attached.slots[*slot].provisional = Some(stamp);
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.written_bytes += new.record.text().len();
        let number = match self.paused.slots[*slot].number() {
            Some(number) => number,
            None => self.partition.promise_number(&self.view)?,
        };
        let lsn = Lsn(PROVISIONAL_LSN | self.n_writes as u64);
        self.paused.slots[*slot].provisional = Some(Provisional { number, lsn, ts: self.ts });
        Ok(())
    }

    pub(super) fn show(&self, done: &Done) -> ItemOutcome {
        let (status, charge) = (done.status, done.charge);
        // Scripts see their items whole.
        let (body, is_bare) = (None, false);
        let plain = |etag, item_lsn| ItemOutcome {
            status,
            body: body.clone(),
            etag,
            item_lsn,
            is_bare,
            charge,
        };
        match &done.shown {
            Shown::Nothing => plain(None, None),
            Shown::Unchanged { etag, lsn } => plain(Some(etag.clone()), Some(*lsn)),
            Shown::Stored { number, record } => {
                let etag = record.etag();
                let settings = &self.context.settings;
                let body = render(settings, *number, record.item_text(), &etag, record.ts, None);
                ItemOutcome { body: Some(body), ..plain(Some(etag), Some(record.moment.lsn)) }
            }
            Shown::AttachmentStored { at, record } => {
                let (settings, etag) = (&self.context.settings, record.etag());
                let body = render_attachment(settings, *at, &record.text, &etag, record.ts);
                ItemOutcome { body: Some(body), ..plain(Some(etag), Some(record.lsn)) }
            }
            Shown::AttachmentWritten { at, slot, new } => {
                let etag = self.paused.attached.slots[*slot].etag();
                let settings = &self.context.settings;
                let render = |etag| render_attachment(settings, *at, &new.text, etag, self.ts);
                ItemOutcome { body: etag.as_ref().map(render), ..plain(etag, None) }
            }
            Shown::Written { slot, .. } => {
                let slot = &self.paused.slots[*slot];
                let etag = slot.provisional.map(Provisional::etag);
                ItemOutcome { body: self.render_own(slot), ..plain(etag, None) }
            }
        }
    }

    /// The item that this transaction wrote into a slot, as a reader would get it.
    pub(super) fn render_own(&self, slot: &Slot) -> Option<bytes::Bytes> {
        let (Image::Written(new), Some(provisional)) = (&slot.image, slot.provisional) else {
            return None;
        };
        let (settings, text) = (&self.context.settings, new.record.text());
        Some(render(settings, provisional.number, text, &provisional.etag(), self.ts, None))
    }

    /// The id of the item that a rid names.
    pub(crate) fn id_of_rid(&mut self, rid: &str) -> Result<String> {
        let container = self.context.settings.container;
        let rid = Rid::parse(rid)
            .filter(|rid| rid.kind() == RidKind::Item && rid.container_rid() == Some(container));
        let number = rid.and_then(|rid| rid.ordinal()).ok_or(Error::missing())?;
        self.with_running(|running| running.id_of(number))
    }

    /// Puts the commit on its way. Everything after this only waits.
    pub(crate) fn submit(self) -> Result<Submitted> {
        let Transaction { partition, context, view, paused, relies_on, ts, charge, main, .. } =
            self;
        let charge = charge::script(charge);
        let results = main.into_iter().collect();
        if self.n_writes == 0 {
            return Ok(Submitted {
                partition,
                context,
                charge,
                results,
                relies_on,
                ts,
                sent: None,
            });
        }
        let draft = Running::resume(&context, &view, paused).finish(results)?;
        let (sent, sealed, results) = partition.submit_script(&context, &view, draft)?;
        let sent = Some((sent, sealed));
        Ok(Submitted { partition, context, charge, results, relies_on, ts, sent })
    }
}

/// A commit on its way.
#[derive(Debug)]
pub(crate) struct Submitted {
    partition: Partition,
    context: TransactionContext,
    pub(crate) charge: Charge,
    results: Vec<Done>,
    relies_on: Lsn,
    /// The time that the run showed.
    ts: u32,
    sent: Option<(Sent, Sealed)>,
}

/// A transaction that took effect, or only read.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) lsn: Lsn,
    /// What everything that was written bears; `None` if nothing was.
    pub(crate) stamp: Option<Stamp>,
    pub(crate) main: Option<ItemOutcome>,
}

/// What a commit gave its items.
#[derive(Debug)]
pub(crate) struct Stamp {
    lsn: Lsn,
    ts: u32,
    /// The time that the run showed instead.
    shown_ts: u32,
}

impl Submitted {
    pub(crate) async fn settle(self) -> Result<Settled> {
        let mut results = self.results.into_iter();
        let Some((sent, sealed)) = self.sent else {
            self.partition.settle_read(self.relies_on).await?;
            let main = results.next().map(|done| done.into_outcome(&self.context, None));
            return Ok(Settled { lsn: self.partition.lsn(), stamp: None, main });
        };
        self.partition.settle_script(sent).await?;
        let main = results.next().map(|done| done.into_outcome(&self.context, Some(&sealed)));
        let Sealed { lsn, ts, .. } = sealed;
        Ok(Settled { lsn, stamp: Some(Stamp { lsn, ts, shown_ts: self.ts }), main })
    }
}

/// Puts etag and time of the commit in the place of the provisional ones that an answer shows.
pub(crate) fn with_final_stamp(text: &str, stamp: &Stamp) -> String {
    // How the properties follow each other in an item, and in an attachment, that is shown as it was given.
    const UP_TO_TIME: [&str; 2] = [r#"\"","_attachments":"attachments/","_ts":"#, r#"\"","_ts":"#];
    const FRONT: usize = 8;
    const BACK: usize = 12;
    let shown_ts = stamp.shown_ts.to_string();
    let is_hex = |part: Option<&str>| {
        part.is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let etag = ETag::from_lsn(stamp.lsn, u64::from(stamp.ts));
    let etag = etag.as_str().trim_matches('"');
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PROVISIONAL_MARK) {
        let end = at + PROVISIONAL_MARK.len();
        let front = at.checked_sub(FRONT).and_then(|start| rest.get(start..at));
        if is_hex(front) && is_hex(rest.get(end..end + BACK)) {
            result.push_str(&rest[..at - FRONT]);
            result.push_str(etag);
            rest = &rest[end + BACK..];
            let time = UP_TO_TIME.iter().find_map(|front| {
                let after = rest.strip_prefix(front)?.strip_prefix(&shown_ts)?;
                Some((front, after))
            });
            if let Some((front, after)) =
                time.filter(|(_, it)| !it.starts_with(|it: char| it.is_ascii_digit()))
            {
                result.push_str(front);
                result.push_str(&stamp.ts.to_string());
                rest = after;
            }
        } else {
            result.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    result.push_str(rest);
    result
}

/// A status that a call of a script can end with and that is no answer to it.
pub(crate) fn is_not_modified(outcome: &ItemOutcome) -> bool {
    outcome.status == Status::NOT_MODIFIED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_provisional_gives_way_to_what_is_final_and_nothing_else_does() {
        let (early, late) = (0x6500_0000, 0x6500_0001);
        let provisional = ETag::from_lsn(Lsn(PROVISIONAL_LSN | 3), u64::from(early));
        let done = ETag::from_lsn(Lsn(77), u64::from(late));
        let stamp = |lsn, ts| Stamp { lsn: Lsn(lsn), ts, shown_ts: early };
        let shown = |etag: &ETag, ts: u32| {
            let etag = etag.as_str();
            format!(r#"{{"_etag":{etag:?},"_attachments":"attachments/","_ts":{ts},"n":{early}}}"#)
        };
        let is_final = stamp(77, late);
        assert_eq!(with_final_stamp(&shown(&provisional, early), &is_final), shown(&done, late));
        let attached =
            |etag: &ETag, ts: u32| format!(r#"{{"_etag":{:?},"_ts":{ts}}}"#, etag.as_str());
        assert_eq!(
            with_final_stamp(&attached(&provisional, early), &is_final),
            attached(&done, late)
        );
        let twice = format!("{0}ü{0}", shown(&provisional, early));
        let expected = format!("{0}ü{0}", shown(&done, late));
        assert_eq!(with_final_stamp(&twice, &is_final), expected);
        // A time that the script wrote itself stays.
        assert_eq!(with_final_stamp(&shown(&provisional, 7), &is_final), shown(&done, 7));
        for other in ["", "-ffff-ffff-0000-", "x-ffff-ffff-0000-123456789012", "ü-ffff-ffff-0000-ü"]
        {
            assert_eq!(with_final_stamp(other, &is_final), other);
        }
        let stored = shown(&done, late);
        assert_eq!(with_final_stamp(&stored, &stamp(PROVISIONAL_LSN | 3, early)), stored);
    }
}
