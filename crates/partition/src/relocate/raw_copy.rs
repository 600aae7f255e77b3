//! Raw copy: bulk-loads the entries of partitions into their successors without decoding them.
//!
//! Everything is read once, in order, from one snapshot of each partition; an entry gets the prefix of the partition
//! that it goes to, and nothing else of it changes, but for what several partitions could both have (`inputs`). So each
//! successor gets its entries sorted, and the store can take them without log
//! and memory ([`store::Store::ingest`]). Keys that begin with a place tell by it where they go; the others by the
//! number of their item, and which numbers go where is known from the members, which come before.
//!
//! Left out are the head, which the relocation writes, and the marks of purges, which it writes at its end.
//!
//! Hot path: 25 entries for each item. Nothing here may decode an item or look up the store.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use query::index::IndexPolicy;
use store::{Batch, Commit, Ingest, Store};

use super::inputs::{CopyStage, Goes, Inputs, Survey};
use super::members::Members;
use super::paths::Paths;
use super::target::Counts;
use super::{Pace, Stepped, Target};
use crate::index::{IndexState, PATHS_MAX};
use crate::keys::{
    Family, Keys, due_of, item_of_attached, number_of_item, number_of_member, number_of_term,
    place_bound, rest,
};
use crate::reader::Reader;
use crate::record::{AttachmentName, Change, ItemRecord, LogicalRecord, PathRecord, VersionRecord};
use crate::{Error, Result};

/// What is copied raw of several inputs, in the order of the keys, before the entries of the index.
const FAMILIES: [Family; 8] = [
    Family::Key,
    Family::Member,
    Family::Item,
    Family::Change,
    Family::Version,
    Family::Expiry,
    Family::Unique,
    Family::Logical,
];

/// What comes after the index.
const ATTACHED: [Family; 3] = [Family::AttachmentName, Family::Attachment, Family::Media];

/// A step here is longer than one that computes and commits: it may have a thread of its own.
const STEP_FACTOR: usize = 8;
/// Entries that count as one item. Less than an item has: the list of a step should not take megabytes, which the
/// allocator would get from the system, and the system would have to clear, each time.
const ENTRIES_PER_ITEM: usize = 8;

#[derive(Debug)]
pub(super) struct RawCopy {
    inputs: Inputs,
    /// What has to be known of several sources first.
    survey: Option<Survey>,
    has_no_room: bool,
    stages: Vec<CopyStage>,
    /// Index into the stages.
    stage: usize,
    lanes: Lanes,
}

/// Where entries go.
#[derive(Debug)]
struct Lanes {
    lanes: Vec<Lane>,
    members: Members,
}

/// One successor.
#[derive(Debug)]
struct Lane {
    keys: Keys,
    /// Places from here on go to the next lane; `None` for the last.
    end: Option<Vec<u8>>,
    ingest: Box<dyn Ingest>,
    batch: Batch,
    /// Room for the next keys: one allocation for many of them.
    room: BytesMut,
    in_flight: Option<Commit>,
    counts: Counts,
}

/// Bytes of keys that are allocated at once.
const ROOM_BYTES: usize = 64 << 10;

impl Lane {
    fn put(&mut self, key: &[u8], value: Bytes) {
        if self.room.capacity() < key.len() {
            self.room = BytesMut::with_capacity(ROOM_BYTES.max(key.len()));
        }
        self.keys.push_moved(key, &mut self.room);
        self.batch.put(self.room.split().freeze(), value);
    }
}

