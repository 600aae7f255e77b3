//! What an engine keeps, as a value: persistent maps, so that every state of the past costs next to nothing.
//!
//! Invariant: each change is the same as its statement in `crates/journal/src/postgres/`; one contract suite runs on both.

use bytes::Bytes;
use imbl::OrdMap;

use crate::{
    Append, Base, BaseDigest, BaseId, Beat, Chain, ClusterFacts, Entry, Epoch, JournalId,
    JournalRow, Last, Member, NewMember, Open, Opened, Position, ProvenLook, ReadEntries,
    Registered, SessionId,
};

/// Everything, as of one commit.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) cluster: ClusterFacts,
    journals: OrdMap<JournalId, Kept>,
    bases: OrdMap<BaseId, Base>,
    chunks: OrdMap<(BaseId, u32), Bytes>,
    members: OrdMap<SessionId, Member>,
}

/// One journal.
#[derive(Debug, Clone)]
struct Kept {
    row: JournalRow,
    entries: OrdMap<u64, Entry>,
}

impl Kept {
    fn last(&self) -> Last {
        self.entries.get_max().map_or_else(
            || Last::none(self.row.journal),
            |(_, entry)| Last { position: entry.position, epoch: entry.epoch },
        )
    }

    fn raise(&mut self, holder: SessionId, sealed: u64) -> Opened {
        let epoch = Epoch::new(self.row.epoch.get() + 1);
        self.row = JournalRow { epoch, holder, sealed, ..self.row };
        Opened { epoch, last: self.last() }
    }
}

impl State {
    pub(super) fn new(id: String) -> State {
        State {
            cluster: ClusterFacts { id, schema: 1, level: 1, halted: None },
            journals: OrdMap::new(),
            bases: OrdMap::new(),
            chunks: OrdMap::new(),
            members: OrdMap::new(),
        }
    }

    // Journals and entries.

    pub(super) fn create(&mut self, journal: JournalId) {
        let row =
            JournalRow { journal, epoch: Epoch::default(), holder: SessionId::NOBODY, sealed: 0 };
        self.journals.entry(journal).or_insert_with(|| Kept { row, entries: OrdMap::new() });
    }

    pub(super) fn remove(&mut self, journal: JournalId) {
        self.journals.remove(&journal);
        let gone: Vec<BaseId> = self.bases_of(journal).map(|base| base.id).collect();
        for base in gone {
            self.remove_base(base);
        }
    }

    pub(super) fn open(&mut self, open: &Open) -> Option<Opened> {
        let kept = self.journals.get_mut(&open.journal)?;
        (kept.row.epoch == open.seen && kept.row.sealed == 0).then(|| kept.raise(open.holder, 0))
    }

    pub(super) fn append(&mut self, append: &Append) -> Option<()> {
        let kept = self.journals.get_mut(&append.journal)?;
        let position = append.position();
        let continues = match append.after.number {
            0 => kept.entries.is_empty(),
            number => {
                kept.entries.get(&number).is_some_and(|it| it.position.chain == append.after.chain)
            }
        };
        if kept.row.epoch != append.epoch
            || !continues
            || kept.entries.contains_key(&position.number)
        {
            return None;
        }
        let entry = Entry { position, epoch: append.epoch, bytes: append.bytes.clone() };
        kept.entries.insert(position.number, entry);
        Some(())
    }

    pub(super) fn read(&self, journal: JournalId, from: u64, bytes_max: usize) -> ReadEntries {
        let Some(kept) = self.journals.get(&journal) else {
            return ReadEntries::Entries(Vec::new());
        };
        let mut entries: Vec<Entry> = Vec::new();
        let mut n_bytes = 0;
        for (number, entry) in kept.entries.range(from..) {
            if entries.is_empty() && *number != from {
                return ReadEntries::Trimmed;
            }
            n_bytes += entry.bytes.len();
            if !entries.is_empty() && n_bytes > bytes_max {
                break;
            }
            entries.push(entry.clone());
        }
        ReadEntries::Entries(entries)
    }

    pub(super) fn last(&self, journal: JournalId) -> Option<Last> {
        self.journals.get(&journal).map(Kept::last)
    }

