//! Spatial indexes: the cells of a grid that a shape lies in.
//!
//! A cell is a path down a tree of quarters. Its term is one byte per level (`01` to `04`) and `00` at the end, so that
//! the cells inside a cell are those whose terms begin with its path. A shape is stored under the one to four smallest
//! cells that cover it; what has no bounds, or lies outside of the grid, under the whole.

use model::Value;

use super::TermSpan;
use super::span::unite;
use super::term::successor;
use crate::functions::{Bounds, Extent, extent};

/// Levels of the tree: cells of about 40 by 20 metres at the equator.
const LEVELS: u32 = 20;

/// Limit: cells along one side of what a query looks for.
const CELLS_MAX: u64 = 4;

/// Metres of one degree of latitude; a little less than it is anywhere.
const METRES_PER_DEGREE: f64 = 110_000.0;

/// A little less than the earth's radius of curvature is anywhere.
const RADIUS: f64 = 6_300_000.0;

/// A spatial index.
#[derive(Clone, Debug, PartialEq)]
pub struct Spatial {
    pub(super) names: Vec<String>,
    /// The grid: the bounding box of the policy, or all degrees.
    pub(super) grid: Bounds,
    /// Whether coordinates may be those of a plane.
    pub(super) may_be_plane: bool,
}

/// Cells of one level: columns and rows, both ends included.
struct Cells {
    level: u32,
    columns: (u64, u64),
    rows: (u64, u64),
}

impl Spatial {
    pub(super) const DEGREES: Bounds = Bounds { low: [-180.0, -90.0], high: [180.0, 90.0] };

    /// Returns the names of the properties from the outside in.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Calls `emit` with the term of each cell of a shape.
    pub(super) fn each_term(&self, shape: &Value, emit: &mut dyn FnMut(&[u8])) {
        let Some(extent) = extent(shape) else { return };
        let cells = match extent {
            Extent::Within(bounds) => self.cells(&bounds, 1),
            Extent::Everywhere => None,
        };
        let Some(cells) = cells else { return emit(&[0]) };
        cells.each(|path| {
            path.push(0);
            emit(path);
        });
    }

    /// Returns the spans of the shapes that may share a point with `extent`; `None` when that can be any.
    pub(crate) fn spans(&self, extent: &Extent) -> Option<Vec<TermSpan>> {
        let Extent::Within(bounds) = extent else { return None };
        let cells = self.cells(bounds, CELLS_MAX - 1)?;
        let mut spans = Vec::new();
        cells.each(|path| {
            spans.push(TermSpan { start: path.clone(), end: successor(path) });
            // Shapes that are larger than the cell.
            while path.pop().is_some() {
                spans.push(TermSpan {
                    start: [path, &[0][..]].concat(),
                    end: [path, &[1][..]].concat(),
                });
            }
        });
        Some(unite(spans))
    }

    /// Returns what lies at most `distance` from a shape.
    pub(crate) fn around(&self, extent: &Extent, distance: f64) -> Extent {
        let Extent::Within(bounds) = extent else { return Extent::Everywhere };
        if !distance.is_finite() {
            return Extent::Everywhere;
        }
        let distance = distance.max(0.0);
        let Some(around) = around_degrees(bounds, distance) else { return Extent::Everywhere };
        Extent::Within(if self.may_be_plane {
            around.union(&bounds.grown(distance))
        } else {
            around
        })
    }

    /// Returns the smallest cells that cover the bounds with `n_more` more than one of them along a side; `None` when
    /// the bounds leave the grid.
    fn cells(&self, bounds: &Bounds, n_more: u64) -> Option<Cells> {
        let size = |axis: usize| self.grid.high[axis] - self.grid.low[axis];
        let place = |value: f64, axis: usize| (value - self.grid.low[axis]) / size(axis);
        let mut ends = [(0.0, 0.0); 2];
        for (axis, ends) in ends.iter_mut().enumerate() {
            *ends = (place(bounds.low[axis], axis), place(bounds.high[axis], axis));
            if !(0.0..=1.0).contains(&ends.0) || !(0.0..=1.0).contains(&ends.1) || ends.0 > ends.1 {
                return None;
            }
        }
        (0..=LEVELS).rev().find_map(|level| {
            let n_cells = 1_u64 << level;
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between zero and 2^20"
            )]
            let cell = |place: f64| ((place * n_cells as f64) as u64).min(n_cells - 1);
            let (columns, rows) = (ends[0], ends[1]);
            let (columns, rows) =
                ((cell(columns.0), cell(columns.1)), (cell(rows.0), cell(rows.1)));
            let fits = columns.1 - columns.0 <= n_more && rows.1 - rows.0 <= n_more;
            fits.then_some(Cells { level, columns, rows })
        })
    }
}

