//! Moves the items of some partitions into others while they serve: split (one to two), merge (two to one), move and
//! rebuild (one to one).
//!
//! [`Relocation::copy_step`] copies. The entries of a source go over as they are, from one snapshot (`raw_copy`), if its
//! index is as the container wants it. Of other sources only the items go, afterwards, in creation order, each step from a
//! fresh snapshot, and everything else is derived anew (`target`). Meanwhile the writers of the sources note which items they
//! touch ([`ChangeCapture`]); [`Relocation::replay_step`] brings those up to date. Replaying is setting an item to the state that it has in a snapshot, so it may be repeated and needs no log.
//! [`Relocation::fence`] keeps writes out, [`Relocation::finish`] replays the rest and writes the heads. The caller then
//! makes the targets the owners in one commit that depends on the heads of the sources
//! ([`Relocation::expect_sources`]) and calls [`Relocation::retire`]. Dropped before that, the sources serve on as if
//! nothing had been, and what was written of the targets is garbage.
//!
//! Invariant: an item that was copied equals its source as of some snapshot, or its number is among the touched or the
//! noted. Noted numbers are taken before a snapshot, and count as touched, or as still to be copied, only when it holds
//! every commit that they come from.
//!
//! Items keep their numbers (so rids and scan positions hold), their LSNs (so etags, feed positions and session tokens
//! hold) and their times. A target starts one LSN above all of its sources.

mod attached;
mod balance;
mod change_capture;
mod inputs;
mod members;
mod paths;
mod raw_copy;
mod target;

use std::collections::VecDeque;
use std::sync::Arc;

use model::{Env, EpkRange, Lsn, RangeId};
use store::{Batch, Store};

pub use balance::SplitPoint;
pub(crate) use change_capture::ChangeCapture;
use change_capture::Touched;
use raw_copy::RawCopy;
use target::{Builder, ItemState};

use crate::keys::{AttachmentAt, CommitPosition, Family, moment_of, number_of_item, place_of};
use crate::partition::Partition;
use crate::reader::{Purges, Reader};
use crate::record::{Head, ItemRecord, decode_lsn};
use crate::{Error, Result, Settings};

/// Work of one step. Requests wait for one step at most where they share a thread with it.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub items_max: usize,
    /// Bytes of item text, reached or passed by one item.
    pub bytes_max: usize,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { items_max: 256, bytes_max: 128 << 10 }
    }
}

impl Pace {
    fn is_full(self, n_items: usize, bytes: usize) -> bool {
        n_items >= self.items_max.max(1) || bytes >= self.bytes_max.max(1)
    }
}

/// A partition that a relocation fills. It must be initialised, with no other use.
#[derive(Debug, Clone)]
pub struct Target {
    pub incarnation: u64,
    pub epks: EpkRange,
    /// The range stays what it is and only moves: the new partition goes on with the item numbers of its source.
    pub continues: bool,
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stepped {
    pub n_items: usize,
    /// Bytes of item text and images.
    pub bytes: usize,
    /// Bytes of all entries that were read.
    pub moved: usize,
    /// Copying: whether the end was reached. Replaying: whether nothing was left to replay when the step began to
    /// look.
    pub is_done: bool,
}

/// Behind every attachment.
const LAST: AttachmentAt = AttachmentAt { item: u64::MAX, number: u32::MAX };

/// A relocation under way. See the module.
#[derive(Debug)]
pub struct Relocation {
    store: Arc<dyn Store>,
    sources: Vec<SourcePartition>,
    targets: Vec<(Target, Builder)>,
    /// Entries on their way; `None` before and after.
    raw_copy: Option<RawCopy>,
    pub pace: Pace,
    /// Another partition has taken over: the sources stay fenced.
    is_over: bool,
}

#[derive(Debug)]
struct SourcePartition {
    partition: Partition,
    /// Items up to this number are copied.
    copied: Option<u64>,
    /// Attachments up to this one are copied.
    copied_attachment: Option<AttachmentAt>,
    is_copied: bool,
    /// Its items are to be copied one by one.
    is_plain: bool,
    /// Copied items and attachments that were touched since.
    touched: Touched,
    /// What the writer noted and no snapshot showed yet, with the commit that one must have.
    noted: VecDeque<(Lsn, Touched)>,
    /// Versions up to this commit are copied.
    versions: Lsn,
    /// The head that nothing is written after; known when all is done.
    last_head: Option<bytes::Bytes>,
}

impl Relocation {
    /// Starts to listen to the sources. `store` takes the targets.
    pub async fn begin(
        sources: &[Partition],
        store: Arc<dyn Store>,
        targets: Vec<Target>,
    ) -> Result<Relocation> {
        let Some(first) = sources.first() else { return Err(Error::Forgotten) };
        let settings = first.settings();
        let is_merge = sources.len() > 1;
        let builder = |target: Target| {
            let (incarnation, epks) = (target.incarnation, target.epks.clone());
            let (store, settings) = (Arc::clone(&store), Arc::clone(&settings));
            Ok((target, Builder::new(store, incarnation, epks, settings, is_merge)?))
        };
        let targets = targets.into_iter().map(builder).collect::<Result<Vec<_>>>()?;
        // From here on dropping it takes the captures away again.
        let mut relocation = Relocation {
            store,
            sources: Vec::new(),
            targets,
            raw_copy: None,
            pace: Pace::default(),
            is_over: false,
        };
        for partition in sources {
            partition.start_capture()?;
            relocation.sources.push(SourcePartition::new(partition.clone()));
        }
        // Should only one of them be copied raw, it is the largest.
        relocation
            .sources
            .sort_by_key(|source| std::cmp::Reverse(source.partition.statistics().bytes));
        for source in &relocation.sources {
            // What was submitted before the capture is in every snapshot from here on.
            source.barrier().await?;
        }
        Ok(relocation)
    }

