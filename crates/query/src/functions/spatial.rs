//! Spatial functions over `GeoJSON`: [longitude, latitude] in degrees, or plane coordinates.
//!
//! Distances and areas on the ellipsoid come from `geo`. Containment and intersection are decided in the
//! plane of the coordinates, which is what a user of small shapes sees.

use geo::coordinate_position::{CoordPos, CoordinatePosition};
use geo::{
    Area, Coord, CoordsIter, Distance, Euclidean, Geodesic, GeodesicArea, Intersects, Line,
    LineString, LinesIter, MultiPolygon, Point, Polygon, Winding,
};
use model::{Object, Value};

use super::Call;
use crate::value::{Datum, Maybe, boolean, number};

/// Limit: points of one shape, as the service documents it for polygons.
const POINTS_MAX: usize = 4096;

enum Shape {
    Point(Point),
    Line(LineString),
    Area(MultiPolygon),
}

const NOT_A_SHAPE: &str = "The input is not a valid GeoJSON object.";

/// Reads and checks a shape; the error is the reason that `ST_ISVALIDDETAILED` prints.
fn read(value: &Value, is_geometry: bool) -> Result<Shape, &'static str> {
    let kind = value.get("type").and_then(Value::as_str).ok_or(NOT_A_SHAPE)?;
    let coordinates = value.get("coordinates").ok_or(NOT_A_SHAPE)?;
    let mut reader = Reader { is_geometry, n_points: 0 };
    match kind {
        "Point" => Ok(Shape::Point(Point(reader.coordinate(coordinates)?))),
        "LineString" => {
            let line = reader.line(coordinates)?;
            if line.0.len() < 2 {
                return Err("LineString must have at least two positions.");
            }
            Ok(Shape::Line(line))
        }
        "Polygon" => Ok(Shape::Area(MultiPolygon(vec![reader.polygon(coordinates)?]))),
        "MultiPolygon" => {
            let list = coordinates.as_array().ok_or(NOT_A_SHAPE)?;
            let polygons = list.iter().map(|polygon| reader.polygon(polygon));
            Ok(Shape::Area(MultiPolygon(polygons.collect::<Result<_, _>>()?)))
        }
        _ => Err(NOT_A_SHAPE),
    }
}

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
    /// It has no bounds: a ring that runs the other way round.
    Everywhere,
}

/// Returns where a value can have points; `None` when it is no shape.
pub(crate) fn extent(value: &Value) -> Option<Extent> {
    // What is a shape in a plane may be none on the globe; nothing is lost by taking it for one.
    let shape = read(value, true).ok()?;
    if let Shape::Area(area) = &shape
        && area.0.iter().any(|polygon| polygon.exterior().is_cw())
    {
        return Some(Extent::Everywhere);
    }
    let boxes =
        shape.points().into_iter().map(|Coord { x, y }| Bounds { low: [x, y], high: [x, y] });
    boxes.reduce(|one, other| one.union(&other)).map(Extent::Within)
}

struct Reader {
    is_geometry: bool,
    n_points: usize,
}

impl Reader {
    fn coordinate(&mut self, value: &Value) -> Result<Coord, &'static str> {
        let [x, y, ..] = value.as_array().ok_or(NOT_A_SHAPE)? else { return Err(NOT_A_SHAPE) };
        let (x, y) = (x.as_f64().ok_or(NOT_A_SHAPE)?, y.as_f64().ok_or(NOT_A_SHAPE)?);
        self.n_points += 1;
        if self.n_points > POINTS_MAX {
            return Err("The shape has too many positions.");
        }
        if !self.is_geometry && !(-90.0..=90.0).contains(&y) {
            return Err("Latitude values must be between -90 and 90 degrees.");
        }
        if !self.is_geometry && !(-180.0..=180.0).contains(&x) {
            return Err("Longitude values must be between -180 and 180 degrees.");
        }
        Ok(Coord { x, y })
    }

    fn line(&mut self, value: &Value) -> Result<LineString, &'static str> {
        let list = value.as_array().ok_or(NOT_A_SHAPE)?;
        Ok(LineString(list.iter().map(|point| self.coordinate(point)).collect::<Result<_, _>>()?))
    }

    fn polygon(&mut self, value: &Value) -> Result<Polygon, &'static str> {
        let list = value.as_array().ok_or(NOT_A_SHAPE)?;
        let mut rings = Vec::with_capacity(list.len());
        for ring in list {
            let ring = self.line(ring)?;
            if ring.0.len() < 4 {
                return Err("Polygon rings must have at least four positions.");
            }
            if !ring.is_closed() {
                return Err("The first and last positions of a Polygon ring must be equal.");
            }
            rings.push(ring);
        }
        let mut rings = rings.into_iter();
        let exterior = rings.next().ok_or(NOT_A_SHAPE)?;
        Ok(Polygon::new(exterior, rings.collect()))
    }
}

impl Shape {
    fn points(&self) -> Vec<Coord> {
        match self {
            Shape::Point(point) => vec![point.0],
            Shape::Line(line) => line.coords_iter().collect(),
            Shape::Area(area) => area.coords_iter().collect(),
        }
    }

    fn edges(&self) -> Vec<Line> {
        match self {
            Shape::Point(_) => Vec::new(),
            Shape::Line(line) => line.lines().collect(),
            Shape::Area(area) => area.lines_iter().collect(),
        }
    }

