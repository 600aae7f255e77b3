//! Vector embedding policy and vector indexes.

use std::collections::HashSet;

use model::{Object, PropertyPath, Value};
use query::{DistanceFunction, VectorEmbedding};

use crate::body;
use crate::error::Result;
use crate::policy_error::PolicyError;

/// Limit: the service's numbers.
const EMBEDDINGS_MAX: usize = 32;
const DIMENSIONS_MAX: i64 = 4096;
const FLAT_DIMENSIONS_MAX: i64 = 505;

const DATA_TYPES: [&str; 4] = ["float32", "float16", "uint8", "int8"];
const DISTANCES: [&str; 3] = ["cosine", "euclidean", "dotproduct"];
const INDEX_TYPES: [&str; 3] = ["flat", "quantizedFlat", "diskANN"];
const QUANTIZERS: [&str; 2] = ["product", "spherical"];

/// Completes the embedding policy; one without embeddings is as good as none.
pub(super) fn complete(policy: &Object) -> Result<Option<Object>> {
    let embeddings = body::object_list(policy, "vectorEmbeddings")?;
    if embeddings.len() > EMBEDDINGS_MAX {
        let count = embeddings.len();
        let what = "vector embeddings";
        return Err(PolicyError::TooMany { what, count, max: EMBEDDINGS_MAX }.into());
    }
    let mut seen = HashSet::new();
    let completed =
        embeddings.into_iter().map(|embedding| complete_embedding(embedding, &mut seen));
    let completed = completed.collect::<Result<Vec<_>>>()?;
    if completed.is_empty() {
        return Ok(None);
    }
    Ok(Some(body::object([("vectorEmbeddings", Value::Array(completed))])))
}

fn complete_embedding(embedding: &Object, seen: &mut HashSet<PropertyPath>) -> Result<Value> {
    let path = body::required_text(embedding, "path")?;
    let vector_path = |reason| PolicyError::VectorPath { path: path.to_owned(), reason };
    let parsed = PropertyPath::parse(path)
        .map_err(|_| vector_path("It must name a property, without wildcard."))?;
    if !seen.insert(parsed) {
        return Err(vector_path("It is there twice.").into());
    }
    let text = |name, default| {
        Ok::<_, crate::Error>(body::optional_text(embedding, name)?.unwrap_or(default))
    };
    let data_type = text("dataType", "float32")?;
    let data_type = body::spelled(data_type, &DATA_TYPES)
        .ok_or_else(|| PolicyError::VectorDataType { value: data_type.to_owned() })?;
    let distance = text("distanceFunction", "cosine")?;
    let distance = body::spelled(distance, &DISTANCES)
        .ok_or_else(|| PolicyError::VectorDistance { value: distance.to_owned() })?;
    let dimensions = body::optional_int(embedding, "dimensions")?.unwrap_or(1536);
    if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
        return Err(PolicyError::VectorDimensions { dimensions, max: DIMENSIONS_MAX }.into());
    }
    Ok(Value::Object(body::object([
        ("path", path.into()),
        ("dataType", data_type.into()),
        ("dimensions", dimensions.into()),
        ("distanceFunction", distance.into()),
    ])))
}

/// Completes the vector indexes of an indexing policy; each path must be in the embedding policy.
pub(super) fn complete_indexes(policy: &Object, embeddings: Option<&Object>) -> Result<Vec<Value>> {
    let mut seen = HashSet::new();
    let mut completed = Vec::new();
    for index in body::object_list(policy, "vectorIndexes")? {
        let path = body::required_text(index, "path")?;
        let kind = body::required_text(index, "type")?;
        let kind = body::spelled(kind, &INDEX_TYPES)
            .ok_or_else(|| PolicyError::VectorIndexType { value: kind.to_owned() })?;
        let unmatched = || PolicyError::VectorIndexPath { path: path.to_owned() };
        let dimensions = dimensions_at(embeddings, path).ok_or_else(unmatched)?;
        if !seen.insert(path.to_owned()) {
            return Err(PolicyError::IndexPathTwice { path: path.to_owned() }.into());
        }
        if kind == "flat" && dimensions > FLAT_DIMENSIONS_MAX {
            let max = FLAT_DIMENSIONS_MAX;
            return Err(PolicyError::VectorFlatDimensions { dimensions, max }.into());
        }
        let mut one = body::object([("path", path.into()), ("type", kind.into())]);
        complete_parameters(index, kind, dimensions, &mut one)?;
        completed.push(Value::Object(one));
    }
    Ok(completed)
}