    /// Begins a step that carries entries over as they are; `None` when the next step is of another kind. Its part
    /// that takes processor time, [`Reading::read`], may be done on any thread; then [`Relocation::hand_over`] goes on.
    pub async fn begin_reading(&mut self) -> Result<Option<Reading>> {
        if self.raw_copy.is_none() {
            self.begin_carry().await?;
        }
        let pace = self.pace;
        Ok(self.raw_copy.take().map(|raw_copy| Reading {
            raw_copy,
            pace,
            step: Stepped::default(),
        }))
    }

    /// Gives the store what was read.
    pub async fn hand_over(&mut self, reading: Reading) -> Result<Stepped> {
        let Reading { mut raw_copy, step, .. } = reading;
        if raw_copy.has_no_room() {
            drop(raw_copy);
            self.carry_one();
            return Ok(step);
        }
        raw_copy.hand_over().await?;
        if step.is_done {
            let counts = raw_copy.finish().await?;
            for ((_, builder), counts) in self.targets.iter_mut().zip(counts) {
                builder.adopt(counts)?;
            }
            for source in self.sources.iter_mut().filter(|source| !source.is_plain) {
                source.is_copied = true;
            }
        } else {
            self.raw_copy = Some(raw_copy);
        }
        Ok(Stepped { is_done: self.is_copied(), ..step })
    }

    fn is_copied(&self) -> bool {
        self.sources.iter().all(|source| source.is_copied)
    }

    /// Starts to copy raw the entries of the sources whose way that is.
    async fn begin_carry(&mut self) -> Result<()> {
        let targets = || self.targets.iter().map(|(target, _)| target);
        let policy = self.targets.first().map(|(_, builder)| builder.policy());
        let Some(policy) = policy else { return Ok(()) };
        let mut readers = Vec::new();
        for source in self.sources.iter_mut().filter(|it| !it.is_plain && !it.is_copied) {
            source.partition.inner().store.prepare_bulk_scan().await?;
            // What was noted up to this look is in it.
            let reader = source.listen(Partition::reader_to_sweep)?;
            match RawCopy::is_possible(&reader, policy, source.partition.epks(), targets())? {
                None => source.is_plain = true,
                Some(state) => {
                    source.versions = reader.head()?.lsn;
                    (source.copied, source.copied_attachment) = (Some(u64::MAX), Some(LAST));
                    readers.push((reader, state));
                }
            }
        }
        if !readers.is_empty() {
            self.raw_copy = RawCopy::new(readers, &self.store, targets())?;
            if self.raw_copy.is_none() {
                self.carry_one();
            }
        }
        Ok(())
    }

    /// Leaves all sources but the first of those that are copied raw to be copied item by item.
    fn carry_one(&mut self) {
        self.raw_copy = None;
        for source in self.sources.iter_mut().filter(|it| !it.is_plain && !it.is_copied).skip(1) {
            (source.is_plain, source.copied, source.versions) = (true, None, Lsn::ZERO);
            source.copied_attachment = None;
        }
    }

    /// Copies the next entries or items.
    pub async fn copy_step(&mut self) -> Result<Stepped> {
        if let Some(reading) = self.begin_reading().await? {
            return self.hand_over(reading.read()?).await;
        }
        let Some(source) = self.sources.iter_mut().find(|source| !source.is_copied) else {
            return Ok(Stepped { is_done: true, ..Stepped::default() });
        };
        let reader = source.listen(Partition::reader)?;
        if source.copied == Some(u64::MAX) {
            return self.copy_attachments().await;
        }
        let (states, bytes, is_complete) = source.next_items(&reader, self.pace)?;
        let last = states.last().map(|(number, _)| *number);
        for (_, builder) in &mut self.targets {
            builder.copy(&states).await?;
        }
        source.copied = if is_complete { Some(u64::MAX) } else { last.or(source.copied) };
        Ok(Stepped { n_items: states.len(), bytes, moved: bytes, is_done: false })
    }

