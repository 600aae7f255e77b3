//! The boxes that shapes lie in, for their index.

use model::Value;

use super::read::read;
use super::ring::RingSide;
use super::shape::{Kind, Shape};
use super::vector::{Vector, add, cross, dot, length, scaled};

/// A box along the axes: x or longitude first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) low: [f64; 2],
    pub(crate) high: [f64; 2],
}

impl Bounds {
    pub(crate) fn union(&self, other: &Bounds) -> Bounds {
        let (a, b) = (self, other);
        Bounds {
            low: [a.low[0].min(b.low[0]), a.low[1].min(b.low[1])],
            high: [a.high[0].max(b.high[0]), a.high[1].max(b.high[1])],
        }
    }

    /// Returns the box with a margin.
    pub(crate) fn grown(&self, margin: f64) -> Bounds {
        Bounds { low: self.low.map(|low| low - margin), high: self.high.map(|high| high + margin) }
    }
}

/// Where a shape can have points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent {
    Within(Bounds),
    /// It has no bounds: a ring that runs the other way round, an edge over the date line, a pole inside.
    Everywhere,
}

/// Returns where a value can have points; `None` when it is no shape.
///
/// Whether it lies in a plane or on the globe is not asked: what it is in both counts.
pub(crate) fn extent(value: &Value) -> Option<Extent> {
    let on_plane = read(value, true).ok().and_then(|shape| box_of(&shape));
    let on_globe = read(value, false).ok().and_then(|shape| globe_extent(&shape));
    match (on_plane, on_globe) {
        (None, None) => None,
        (_, Some(Extent::Everywhere)) => Some(Extent::Everywhere),
        (Some(plane), Some(Extent::Within(globe))) => Some(Extent::Within(plane.union(&globe))),
        (Some(plane), None) => Some(Extent::Within(plane)),
        (None, Some(globe)) => Some(globe),
    }
}

fn box_of(shape: &Shape) -> Option<Bounds> {
    let boxes = shape.points.iter().map(|point| Bounds { low: *point, high: *point });
    boxes.reduce(|one, other| one.union(&other))
}

fn globe_extent(shape: &Shape) -> Option<Extent> {
    let mut bounds = box_of(shape)?;
    for (from, to) in &shape.edges {
        let longitude = |place: &usize| shape.points.get(*place).map(|[longitude, _]| *longitude);
        if (longitude(from)? - longitude(to)?).abs() >= 180.0 {
            return Some(Extent::Everywhere);
        }
    }
    let has_pole = |z: f64| shape.place([0.0, 0.0, z]) != RingSide::Outside;
    if let Kind::Area(_) = shape.kind
        && (has_pole(1.0) || has_pole(-1.0))
    {
        return Some(Extent::Everywhere);
    }
    for edge in shape.each_edge() {
        for latitude in extremes(edge) {
            bounds.low[1] = bounds.low[1].min(latitude);
            bounds.high[1] = bounds.high[1].max(latitude);
        }
    }
    Some(Extent::Within(bounds))
}

/// Returns the latitudes at which an arc turns, if it does.
fn extremes((from, to): (Vector, Vector)) -> impl Iterator<Item = f64> {
    let normal = cross(from, to);
    let is_line = length(normal) > 0.0;
    let normal = if is_line { scaled(normal, 1.0) } else { normal };
    let [_, _, upright] = normal;
    let top = add([0.0, 0.0, 1.0], normal, -upright);
    [top, top.map(|part| -part)].into_iter().filter_map(move |turn| {
        let is_on = is_line
            && length(turn) > 0.0
            && dot(cross(from, turn), normal) > 0.0
            && dot(cross(turn, to), normal) > 0.0;
        is_on.then(|| {
            let [x, y, z] = turn;
            z.atan2(x.hypot(y)).to_degrees()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Extent> {
        extent(&model::json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn arcs_bulge_beyond_their_ends() {
        let line = r#"{"type":"LineString","coordinates":[[-60,20],[70,20]]}"#;
        let Some(Extent::Within(bounds)) = of(line) else { panic!("bounds") };
        assert_eq!((bounds.low, bounds.high[0]), ([-60.0, 20.0], 70.0));
        assert!((bounds.high[1] - 40.735_917).abs() < 1e-5, "{bounds:?}");
    }

    #[test]
    fn what_goes_around_has_no_bounds() {
        for text in [
            r#"{"type":"LineString","coordinates":[[170,0],[-170,0]]}"#,
            r#"{"type":"Polygon","coordinates":[[[0,80],[120,80],[-120,80],[0,80]]]}"#,
            r#"{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[1,0],[0,0]]]}"#,
        ] {
            assert_eq!(of(text), Some(Extent::Everywhere), "{text}");
        }
        assert_eq!(of(r#"{"type":"Circle","coordinates":[1,2]}"#), None);
    }
}