    /// Returns whether the point lies in the shape or on its border.
    fn covers(&self, point: Coord) -> bool {
        match self {
            Shape::Point(own) => own.0 == point,
            Shape::Line(line) => line.intersects(&Point(point)),
            Shape::Area(area) => area.0.iter().any(|polygon| polygon_covers(polygon, point)),
        }
    }

    fn touches(&self, other: &Shape) -> bool {
        let edges = other.edges();
        self.points().iter().any(|point| other.covers(*point))
            || other.points().iter().any(|point| self.covers(*point))
            || self.edges().iter().any(|edge| edges.iter().any(|other| edge.intersects(other)))
    }

    fn is_within(&self, other: &Shape) -> bool {
        let middle = |edge: &Line| {
            let (a, b) = (edge.start, edge.end);
            Coord { x: f64::midpoint(a.x, b.x), y: f64::midpoint(a.y, b.y) }
        };
        let borders = other.edges();
        self.points().iter().all(|point| other.covers(*point))
            && self.edges().iter().all(|edge| {
                other.covers(middle(edge)) && !borders.iter().any(|border| crosses(edge, border))
            })
    }
}

/// Wire: an exterior ring that runs clockwise stands for everything outside it.
fn polygon_covers(polygon: &Polygon, point: Coord) -> bool {
    let position = polygon.coordinate_position(&point);
    match position {
        CoordPos::OnBoundary => true,
        CoordPos::Inside => !polygon.exterior().is_cw(),
        CoordPos::Outside => polygon.exterior().is_cw(),
    }
}

/// Returns whether two segments cross at a point inside both.
fn crosses(one: &Line, two: &Line) -> bool {
    let side = |line: &Line, point: Coord| {
        let (d, p) = (line.end - line.start, point - line.start);
        d.x * p.y - d.y * p.x
    };
    side(one, two.start) * side(one, two.end) < 0.0
        && side(two, one.start) * side(two, one.end) < 0.0
}

fn shape_at(call: &Call<'_>, arguments: &[Maybe<'_>], index: usize) -> Option<Shape> {
    read(arguments.get(index)?.as_ref()?.value()?, call.context.is_geometry).ok()
}

pub(super) fn is_valid<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let value = arguments.first()?.as_ref()?.value()?;
    boolean(read(value, call.context.is_geometry).is_ok())
}

pub(super) fn is_valid_detailed<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let value = arguments.first()?.as_ref()?.value()?;
    let mut answer = Object::new();
    match read(value, call.context.is_geometry) {
        Ok(_) => {
            answer.insert("valid", true);
        }
        Err(reason) => {
            answer.insert("valid", false);
            answer.insert("reason", reason);
        }
    }
    Some(Datum::Owned(Value::Object(answer)))
}

pub(super) fn within<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (inner, outer) = (shape_at(call, arguments, 0)?, shape_at(call, arguments, 1)?);
    boolean(inner.is_within(&outer))
}

pub(super) fn intersects<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (left, right) = (shape_at(call, arguments, 0)?, shape_at(call, arguments, 1)?);
    boolean(left.touches(&right))
}

pub(super) fn area<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    match shape_at(call, arguments, 0)? {
        Shape::Point(_) | Shape::Line(_) => number(0.0),
        Shape::Area(area) if call.context.is_geometry => number(area.unsigned_area()),
        Shape::Area(area) => number(area.geodesic_area_unsigned()),
    }
}

pub(super) fn distance<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (left, right) = (shape_at(call, arguments, 0)?, shape_at(call, arguments, 1)?);
    let is_geometry = call.context.is_geometry;
    if let (Shape::Point(left), Shape::Point(right)) = (&left, &right) {
        return number(between(left.0, right.0, is_geometry));
    }
    if left.touches(&right) {
        return number(0.0);
    }
    let nearest = nearest(&left, &right, is_geometry).min(nearest(&right, &left, is_geometry));
    if nearest.is_finite() { number(nearest) } else { None }
}

fn between(left: Coord, right: Coord, is_geometry: bool) -> f64 {
    if is_geometry {
        Euclidean.distance(Point(left), Point(right))
    } else {
        Geodesic.distance(Point(left), Point(right))
    }
}

/// Returns the least distance from a point of `from` to an edge of `to`.
fn nearest(from: &Shape, to: &Shape, is_geometry: bool) -> f64 {
    let mut edges = to.edges();
    if let Shape::Point(point) = to {
        edges.push(Line::new(point.0, point.0));
    }
    let mut least = f64::INFINITY;
    for point in from.points() {
        for edge in &edges {
            let closest = closest_on(edge, point, is_geometry);
            least = least.min(between(point, closest, is_geometry));
        }
    }
    least
}

/// Returns the point of an edge that is closest to `point`, on a map scaled for its latitude.
fn closest_on(edge: &Line, point: Coord, is_geometry: bool) -> Coord {
    let scale = if is_geometry { 1.0 } else { point.y.to_radians().cos().max(1e-9) };
    let (dx, dy) = ((edge.end.x - edge.start.x) * scale, edge.end.y - edge.start.y);
    let (px, py) = ((point.x - edge.start.x) * scale, point.y - edge.start.y);
    let length = dx * dx + dy * dy;
    let share = if length == 0.0 { 0.0 } else { ((px * dx + py * dy) / length).clamp(0.0, 1.0) };
    Coord {
        x: edge.start.x + (edge.end.x - edge.start.x) * share,
        y: edge.start.y + (edge.end.y - edge.start.y) * share,
    }
}