    /// Copies the next attachments of the source whose items are copied.
    async fn copy_attachments(&mut self) -> Result<Stepped> {
        let Some(source) = self.sources.iter_mut().find(|source| !source.is_copied) else {
            return Ok(Stepped { is_done: true, ..Stepped::default() });
        };
        let reader = source.listen(Partition::reader)?;
        let (states, bytes, is_complete) = source.next_attachments(&reader, self.pace)?;
        for (_, builder) in &mut self.targets {
            builder.set_attachments(&states).await?;
        }
        let last = states.last().map(|(at, _)| *at);
        source.copied_attachment =
            if is_complete { Some(LAST) } else { last.or(source.copied_attachment) };
        source.is_copied = is_complete;
        Ok(Stepped { n_items: 0, bytes, moved: bytes, is_done: self.is_copied() })
    }

    /// Brings touched items and new versions up to date, as many as fit a step.
    pub async fn replay_step(&mut self) -> Result<Stepped> {
        let mut done = Stepped { is_done: true, ..Stepped::default() };
        for source in &mut self.sources {
            let reader = source.listen_closely().await?;
            let (states, bytes) = source.touched_items(&reader, self.pace)?;
            if !states.is_empty() {
                done.is_done = false;
                for (_, builder) in &mut self.targets {
                    builder.replay(&states).await?;
                }
                done.n_items += states.len();
                done.bytes += bytes;
                done.moved += bytes;
            }
            let (states, bytes) = source.touched_attachments(&reader, self.pace)?;
            if !states.is_empty() {
                done.is_done = false;
                for (_, builder) in &mut self.targets {
                    builder.set_attachments(&states).await?;
                }
                done.bytes += bytes;
                done.moved += bytes;
            }
            let (versions, bytes) = source.next_versions(&reader, self.pace)?;
            if let Some((last, _)) = versions.last() {
                done.is_done = false;
                for (_, builder) in &mut self.targets {
                    builder.write_versions(&versions).await?;
                }
                source.versions = last.lsn;
                done.bytes += bytes;
                done.moved += bytes;
            }
        }
        Ok(done)
    }

    /// Returns how many items and attachments are known to wait for a replay.
    pub fn n_touched(&self) -> usize {
        self.sources.iter().map(|source| source.touched.len()).sum()
    }

    /// Keeps writes out: from here on they fail with [`Error::Relocating`].
    pub async fn fence(&mut self) -> Result<()> {
        for source in &self.sources {
            // A commit that failed must be known as failed before the order of commits is closed.
            source.partition.mend().await?;
            source.partition.fence();
        }
        for source in &self.sources {
            source.barrier().await?;
        }
        Ok(())
    }

    /// Replays what is left behind the fence and makes the targets ready to be opened.
    pub async fn finish(&mut self) -> Result<()> {
        while !self.replay_step().await?.is_done {}
        let mut purges = Purges::new();
        let mut heads = Vec::with_capacity(self.sources.len());
        for source in &mut self.sources {
            let reader = source.partition.reader();
            let bytes = reader.snapshot.get(&reader.keys.head())?.ok_or(Error::Forgotten)?;
            heads.push(Head::decode(&bytes)?);
            source.last_head = Some(bytes);
            for entry in reader.scan(reader.keys.family(Family::Purge)) {
                let (key, value) = entry?;
                purges.insert(place_of(&key).into_bytes(), decode_lsn(&value)?);
            }
        }
        for (target, builder) in &mut self.targets {
            builder.head.follow(&heads);
            if let ([head], true) = (heads.as_slice(), target.continues) {
                (builder.head.rid_prefix, builder.head.next_item) =
                    (head.rid_prefix, head.next_item);
            }
            builder.finish(&purges).await?;
        }
        Ok(())
    }

    /// Makes a commit depend on the sources having been written to no more.
    pub fn expect_sources(&self, batch: &mut Batch) {
        for source in &self.sources {
            if let Some(head) = &source.last_head {
                batch.expect(source.partition.keys().head(), Some(head.clone()));
            }
        }
    }

    /// Opens a target that is finished.
    pub fn open(&self, index: usize, range: RangeId, settings: Arc<Settings>) -> Result<Partition> {
        let (target, _) = self.targets.get(index).ok_or(Error::Forgotten)?;
        let env: Env = self.sources.first().ok_or(Error::Forgotten)?.partition.inner().env.clone();
        let (store, epks) = (Arc::clone(&self.store), target.epks.clone());
        Partition::open(store, target.incarnation, range, epks, settings, env)
    }

