//! Spatial functions over `GeoJSON`: [longitude, latitude] in degrees on the globe, or plane coordinates.
//!
//! On the globe edges and distances are arcs of great ellipses, in which planes through the centre cut the earth, and the inside
//! of a ring lies to its left. Areas are those of the sphere that has the earth's.

mod bounds;
mod measure;
mod read;
mod ring;
mod shape;
mod vector;

pub(crate) use bounds::{Bounds, Extent, extent};
use std::borrow::Cow;

use model::{Object, Value};

use super::{Call, Prepared};
use crate::value::{Datum, Maybe, boolean, number};
use read::read;
use shape::Shape;

/// An argument of a spatial function, as far as it is known before there are rows.
#[derive(Debug)]
pub(crate) enum ShapeArgument {
    /// It depends on the row.
    Varies,
    /// A constant that is no shape.
    Invalid,
    /// A constant, read once for all rows.
    Shape(Box<Shape>),
}

impl ShapeArgument {
    /// Reads a constant.
    pub(crate) fn of_constant(value: Option<&Value>, is_plane: bool) -> ShapeArgument {
        let shape = value.and_then(|value| read(value, is_plane).ok());
        shape.map_or(ShapeArgument::Invalid, |shape| ShapeArgument::Shape(Box::new(shape)))
    }
}

fn shape_at<'c>(
    call: &'c Call<'_>,
    arguments: &[Maybe<'_>],
    index: usize,
) -> Option<Cow<'c, Shape>> {
    if let Prepared::Shapes(shapes) = call.prepared {
        match shapes.get(index) {
            Some(ShapeArgument::Invalid) => return None,
            Some(ShapeArgument::Shape(shape)) => return Some(Cow::Borrowed(shape)),
            Some(ShapeArgument::Varies) | None => {}
        }
    }
    let value = arguments.get(index)?.as_ref()?.value()?;
    read(value, call.context.is_geometry).ok().map(Cow::Owned)
}

/// Why an argument is no shape.
fn fault(call: &Call<'_>, arguments: &[Maybe<'_>]) -> Option<String> {
    let value = arguments.first().and_then(Option::as_ref).and_then(Datum::value);
    read(value.unwrap_or(&Value::Null), call.context.is_geometry).err()
}

pub(super) fn is_valid<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    boolean(fault(call, arguments).is_none())
}

#[expect(clippy::unnecessary_wraps, reason = "functions return Maybe")]
pub(super) fn is_valid_detailed<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let mut answer = Object::new();
    let reason = fault(call, arguments);
    answer.insert("valid", reason.is_none());
    if let Some(reason) = reason {
        answer.insert("reason", reason);
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
    number(measure::area(&*shape_at(call, arguments, 0)?))
}

pub(super) fn distance<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (left, right) = (shape_at(call, arguments, 0)?, shape_at(call, arguments, 1)?);
    if left.touches(&right) {
        return number(0.0);
    }
    number(measure::distance(&left, &right)?)
}
