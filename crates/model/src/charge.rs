//! The price of an operation in request units.
//!
//! Kept in whole hundredths, so that sums are exact and two runs of one operation print the same.

use std::{
    fmt,
    iter::Sum,
    ops::{Add, AddAssign},
};

/// A number of request units, in hundredths. Sums saturate.
///
/// Wire: `x-ms-request-charge`, printed without trailing zeros (`5.71`, `1.5`, `1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Charge(u64);

impl Charge {
    /// Free of charge.
    pub const ZERO: Charge = Charge(0);

    /// Makes a charge from hundredths of a request unit: 571 is 5.71.
    pub const fn from_hundredths(hundredths: u64) -> Charge {
        Charge(hundredths)
    }

    /// Returns the charge in hundredths of a request unit.
    pub const fn hundredths(self) -> u64 {
        self.0
    }

    /// Returns what is left after taking `other` away, never below zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Charge) -> Charge {
        Charge(self.0.saturating_sub(other.0))
    }
}

impl Add for Charge {
    type Output = Charge;

    fn add(self, other: Charge) -> Charge {
        Charge(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Charge {
    fn add_assign(&mut self, other: Charge) {
        *self = *self + other;
    }
}

impl Sum for Charge {
    fn sum<I: Iterator<Item = Charge>>(charges: I) -> Charge {
        charges.fold(Charge::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Charge> for Charge {
    fn sum<I: Iterator<Item = &'a Charge>>(charges: I) -> Charge {
        charges.copied().sum()
    }
}

impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (units, hundredths) = (self.0 / 100, self.0 % 100);
        if hundredths == 0 {
            write!(f, "{units}")
        } else if hundredths.is_multiple_of(10) {
            write!(f, "{units}.{}", hundredths / 10)
        } else {
            write!(f, "{units}.{hundredths:02}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_print_without_trailing_zeros() {
        #[rustfmt::skip]
        let table = [(0, "0"), (1, "0.01"), (10, "0.1"), (100, "1"), (105, "1.05"), (150, "1.5"), (571, "5.71"), (100_000, "1000")];
        for (hundredths, expected) in table {
            assert_eq!(Charge::from_hundredths(hundredths).to_string(), expected);
        }
    }

    #[test]
    fn sums_are_exact_and_saturate() {
        let charges = [1, 2, 568].map(Charge::from_hundredths);
        assert_eq!(charges.iter().sum::<Charge>(), Charge::from_hundredths(571));
        let most = Charge::from_hundredths(u64::MAX);
        assert_eq!(most + Charge::from_hundredths(1), most);
    }
}
