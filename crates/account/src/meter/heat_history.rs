//! Where in the hash space the load was, and when: a grid of 256 slices by time, in three layers.
//!
//! Meters note use by slice ([`SliceUse`]); once a second what they noted is moved here, into the running column of every
//! layer. Columns are sparse: a slice without use takes no place. A relocation loses at most the last second of its ranges.

use std::collections::{HashMap, VecDeque};

use model::Charge;
use parking_lot::Mutex;

use super::heat_file::{self, Saved};

/// Seconds of a column and the number of columns: an hour by minutes, a day by five minutes, a week by hours.
const LAYERS: [(u64, usize); 3] = [(60, 60), (300, 288), (3600, 168)];

// Limit: bytes of all grids together; the container that was used longest ago loses its history first.
const BYTES_MAX: usize = 32 << 20;

/// What one slice of the hash space used in a time. Saturates: a column of an hour has room for 11,900 RU/s in one slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeatCell {
    /// Hundredths of request units.
    pub read: u32,
    pub write: u32,
    pub n_throttled: u32,
}

impl HeatCell {
    pub(crate) fn of_charge(charge: Charge, is_write: bool) -> HeatCell {
        let hundredths = u32::try_from(charge.hundredths()).unwrap_or(u32::MAX);
        let (read, write) = if is_write { (0, hundredths) } else { (hundredths, 0) };
        HeatCell { read, write, n_throttled: 0 }
    }

    pub(crate) fn add(&mut self, other: HeatCell) {
        self.read = self.read.saturating_add(other.read);
        self.write = self.write.saturating_add(other.write);
        self.n_throttled = self.n_throttled.saturating_add(other.n_throttled);
    }

    fn is_zero(self) -> bool {
        self == HeatCell::default()
    }

    /// The part of slice `index` when `n` slices divide it: the parts add up to the whole.
    fn part(self, index: u32, n: u32) -> HeatCell {
        let part = |whole: u32| whole / n + u32::from(index < whole % n);
        HeatCell {
            read: part(self.read),
            write: part(self.write),
            n_throttled: part(self.n_throttled),
        }
    }
}

/// Cells by slice, in order. At most 256.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slices(Vec<(u8, HeatCell)>);

impl Slices {
    pub(super) fn cells(&self) -> &[(u8, HeatCell)] {
        &self.0
    }

    pub(crate) fn add(&mut self, slice: u8, cell: HeatCell) {
        match self.0.binary_search_by_key(&slice, |(slice, _)| *slice) {
            Ok(at) => {
                if let Some((_, found)) = self.0.get_mut(at) {
                    found.add(cell);
                }
            }
            Err(at) => self.0.insert(at, (slice, cell)),
        }
    }
}

/// What a range used since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct SliceUse {
    pub(crate) slices: Slices,
    /// Of no logical partition: it belongs to all slices of the range.
    pub(crate) whole: HeatCell,
}

impl SliceUse {
    pub(crate) fn is_empty(&self) -> bool {
        self.slices.0.is_empty() && self.whole.is_zero()
    }

    /// Every slice from `first` to `last`, the two of the range, has its part of the whole.
    fn spread(mut self, [first, last]: [u8; 2]) -> Slices {
        if !self.whole.is_zero() {
            let n = u32::from(last.saturating_sub(first)) + 1;
            for (index, slice) in (0..).zip(first..=last) {
                let part = self.whole.part(index, n);
                if !part.is_zero() {
                    self.slices.add(slice, part);
                }
            }
        }
        self.slices
    }
}

/// One column of a layer.
#[derive(Debug, Clone)]
pub struct HeatColumn {
    /// Seconds since 1970 at which it begins.
    pub at: u64,
    pub cells: Vec<(u8, HeatCell)>,
}

#[derive(Debug)]
struct Grid {
    layers: [VecDeque<(u64, Slices)>; LAYERS.len()],
    used_at: u64,
}

impl Grid {
    fn new() -> Grid {
        Grid { layers: Default::default(), used_at: 0 }
    }