fn complete_parameters(
    index: &Object,
    kind: &'static str,
    dimensions: i64,
    one: &mut Object,
) -> Result<()> {
    // Limit: ranges of the service; a search list exists only in a graph index.
    let numbers = [
        ("quantizationByteSize", "QuantizationByteSize", 1, dimensions.min(512)),
        ("indexingSearchListSize", "IndexingSearchListSize", 25, 500),
    ];
    for (parameter, name, min, max) in numbers {
        let Some(value) = body::optional_int(index, parameter)? else { continue };
        let is_unfit = kind == "flat" || parameter == "indexingSearchListSize" && kind != "diskANN";
        if is_unfit {
            return Err(PolicyError::VectorParameterUnfit { parameter, kind }.into());
        }
        if !(min..=max).contains(&value) {
            return Err(PolicyError::VectorParameter { parameter: name, value, min, max }.into());
        }
        one.insert(parameter, value);
    }
    if let Some(text) = body::optional_text(index, "quantizerType")? {
        let name = body::spelled(text, &QUANTIZERS).ok_or_else(|| PolicyError::UnknownValue {
            property: "quantizerType",
            value: text.to_owned(),
        })?;
        if kind == "flat" {
            let parameter = "quantizerType";
            return Err(PolicyError::VectorParameterUnfit { parameter, kind }.into());
        }
        one.insert("quantizerType", name);
    }
    // Wire: Java's constant has an `s` at the end; answered in the spelling that was sent.
    for name in ["vectorIndexShardKey", "vectorIndexShardKeys"] {
        let paths = body::text_list(index, name)?;
        if let Some(path) = paths.iter().find(|path| PropertyPath::parse(path).is_err()) {
            return Err(PolicyError::VectorShardPath { path: path.clone() }.into());
        }
        if paths.len() > 1 {
            return Err(PolicyError::VectorShardPaths { count: paths.len() }.into());
        }
        if !paths.is_empty() {
            one.insert(name, Value::Array(paths.into_iter().map(Value::from).collect()));
        }
    }
    Ok(())
}

fn dimensions_at(embeddings: Option<&Object>, path: &str) -> Option<i64> {
    let wanted = PropertyPath::parse(path).ok()?;
    let list = embeddings?.get("vectorEmbeddings")?.as_array()?;
    let embedding = list.iter().find(|embedding| {
        let path = embedding.get("path").and_then(Value::as_str);
        path.and_then(|path| PropertyPath::parse(path).ok()).as_ref() == Some(&wanted)
    })?;
    embedding.get("dimensions").and_then(body::whole)
}

/// The embeddings of a completed body, as queries use them.
pub(super) fn embeddings(completed: &Object) -> Vec<VectorEmbedding> {
    let policy = completed.get("vectorEmbeddingPolicy");
    let list = policy.and_then(|policy| policy.get("vectorEmbeddings")).and_then(Value::as_array);
    let read = |embedding: &Value| {
        let path = PropertyPath::parse(embedding.get("path")?.as_str()?).ok()?;
        let distance = DistanceFunction::parse(embedding.get("distanceFunction")?.as_str()?)?;
        let dimensions = embedding.get("dimensions").and_then(body::whole);
        let dimensions = dimensions.and_then(|dimensions| usize::try_from(dimensions).ok());
        Some(VectorEmbedding { path: path.segments().to_vec(), distance, dimensions })
    };
    list.unwrap_or_default().iter().filter_map(read).collect()
}

/// The path of a vector index that is of another type than before; indexes may come and go.
pub(super) fn changed_index(old: &Object, new: &Object) -> Option<String> {
    let list = |body: &Object| {
        let indexes = body.get("indexingPolicy").and_then(|policy| policy.get("vectorIndexes"));
        indexes.and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
    };
    let (old, new) = (list(old), list(new));
    let is_changed = |index: &&Value| {
        let mut before = old.iter().filter(|it| it.get("path") == index.get("path"));
        before.any(|it| it.get("type") != index.get("type"))
    };
    let changed = new.iter().find(is_changed)?;
    changed.get("path").and_then(Value::as_str).map(str::to_owned)
}

/// Wire: embeddings may be added, existing ones must stay as they are.
pub(super) fn is_extension(old: Option<&Object>, new: Option<&Object>) -> bool {
    let list = |policy: Option<&Object>| {
        let list = policy.and_then(|policy| policy.get("vectorEmbeddings"));
        list.and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
    };
    let new = list(new);
    list(old).iter().all(|embedding| new.contains(embedding))
}
