//! Reads shapes from `GeoJSON`, and says what is wrong with others in the words of the service.

use model::Value;

use super::ring::{Ring, RingSide};
use super::shape::{Kind, Shape, place_in};
use super::vector::{Vector, add, crosses, is_on, same, side};

/// Limit: points of one shape, as the service documents it for polygons.
const POINTS_MAX: usize = 4096;

const UNKNOWN: &str = "Unable to process the geometry.";
const POSITION: &str = "Invalid position. A position must be represented by an array of numbers. There must be at least two elements in the array.";
const RINGS: &str = "A polygon must have array of rings with at least one ring. A ring must be represented as an array of GeoJSON positions.";
const CRS: &str = "Invalid Crs. The value of a member named 'crs' must be a JSON object with two mandatory members: 'type' of string type and 'properties' of object type.";
const NO_POSITIONS: &str = "Position array cannot be empty.";

/// Reads and checks a shape; the error is the reason that `ST_ISVALIDDETAILED` prints.
pub(super) fn read(value: &Value, is_plane: bool) -> Result<Shape, String> {
    let kind = value.get("type").and_then(Value::as_str).ok_or(UNKNOWN)?;
    let coordinates = value.get("coordinates").and_then(Value::as_array).ok_or(UNKNOWN)?;
    if value.get("crs").is_some_and(|crs| !is_crs(crs)) {
        return Err(CRS.to_owned());
    }
    let mut reader = Reader::new(is_plane);
    match kind {
        "Point" => {
            reader.position(coordinates)?;
            Ok(reader.finish(Kind::Point))
        }
        "LineString" => {
            let line = reader.positions(coordinates)?;
            if line.len() < 2 {
                return Err("The LineString input is not valid because it does not have enough points. A LineString must have at least two points.".to_owned());
            }
            reader.connect(&line);
            let shape = reader.finish(Kind::Line);
            check_line(&shape)?;
            Ok(shape)
        }
        "Polygon" => {
            let polygon = reader.polygon(coordinates)?;
            finish_area(reader, vec![polygon])
        }
        "MultiPolygon" if coordinates.is_empty() => {
            Err("Empty geometries are not supported.".to_owned())
        }
        "MultiPolygon" => {
            let read = |polygon: &Value| reader.polygon(polygon.as_array().ok_or(RINGS)?);
            let polygons = coordinates.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            finish_area(reader, polygons)
        }
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn is_crs(crs: &Value) -> bool {
    crs.get("type").is_some_and(Value::is_string)
        && crs.get("properties").is_some_and(Value::is_object)
}

struct Reader {
    is_plane: bool,
    points: Vec<[f64; 2]>,
    vectors: Vec<Vector>,
    edges: Vec<(usize, usize)>,
}

impl Reader {
    fn new(is_plane: bool) -> Reader {
        Reader { is_plane, points: Vec::new(), vectors: Vec::new(), edges: Vec::new() }
    }

    fn finish(self, kind: Kind) -> Shape {
        let Reader { is_plane, points, vectors, edges } = self;
        Shape { kind, is_plane, points, vectors, edges }
    }

    /// Reads a position; returns its place.
    fn position(&mut self, position: &[Value]) -> Result<usize, String> {
        let [x, y, ..] = position else { return Err(POSITION.to_owned()) };
        let (x, y) = (x.as_f64().ok_or(POSITION)?, y.as_f64().ok_or(POSITION)?);
        if self.points.len() >= POINTS_MAX {
            return Err("The shape has too many positions.".to_owned());
        }
        if !self.is_plane && !(-90.0..=90.0).contains(&y) {
            return Err("Latitude values must be between -90 and 90 degrees.".to_owned());
        }
        if !self.is_plane && !(-180.0..=180.0).contains(&x) {
            return Err("Longitude values must be between -180 and 180 degrees.".to_owned());
        }
        self.points.push([x, y]);
        self.vectors.push(if self.is_plane { [x, y, 1.0] } else { on_globe(x, y) });
        Ok(self.points.len() - 1)
    }

    fn positions(&mut self, list: &[Value]) -> Result<Vec<usize>, String> {
        if list.is_empty() {
            return Err(NO_POSITIONS.to_owned());
        }
        list.iter().map(|position| self.position(position.as_array().ok_or(POSITION)?)).collect()
    }

    fn connect(&mut self, places: &[usize]) {
        let pairs = places.iter().zip(places.iter().skip(1));
        self.edges.extend(pairs.map(|(from, to)| (*from, *to)));
    }

    fn polygon(&mut self, list: &[Value]) -> Result<Vec<Ring>, String> {
        if list.is_empty() {
            return Err(RINGS.to_owned());
        }
        let mut rings = Vec::with_capacity(list.len());
        for (number, ring) in (1..).zip(list) {
            rings.push(self.ring(number, ring.as_array().ok_or(RINGS)?)?);
        }
        Ok(rings)
    }

    fn ring(&mut self, number: usize, list: &[Value]) -> Result<Ring, String> {
        let places = self.positions(list)?;
        if places.len() < 4 {
            return Err(format!(
                "The Polygon input is not valid because the ring number {number} does not have enough points. Each ring of a polygon must contain at least four points."
            ));
        }
        let at = |place: Option<&usize>| place.and_then(|place| self.points.get(*place)).copied();
        if at(places.first()) != at(places.last()) {
            return Err(format!(
                "The Polygon input is not valid because the start and end points of the ring number {number} are not the same. Each ring of a polygon must have the same start and end points."
            ));
        }
        self.connect(&places);
        let vectors: Vec<Vector> =
            places.iter().filter_map(|place| self.vectors.get(*place).copied()).collect();
        let mut ring = Ring::new(&vectors, self.is_plane);
        // In the plane the way round says nothing: the exterior is laid to the left, holes to the right.
        if self.is_plane && (signed_area(&ring) < 0.0) == (number == 1) {
            ring.reverse();
        }
        Ok(ring)
    }
}

fn on_globe(longitude: f64, latitude: f64) -> Vector {
    // Exact at the poles, where every longitude is the same place.
    if latitude.abs() >= 90.0 {
        return [0.0, 0.0, latitude.signum()];
    }
    let longitude = if longitude <= -180.0 { 180.0 } else { longitude };
    let (longitude, latitude) = (longitude.to_radians(), latitude.to_radians());
    [latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()]
}

/// Twice the area of a ring in the plane; positive when it runs counter-clockwise.
fn signed_area(ring: &Ring) -> f64 {
    ring.edges.iter().map(|([ax, ay, _], [bx, by, _])| ax * by - bx * ay).sum()
}

fn check_line(shape: &Shape) -> Result<(), String> {
    if shape.vectors.iter().skip(1).all(|vector| shape.vectors.first() == Some(vector)) {
        return Err("Not valid because ring (1) of a polygon degenerates to a point.".to_owned());
    }
    if !shape.is_plane && shape.each_edge().any(is_antipodal) {
        return Err(antipodal(1));
    }
    Ok(())
}

fn is_antipodal((from, to): (Vector, Vector)) -> bool {
    const SMALL: f64 = 1e-12;
    add(from, to, 1.0).iter().all(|part| part.abs() < SMALL)
}

fn antipodal(number: usize) -> String {
    format!(
        "Not valid because an edge of polygon ring ({number}) with antipodal endpoints is invalid."
    )
}

fn finish_area(reader: Reader, polygons: Vec<Vec<Ring>>) -> Result<Shape, String> {
    check_rings(&polygons, reader.is_plane)?;
    Ok(reader.finish(Kind::Area(polygons)))
}

/// Checks that no two edges overlap or cross, and that rings lie as they should.
fn check_rings(polygons: &[Vec<Ring>], is_plane: bool) -> Result<(), String> {
    let rings: Vec<(usize, &Ring)> = (1..).zip(polygons.iter().flatten()).collect();
    for (number, ring) in &rings {
        if ring.edges.is_empty() {
            return Err(format!(
                "Not valid because ring ({number}) of a polygon degenerates to a point."
            ));
        }
        if !is_plane && ring.edges.iter().any(|edge| is_antipodal(*edge)) {
            return Err(antipodal(*number));
        }
    }
    for (at, (number, ring)) in rings.iter().enumerate() {
        for (place, edge) in ring.edges.iter().enumerate() {
            let later = ring.edges.iter().skip(place + 1).map(|other| (*number, other));
            let others = rings.iter().skip(at + 1);
            let others =
                others.flat_map(|(number, ring)| ring.edges.iter().map(|edge| (*number, edge)));
            for (other_number, other) in later.chain(others) {
                if overlaps(*edge, *other) {
                    return Err(overlap(*number, other_number));
                }
                if crosses(*edge, *other) {
                    return Err(crossing(*number, other_number, is_plane));
                }
            }
        }
    }
    check_places(polygons, is_plane)
}

fn overlap(number: usize, other: usize) -> String {
    if number == other {
        return format!(
            "Not valid because of two overlapping edges in ring ({number}) of a polygon."
        );
    }
    format!(
        "Not valid because an edge of ring ({number}) of a polygon overlaps an edge of ring ({other})."
    )
}

fn crossing(number: usize, other: usize, is_plane: bool) -> String {
    if is_plane {
        return format!(
            "Not valid because polygon ring ({number}) intersects itself or some other ring."
        );
    }
    interior(other)
}

fn interior(number: usize) -> String {
    format!(
        "Not valid because some portion of a polygon ring ({number}) lies in the interior of a polygon."
    )
}

/// Says whether two edges share more than a point.
fn overlaps(one: (Vector, Vector), two: (Vector, Vector)) -> bool {
    let is_line = side(one.0, one.1, two.0) == 0.0 && side(one.0, one.1, two.1) == 0.0;
    if !is_line {
        return false;
    }
    let ends = [(two, one.0), (two, one.1), (one, two.0), (one, two.1)];
    let n_shared = ends.iter().filter(|(edge, end)| is_on(*edge, *end)).count();
    // Edges that follow each other share one end, which counts for both.
    let ends = [(one.1, two.0), (one.0, two.1), (one.0, two.0), (one.1, two.1)];
    let follows = ends.iter().any(|(one, two)| same(*one, *two));
    if !follows {
        return n_shared > 0;
    }
    n_shared > 2
}

/// Checks that a hole lies in its polygon, and a polygon in no other.
fn check_places(polygons: &[Vec<Ring>], is_plane: bool) -> Result<(), String> {
    let corner = |ring: &Ring, other: &[Ring]| {
        let corners = ring.edges.iter().map(|(corner, _)| place_in(other, *corner));
        corners.into_iter().find(|place| *place != RingSide::Boundary)
    };
    let mut number = 0;
    for (at, rings) in polygons.iter().enumerate() {
        let first = number + 1;
        for (index, ring) in rings.iter().enumerate() {
            number += 1;
            let beyond = polygons.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, other) in beyond {
                if corner(ring, other) == Some(RingSide::Inside) {
                    return Err(interior(number));
                }
            }
            if index == 0 {
                continue;
            }
            let exterior = rings.get(..1).unwrap_or_default();
            let is_out = corner(ring, exterior) == Some(RingSide::Outside);
            let own = std::slice::from_ref(ring);
            let swallows =
                rings.first().and_then(|first| corner(first, own)) == Some(RingSide::Outside);
            if is_out && is_plane {
                return Err(format!(
                    "Not valid because the interior of a polygon with rings ({number}) and ({first}) is not connected."
                ));
            }
            if is_out {
                return Err(interior(first));
            }
            if swallows {
                return Err(interior(number));
            }
        }
    }
    Ok(())
}
