//! Areas and distances.

use super::shape::{Kind, Shape};
use super::vector::{Vector, add, cross, dot, length, same, scaled};

/// The sphere that has the area of the earth (WGS 84).
const AUTHALIC_RADIUS: f64 = 6_371_007.180_918_476;

/// The square of the eccentricity of the earth, and itself.
const E2: f64 = 0.006_694_379_990_141_316;
const E: f64 = 0.081_819_190_842_621_49;

/// Edges are cut into arcs of at most so much, in radians: between them an arc of the earth and one of the sphere that has
/// its area are the same to ten digits.
const ARC_MAX: f64 = 0.02;

/// Returns the area of a shape, in square metres or squares of the plane.
pub(super) fn area(shape: &Shape) -> f64 {
    let Kind::Area(polygons) = &shape.kind else { return 0.0 };
    let of_ring = |ring: &super::ring::Ring| {
        if shape.is_plane {
            let twice = ring.edges.iter().map(|([ax, ay, _], [bx, by, _])| ax * by - bx * ay);
            return twice.sum::<f64>() / 2.0;
        }
        globe_area(&ring.edges)
    };
    let of_polygon = |rings: &Vec<super::ring::Ring>| {
        let total: f64 = rings.iter().map(of_ring).sum();
        // What runs the other way round is all but the inside of the ring.
        if total < 0.0 {
            total + 4.0 * std::f64::consts::PI * AUTHALIC_RADIUS.powi(2)
        } else {
            total
        }
    };
    polygons.iter().map(of_polygon).sum()
}

/// Returns the area to the left of a ring; negative if that is more than half of the globe.
fn globe_area(edges: &[(Vector, Vector)]) -> f64 {
    let mut corners = Vec::with_capacity(edges.len());
    for (from, to) in edges {
        let angle = length(cross(*from, *to)).atan2(dot(*from, *to));
        let n_arcs = (angle / ARC_MAX).ceil().max(1.0);
        let mut at = 0.0;
        while at < n_arcs {
            corners.push(authalic(between(*from, *to, at / n_arcs)));
            at += 1.0;
        }
    }
    let Some((first, rest)) = corners.split_first() else { return 0.0 };
    let triangles = rest.iter().zip(rest.iter().skip(1));
    let excess: f64 = triangles.map(|(second, third)| excess(*first, *second, *third)).sum();
    excess * AUTHALIC_RADIUS * AUTHALIC_RADIUS
}

/// The signed area of a triangle on the unit sphere.
fn excess(a: Vector, b: Vector, c: Vector) -> f64 {
    2.0 * dot(cross(a, b), c).atan2(1.0 + dot(a, b) + dot(b, c) + dot(c, a))
}

/// Moves a position to the latitude that it has on the sphere of the same area.
fn authalic([x, y, z]: Vector) -> Vector {
    let q = |sine: f64| (1.0 - E2) * (sine / (1.0 - E2 * sine * sine) + (E * sine).atanh() / E);
    let sine = (q(z) / q(1.0)).clamp(-1.0, 1.0);
    let (cosine, old) = ((1.0 - sine * sine).sqrt(), x.hypot(y));
    if old == 0.0 { [0.0, 0.0, sine] } else { [x / old * cosine, y / old * cosine, sine] }
}

/// Returns the position at a share of the way along an arc.
fn between(from: Vector, to: Vector, share: f64) -> Vector {
    let angle = length(cross(from, to)).atan2(dot(from, to));
    if angle == 0.0 {
        return from;
    }
    let (left, right) = (((1.0 - share) * angle).sin(), (share * angle).sin());
    scaled(add(from.map(|part| part * left), to, right), 1.0)
}

/// Returns the least distance of two shapes that do not touch.
pub(super) fn distance(left: &Shape, right: &Shape) -> Option<f64> {
    let is_plane = left.is_plane;
    let one = nearest(left, right);
    let other = nearest(right, left);
    let best = [one, other].into_iter().flatten().min_by(|a, b| a.gap.total_cmp(&b.gap))?;
    Some(if is_plane { best.gap } else { best.on_earth() })
}

/// The semi-axes of the earth (WGS 84), in metres.
const EQUATOR: f64 = 6_378_137.0;
const POLE: f64 = 6_356_752.314_245_179;

/// Places and weights of Gauss and Legendre's rule for an interval from -1 to 1, its right half.
const NODES: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_58),
    (0.458_016_777_657_227_37, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_894),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
];

