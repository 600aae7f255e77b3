//! What clients did to each item and what they were told, and whether one order of effects explains it.

use std::collections::{BTreeMap, HashSet};

/// `pk/id`.
pub(crate) type ItemName = String;

/// What was asked. Every written version is unique in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Read,
    Create(u64),
    Upsert(u64),
    Delete,
}

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing: it may have happened, may still happen, may never.
    Nothing,
    /// Surely did not happen.
    Refused,
    /// 200: of a read with the version, of a write that replaced.
    Found(u64),
    Replaced,
    /// 201
    Created,
    /// 204
    Deleted,
    /// 404
    Missing,
    /// 409
    Exists,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) ask: Ask,
    pub(crate) told: Told,
    start: u64,
    end: u64,
}

/// Events of all items, with one clock for all.
#[derive(Debug, Default)]
pub(crate) struct History {
    clock: u64,
    items: BTreeMap<ItemName, Vec<Event>>,
}

/// Names an event that has begun.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    item: ItemName,
    index: usize,
}

impl History {
    pub(crate) fn begin(&mut self, item: &str, ask: Ask) -> Begun {
        self.clock += 1;
        let events = self.items.entry(item.to_owned()).or_default();
        events.push(Event { ask, told: Told::Nothing, start: self.clock, end: u64::MAX });
        Begun { item: item.to_owned(), index: events.len() - 1 }
    }

    pub(crate) fn end(&mut self, begun: &Begun, told: Told) {
        self.clock += 1;
        let event = self.items.get_mut(&begun.item).and_then(|events| events.get_mut(begun.index));
        if let Some(event) = event {
            event.told = told;
            event.end = if told == Told::Nothing { u64::MAX } else { self.clock };
        }
    }

    pub(crate) fn n_events(&self) -> usize {
        self.items.values().map(Vec::len).sum()
    }

    /// The versions that were acknowledged as written, by item.
    pub(crate) fn acknowledged(&self) -> impl Iterator<Item = (&ItemName, u64)> {
        self.items.iter().flat_map(|(item, events)| {
            events.iter().filter_map(move |event| match (event.ask, event.told) {
                (Ask::Create(version) | Ask::Upsert(version), Told::Created | Told::Replaced) => {
                    Some((item, version))
                }
                _ => None,
            })
        })
    }

    /// Every version that was ever sent, by item.
    pub(crate) fn was_sent(&self, item: &str, version: u64) -> bool {
        let events = self.items.get(item).into_iter().flatten();
        let mut sent = events.map(|event| event.ask);
        sent.any(|ask| ask == Ask::Create(version) || ask == Ask::Upsert(version))
    }

    /// Looks for an order of effects that explains every answer, item by item. Returns the first item without one.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (item, events) in &self.items {
            let events: Vec<Event> =
                events.iter().copied().filter(|event| event.told != Told::Refused).collect();
            if !Search::new(&events).succeeds() {
                return Err(format!("no order of effects explains {item}: {events:#?}"));
            }
        }
        Ok(())
    }
}

/// The state of an item: its version, if it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ItemValue(Option<u64>);

/// The state of an item after an event, or `None` if the answer does not fit the state.
fn after(state: ItemValue, event: &Event) -> Option<ItemValue> {
    let ItemValue(before) = state;
    let fits = |is_fit: bool, next: Option<u64>| is_fit.then_some(ItemValue(next));
    match (event.ask, event.told) {
        (Ask::Read, Told::Found(version)) => fits(before == Some(version), before),
        (Ask::Read | Ask::Delete, Told::Missing) => fits(before.is_none(), before),
        (Ask::Read, _) => Some(state),
        (Ask::Create(version) | Ask::Upsert(version), Told::Created) => {
            fits(before.is_none(), Some(version))
        }
        (Ask::Create(_), Told::Exists) => fits(before.is_some(), before),
        (Ask::Create(version), Told::Nothing) => Some(ItemValue(before.or(Some(version)))),
        (Ask::Upsert(version), Told::Replaced) => fits(before.is_some(), Some(version)),
        (Ask::Upsert(version), Told::Nothing) => Some(ItemValue(Some(version))),
        (Ask::Delete, Told::Deleted) => fits(before.is_some(), None),
        (Ask::Delete, Told::Nothing) => Some(ItemValue(None)),
        (Ask::Create(_) | Ask::Upsert(_) | Ask::Delete, _) => None,
    }
}