impl Cells {
    fn each(&self, mut visit: impl FnMut(&mut Vec<u8>)) {
        for column in self.columns.0..=self.columns.1 {
            for row in self.rows.0..=self.rows.1 {
                let digit = |bit: u32| {
                    let quarter = (column >> bit & 1) | (row >> bit & 1) << 1;
                    u8::try_from(quarter).unwrap_or_default() + 1
                };
                let mut path: Vec<u8> = (0..self.level).rev().map(digit).collect();
                visit(&mut path);
            }
        }
    }
}

/// Returns all that is at most some metres away; `None` when that goes around a pole or the date line.
fn around_degrees(bounds: &Bounds, metres: f64) -> Option<Bounds> {
    let up = metres / METRES_PER_DEGREE;
    let (south, north) = (bounds.low[1] - up, bounds.high[1] + up);
    if south <= -89.0 || north >= 89.0 {
        return None;
    }
    let narrowest = south.abs().max(north.abs()).to_radians().cos();
    let ratio = (metres / RADIUS).min(1.5).sin() / narrowest;
    if ratio >= 1.0 {
        return None;
    }
    let aside = ratio.asin().to_degrees() * 1.01;
    let (west, east) = (bounds.low[0] - aside, bounds.high[0] + aside);
    (west >= -180.0 && east <= 180.0).then_some(Bounds { low: [west, south], high: [east, north] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Spatial {
        Spatial { names: vec!["loc".into()], grid: Spatial::DEGREES, may_be_plane: false }
    }

    fn terms(shape: &str) -> Vec<Vec<u8>> {
        let mut terms = Vec::new();
        let shape = model::json::parse(shape.as_bytes()).unwrap();
        index().each_term(&shape, &mut |term| terms.push(term.to_vec()));
        terms
    }

    fn point(x: f64, y: f64) -> String {
        format!(r#"{{"type":"Point","coordinates":[{x},{y}]}}"#)
    }

    fn finds(bounds: &Bounds, shape: &str) -> bool {
        let spans = index().spans(&Extent::Within(*bounds)).unwrap();
        terms(shape).iter().any(|term| spans.iter().any(|span| span.contains(term)))
    }

    #[test]
    fn points_are_found_in_boxes_around_them() {
        let mut seed = 1_u64;
        let mut random = |size: f64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f64::from(u32::try_from(seed >> 33).unwrap()) / f64::from(u32::MAX >> 1) * size
        };
        let mut n_missed = 0;
        for _ in 0..2000 {
            let (x, y) = (random(360.0) - 180.0, random(180.0) - 90.0);
            let (width, height) = (random(3.0), random(3.0));
            let bounds = Bounds {
                low: [(x - width).max(-180.0), (y - height).max(-90.0)],
                high: [(x + width).min(180.0), (y + height).min(90.0)],
            };
            assert!(finds(&bounds, &point(x, y)), "{x} {y} {bounds:?}");
            let far = point(random(360.0) - 180.0, random(180.0) - 90.0);
            n_missed += usize::from(!finds(&bounds, &far));
        }
        assert!(n_missed > 1900, "boxes hold little else: {n_missed}");
    }

    #[test]
    fn large_shapes_are_found_from_small_boxes_inside_them() {
        let square =
            r#"{"type":"Polygon","coordinates":[[[-50,-50],[50,-50],[50,50],[-50,50],[-50,-50]]]}"#;
        assert!(terms(square).len() <= 4);
        for (x, y) in [(0.0, 0.0), (49.0, 49.0), (-49.9, 3.0)] {
            let bounds = Bounds { low: [x, y], high: [x + 0.001, y + 0.001] };
            assert!(finds(&bounds, square), "{x} {y}");
        }
        let outside = r#"{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[1,0],[0,0]]]}"#;
        assert_eq!(terms(outside), [vec![0]], "clockwise: everything but a square");
        assert!(terms("17").is_empty() && terms(r#"{"type":"Point"}"#).is_empty());
    }

    #[test]
    fn distances_reach_far_enough() {
        let start = Extent::Within(Bounds { low: [10.0, 60.0], high: [10.0, 60.0] });
        let Extent::Within(around) = index().around(&start, 111_000.0) else { panic!("bounds") };
        assert!(around.high[1] > 61.0 && around.low[1] < 59.0, "{around:?}");
        assert!(around.high[0] > 12.0 && around.high[0] < 13.0, "{around:?}");
        for far in [
            Bounds { low: [179.9, 0.0], high: [179.9, 0.0] },
            Bounds { low: [0.0, 88.9], high: [0.0, 88.9] },
        ] {
            assert_eq!(index().around(&Extent::Within(far), 50_000.0), Extent::Everywhere);
        }
    }
}
