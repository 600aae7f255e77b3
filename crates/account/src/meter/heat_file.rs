//! The heat history as bytes, so that it outlives a restart.
//!
//! A header, then for each container: its resource id, when it was used last, and the columns of every layer. All numbers
//! are big-endian. What cannot be read is left out whole: history is worth keeping, not worth failing for.

#![deny(clippy::indexing_slicing)]

use super::heat_history::{HeatCell, Slices};

const HEADER: &[u8] = b"orrery heat 1\n";

/// Columns of one layer, oldest first.
pub(super) type Columns = Vec<(u64, Slices)>;

/// One container's history.
pub(super) struct Saved {
    pub(super) container: String,
    pub(super) used_at: u64,
    pub(super) layers: Vec<Columns>,
}

pub(super) fn begin() -> Vec<u8> {
    HEADER.to_vec()
}

pub(super) fn write<'a>(
    bytes: &mut Vec<u8>,
    container: &str,
    used_at: u64,
    layers: impl Iterator<Item = Box<dyn ExactSizeIterator<Item = &'a (u64, Slices)> + 'a>>,
) {
    bytes.extend(u32::try_from(container.len()).unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(container.as_bytes());
    bytes.extend(used_at.to_be_bytes());
    for layer in layers {
        bytes.extend(u32::try_from(layer.len()).unwrap_or(0).to_be_bytes());
        for (at, slices) in layer {
            bytes.extend(at.to_be_bytes());
            bytes.extend(u32::try_from(slices.cells().len()).unwrap_or(0).to_be_bytes());
            for (slice, cell) in slices.cells() {
                bytes.push(*slice);
                for number in [cell.read, cell.write, cell.n_throttled] {
                    bytes.extend(number.to_be_bytes());
                }
            }
        }
    }
}

/// Reads everything, or nothing.
pub(super) fn read(bytes: &[u8], n_layers: usize) -> Option<Vec<Saved>> {
    let mut reader = Reader(bytes.strip_prefix(HEADER)?);
    let mut all = Vec::new();
    while !reader.0.is_empty() {
        let n_bytes = usize::try_from(reader.number()?).ok()?;
        let container = std::str::from_utf8(reader.take(n_bytes)?).ok()?.to_owned();
        let used_at = reader.time()?;
        let layers = (0..n_layers).map(|_| reader.columns()).collect::<Option<_>>()?;
        all.push(Saved { container, used_at, layers });
    }
    Some(all)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn time(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    fn columns(&mut self) -> Option<Columns> {
        let n_columns = self.number()?;
        // Every column takes bytes of the input, so the input bounds what is read.
        (0..n_columns).map(|_| self.column()).collect()
    }

    fn column(&mut self) -> Option<(u64, Slices)> {
        let at = self.time()?;
        let mut slices = Slices::default();
        for _ in 0..self.number()? {
            let slice = *self.take(1)?.first()?;
            let [read, write, n_throttled] = [self.number()?, self.number()?, self.number()?];
            slices.add(slice, HeatCell { read, write, n_throttled });
        }
        Some((at, slices))
    }
}
