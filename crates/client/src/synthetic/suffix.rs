//! Suffixed keys: one hot value, spread over many logical partitions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ReadPlan, SyntheticKey, part_at, part_text};
use crate::{Env, Error, JsonPath, Key, Result};

/// Suffixes 1…400, as documented.
const COUNT: u32 = 400;

// Limit: reading one base value visits every suffix; beyond this a query has too many parameters.
const COUNT_MAX: u32 = 10_000;

fn check_count(count: u32) -> Result<u32> {
    match count {
        1..=COUNT_MAX => Ok(count),
        _ => Err(Error::SuffixCount { count, count_max: COUNT_MAX }),
    }
}

fn all_keys(base: &str, count: u32) -> ReadPlan {
    ReadPlan::FanOut((1..=count).map(|it| format!("{base}.{it}")).collect())
}

/// Appends a random number: "2018-08-09.1" … "2018-08-09.400". Best for writes, expensive for reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RandomSuffix {
    property: JsonPath,
    base: JsonPath,
    count: u32,
    #[serde(skip, default = "Env::system")]
    env: Env,
}

impl RandomSuffix {
    /// Suffixes the value at `base` and writes it to `property`.
    pub fn new(property: &str, base: &str) -> Result<RandomSuffix> {
        let (property, base) = (JsonPath::parse(property)?, JsonPath::parse(base)?);
        Ok(RandomSuffix { property, base, count: COUNT, env: Env::system() })
    }

    /// Sets the number of suffixes. Raising it later strands nothing; lowering it hides what is above.
    pub fn count(mut self, count: u32) -> Result<RandomSuffix> {
        self.count = check_count(count)?;
        Ok(self)
    }

    /// Sets the source of randomness.
    #[must_use]
    pub fn with_env(mut self, env: Env) -> RandomSuffix {
        self.env = env;
        self
    }

    /// Writes a key whose suffix follows from a text instead of chance: the same text, the same key.
    ///
    /// An item that has a key of this scheme already keeps it.
    pub(crate) fn apply_by(&self, item: &mut Value, text: &str) -> Result<String> {
        let base = part_at(&self.base, item)?;
        if let Some(Value::String(key)) = self.property.find(item)
            && let Some(suffix) = key.strip_prefix(&base).and_then(|it| it.strip_prefix('.'))
            && suffix.parse().is_ok_and(|it: u32| (1..=self.count).contains(&it))
        {
            return Ok(key.clone());
        }
        let key = HashedSuffix::key(&base, text, self.count)?;
        super::write(&self.property, item, key)
    }

    /// Plans the read of one item, or of all, of a base value: every suffix, since nobody knows which.
    pub fn plan(&self, base: &Key) -> Result<ReadPlan> {
        Ok(all_keys(&part_text(base)?, self.count))
    }
}

impl SyntheticKey for RandomSuffix {
    fn property(&self) -> &JsonPath {
        &self.property
    }

    fn make(&self, item: &Value) -> Result<String> {
        let suffix = 1 + self.env.random_u64() % u64::from(check_count(self.count)?);
        Ok(format!("{}.{suffix}", part_at(&self.base, item)?))
    }
}

/// Appends a number computed from the attribute that items are looked up by.
///
/// The suffix is 1 + XXH64(UTF-8 text of the attribute, seed 0) modulo the number of suffixes. Numbers have
/// the text of [`Number`](crate::Number).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HashedSuffix {
    property: JsonPath,
    base: JsonPath,
    attribute: JsonPath,
    count: u32,
    /// Numbers of suffixes that items were written with before, and may still have.
    #[serde(default)]
    earlier_counts: Vec<u32>,
}

impl HashedSuffix {
    /// Suffixes the value at `base` by the hash of the one at `attribute`, and writes it to `property`.
    pub fn new(property: &str, base: &str, attribute: &str) -> Result<HashedSuffix> {
        Ok(HashedSuffix {
            property: JsonPath::parse(property)?,
            base: JsonPath::parse(base)?,
            attribute: JsonPath::parse(attribute)?,
            count: COUNT,
            earlier_counts: Vec::new(),
        })
    }

    /// Sets the number of suffixes of a new scheme.
    pub fn count(mut self, count: u32) -> Result<HashedSuffix> {
        self.count = check_count(count)?;
        Ok(self)
    }

    /// Changes the number of suffixes: writes use the new one, reads look for both.
    pub fn changed_to(mut self, count: u32) -> Result<HashedSuffix> {
        if !self.earlier_counts.contains(&self.count) {
            self.earlier_counts.push(self.count);
        }
        self.earlier_counts.retain(|it| *it != count);
        self.count = check_count(count)?;
        Ok(self)
    }

