//! Rings: closed chains of edges, whose inside lies to the left.

use super::vector::{Vector, add, cross, crosses, is_on, length, same, scaled, side};

/// How far beside an edge its inside is looked for, as a share of the edge.
const STEP: f64 = 1e-6;

/// A closed chain of edges.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub(super) edges: Vec<(Vector, Vector)>,
    is_plane: bool,
}

/// Where a position lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RingSide {
    Inside,
    Boundary,
    Outside,
}

impl Ring {
    /// Makes a ring of positions of which the last is the first. Edges without length are left out.
    pub(super) fn new(positions: &[Vector], is_plane: bool) -> Ring {
        let pairs = positions.iter().zip(positions.iter().skip(1));
        let edges =
            pairs.map(|(from, to)| (*from, *to)).filter(|(from, to)| !same(*from, *to)).collect();
        Ring { edges, is_plane }
    }

    /// Turns the ring around.
    pub(super) fn reverse(&mut self) {
        self.edges.reverse();
        for (from, to) in &mut self.edges {
            std::mem::swap(from, to);
        }
    }

    /// Returns the middle of an edge.
    pub(super) fn middle(&self, (from, to): (Vector, Vector)) -> Vector {
        let sum = add(from, to, 1.0);
        if self.is_plane { sum.map(|part| part / 2.0) } else { scaled(sum, 1.0) }
    }

    /// Returns a position just left of an edge.
    pub(super) fn beside(&self, edge: (Vector, Vector)) -> Vector {
        let (from, to) = edge;
        let middle = self.middle(edge);
        let along = add(to, from, -1.0);
        if self.is_plane {
            let [dx, dy, _] = along;
            return add(middle, [-dy, dx, 0.0], STEP);
        }
        scaled(add(middle, scaled(cross(from, to), length(along)), STEP), 1.0)
    }

    /// Says on which side of the ring a position lies: counts how often the way from a place that is inside crosses it.
    pub(super) fn place(&self, p: Vector) -> RingSide {
        if self.edges.iter().any(|edge| is_on(*edge, p)) {
            return RingSide::Boundary;
        }
        for edge in &self.edges {
            let start = self.beside(*edge);
            // A way that leads over a corner is counted wrongly: another one is looked for.
            let is_clear = length(cross(start, p)) > 0.0
                && self.edges.iter().all(|(corner, _)| side(start, p, *corner) != 0.0);
            if is_clear {
                let n_crossed =
                    self.edges.iter().filter(|edge| crosses(**edge, (start, p))).count();
                return if n_crossed % 2 == 0 { RingSide::Inside } else { RingSide::Outside };
            }
        }
        RingSide::Outside
    }
}
