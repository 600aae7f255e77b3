//! Shapes as they are computed with.

use super::ring::{Ring, RingSide};
use super::vector::{Vector, is_on, touches};

/// A shape; valid, since only such are read.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(super) kind: Kind,
    pub(super) is_plane: bool,
    /// As written, for distances and areas: x or longitude first.
    pub(super) points: Vec<[f64; 2]>,
    pub(super) vectors: Vec<Vector>,
    /// Edges with the places of their ends in `points`.
    pub(super) edges: Vec<(usize, usize)>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Point,
    Line,
    /// Polygons: an exterior ring, then holes.
    Area(Vec<Vec<Ring>>),
}

impl Shape {
    pub(super) fn edge(&self, (from, to): (usize, usize)) -> Option<(Vector, Vector)> {
        Some((*self.vectors.get(from)?, *self.vectors.get(to)?))
    }

    pub(super) fn each_edge(&self) -> impl Iterator<Item = (Vector, Vector)> + '_ {
        self.edges.iter().filter_map(|edge| self.edge(*edge))
    }

    /// Says where a position lies with respect to the shape. The ends of a line are its boundary.
    pub(super) fn place(&self, p: Vector) -> RingSide {
        match &self.kind {
            Kind::Point if self.vectors.first() == Some(&p) => RingSide::Inside,
            Kind::Point => RingSide::Outside,
            Kind::Line => {
                let (first, last) = (self.vectors.first(), self.vectors.last());
                if first != last && (first == Some(&p) || last == Some(&p)) {
                    RingSide::Boundary
                } else if self.each_edge().any(|edge| is_on(edge, p)) {
                    RingSide::Inside
                } else {
                    RingSide::Outside
                }
            }
            Kind::Area(polygons) => {
                let mut best = RingSide::Outside;
                for rings in polygons {
                    match place_in(rings, p) {
                        RingSide::Inside => return RingSide::Inside,
                        RingSide::Boundary => best = RingSide::Boundary,
                        RingSide::Outside => {}
                    }
                }
                best
            }
        }
    }

    /// Says whether the shapes have a point in common.
    pub(super) fn touches(&self, other: &Shape) -> bool {
        let is_at = |shape: &Shape, p: &Vector| shape.place(*p) != RingSide::Outside;
        self.vectors.iter().any(|p| is_at(other, p))
            || other.vectors.iter().any(|p| is_at(self, p))
            || self.each_edge().any(|edge| other.each_edge().any(|own| touches(edge, own)))
    }

    /// Says whether no point lies outside of another shape, and some inside of it.
    pub(super) fn is_within(&self, other: &Shape) -> bool {
        let mut has_inside = false;
        let mut is_at = |p: Vector| match other.place(p) {
            RingSide::Inside => {
                has_inside = true;
                true
            }
            RingSide::Boundary => true,
            RingSide::Outside => false,
        };
        let middle =
            |(from, to): (Vector, Vector)| Ring::new(&[from, to], self.is_plane).middle((from, to));
        if !self.vectors.iter().all(|p| is_at(*p))
            || !self.each_edge().all(|edge| is_at(middle(edge)))
        {
            return false;
        }
        if self
            .each_edge()
            .any(|edge| other.each_edge().any(|own| super::vector::crosses(edge, own)))
        {
            return false;
        }
        let Kind::Area(polygons) = &self.kind else { return has_inside };
        // What is all border on border has its inside where the other has it; a corner of the other inside of this one
        // has something beside it that is not of the other.
        let is_inside = |rings: &Vec<Ring>| {
            let start = rings.first().and_then(|ring| Some(ring.beside(*ring.edges.first()?)));
            start.is_some_and(|start| other.place(start) == RingSide::Inside)
        };
        matches!(other.kind, Kind::Area(_))
            && polygons.iter().all(is_inside)
            && !other.vectors.iter().any(|p| self.place(*p) == RingSide::Inside)
    }
}

/// Says where a position lies with respect to a polygon.
pub(super) fn place_in(rings: &[Ring], p: Vector) -> RingSide {
    let mut place = RingSide::Inside;
    for ring in rings {
        match ring.place(p) {
            RingSide::Outside => return RingSide::Outside,
            RingSide::Boundary => place = RingSide::Boundary,
            RingSide::Inside => {}
        }
    }
    place
}