/// Depth-first search over the orders that respect real time (Wing and Gong), remembering dead ends.
struct Search<'a> {
    events: &'a [Event],
    seen: HashSet<(Vec<u64>, ItemValue)>,
}

impl<'a> Search<'a> {
    fn new(events: &'a [Event]) -> Search<'a> {
        Search { events, seen: HashSet::new() }
    }

    /// Says whether there is such an order.
    fn succeeds(mut self) -> bool {
        let done = vec![0; self.events.len().div_ceil(64)];
        self.goes_on(&done, ItemValue(None))
    }

    fn goes_on(&mut self, done: &[u64], state: ItemValue) -> bool {
        let is_done = |index: usize| done[index / 64] & (1 << (index % 64)) != 0;
        let left: Vec<(usize, &Event)> =
            self.events.iter().enumerate().filter(|(index, _)| !is_done(*index)).collect();
        // Events without an answer may have had no effect.
        if left.iter().all(|(_, event)| event.told == Told::Nothing) {
            return true;
        }
        if !self.seen.insert((done.to_vec(), state)) {
            return false;
        }
        // The next effect is one that began before every open event ended.
        let first_end = left.iter().map(|(_, event)| event.end).min().unwrap_or(u64::MAX);
        for (index, event) in left {
            if event.start > first_end {
                break;
            }
            if let Some(next) = after(state, event) {
                let mut done = done.to_vec();
                done[index / 64] |= 1 << (index % 64);
                if self.goes_on(&done, next) {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(events: &[(Ask, Told, u64, u64)]) -> bool {
        let events: Vec<Event> =
            events.iter().map(|&(ask, told, start, end)| Event { ask, told, start, end }).collect();
        Search::new(&events).succeeds()
    }

    #[test]
    fn a_read_sees_the_last_write_and_no_older_one() {
        let writes =
            [(Ask::Upsert(1), Told::Created, 1, 2), (Ask::Upsert(2), Told::Replaced, 3, 4)];
        for (version, is_fine) in [(2, true), (1, false), (3, false)] {
            let read = (Ask::Read, Told::Found(version), 5, 6);
            assert_eq!(check(&[writes[0], writes[1], read]), is_fine, "{version}");
        }
        assert!(!check(&[writes[0], writes[1], (Ask::Read, Told::Missing, 5, 6)]));
        let early = (Ask::Read, Told::Found(1), 2, 6);
        assert!(check(&[writes[0], early, writes[1]]), "it overlaps the second write");
    }

    #[test]
    fn a_write_without_an_answer_happens_once_or_never() {
        let lost = (Ask::Upsert(1), Told::Nothing, 1, u64::MAX);
        assert!(check(&[
            lost,
            (Ask::Read, Told::Missing, 2, 3),
            (Ask::Read, Told::Found(1), 4, 5)
        ]));
        assert!(!check(&[
            lost,
            (Ask::Read, Told::Found(1), 2, 3),
            (Ask::Delete, Told::Deleted, 4, 5),
            (Ask::Read, Told::Found(1), 6, 7)
        ]));
    }

    #[test]
    fn two_creates_cannot_both_win() {
        let first = (Ask::Create(1), Told::Created, 1, 10);
        assert!(!check(&[first, (Ask::Create(2), Told::Created, 2, 9)]));
        assert!(check(&[first, (Ask::Create(2), Told::Exists, 2, 9)]));
    }
}