    /// Ends it: the targets are the owners, and the sources never take a write again.
    pub fn retire(mut self) {
        self.is_over = true;
    }
}

/// A step of entries that go over as they are, on its way through [`Reading::read`]. Dropped, the relocation cannot go on.
#[derive(Debug)]
pub struct Reading {
    raw_copy: RawCopy,
    pace: Pace,
    step: Stepped,
}

impl Reading {
    /// Reads the entries of the step. They wait for [`Relocation::hand_over`].
    pub fn read(mut self) -> Result<Reading> {
        self.step = self.raw_copy.fill(self.pace)?;
        Ok(self)
    }
}

impl Drop for Relocation {
    fn drop(&mut self) {
        if !self.is_over {
            for source in &self.sources {
                source.partition.stop_capture();
            }
        }
    }
}

impl SourcePartition {
    fn new(partition: Partition) -> SourcePartition {
        SourcePartition {
            partition,
            copied: None,
            copied_attachment: None,
            is_copied: false,
            is_plain: false,
            touched: Touched::default(),
            noted: VecDeque::new(),
            versions: Lsn::ZERO,
            last_head: None,
        }
    }

    /// Waits until everything submitted so far has been answered, so that snapshots show it.
    async fn barrier(&self) -> Result<()> {
        Ok(self.partition.inner().store.commit(Batch::new()).await?)
    }

    /// Takes over what the writer noted, as far as the returned look at the source shows it. Items beyond the copied
    /// ones are copied from this look or a later one, as they are after this.
    fn listen(&mut self, look: impl Fn(&Partition) -> Reader) -> Result<Reader> {
        let noted = self.partition.take_touched()?;
        if noted.1.len() > 0 {
            self.noted.push_back(noted);
        }
        let reader = look(&self.partition);
        let shown = reader.head()?.lsn;
        while self.noted.front().is_some_and(|(lsn, _)| *lsn <= shown) {
            let Some((_, touched)) = self.noted.pop_front() else { break };
            self.take_over(&touched);
        }
        Ok(reader)
    }

    /// Takes over everything that the writer noted, and waits until it is shown.
    async fn listen_closely(&mut self) -> Result<Reader> {
        let noted = self.partition.take_touched()?;
        for (_, touched) in std::mem::take(&mut self.noted).into_iter().chain([noted]) {
            self.take_over(&touched);
        }
        self.barrier().await?;
        Ok(self.partition.reader())
    }

    fn take_over(&mut self, touched: &Touched) {
        if let Some(copied) = self.copied {
            self.touched.items.extend(touched.items.range(..=copied));
        }
        if let Some(copied) = self.copied_attachment {
            self.touched.attachments.extend(touched.attachments.range(..=copied));
        }
    }

    /// The items after those that are copied, their bytes, and whether they are the last.
    fn next_items(&self, reader: &Reader, pace: Pace) -> Result<(Vec<ItemState>, usize, bool)> {
        let (mut states, mut bytes) = (Vec::new(), 0);
        for entry in reader.scan(reader.keys.items(self.copied)) {
            if pace.is_full(states.len(), bytes) {
                return Ok((states, bytes, false));
            }
            let (key, value) = entry?;
            let record = ItemRecord::decode(value)?;
            bytes += record.text().len();
            states.push((number_of_item(&key)?, Some(record)));
        }
        Ok((states, bytes, true))
    }

    /// Takes touched items off the list, with the state that they have now.
    fn touched_items(&mut self, reader: &Reader, pace: Pace) -> Result<(Vec<ItemState>, usize)> {
        let (mut states, mut bytes) = (Vec::new(), 0);
        while !pace.is_full(states.len(), bytes) {
            let Some(number) = self.touched.items.pop_first() else { break };
            let record = reader.item(number)?;
            bytes += record.as_ref().map_or(0, |record| record.text().len());
            states.push((number, record));
        }
        Ok((states, bytes))
    }

    /// The versions after those that are copied: whole commits.
    fn next_versions(
        &self,
        reader: &Reader,
        pace: Pace,
    ) -> Result<(Vec<(CommitPosition, bytes::Bytes)>, usize)> {
        let (mut versions, mut bytes) = (Vec::new(), 0);
        let mut last = None;
        for entry in reader.scan(reader.keys.versions(self.versions)) {
            let (key, value) = entry?;
            let moment = moment_of(&key)?;
            if last != Some(moment.lsn) && pace.is_full(versions.len(), bytes) {
                break;
            }
            last = Some(moment.lsn);
            bytes += value.len();
            versions.push((moment, value));
        }
        Ok((versions, bytes))
    }
}