impl RawCopy {
    /// Says whether entries can go over as they are, by the state of the index: it has been built under `policy`, there is
    /// room for more paths (an index that is built anew has only those in use), and the targets have a place for everything.
    pub(super) fn is_possible<'t>(
        reader: &Reader,
        policy: &IndexPolicy,
        source: &model::EpkRange,
        targets: impl Iterator<Item = &'t Target> + Clone,
    ) -> Result<Option<IndexState>> {
        let Some(state) = reader.snapshot.get(&reader.keys.index_state())? else {
            return Ok(None);
        };
        let state = IndexState::decode(&state)?;
        let starts = targets.clone().next().is_some_and(|it| it.epks.min() <= source.min());
        let ends = targets.clone().last().is_some_and(|it| it.epks.max() >= source.max());
        let next = targets.clone().skip(1);
        let meets = targets.zip(next).all(|(left, right)| left.epks.max() == right.epks.min());
        let is_built = state.rules.is_settled() && state.rules.policy == *policy;
        let is_possible = is_built && state.n_paths <= PATHS_MAX / 2 && starts && ends && meets;
        Ok(is_possible.then_some(state))
    }

    /// Starts to copy raw what these see, of each of which it must be possible; `None` if it is not of all together.
    pub(super) fn new<'t>(
        readers: Vec<(Reader, IndexState)>,
        store: &Arc<dyn Store>,
        targets: impl ExactSizeIterator<Item = &'t Target>,
    ) -> Result<Option<RawCopy>> {
        let Some(inputs) = Inputs::new(readers)? else { return Ok(None) };
        let n_lanes = targets.len();
        let lane = |(index, target): (usize, &Target)| {
            let end = (index + 1 < n_lanes).then(|| place_bound(target.epks.max()));
            Ok(Lane {
                keys: Keys::new(target.incarnation),
                end,
                ingest: Arc::clone(store).ingest()?,
                batch: Batch::new(),
                room: BytesMut::new(),
                in_flight: None,
                counts: Counts::default(),
            })
        };
        let lanes = targets.enumerate().map(lane).collect::<Result<_>>()?;
        let lanes = Lanes { lanes, members: Members::default() };
        let survey = inputs.are_several().then(Survey::default);
        let stages = stages(&inputs);
        Ok(Some(RawCopy { inputs, survey, has_no_room: false, stages, stage: 0, lanes }))
    }

    /// The feeds of the sources do not fit into one as they are. Nothing has been written then.
    pub(super) fn has_no_room(&self) -> bool {
        self.has_no_room
    }

    /// Reads as much as fits a step; it waits in the lanes until it is handed over.
    pub(super) fn fill(&mut self, pace: Pace) -> Result<Stepped> {
        let entries_max = pace.items_max.saturating_mul(ENTRIES_PER_ITEM * STEP_FACTOR);
        if let Some(survey) = &mut self.survey {
            let Some(highest) = survey.go_on(&self.inputs, entries_max)? else {
                return Ok(Stepped::default());
            };
            self.survey = None;
            if !self.inputs.shift(&highest) {
                self.has_no_room = true;
                return Ok(Stepped::default());
            }
        }
        let mut done = Stepped::default();
        let mut n_entries = 0;
        while let Some(stage) = self.stages.get(self.stage).copied() {
            let lanes = &mut self.lanes;
            if stage == CopyStage::Made {
                lanes.put_paths(&self.inputs);
            }
            let goes = self.inputs.read(stage, |family, key, value| {
                n_entries += 1;
                done.moved += key.len() + value.len();
                if family == Family::Item {
                    done.n_items += 1;
                    done.bytes += ItemRecord::decode(value.clone())?.text().len();
                }
                lanes.put(family, key, value)?;
                let n_items = n_entries / (ENTRIES_PER_ITEM * STEP_FACTOR);
                let is_full = pace.is_full(n_items, done.moved / STEP_FACTOR);
                Ok(if is_full { Goes::NoFurther } else { Goes::On })
            })?;
            if goes == Goes::NoFurther {
                return Ok(done);
            }
            self.stage += 1;
        }
        done.is_done = true;
        Ok(done)
    }

    /// Gives the store what was read. It works on one step while the next is read.
    pub(super) async fn hand_over(&mut self) -> Result<()> {
        for lane in &mut self.lanes.lanes {
            if lane.batch.is_empty() {
                continue;
            }
            if let Some(before) = lane.in_flight.take() {
                before.await?;
            }
            // The next one will be about as long.
            let n_writes = lane.batch.writes().len();
            let next = Batch::with_capacity(n_writes + n_writes / 4);
            lane.in_flight = Some(lane.ingest.write(std::mem::replace(&mut lane.batch, next)));
        }
        Ok(())
    }

    /// Waits until everything is durable and can be read; returns what is in each lane.
    pub(super) async fn finish(mut self) -> Result<Vec<Counts>> {
        self.hand_over().await?;
        let (mut counts, mut ends) = (Vec::new(), Vec::new());
        for lane in self.lanes.lanes {
            if let Some(before) = lane.in_flight {
                before.await?;
            }
            ends.push(lane.ingest.finish());
            counts.push(lane.counts);
        }
        for end in ends {
            end.await?;
        }
        Ok(counts)
    }
}

