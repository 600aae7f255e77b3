//! Positions as vectors, on the globe and in the plane alike.
//!
//! A position on the globe is a unit vector, one in the plane is `(x, y, 1)`. The determinant of three of them says in both
//! worlds on which side of an edge a position lies. Edges on the globe are arcs of great ellipses: a plane through the centre
//! of the earth stays one when latitudes are stretched, so the sphere of the given latitudes has the same sides and crossings.

/// A position.
pub(super) type Vector = [f64; 3];

/// A distance from the plane of an edge, relative to the size of coordinates, that counts as none.
const FLAT: f64 = 1e-15;

/// Says whether two positions are the same, to the last bit.
#[expect(clippy::float_cmp, reason = "positions are compared as they were given")]
pub(super) fn same(a: Vector, b: Vector) -> bool {
    a == b
}

pub(super) fn cross(a: Vector, b: Vector) -> Vector {
    let [ax, ay, az] = a;
    let [bx, by, bz] = b;
    [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]
}

pub(super) fn dot(a: Vector, b: Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn add(a: Vector, b: Vector, times: f64) -> Vector {
    let [ax, ay, az] = a;
    let [bx, by, bz] = b;
    [ax + bx * times, ay + by * times, az + bz * times]
}

pub(super) fn length(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

pub(super) fn scaled(a: Vector, to: f64) -> Vector {
    let factor = to / length(a);
    a.map(|part| part * factor)
}

/// Positive when `p` lies to the left of the edge, zero when it lies on its line.
pub(super) fn side(from: Vector, to: Vector, p: Vector) -> f64 {
    let line = cross(from, to);
    let side = dot(line, p);
    if side.abs() <= FLAT * (1.0 + length(line)) * (1.0 + length(p)) { 0.0 } else { side }
}

/// Says whether `p` lies on the edge, its ends included.
pub(super) fn is_on(edge: (Vector, Vector), p: Vector) -> bool {
    let (from, to) = edge;
    if same(p, from) || same(p, to) {
        return true;
    }
    let (forth, back) = (add(to, from, -1.0), add(from, to, -1.0));
    side(from, to, p) == 0.0
        && dot(add(p, from, -1.0), forth) >= 0.0
        && dot(add(p, to, -1.0), back) >= 0.0
}

/// Says whether two edges cross at a point inside both.
pub(super) fn crosses(one: (Vector, Vector), two: (Vector, Vector)) -> bool {
    let ((a, b), (c, d)) = (one, two);
    let (acb, bda) = (-side(a, b, c), side(a, b, d));
    if acb * bda <= 0.0 {
        return false;
    }
    // The signs of all four triangles agree; so they do not where edges cross lines on the far side of the globe.
    let (cbd, dac) = (-side(c, d, b), side(c, d, a));
    acb * cbd > 0.0 && acb * dac > 0.0
}

/// Says whether two edges have a point in common.
pub(super) fn touches(one: (Vector, Vector), two: (Vector, Vector)) -> bool {
    crosses(one, two)
        || is_on(one, two.0)
        || is_on(one, two.1)
        || is_on(two, one.0)
        || is_on(two, one.1)
}