    /// Ends the time of earlier numbers: every item has been written anew.
    #[must_use]
    pub fn settled(mut self) -> HashedSuffix {
        self.earlier_counts.clear();
        self
    }

    fn key(base: &str, attribute: &str, count: u32) -> Result<String> {
        let hash = xxhash_rust::xxh64::xxh64(attribute.as_bytes(), 0);
        Ok(format!("{base}.{}", 1 + hash % u64::from(check_count(count)?)))
    }

    /// Plans the read of an item: one key, or one more for each earlier number of suffixes.
    pub fn plan(&self, base: &Key, attribute: &Key) -> Result<ReadPlan> {
        let (base, attribute) = (part_text(base)?, part_text(attribute)?);
        let mut keys = vec![Self::key(&base, &attribute, self.count)?];
        for count in &self.earlier_counts {
            let key = Self::key(&base, &attribute, *count)?;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(if keys.len() == 1 { ReadPlan::Point(keys.remove(0)) } else { ReadPlan::FanOut(keys) })
    }

    /// Plans the read of all items of a base value.
    pub fn plan_all(&self, base: &Key) -> Result<ReadPlan> {
        let count = self.earlier_counts.iter().copied().fold(self.count, u32::max);
        Ok(all_keys(&part_text(base)?, count))
    }
}

impl SyntheticKey for HashedSuffix {
    fn property(&self) -> &JsonPath {
        &self.property
    }

    fn make(&self, item: &Value) -> Result<String> {
        let (base, attribute) = (part_at(&self.base, item)?, part_at(&self.attribute, item)?);
        Self::key(&base, &attribute, self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_random_suffix_is_always_among_the_planned_keys() {
        let scheme = RandomSuffix::new("/pk", "/date").unwrap().with_env(Env::fixed(1, 0));
        let plan = scheme.plan(&"2018-08-09".into()).unwrap();
        assert_eq!(plan.keys().len(), 400);
        assert_eq!(plan.keys()[0], "2018-08-09.1");
        assert_eq!(plan.keys()[399], "2018-08-09.400");
        let mut seen = BTreeSet::new();
        for _ in 0..4000 {
            let key = scheme.make(&json!({"date": "2018-08-09"})).unwrap();
            assert!(plan.keys().contains(&key), "{key}");
            seen.insert(key);
        }
        assert!(seen.len() > 390, "{}", seen.len());
    }

    #[test]
    fn a_hashed_suffix_is_stable_and_can_be_computed() {
        let scheme = HashedSuffix::new("/pk", "/date", "/vin").unwrap();
        let key = scheme.make(&json!({"date": "2018-08-09", "vin": "1HGCM82633A004352"})).unwrap();
        // Pinned: a change of this value strands every item written before.
        assert_eq!(key, "2018-08-09.49");
        let plan = scheme.plan(&"2018-08-09".into(), &"1HGCM82633A004352".into()).unwrap();
        assert_eq!(plan, ReadPlan::Point(key));
    }

    #[test]
    fn a_change_of_count_reads_both() {
        let old = HashedSuffix::new("/pk", "/d", "/v").unwrap().count(10).unwrap();
        let new = old.clone().changed_to(100).unwrap();
        let (before, after) = (
            old.make(&json!({"d": 1, "v": "x"})).unwrap(),
            new.make(&json!({"d": 1, "v": "x"})).unwrap(),
        );
        let plan = new.plan(&1.into(), &"x".into()).unwrap();
        assert!(plan.keys().contains(&before) && plan.keys().contains(&after));
        assert_eq!(new.plan_all(&1.into()).unwrap().keys().len(), 100);
        assert_eq!(new.settled().plan(&1.into(), &"x".into()).unwrap(), ReadPlan::Point(after));
        assert!(old.count(0).is_err());
    }

    #[test]
    fn the_query_of_a_plan_names_every_key() {
        let scheme = RandomSuffix::new("/pk", "/date").unwrap().count(2).unwrap();
        let plan = scheme.plan(&"d".into()).unwrap();
        let statement = plan.query("c", scheme.property(), Some("c.id = @id"));
        assert_eq!(
            statement.text,
            r#"SELECT * FROM c WHERE c["pk"] IN (@key0, @key1) AND (c.id = @id)"#
        );
        assert_eq!(statement.parameters[1], ("@key1".to_owned(), json!("d.2")));
        let all = ReadPlan::CrossPartition.query("c", scheme.property(), None);
        assert_eq!(all.text, "SELECT * FROM c");
    }
}
