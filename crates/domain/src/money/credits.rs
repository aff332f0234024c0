//! Amounts of money.

use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

use thiserror::Error;

const NANOS: i64 = 1_000_000_000;

const DECIMALS: usize = 9;

/// The longest accepted whole part, in digits.
const WHOLE_DIGITS_MAX: usize = 10;

/// An amount of credits, in whole nano-credits (10⁻⁹ of a credit). Written as a decimal number: `0.0125`, `-3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Credits(i64);

/// A text that is not an amount of credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a decimal number of at most a billion, with at most 9 decimals, like 12.5")]
pub struct NotCredits;

impl Credits {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Maximum that is ever held, charged or owned: a billion credits. A sum of several fits `i64` many times over.
    pub const MAX: Self = Self(NANOS * NANOS);

    /// An amount of nano-credits.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The amount in nano-credits.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// The sum; `None` beyond the range of nano-credits.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// The difference; `None` beyond the range of nano-credits.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// The fraction `part` of `whole`, rounded down; all of it if `part` is not less.
    #[must_use]
    pub fn share(self, part: i64, whole: i64) -> Self {
        if whole <= 0 || part >= whole {
            return self;
        }
        let nanos = i128::from(self.0) * i128::from(part.max(0)) / i128::from(whole);
        Self(i64::try_from(nanos).unwrap_or(self.0))
    }
}

impl FromStr for Credits {
    type Err = NotCredits;

    fn from_str(text: &str) -> Result<Self, NotCredits> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
        let is_number = |part: &str, digits_max: usize| {
            (1..=digits_max).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_number(whole, WHOLE_DIGITS_MAX) || !is_number(decimals, DECIMALS) {
            return Err(NotCredits);
        }
        let number = |digits: &str| digits.parse::<i64>().map_err(|_| NotCredits);
        let nanos = number(whole)?
            .checked_mul(NANOS)
            .and_then(|nanos| nanos.checked_add(number(&format!("{decimals:0<DECIMALS$}")).ok()?))
            .filter(|nanos| *nanos <= Self::MAX.0);
        nanos.map(|nanos| Self(sign * nanos)).ok_or(NotCredits)
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nanos, unit) = (self.0.unsigned_abs(), NANOS.unsigned_abs());
        let decimals = format!("{:0DECIMALS$}", nanos % unit);
        let decimals = decimals.trim_end_matches('0');
        let point = if decimals.is_empty() { "" } else { "." };
        let sign = if self.0 < 0 { "-" } else { "" };
        f.pad(&format!("{sign}{}{point}{decimals}", nanos / unit))
    }
}

impl std::ops::Neg for Credits {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

/// Saturates at the range of nano-credits.
impl Sum for Credits {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        Self(amounts.fold(0, |sum, amount| sum.saturating_add(amount.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written_exactly() {
        for (text, nanos, written) in [
            ("0", 0, "0"),
            ("100", 100 * NANOS, "100"),
            ("0.10", 100_000_000, "0.1"),
            ("12.5", 12_500_000_000, "12.5"),
            ("0.000000001", 1, "0.000000001"),
            ("-3", -3 * NANOS, "-3"),
            ("-0.5", -500_000_000, "-0.5"),
            ("1000000000", NANOS * NANOS, "1000000000"),
            ("1000000000.0", NANOS * NANOS, "1000000000"),
            ("-1000000000", -NANOS * NANOS, "-1000000000"),
        ] {
            let credits: Credits = text.parse().expect(text);
            assert_eq!((credits.nanos(), credits.to_string().as_str()), (nanos, written), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            "-",
            ".",
            ".5",
            "1.",
            "+1",
            "--1",
            "1e3",
            "1,5",
            "0.0000000001",
            "1000000000.000000001",
            "9999999999",
            "99999999999999999999",
            "٣",
            " 1",
            "1 ",
            "NaN",
        ] {
            assert_eq!(text.parse::<Credits>(), Err(NotCredits), "{text}");
        }
    }

    #[test]
    fn a_share_is_rounded_down_and_never_more_than_all() {
        let ten = Credits(10);
        for (part, whole, share) in
            [(0, 3, 0), (1, 3, 3), (2, 3, 6), (3, 3, 10), (4, 3, 10), (-1, 3, 0), (1, 0, 10)]
        {
            assert_eq!(ten.share(part, whole), Credits(share), "{part}/{whole}");
        }
        assert_eq!(Credits::MAX.share(i64::MAX - 1, i64::MAX), Credits(Credits::MAX.0 - 1));
    }

    #[test]
    fn amounts_are_added_and_negated_within_what_can_be_counted() {
        assert_eq!(Credits::from_nanos(7).nanos(), 7);
        assert_eq!(Credits(2).checked_add(Credits(-5)), Some(Credits(-3)));
        assert_eq!(Credits(i64::MAX).checked_add(Credits(1)), None);
        assert_eq!(Credits(2).checked_sub(Credits(5)), Some(Credits(-3)));
        assert_eq!(Credits(i64::MIN).checked_sub(Credits(1)), None);
        assert_eq!([5, -5, i64::MIN].map(|nanos| -Credits(nanos)), [-5, 5, i64::MAX].map(Credits));
        assert_eq!([1, 2, 4].map(Credits).into_iter().sum::<Credits>(), Credits(7));
        assert_eq!([i64::MAX, 1].map(Credits).into_iter().sum::<Credits>(), Credits(i64::MAX));
    }
}
