//! A scan that is read twice, directly and by the engine, and ends with an error where the two differ.
//!
//! The hidden parts of the engine promise nothing. Tests of crashes, relocations and the store's contract read this way, so
//! that a difference shows there first.

use crate::{Error, KeyValue, Result, Scan};

/// The entries of a direct scan, each compared with that of the engine's own.
pub(super) struct Compared {
    direct: Scan<'static>,
    engine: Scan<'static>,
    is_over: bool,
}

impl Compared {
    pub(super) fn new(direct: Scan<'static>, engine: Scan<'static>) -> Compared {
        Compared { direct, engine, is_over: false }
    }
}

impl Iterator for Compared {
    type Item = Result<KeyValue>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let (direct, engine) = (self.direct.next(), self.engine.next());
        match (direct, engine) {
            (Some(Ok(direct)), Some(Ok(engine))) if direct == engine => Some(Ok(direct)),
            (None, None) => None,
            (Some(Err(error)), _) | (_, Some(Err(error))) => {
                self.is_over = true;
                Some(Err(error))
            }
            (direct, engine) => {
                self.is_over = true;
                Some(Err(differ(direct, engine)))
            }
        }
    }
}

fn differ(direct: Option<Result<KeyValue>>, engine: Option<Result<KeyValue>>) -> Error {
    let key = |entry: Option<Result<KeyValue>>| match entry {
        Some(Ok((key, _))) => format!("the key {}", key.escape_ascii()),
        _ => "the end".to_owned(),
    };
    let text = format!(
        "a direct read differs from the engine's: it has {}, the engine has {}",
        key(direct),
        key(engine)
    );
    tracing::error!("{text}");
    Error::Corrupt(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(entries: &[(&'static str, &'static str)]) -> Scan<'static> {
        let entry = |&(key, value): &(&'static str, &'static str)| Ok((key.into(), value.into()));
        let entries: Vec<Result<KeyValue>> = entries.iter().map(entry).collect();
        Box::new(entries.into_iter())
    }

    #[test]
    fn what_both_have_comes_and_any_difference_ends_the_scan() {
        let all = [("a", "1"), ("b", "2"), ("c", "3")];
        let same: Vec<_> = Compared::new(scan(&all), scan(&all)).map(Result::unwrap).collect();
        assert_eq!(same.len(), 3);
        for other in [
            vec![("a", "1"), ("c", "3")],
            vec![("a", "1"), ("b", "other"), ("c", "3")],
            vec![("a", "1"), ("b", "2")],
            vec![("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")],
            vec![],
        ] {
            for (direct, engine) in [(&all[..], &other[..]), (&other[..], &all[..])] {
                let last = Compared::new(scan(direct), scan(engine)).last();
                assert!(matches!(last, Some(Err(Error::Corrupt(_)))), "{other:?}: {last:?}");
            }
        }
    }
}