/// Returns the length of the arc between two positions of the globe: that of the ellipse in which the plane through them and the
/// centre cuts the earth.
fn arc_length(from: Vector, to: Vector) -> f64 {
    let (from, to) = (geocentric(from), geocentric(to));
    let mut normal = cross(from, to);
    let angle = length(normal).atan2(dot(from, to));
    if angle == 0.0 {
        return 0.0;
    }
    if length(normal) < 1e-12 {
        // Opposite places: the way over a pole is the shortest.
        let [x, y, _] = from;
        normal = if x == 0.0 && y == 0.0 { [1.0, 0.0, 0.0] } else { [y, -x, 0.0] };
    }
    // The position at an angle from the start is `from * cos + across * sin`; only its height matters.
    let across = cross(scaled(normal, 1.0), from);
    let speed = |at: f64| {
        let (sine, cosine) = at.sin_cos();
        let height = from[2] * cosine + across[2] * sine;
        let climb = across[2] * cosine - from[2] * sine;
        let stretch = EQUATOR * EQUATOR / (POLE * POLE) - 1.0;
        let radius = EQUATOR / (1.0 + stretch * height * height).sqrt();
        let change = -radius * stretch * height * climb / (1.0 + stretch * height * height);
        radius.hypot(change)
    };
    let half = angle / 2.0;
    let parts = NODES
        .iter()
        .map(|(node, weight)| weight * (speed(half * (1.0 - node)) + speed(half * (1.0 + node))));
    parts.sum::<f64>() * half
}

/// Returns the direction from the centre of the earth to a position given by its latitude.
fn geocentric([x, y, z]: Vector) -> Vector {
    scaled([x, y, z * (1.0 - E2)], 1.0)
}

/// Returns the place of a position given by its latitude, seen from the centre of the earth.
fn surface([x, y, z]: Vector) -> Vector {
    let radius = EQUATOR / (1.0 - E2 * z * z).sqrt();
    [x * radius, y * radius, z * radius * (1.0 - E2)]
}

/// The point of one shape that is nearest to an edge of another.
struct Nearest {
    /// On the plane, or straight through the earth.
    gap: f64,
    point: Vector,
    edge: (Vector, Vector),
    share: f64,
}

fn nearest(from: &Shape, to: &Shape) -> Option<Nearest> {
    let point_edge = if let Kind::Point = to.kind { to.edge((0, 0)) } else { None };
    let mut best: Option<Nearest> = None;
    for vector in &from.vectors {
        for edge in to.each_edge().chain(point_edge) {
            let share = share_of(edge, *vector, from.is_plane);
            let at = if from.is_plane {
                add(edge.0, add(edge.1, edge.0, -1.0), share)
            } else {
                between(edge.0, edge.1, share)
            };
            let gap = if from.is_plane {
                length(add(at, *vector, -1.0))
            } else {
                // A degree to the north is shorter than one to the east, so the sphere could name another edge.
                length(add(surface(at), surface(*vector), -1.0))
            };
            if best.as_ref().is_none_or(|best| gap < best.gap) {
                best = Some(Nearest { gap, point: *vector, edge, share });
            }
        }
    }
    best
}

/// Returns how far along an edge the point lies that is nearest to `p`.
fn share_of((from, to): (Vector, Vector), p: Vector, is_plane: bool) -> f64 {
    if same(from, to) {
        return 0.0;
    }
    if is_plane {
        let along = add(to, from, -1.0);
        return (dot(add(p, from, -1.0), along) / dot(along, along)).clamp(0.0, 1.0);
    }
    let normal = scaled(cross(from, to), 1.0);
    let foot = add(p, normal, -dot(p, normal));
    let angle = |a: Vector, b: Vector| dot(cross(a, b), normal).atan2(dot(a, b));
    let (whole, part) = (angle(from, to), angle(from, foot));
    if (0.0..=whole).contains(&part) {
        return part / whole;
    }
    if dot(p, from) > dot(p, to) { 0.0 } else { 1.0 }
}

impl Nearest {
    /// Returns the distance on the earth: the nearest point of the sphere is nearly that of the earth, and is looked for around it.
    fn on_earth(&self) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        const N_STEPS: u32 = 40;
        let at = |share: f64| arc_length(self.point, between(self.edge.0, self.edge.1, share));
        if same(self.edge.0, self.edge.1) {
            return at(0.0);
        }
        let (mut low, mut high) = ((self.share - 0.1).max(0.0), (self.share + 0.1).min(1.0));
        let mut best = at(self.share).min(at(low)).min(at(high));
        for _ in 0..N_STEPS {
            let (left, right) = (high - (high - low) * GOLDEN, low + (high - low) * GOLDEN);
            let (at_left, at_right) = (at(left), at(right));
            best = best.min(at_left).min(at_right);
            if at_left < at_right {
                high = right;
            } else {
                low = left;
            }
        }
        best
    }
}