    fn add(&mut self, now: u64, slices: &Slices) {
        self.used_at = now;
        for (layer, (width, n_max)) in self.layers.iter_mut().zip(LAYERS) {
            let at = now - now % width;
            // Clocks go back at times: what is noted then joins the newest column.
            if layer.back().is_none_or(|(newest, _)| *newest < at) {
                layer.push_back((at, Slices::default()));
            }
            if let Some((_, column)) = layer.back_mut() {
                slices.0.iter().for_each(|(slice, cell)| column.add(*slice, *cell));
            }
            let oldest = at.saturating_sub(width * (n_max as u64 - 1));
            while layer.front().is_some_and(|(at, _)| *at < oldest) {
                layer.pop_front();
            }
        }
    }

    fn n_bytes(&self) -> usize {
        let columns = self.layers.iter().flatten();
        columns.map(|(_, slices)| 64 + slices.0.capacity() * size_of::<(u8, HeatCell)>()).sum()
    }
}

/// The grids of all containers, by resource id.
#[derive(Debug, Default)]
pub(crate) struct HeatHistory(Mutex<HashMap<String, Grid>>);

impl HeatHistory {
    /// Adds what a range used: `slices` are the first and the last that it has.
    pub(crate) fn add(&self, container: &str, now: u64, slices: [u8; 2], used: SliceUse) {
        let used = used.spread(slices);
        if used.0.is_empty() {
            return;
        }
        let mut grids = self.0.lock();
        match grids.get_mut(container) {
            Some(grid) => grid.add(now, &used),
            None => grids.entry(container.to_owned()).or_insert_with(Grid::new).add(now, &used),
        }
    }

    /// Everything, as bytes that [`HeatHistory::load`] reads.
    pub(crate) fn save(&self) -> Vec<u8> {
        let mut bytes = heat_file::begin();
        for (container, grid) in &*self.0.lock() {
            let layers = grid.layers.iter().map(|layer| Box::new(layer.iter()) as Box<_>);
            heat_file::write(&mut bytes, container, grid.used_at, layers);
        }
        bytes
    }

    /// Takes up a history that was saved. Returns whether it could be read.
    pub(crate) fn load(&self, bytes: &[u8]) -> bool {
        let Some(saved) = heat_file::read(bytes, LAYERS.len()) else { return false };
        let mut grids = self.0.lock();
        for Saved { container, used_at, layers } in saved {
            let mut grid = Grid { used_at, ..Grid::new() };
            for (into, mut columns) in grid.layers.iter_mut().zip(layers) {
                columns.sort_by_key(|(at, _)| *at);
                *into = columns.into();
            }
            grids.insert(container, grid);
        }
        true
    }

    /// Forgets containers that are gone, and the history of the coldest if there is too much of it.
    pub(crate) fn trim(&self, exists: impl Fn(&str) -> bool) {
        let mut grids = self.0.lock();
        grids.retain(|container, _| exists(container));
        let mut sizes: Vec<(u64, usize, String)> =
            grids.iter().map(|(name, grid)| (grid.used_at, grid.n_bytes(), name.clone())).collect();
        let mut in_all: usize = sizes.iter().map(|(_, n_bytes, _)| n_bytes).sum();
        sizes.sort();
        for (_, n_bytes, name) in sizes {
            if in_all <= BYTES_MAX {
                return;
            }
            grids.remove(&name);
            in_all -= n_bytes;
        }
    }

