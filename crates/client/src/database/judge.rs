//! Which rows of a page are shown while items move.
//!
//! An item may be in several containers then. It has one place where it is shown: the first source that has a version
//! which the query finds, or else its owner. A source does not change during a move but by a delete, so the place stays
//! the same however often the item is written and whenever it is copied: a query can be resumed by somebody who knows
//! nothing of what was shown. What is shown there is the version that counts.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::PartitionedDatabase;
use crate::items::{COPY_MARK, id_of, is_same, source_of};
use crate::{ContainerLink, Error, Key, PageRequest, Result, RowRule, Statement, Stored};

/// A row, and what tells its item from others if it may turn up again.
pub(super) type Row = (Option<u128>, Value);

/// Judges the rows of a query.
pub(super) struct Judge<'a> {
    pub(super) database: &'a PartitionedDatabase,
    pub(super) statement: &'a Statement,
}

/// The item of a row that may be in several containers.
struct Moving {
    id: String,
    partition: Key,
    sources: Vec<ContainerLink>,
    owner: ContainerLink,
}

/// A row that is shown, with what only the query itself can tell: which rows it makes of other versions.
struct Doubt {
    row: Row,
    /// Not shown if the query finds the item in one of these.
    unless: Vec<Asked>,
    /// What the query finds here is shown instead, and if that is nothing, nothing.
    instead: Option<Asked>,
}

/// An item in a container, by the keys of [`Answers`].
type Asked = (Logical, String);

/// A container and a partition of the service, as text so that it can be compared.
type Logical = (ContainerLink, String);

/// What the query finds: for each logical partition the rows by id.
type Answers = BTreeMap<Logical, (Key, HashMap<String, Option<Value>>)>;

impl Judge<'_> {
    /// Returns what is shown of some rows that were found in a container.
    pub(super) async fn rows(&self, from: &ContainerLink, rows: Vec<Value>) -> Result<Vec<Row>> {
        let mut doubts = Vec::with_capacity(rows.len());
        let mut answers = Answers::new();
        for mut row in rows {
            if let Some(object) = row.as_object_mut() {
                object.remove(COPY_MARK);
            }
            doubts.extend(self.judge(from, row, &mut answers).await?);
        }
        for ((container, _), (partition, rows)) in &mut answers {
            self.ask(container, partition, rows).await?;
        }
        Ok(doubts.into_iter().filter_map(|it| it.resolve(&answers)).collect())
    }

    async fn judge(
        &self,
        from: &ContainerLink,
        row: Value,
        answers: &mut Answers,
    ) -> Result<Option<Doubt>> {
        let resolver = &self.database.scheme.resolver;
        // A row without a key is not an item: there is nothing to compare it with.
        let Ok(key) = resolver.key_of(&row) else { return Ok(Some(Doubt::none(None, row))) };
        let (sources, owner) = match resolver.row_rule(from, &key) {
            Ok(RowRule::Keep) | Err(Error::NoContainer { .. }) => {
                return Ok(Some(Doubt::none(None, row)));
            }
            Ok(RowRule::Drop) => return Ok(None),
            Ok(RowRule::Moving { sources, owner }) => (sources, owner),
            Err(error) => return Err(error),
        };
        let (Ok((_, partition)), Ok(id)) = (self.database.scheme.keys_of(&row), id_of(&row)) else {
            return Ok(Some(Doubt::none(None, row)));
        };
        let identity = xxhash_rust::xxh3::xxh3_128(format!("{key}{id}").as_bytes());
        let moving = Moving { id: id.to_owned(), partition, sources, owner };
        let doubt = Doubt::none(Some(identity), row);
        self.judge_moving(from, &moving, doubt, answers).await
    }

    async fn judge_moving(
        &self,
        from: &ContainerLink,
        moving: &Moving,
        mut doubt: Doubt,
        answers: &mut Answers,
    ) -> Result<Option<Doubt>> {
        let is_home = *from == moving.owner;
        // Read when it is needed, and then once.
        let mut here: Option<Option<Stored>> = None;
        for source in moving.sources.iter().take_while(|it| *it != from) {
            let Some(found) = self.read(source, moving).await? else { continue };
            let here = match &mut here {
                Some(it) => it,
                here @ None => here.insert(self.read(from, moving).await?),
            };
            match here {
                Some(it) if is_same(&it.item, &found.item) => return Ok(None),
                Some(_) => doubt.unless.push(moving.ask(source, answers)),
                // Deleted since the page was read.
                None => return Ok(None),
            }
        }
        if is_home {
            if doubt.unless.is_empty() {
                // No source has it: it was created here, or a move was killed before it took its copy back.
                let here = self.read(from, moving).await?;
                return Ok(here.is_some_and(|it| source_of(&it.item).is_none()).then_some(doubt));
            }
            return Ok(Some(doubt));
        }
        let copy = self.read(&moving.owner, moving).await?;
        if let Some(copy) = copy.filter(|it| source_of(&it.item).is_none()) {
            let here = match here {
                Some(it) => it,
                None => self.read(from, moving).await?,
            };
            match here {
                Some(it) if is_same(&it.item, &copy.item) => {}
                Some(_) => doubt.instead = Some(moving.ask(&moving.owner, answers)),
                None => return Ok(None),
            }
        }
        Ok(Some(doubt))
    }

    async fn read(&self, container: &ContainerLink, moving: &Moving) -> Result<Option<Stored>> {
        self.database.items.read(container, &moving.partition, &moving.id).await
    }

    /// Asks the query for the rows of some items of one logical partition.
    async fn ask(
        &self,
        container: &ContainerLink,
        partition: &Key,
        rows: &mut HashMap<String, Option<Value>>,
    ) -> Result<()> {
        let mut n_missing = rows.len();
        let mut at: Option<String> = None;
        // Limit: at most the rows of one logical partition, a page at a time.
        loop {
            let request = PageRequest {
                container,
                statement: self.statement,
                partition: Some(partition),
                continuation: at.as_deref(),
                rows_max: None,
            };
            let page = self.database.items.page(request).await?;
            for row in page.rows {
                let Ok(id) = id_of(&row) else { continue };
                if let Some(wanted) = rows.get_mut(id).filter(|it| it.is_none()) {
                    *wanted = Some(row);
                    n_missing -= 1;
                }
            }
            at = page.continuation;
            if at.is_none() || n_missing == 0 {
                return Ok(());
            }
        }
    }
}

impl Moving {
    fn ask(&self, container: &ContainerLink, answers: &mut Answers) -> Asked {
        let logical = (container.clone(), self.partition.to_string());
        let (_, rows) = answers
            .entry(logical.clone())
            .or_insert_with(|| (self.partition.clone(), HashMap::new()));
        rows.insert(self.id.clone(), None);
        (logical, self.id.clone())
    }
}

impl Doubt {
    fn none(item: Option<u128>, row: Value) -> Doubt {
        Doubt { row: (item, row), unless: Vec::new(), instead: None }
    }

    fn resolve(self, answers: &Answers) -> Option<Row> {
        let found = |(logical, id): &Asked| answers.get(logical)?.1.get(id)?.as_ref();
        if self.unless.iter().any(|it| found(it).is_some()) {
            return None;
        }
        match &self.instead {
            Some(it) => Some((self.row.0, found(it)?.clone())),
            None => Some(self.row),
        }
    }
}