    pub(super) fn prove(
        &mut self,
        journal: JournalId,
        number: u64,
        session: SessionId,
    ) -> Option<ProvenLook> {
        self.beat(session).beat?;
        let kept = self.journals.get(&journal)?;
        let chain = self.chain_at(journal, number);
        Some(ProvenLook { row: kept.row, last: kept.last(), chain })
    }

    pub(super) fn chain_at(&self, journal: JournalId, number: u64) -> Option<Chain> {
        if number == 0 {
            return Some(Chain::start(journal));
        }
        let entry = self.journals.get(&journal)?.entries.get(&number)?;
        Some(entry.position.chain)
    }

    pub(super) fn trim(&mut self, journal: JournalId) -> u64 {
        let confirmed = self.bases_of(journal).filter(|base| base.confirmed > 0);
        let mut numbers: Vec<u64> = confirmed.map(|base| base.position.number).collect();
        numbers.sort_unstable_by(|one, two| two.cmp(one));
        let Some(&keep) = numbers.get(1) else { return 0 };
        let Some(kept) = self.journals.get_mut(&journal) else { return 0 };
        let end = kept.last().position.number;
        let before = kept.entries.len();
        kept.entries = kept.entries.split(&keep.min(end.saturating_sub(1))).1;
        let n_trimmed = before - kept.entries.len();
        let gone: Vec<BaseId> = self
            .bases_of(journal)
            .filter(|base| base.position.number < keep)
            .map(|base| base.id)
            .collect();
        for base in gone {
            self.remove_base(base);
        }
        n_trimmed as u64
    }

    pub(super) fn seal(&mut self, journal: JournalId, epoch: Epoch, name: u64) -> Option<Opened> {
        let kept = self.journals.get_mut(&journal)?;
        (kept.row.epoch == epoch && kept.row.sealed == 0)
            .then(|| kept.raise(SessionId::NOBODY, name))
    }

    pub(super) fn unseal(&mut self, journal: JournalId, name: u64) -> bool {
        match self.journals.get_mut(&journal) {
            Some(kept) if kept.row.sealed == name => {
                kept.row.sealed = 0;
                true
            }
            _ => false,
        }
    }

    pub(super) fn rows(&self, after: JournalId, rows_max: usize) -> Vec<JournalRow> {
        let later = self.journals.iter().filter(|(journal, _)| **journal > after);
        later.map(|(_, kept)| kept.row).take(rows_max).collect()
    }

    pub(super) fn row(&self, journal: JournalId) -> Option<JournalRow> {
        self.journals.get(&journal).map(|kept| kept.row)
    }

    // Bases.

    pub(super) fn put_chunk(&mut self, base: BaseId, chunk: u32, bytes: Bytes) {
        self.chunks.entry((base, chunk)).or_insert(bytes);
    }

    pub(super) fn publish(&mut self, base: &Base) -> bool {
        if self.bases.contains_key(&base.id) {
            return true;
        }
        let n_chunks = self.chunks.range((base.id, 0)..=(base.id, u32::MAX)).count();
        let is_whole = base.chunks > 0 && u32::try_from(n_chunks) == Ok(base.chunks);
        if is_whole && self.journals.contains_key(&base.journal) {
            self.bases.insert(base.id, Base { confirmed: 0, ..*base });
            return true;
        }
        false
    }

    pub(super) fn confirm(&mut self, base: BaseId, digest: &BaseDigest) -> bool {
        match self.bases.get_mut(&base) {
            Some(base) if base.digest == *digest => {
                base.confirmed += 1;
                true
            }
            _ => false,
        }
    }

    pub(super) fn discard(&mut self, base: BaseId) {
        if self.bases.get(&base).is_none_or(|base| base.confirmed == 0) {
            self.remove_base(base);
        }
    }

    pub(super) fn bases(&self, journal: JournalId) -> Vec<Base> {
        let mut bases: Vec<Base> = self.bases_of(journal).copied().collect();
        bases.sort_by_key(|base| std::cmp::Reverse((base.position.number, base.id)));
        bases
    }

