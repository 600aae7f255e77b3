//! Ids, epochs, and places in a history.
//!
//! Every number fits 63 bits, because engines have signed integers.

use std::fmt;

use model::Env;
use xxhash_rust::xxh3::xxh3_64_with_seed;

macro_rules! number {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            /// Makes one of a number; the highest bit is dropped, since engines have signed integers.
            pub const fn new(number: u64) -> $name {
                $name(number & (u64::MAX >> 1))
            }

            /// Returns the number.
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number! {
    /// Names a journal. Never used again, even when the journal is gone.
    JournalId
}
number! {
    /// Names a session: one start of one server process. Random, never used again; 0 is nobody.
    SessionId
}
number! {
    /// How often a journal was opened or sealed. Whoever raised it last may append.
    Epoch
}
number! {
    /// Names a base, or an attempt to make one. Random, never used again.
    BaseId
}

impl SessionId {
    /// The holder of a journal that nobody holds.
    pub const NOBODY: SessionId = SessionId(0);

    /// Makes a new name.
    pub fn random(env: &Env) -> SessionId {
        SessionId::new(env.random_u64().max(1))
    }
}

impl BaseId {
    /// Makes a new name.
    pub fn random(env: &Env) -> BaseId {
        BaseId::new(env.random_u64())
    }
}

/// What a history hashes to: of the chain before and the bytes of the entry.
///
/// Two histories have different chains at every number after they part, but for a chance of one in 2⁶⁴.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chain(u64);

impl Chain {
    /// The chain of a journal before its first entry.
    pub fn start(journal: JournalId) -> Chain {
        Chain(xxh3_64_with_seed(b"orrery journal", journal.get()))
    }

    /// Returns the chain after an entry with these bytes.
    #[must_use]
    pub fn then(self, bytes: &[u8]) -> Chain {
        Chain(xxh3_64_with_seed(bytes, self.0))
    }

    /// Makes one of its 64 bits.
    pub const fn new(bits: u64) -> Chain {
        Chain(bits)
    }

    /// Returns its 64 bits.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({:016x})", self.0)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A place in one history: how many entries, and what they hash to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// The number of the last entry; 0 is before the first.
    pub number: u64,
    /// The chain after it.
    pub chain: Chain,
}

impl Position {
    /// Returns the place before the first entry.
    pub fn start(journal: JournalId) -> Position {
        Position { number: 0, chain: Chain::start(journal) }
    }

    /// Returns the place after one more entry.
    #[must_use]
    pub fn then(self, bytes: &[u8]) -> Position {
        Position { number: self.number + 1, chain: self.chain.then(bytes) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_that_part_stay_apart() {
        let start = Position::start(JournalId::new(7));
        let (mut one, mut two) = (start.then(b"a"), start.then(b"b"));
        for _ in 0..1_000 {
            assert_ne!(one.chain, two.chain);
            one = one.then(b"same");
            two = two.then(b"same");
        }
        assert_eq!(one.number, two.number);
    }

    #[test]
    fn journals_begin_apart_and_the_order_counts() {
        let start = Position::start(JournalId::new(1));
        assert_ne!(start, Position::start(JournalId::new(2)));
        assert_ne!(start.then(b"a").then(b"b"), start.then(b"b").then(b"a"));
        assert_ne!(start.then(b"ab").then(b"c"), start.then(b"a").then(b"bc"));
    }

    /// The chain is kept for years: it must not change with a version.
    #[test]
    fn the_chain_is_pinned() {
        let position = Position::start(JournalId::new(1)).then(&[1, 2, 3]).then(&[1; 1_000]);
        assert_eq!(position.to_string(), "2/f7bdf05e35a8ed5b");
    }

    #[test]
    fn ids_fit_a_signed_integer() {
        let env = Env::fixed(1, 0);
        for _ in 0..100 {
            assert!(i64::try_from(SessionId::random(&env).get()).is_ok());
            assert_ne!(SessionId::random(&env), SessionId::NOBODY);
        }
        assert!(i64::try_from(JournalId::new(u64::MAX).get()).is_ok());
    }
}
