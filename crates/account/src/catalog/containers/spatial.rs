//! Spatial indexes: a path, the shapes found there, and a bounding box for flat geometry.

use model::{Object, Value};

use super::index_path::IndexPath;
use crate::body;
use crate::error::{Error, Result};
use crate::policy_error::PolicyError;

/// Limit: keeps the catalog small; the service documents no number.
const INDEXES_MAX: usize = 100;
const TYPES: [&str; 4] = ["Point", "LineString", "Polygon", "MultiPolygon"];
const CORNERS: [&str; 4] = ["xmin", "ymin", "xmax", "ymax"];

pub(super) fn complete(policy: &Object, is_geometry: bool) -> Result<Vec<Value>> {
    let indexes = body::object_list(policy, "spatialIndexes")?;
    if indexes.len() > INDEXES_MAX {
        let count = indexes.len();
        let what = "spatial indexes";
        return Err(PolicyError::TooMany { what, count, max: INDEXES_MAX }.into());
    }
    indexes.into_iter().map(|index| complete_one(index, is_geometry)).collect()
}

fn complete_one(index: &Object, is_geometry: bool) -> Result<Value> {
    let path = body::required_text(index, "path")?;
    IndexPath::parse(path)?;
    let types = body::text_list(index, "types")?;
    for text in &types {
        if body::spelled(text, &TYPES).is_none() {
            let value = text.clone();
            return Err(PolicyError::UnknownValue { property: "types", value }.into());
        }
    }
    if types.is_empty() {
        return Err(PolicyError::SpatialTypesEmpty { path: path.to_owned() }.into());
    }
    // Wire: whatever was asked for, all shapes are indexed, and told.
    let types = Value::Array(TYPES.into_iter().map(Value::from).collect());
    let mut completed = body::object([("path", path.into()), ("types", types)]);
    match body::optional_object(index, "boundingBox")? {
        Some(_) if !is_geometry => {
            return Err(PolicyError::BoundingBoxUnexpected { path: path.to_owned() }.into());
        }
        Some(corners) => {
            completed.insert("boundingBox", Value::Object(bounding_box(path, corners)?));
        }
        None if is_geometry => {
            return Err(PolicyError::BoundingBoxMissing { path: path.to_owned() }.into());
        }
        None => {}
    }
    Ok(Value::Object(completed))
}

fn bounding_box(path: &str, corners: &Object) -> Result<Object> {
    let mut numbers = [0.0; 4];
    let mut completed = Object::new();
    for (name, number) in CORNERS.into_iter().zip(&mut numbers) {
        let value =
            body::present(corners, name).ok_or(Error::PropertyMissing { property: name })?;
        *number =
            value.as_f64().ok_or_else(|| Error::PropertyInvalid { property: name.to_owned() })?;
        completed.insert(name, value.clone());
    }
    let [xmin, ymin, xmax, ymax] = numbers;
    if xmin >= xmax || ymin >= ymax {
        return Err(PolicyError::BoundingBoxInvalid { path: path.to_owned() }.into());
    }
    Ok(completed)
}
