//! Vector indexes: vectors packed as numbers side by side, to be compared without parsing items.
//!
//! The packed form is `04` and floats, where no number loses anything by that, or `08` and doubles; little-endian. The term
//! of a vector is a digest of it, so that a changed vector is another entry.

use model::Value;

/// Limit: numbers of a vector, as the service has it.
const DIMENSIONS_MAX: usize = 4096;

const FLOATS: u8 = 4;
const DOUBLES: u8 = 8;

/// Packs an array of numbers; `None` when it is something else.
pub(super) fn pack(vector: &Value) -> Option<Vec<u8>> {
    let list = vector.as_array()?;
    if list.len() > DIMENSIONS_MAX {
        return None;
    }
    let numbers = list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>()?;
    #[expect(clippy::cast_possible_truncation, clippy::float_cmp, reason = "nothing may be lost")]
    let as_float = |number: f64| Some(number as f32).filter(|float| f64::from(*float) == number);
    let floats: Option<Vec<f32>> = numbers.iter().map(|number| as_float(*number)).collect();
    let mut packed = Vec::with_capacity(1 + 8 * numbers.len());
    if let Some(floats) = floats {
        packed.push(FLOATS);
        packed.extend(floats.into_iter().flat_map(f32::to_le_bytes));
    } else {
        packed.push(DOUBLES);
        packed.extend(numbers.into_iter().flat_map(f64::to_le_bytes));
    }
    Some(packed)
}

/// Returns the numbers of a packed vector.
pub(crate) fn unpack(packed: &[u8]) -> Option<Vec<f64>> {
    let (kind, bytes) = packed.split_first()?;
    match *kind {
        FLOATS => {
            let (floats, rest) = bytes.as_chunks::<4>();
            rest.is_empty()
                .then(|| floats.iter().map(|own| f32::from_le_bytes(*own).into()).collect())
        }
        DOUBLES => {
            let (doubles, rest) = bytes.as_chunks::<8>();
            rest.is_empty().then(|| doubles.iter().map(|own| f64::from_le_bytes(*own)).collect())
        }
        _ => None,
    }
}

/// Returns the term of a packed vector.
pub(super) fn term(packed: &[u8]) -> Vec<u8> {
    // A digest: vectors that are told apart wrongly cost a write, those that are not would cost a search result.
    let mut term = vec![1];
    term.extend_from_slice(&model::fnv1a(packed).to_be_bytes());
    term
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_back_as_they_were() {
        for text in ["[]", "[1,2.5,-3]", "[0.1,1e300,-7]", "[16777217]"] {
            let value = model::json::parse(text.as_bytes()).unwrap();
            let numbers: Vec<f64> =
                value.as_array().unwrap().iter().map(|own| own.as_f64().unwrap()).collect();
            assert_eq!(unpack(&pack(&value).unwrap()).unwrap(), numbers, "{text}");
        }
        for text in ["1", "[\"a\"]", "[[1]]", "null"] {
            assert_eq!(pack(&model::json::parse(text.as_bytes()).unwrap()), None, "{text}");
        }
        assert!(unpack(&[]).is_none() && unpack(&[4, 1]).is_none() && unpack(&[9]).is_none());
    }
}
