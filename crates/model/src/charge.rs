//! The price of an operation in request units.
//!
//! The service counts writes in twenty-firsts of a unit and queries in fractions of a hundredth. A charge is a whole
//! number of parts small enough for both, so that sums are exact; only what a client is shown is rounded.

use std::{
    fmt,
    iter::Sum,
    ops::{Add, AddAssign, Mul},
};

/// How many parts a request unit has: the least number that 21 and 100,000 divide.
const PARTS: u64 = 2_100_000;
const PARTS_PER_HUNDREDTH: u64 = PARTS / 100;

/// A number of request units. Sums and products saturate.
///
/// Wire: `x-ms-request-charge`, rounded to two decimals and without trailing zeros (`5.71`, `1.5`, `1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Charge(u64);

impl Charge {
    /// Free of charge.
    pub const ZERO: Charge = Charge(0);

    /// Makes a charge from whole request units.
    pub const fn from_units(units: u64) -> Charge {
        Charge(units.saturating_mul(PARTS))
    }

    /// Makes a charge from hundredths of a request unit: 571 is 5.71.
    pub const fn from_hundredths(hundredths: u64) -> Charge {
        Charge(hundredths.saturating_mul(PARTS_PER_HUNDREDTH))
    }

    /// Makes a charge from hundred thousandths of a request unit: 26 is 0.00026.
    pub const fn from_hundred_thousandths(count: u64) -> Charge {
        Charge(count.saturating_mul(PARTS / 100_000))
    }

    /// Makes a charge from twenty-firsts of a request unit: 104 is 4.952….
    pub const fn from_twenty_firsts(count: u64) -> Charge {
        Charge(count.saturating_mul(PARTS / 21))
    }

    /// Makes a charge from what [`Charge::parts`] returned.
    pub const fn from_parts(parts: u64) -> Charge {
        Charge(parts)
    }

    /// Returns the charge exactly, in parts that only [`Charge::from_parts`] understands.
    pub const fn parts(self) -> u64 {
        self.0
    }

    /// Returns the charge in hundredths of a request unit, rounded to the nearest.
    pub const fn hundredths(self) -> u64 {
        self.0.saturating_add(PARTS_PER_HUNDREDTH / 2) / PARTS_PER_HUNDREDTH
    }

    /// Returns the charge in request units, not rounded.
    #[expect(clippy::cast_precision_loss, reason = "a double has more digits than anybody needs")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / PARTS as f64
    }

    /// Returns what is left after taking `other` away, never below zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Charge) -> Charge {
        Charge(self.0.saturating_sub(other.0))
    }

    /// Returns `numerator / denominator` of the charge, rounded down to a part; the whole for a zero denominator.
    #[must_use]
    pub fn share(self, numerator: u64, denominator: u64) -> Charge {
        let product = u128::from(self.0) * u128::from(numerator);
        Charge(u64::try_from(product / u128::from(denominator.max(1))).unwrap_or(u64::MAX))
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

impl Mul<u64> for Charge {
    type Output = Charge;

    fn mul(self, count: u64) -> Charge {
        Charge(self.0.saturating_mul(count))
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
        let (units, hundredths) = (self.hundredths() / 100, self.hundredths() % 100);
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
    fn only_what_is_shown_is_rounded() {
        let create = Charge::from_twenty_firsts(148);
        assert_eq!((create.to_string().as_str(), create.hundredths()), ("7.05", 705));
        assert_eq!((create * 100).to_string(), "704.76", "a sum of rounded prices would be 705");
        assert!((create.as_f64() - 7.047_619_047_619_047).abs() < 1e-15);
        assert_eq!(Charge::from_twenty_firsts(21), Charge::from_units(1));
        assert_eq!(Charge::from_hundred_thousandths(26) * 100_000, Charge::from_units(26));
    }

    #[test]
    fn sums_are_exact_and_saturate() {
        let charges = [1, 2, 568].map(Charge::from_hundredths);
        assert_eq!(charges.iter().sum::<Charge>(), Charge::from_hundredths(571));
        let most = Charge::from_parts(u64::MAX);
        assert_eq!((most + Charge::from_hundredths(1), most * 2), (most, most));
        assert_eq!(Charge::from_hundredths(u64::MAX), most);
        assert_eq!(most.share(1, 2).share(4, 1), most);
        assert_eq!(Charge::from_units(3).share(1, 2), Charge::from_hundredths(150));
    }
}