/// What is read one after the other, in the order of the keys. Path records of several inputs and the state of the index
/// are made when their turn comes.
fn stages(inputs: &Inputs) -> Vec<CopyStage> {
    let mut stages = match &inputs.paths {
        None => vec![CopyStage::Whole],
        Some(paths) => {
            let families = FAMILIES.into_iter().map(CopyStage::Family);
            families.chain(paths.numbers().into_iter().map(CopyStage::Path)).collect()
        }
    };
    stages.push(CopyStage::Made);
    stages.extend(ATTACHED.map(CopyStage::Family));
    stages
}

impl Lanes {
    fn put(&mut self, family: Family, key: &[u8], value: Bytes) -> Result<()> {
        let index = match family {
            Family::Key | Family::Unique => self.by_place(rest(key)),
            Family::Member => {
                let index = self.by_place(rest(key));
                self.members.add(number_of_member(key)?, index);
                index
            }
            Family::Logical => {
                let index = self.by_place(rest(key));
                let record = LogicalRecord::decode(&value)?;
                if let Some(lane) = self.lanes.get_mut(index) {
                    lane.counts.add(record);
                }
                index
            }
            Family::Item => self.members.lane_of(number_of_item(key)?),
            Family::Change => self.members.lane_of(Change::decode(&value)?.number),
            Family::Expiry => self.members.lane_of(due_of(key)?.1),
            Family::Index => self.members.lane_of(number_of_term(key)?),
            // The item may be gone, so its place is in the record.
            Family::Version => self.by_place(VersionRecord::decode(&value)?.place.as_bytes()),
            Family::Path => {
                self.put_path(key, &PathRecord::decode(&value)?);
                return Ok(());
            }
            Family::AttachmentName => {
                let index = self.members.lane_of(item_of_attached(key)?);
                let name = AttachmentName::decode(&value)?;
                if let Some(lane) = self.lanes.get_mut(index) {
                    lane.counts.add_attachment(name);
                }
                index
            }
            Family::Attachment | Family::Media => self.members.lane_of(item_of_attached(key)?),
            Family::Purge => return Ok(()),
            Family::Head | Family::IndexState => {
                return Err(Error::Corrupt("a head was read as an entry"));
            }
        };
        let Some(lane) = self.lanes.get_mut(index) else {
            return Err(Error::Corrupt("an entry belongs to no partition"));
        };
        lane.put(key, value);
        Ok(())
    }

    /// Puts what there is one of for the whole index: the common paths of several sources, and its state.
    fn put_paths(&mut self, inputs: &Inputs) {
        // Any incarnation does: it is replaced.
        let keys = Keys::new(0);
        for (path, record) in inputs.paths.iter().flat_map(Paths::records) {
            self.put_path(&keys.path(path), record);
        }
        for lane in &mut self.lanes {
            lane.put(&keys.index_state(), inputs.state.encode());
        }
    }

    /// Every successor knows every path; the items that lack it are those that it gets.
    fn put_path(&mut self, key: &[u8], record: &PathRecord) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let mut own = record.clone();
            if let Some(absent) = &mut own.absent {
                absent.retain(|number| self.members.lane_of(*number) == index);
            }
            lane.put(key, own.encode());
        }
    }

    /// The lane of bytes that begin with a place.
    fn by_place(&self, place: &[u8]) -> usize {
        let is_before = |lane: &Lane| lane.end.as_ref().is_none_or(|end| place < end.as_slice());
        self.lanes.iter().position(is_before).unwrap_or(self.lanes.len())
    }
}
