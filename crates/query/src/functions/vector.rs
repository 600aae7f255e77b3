//! Vector similarity.

use model::Value;

use super::{Call, Prepared};
use crate::context::{Context, DistanceFunction};
use crate::value::{Maybe, number};

/// What a comparison needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorOptions {
    pub(crate) distance: DistanceFunction,
    /// How many numbers the vectors of the path have, by the policy.
    pub(crate) dimensions: Option<usize>,
}

/// Chooses the distance function: the options argument, then the policy of the path, then cosine.
pub(crate) fn prepare(
    context: &Context,
    path: Option<&[String]>,
    options: Option<&Value>,
) -> VectorOptions {
    let named = options
        .and_then(|options| options.get("distanceFunction"))
        .and_then(Value::as_str)
        .and_then(DistanceFunction::parse);
    let embedding = context.embeddings.iter().find(|entry| Some(&*entry.path) == path);
    let by_policy = embedding.map(|entry| entry.distance);
    let distance = named.or(by_policy).unwrap_or(DistanceFunction::Cosine);
    VectorOptions { distance, dimensions: embedding.and_then(|entry| entry.dimensions) }
}

/// Says whether a value is a vector: an array of numbers.
pub(crate) fn is_vector(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_number))
}

pub(super) fn distance<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let vector = |index: usize| -> Option<&[Value]> { arguments.get(index)?.as_ref()?.as_array() };
    let (left, right) = (vector(0)?, vector(1)?);
    if left.len() != right.len() {
        return None;
    }
    let options = match call.prepared {
        Prepared::Vector(options) => *options,
        Prepared::Nothing | Prepared::Regex(_) | Prepared::Text { .. } | Prepared::Shapes(_) => {
            VectorOptions { distance: DistanceFunction::Cosine, dimensions: None }
        }
    };
    let pairs = left.iter().zip(right).map(|(left, right)| Some((left.as_f64()?, right.as_f64()?)));
    let pairs = pairs.collect::<Option<Vec<_>>>()?;
    let similarity = similarity(options, pairs.into_iter());
    // A vector without a direction is like no other.
    if similarity.is_nan() { None } else { number(similarity) }
}

/// Compares two vectors, given as pairs of numbers.
pub(crate) fn similarity(options: VectorOptions, pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut sums = Sums::default();
    for (left, right) in pairs {
        sums.add(left, right);
    }
    match options.distance {
        DistanceFunction::Cosine => sums.product / (sums.left * sums.right).sqrt(),
        DistanceFunction::DotProduct => sums.product,
        DistanceFunction::Euclidean => sums.difference.sqrt(),
    }
}

#[derive(Default)]
struct Sums {
    product: f64,
    left: f64,
    right: f64,
    difference: f64,
}

impl Sums {
    fn add(&mut self, left: f64, right: f64) {
        self.product += left * right;
        self.left += left * left;
        self.right += right * right;
        self.difference += (left - right) * (left - right);
    }
}
