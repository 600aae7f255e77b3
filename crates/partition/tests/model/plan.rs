//! Random steps from a seed, over few keys, ids and values, so that they meet.

use model::Env;
use partition::{ItemCall, ItemOp, Patch};

use crate::support::{self, World};

pub(crate) const KEYS: [&str; 3] = ["[1]", "[\"a\"]", "[{}]"];
pub(crate) const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

pub(crate) enum Step {
    Call { key: String, call: Call },
    Batch { key: String, calls: Vec<Call> },
    DeleteLogical { key: String },
    Advance { seconds: u64 },
    Sweep { items_max: usize },
    Reopen,
    Walk,
    Follow,
    Check,
}

/// The user's part of an item; `None` leaves a property out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) id: String,
    pub(crate) v: i64,
    pub(crate) u: Option<u64>,
    pub(crate) x: Option<u64>,
    pub(crate) w: Option<u64>,
    pub(crate) ttl: Option<i32>,
}

impl Body {
    /// The JSON text, for the logical partition `key`.
    pub(crate) fn to_text(&self, key: &str) -> String {
        let key = (key != "[{}]").then(|| key.trim_matches(['[', ']']));
        let members = [
            Some(format!(r#""id":"{}""#, self.id)),
            key.map(|key| format!(r#""pk":{key}"#)),
            Some(format!(r#""v":{}"#, self.v)),
            self.u.map(|u| format!(r#""u":{u}"#)),
            self.x.map(|x| format!(r#""n":{{"x":{x}}}"#)),
            self.w.map(|w| format!(r#""w":{w}"#)),
            self.ttl.map(|ttl| format!(r#""ttl":{ttl}"#)),
        ];
        format!("{{{}}}", members.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Call {
    Create(Body),
    Upsert(Body),
    Replace {
        id: String,
        body: Body,
    },
    /// Adds to `v`, then sets or removes `u`.
    Patch {
        id: String,
        by: i64,
        u: Option<u64>,
        removes: bool,
    },
    Delete {
        id: String,
    },
    Read {
        id: String,
    },
}

impl Call {
    pub(crate) fn to_item_call(&self, _world: &World, key: &str) -> ItemCall {
        ItemCall::new(match self {
            Call::Create(body) => support::create(&body.to_text(key)),
            Call::Upsert(body) => support::upsert(&body.to_text(key)),
            Call::Replace { id, body } => support::replace(id, &body.to_text(key)),
            Call::Patch { id, by, u, removes } => {
                let mut operations = vec![format!(r#"{{"op":"incr","path":"/v","value":{by}}}"#)];
                if let Some(u) = u {
                    operations.push(format!(r#"{{"op":"set","path":"/u","value":{u}}}"#));
                }
                if *removes {
                    operations.push(r#"{"op":"remove","path":"/u"}"#.to_owned());
                }
                let patch = Patch::parse(format!("[{}]", operations.join(",")).as_bytes()).unwrap();
                ItemOp::Patch { id: id.clone(), patch }
            }
            Call::Delete { id } => support::delete(id),
            Call::Read { id } => support::read(id),
        })
    }
}

pub(crate) struct Plan(Env);

impl Plan {
    pub(crate) fn new(seed: u64) -> Plan {
        Plan(Env::fixed(seed, 0))
    }

    pub(crate) fn step(&mut self) -> Step {
        let key = || self.pick(&KEYS).to_owned();
        match self.below(100) {
            0..60 => Step::Call { key: key(), call: self.call() },
            60..72 => {
                let calls = (0..=self.below(6)).map(|_| self.call()).collect();
                Step::Batch { key: key(), calls }
            }
            72 => Step::DeleteLogical { key: key() },
            73..80 => Step::Advance { seconds: self.below(8) },
            80..84 => Step::Sweep { items_max: usize::try_from(self.below(5)).unwrap() + 1 },
            84 => Step::Reopen,
            85..90 => Step::Walk,
            90..95 => Step::Follow,
            _ => Step::Check,
        }
    }

    fn call(&self) -> Call {
        let id = || self.pick(&IDS).to_owned();
        match self.below(12) {
            0..3 => Call::Create(self.body()),
            3..6 => Call::Upsert(self.body()),
            6..8 => Call::Replace { id: id(), body: self.body() },
            8 | 9 => Call::Patch {
                id: id(),
                by: i64::try_from(self.below(5)).unwrap() - 2,
                u: self.maybe(|| self.below(6)),
                removes: self.below(5) == 0,
            },
            10 => Call::Delete { id: id() },
            _ => Call::Read { id: id() },
        }
    }

    fn body(&self) -> Body {
        Body {
            id: self.pick(&IDS).to_owned(),
            v: i64::try_from(self.below(1000)).unwrap(),
            u: if self.below(4) == 0 { None } else { Some(self.below(12)) },
            x: Some(self.below(4)),
            w: self.maybe(|| self.below(3)),
            ttl: self.maybe(|| [-1, 3, 9][usize::try_from(self.below(3)).unwrap()]),
        }
    }

    fn maybe<T>(&self, make: impl FnOnce() -> T) -> Option<T> {
        (self.below(3) == 0).then(make)
    }

    fn pick<'a>(&self, among: &[&'a str]) -> &'a str {
        among[usize::try_from(self.below(among.len() as u64)).unwrap()]
    }

    fn below(&self, end: u64) -> u64 {
        self.0.random_u64() % end
    }
}