    /// The columns of the finest layer that reaches back to `from`, up to `to`, and their width in seconds.
    pub(crate) fn read(
        &self,
        container: &str,
        now: u64,
        from: u64,
        to: u64,
    ) -> (u64, Vec<HeatColumn>) {
        let age = now.saturating_sub(from);
        let reaches = |(width, n_max): &(u64, usize)| age < width * *n_max as u64;
        let layer = LAYERS.iter().position(reaches).unwrap_or(LAYERS.len() - 1);
        let (width, _) = LAYERS.get(layer).copied().unwrap_or_default();
        let grids = self.0.lock();
        let columns = grids.get(container).and_then(|grid| grid.layers.get(layer));
        let columns = columns.into_iter().flatten();
        let columns = columns.filter(|(at, _)| at + width > from && *at <= to);
        let columns =
            columns.map(|(at, slices)| HeatColumn { at: *at, cells: slices.0.clone() }).collect();
        (width, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(units: u64) -> HeatCell {
        HeatCell::of_charge(Charge::from_hundredths(units * 100), false)
    }

    fn used(slice: u8, cell: HeatCell) -> SliceUse {
        let mut used = SliceUse::default();
        used.slices.add(slice, cell);
        used
    }

    #[test]
    fn the_span_that_is_asked_for_chooses_the_layer() {
        let history = HeatHistory::default();
        let day = 86_400;
        let now = 100 * day;
        history.add("c", now - 3 * day, [0, 255], used(7, read(1)));
        history.add("c", now - 7200, [0, 255], used(7, read(2)));
        history.add("c", now, [0, 255], used(9, read(4)));
        let columns = |from: u64| {
            let (width, columns) = history.read("c", now, from, now);
            let cells = columns.iter().flat_map(|column| column.cells.iter());
            (width, cells.map(|(slice, cell)| (*slice, cell.read / 100)).collect::<Vec<_>>())
        };
        assert_eq!(columns(now - 600), (60, vec![(9, 4)]));
        assert_eq!(columns(now - 20_000), (300, vec![(7, 2), (9, 4)]));
        assert_eq!(columns(now - 5 * day), (3600, vec![(7, 1), (7, 2), (9, 4)]));
        assert_eq!(history.read("other", now, 0, now).1.len(), 0);
    }

    #[test]
    fn history_outlives_a_restart_and_bad_bytes_are_nothing() {
        let history = HeatHistory::default();
        let refused = HeatCell { n_throttled: 3, ..read(2) };
        history.add("c", 6000, [0, 255], used(7, refused));
        history.add("c", 7000, [0, 255], used(200, read(1)));
        history.add("d", 7000, [0, 255], used(1, read(1)));
        let bytes = history.save();
        let later = HeatHistory::default();
        assert!(later.load(&bytes));
        for container in ["c", "d"] {
            let columns = |history: &HeatHistory| {
                let (_, columns) = history.read(container, 7000, 4000, 7000);
                columns.into_iter().map(|column| (column.at, column.cells)).collect::<Vec<_>>()
            };
            assert!(!columns(&later).is_empty());
            assert_eq!(columns(&later), columns(&history), "{container}");
        }
        for n in 15..bytes.len() {
            let other = HeatHistory::default();
            assert!(!other.load(&bytes[..n]) || other.0.lock().len() < 2, "{n}");
        }
        assert!(!HeatHistory::default().load(b"something else"));
        let mut huge = heat_file::begin();
        huge.extend([0xFF; 64]);
        assert!(!HeatHistory::default().load(&huge));
    }

    #[test]
    fn layers_forget_what_is_older_than_they_are() {
        let history = HeatHistory::default();
        for minute in 0..20_000 {
            history.add("c", minute * 60, [0, 0], used(0, read(1)));
        }
        let grids = history.0.lock();
        let lengths: Vec<usize> = grids["c"].layers.iter().map(VecDeque::len).collect();
        assert_eq!(lengths, [60, 288, 168]);
    }

    #[test]
    fn what_belongs_to_no_key_is_divided_without_a_rest() {
        let whole = HeatCell { read: 10, write: 0, n_throttled: 1 };
        let slices = SliceUse { slices: Slices::default(), whole }.spread([4, 6]);
        let cell = |read, n_throttled| HeatCell { read, write: 0, n_throttled };
        assert_eq!(slices.0, [(4, cell(4, 1)), (5, cell(3, 0)), (6, cell(3, 0))]);
    }

    #[test]
    fn the_coldest_container_loses_its_history_first() {
        let history = HeatHistory::default();
        for container in 0..45_u64 {
            for column in 0..170 {
                let mut all = SliceUse::default();
                (0..=255).for_each(|slice| all.slices.add(slice, read(1)));
                history.add(&container.to_string(), container + column * 3600, [0, 255], all);
            }
        }
        history.trim(|name| name != "44");
        let grids = history.0.lock();
        let in_all: usize = grids.values().map(Grid::n_bytes).sum();
        assert!(in_all <= BYTES_MAX, "{in_all}");
        assert!(!grids.contains_key("44") && grids.contains_key("43") && !grids.contains_key("0"));
    }
}
