//! Compares the index with the items.

use std::collections::{HashMap, HashSet};

use super::path_dictionary::PathDictionary;
use super::terms::{Held, Terms};
use crate::Result;
use crate::consistency::Report;
use crate::keys::{Family, number_of_item};
use crate::reader::Reader;
use crate::record::{ItemRecord, PathRecord};

impl Reader {
    /// Checks entries, path numbers and lists of absent items.
    pub(crate) fn check_index(&self, report: &mut Report) -> Result<()> {
        let n_items = self.head()?.n_items;
        let dictionary = PathDictionary::load(&*self.snapshot, self.keys, n_items)?;
        let (view, rules) = (dictionary.view(), dictionary.rules());
        let (mut must, mut may) = (HashSet::new(), HashSet::new());
        let mut paths: HashMap<u64, Vec<u16>> = HashMap::new();
        for entry in self.scan(self.keys.family(Family::Item)) {
            let (key, value) = entry?;
            let number = number_of_item(&key)?;
            let record = ItemRecord::decode(value)?;
            let mut unknown = Vec::new();
            let held = Held::of(record.text(), rules, &view, &mut unknown)?;
            report.check(unknown.is_empty() || !rules.is_settled(), || {
                format!("item {number} has terms at paths without a number: {unknown:?}")
            });
            paths.insert(number, held.surely.paths());
            let keys = |terms: &Terms| -> Vec<Vec<u8>> {
                terms.iter().map(|(path, term)| self.keys.term(path, term, number)).collect()
            };
            must.extend(keys(&held.surely));
            may.extend(keys(&held.perhaps));
        }
        let mut n_entries = 0_u64;
        for entry in self.scan(self.keys.family(Family::Index)) {
            let (key, _) = entry?;
            n_entries += 1;
            must.remove(&key[..]);
            report.check(may.contains(&key[..]), || format!("index entry {key:?} is stray"));
        }
        let n_left = must.len();
        report.check(n_left == 0, || format!("{n_left} terms are not in the index"));
        report.n_terms = n_entries;
        self.check_absent(&dictionary, &paths, report)
    }

    fn check_absent(
        &self,
        dictionary: &PathDictionary,
        paths: &HashMap<u64, Vec<u16>>,
        report: &mut Report,
    ) -> Result<()> {
        let mut numbers = HashSet::new();
        for entry in self.scan(self.keys.family(Family::Path)) {
            let record = PathRecord::decode(&entry?.1)?;
            let number = record.number;
            report.check(numbers.insert(number), || format!("path number {number} is given twice"));
            let Some(absent) = record.absent.filter(|_| record.epoch == dictionary.epoch()) else {
                continue;
            };
            let mut expected: Vec<u64> = paths
                .iter()
                .filter(|(_, paths)| paths.binary_search(&number).is_err())
                .map(|(item, _)| *item)
                .collect();
            expected.sort_unstable();
            report.check(absent == expected, || {
                format!("path {number} lists {absent:?} as absent, not {expected:?}")
            });
        }
        Ok(())
    }
}