    pub(super) fn chunk(&self, base: BaseId, chunk: u32) -> Option<Bytes> {
        self.chunks.get(&(base, chunk)).cloned()
    }

    pub(super) fn unfinished(&self) -> Vec<(BaseId, u32)> {
        let mut counts = std::collections::BTreeMap::new();
        for (base, _) in self.chunks.keys().filter(|(base, _)| !self.bases.contains_key(base)) {
            *counts.entry(*base).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    fn bases_of(&self, journal: JournalId) -> impl Iterator<Item = &Base> {
        self.bases.values().filter(move |base| base.journal == journal)
    }

    fn remove_base(&mut self, base: BaseId) {
        self.bases.remove(&base);
        let keys = self.chunks.range((base, 0)..=(base, u32::MAX)).map(|(key, _)| *key);
        for key in keys.collect::<Vec<_>>() {
            self.chunks.remove(&key);
        }
    }

    // Sessions and the cluster.

    pub(super) fn register(&mut self, member: &NewMember) -> Registered {
        if self.members.contains_key(&member.session) {
            return Registered::Yes;
        }
        let same = |it: &&Member| it.member.name == member.name && !it.ended;
        if let Some(other) = self.members.values().find(same) {
            return Registered::NameInUse(other.clone());
        }
        let row = Member { member: member.clone(), beat: 0, ended: false };
        self.members.insert(member.session, row);
        Registered::Yes
    }

    pub(super) fn beat(&mut self, session: SessionId) -> Beat {
        let beat = match self.members.get_mut(&session) {
            Some(member) if !member.ended => {
                member.beat += 1;
                Some(member.beat)
            }
            _ => None,
        };
        Beat { beat, cluster: self.cluster.clone() }
    }

    pub(super) fn end(&mut self, session: SessionId, seen: u64) -> bool {
        match self.members.get_mut(&session) {
            Some(member) if !member.ended && member.beat == seen => {
                member.ended = true;
                true
            }
            _ => false,
        }
    }

    pub(super) fn forget(&mut self, session: SessionId) -> bool {
        let is_over = self.members.get(&session).is_some_and(|member| member.ended);
        let holds = self.journals.values().any(|kept| kept.row.holder == session);
        is_over && !holds && self.members.remove(&session).is_some()
    }

    pub(super) fn members(&self) -> Vec<Member> {
        self.members.values().cloned().collect()
    }

    pub(super) fn halt(&mut self, message: String) {
        self.cluster.halted.get_or_insert(message);
    }

    pub(super) fn resume(&mut self, message: &str) -> bool {
        let is_it = self.cluster.halted.as_deref() == Some(message);
        if is_it {
            self.cluster.halted = None;
        }
        is_it
    }

    pub(super) fn raise_level(&mut self, seen: u32, to: u32) -> bool {
        let is_it = self.cluster.level == seen && to > seen;
        if is_it {
            self.cluster.level = to;
        }
        is_it
    }

    /// Finds what must never be: a gap, a chain that does not continue, an epoch that goes back or was never given.
    pub(super) fn check(&self) -> Result<(), String> {
        for kept in self.journals.values() {
            let journal = kept.row.journal;
            let mut before: Option<Last> = None;
            for entry in kept.entries.values() {
                let last = before.unwrap_or_else(|| {
                    match kept.entries.get_min().map(|(number, _)| *number) {
                        Some(1) => Last::none(journal),
                        // What came before is trimmed: nothing to compare with.
                        _ => Last { position: unknown_before(entry), epoch: Epoch::default() },
                    }
                });
                let follows = entry.position.number == last.position.number + 1;
                let is_chained = before.is_none() && entry.position.number > 1
                    || entry.position == last.position.then(&entry.bytes);
                if !follows
                    || !is_chained
                    || entry.epoch < last.epoch
                    || entry.epoch > kept.row.epoch
                {
                    return Err(format!("journal {journal}: {last:?} is followed by {entry:?}"));
                }
                before = Some(Last { position: entry.position, epoch: entry.epoch });
            }
        }
        Ok(())
    }
}

fn unknown_before(entry: &Entry) -> Position {
    Position { number: entry.position.number.saturating_sub(1), chain: Chain::new(0) }
}
