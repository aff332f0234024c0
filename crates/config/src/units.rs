//! Durations, sizes and prices, as settings write them.

use std::str::FromStr;

use overnight_domain::money::Credits;

/// Milliseconds, written as a whole number and `ms`, `s`, `m`, `h` or `d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub i64);

/// Bytes, written as a whole number and `B`, `KiB`, `MiB` or `GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// A decimal number, kept as it was written: credits per million tokens, or the money for a credit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    text: String,
    amount: Credits,
}

impl FromStr for Millis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
        let wanted = "a whole number and ms, s, m, h or d, like \"10s\"";
        let product = quantity(text, &units).ok_or(wanted)?;
        i64::try_from(product).map(Self).map_err(|_| format!("{wanted}; this one is too long"))
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
        let size = quantity(text, &units).ok_or("a whole number and B, KiB, MiB or GiB, like \"8 MiB\"")?;
        Ok(Self(size))
    }
}

impl ByteSize {
    /// As a size in memory, limited to the address space.
    pub(super) fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// The number times its unit; `None` if it is malformed or too large.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let name = text[digits..].trim();
    let (_, factor) = units.iter().find(|(unit, _)| *unit == name)?;
    number.checked_mul(*factor)
}

impl Price {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Exact.
    pub fn credits(&self) -> Credits {
        self.amount
    }
}

impl FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str, most| {
            !part.is_empty() && part.len() <= most && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let wanted = "a decimal number below a billion with at most 9 decimals, like \"0.15\"";
        if !digits(whole, 9) || !digits(decimals, 9) {
            return Err(wanted.to_owned());
        }
        text.parse().map(|amount| Self { text: text.to_owned(), amount }).map_err(|_| wanted.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        for (text, expected) in [
            ("2s", 2_000),
            ("500ms", 500),
            ("10 m", 600_000),
            ("24h", 86_400_000),
            ("30d", 2_592_000_000),
            ("0s", 0),
        ] {
            assert_eq!(text.parse(), Ok(Millis(expected)), "{text}");
        }
        let wrong = ",10,s,-1s,1.5h,1h30m,1S,99999999999999999999s,18446744073709551615ms";
        for text in wrong.split(',') {
            assert!(text.parse::<Millis>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_a_number_and_a_unit() {
        for (text, expected) in [
            ("8 MiB", Some(8 << 20)),
            ("16KiB", Some(16 << 10)),
            ("1 GiB", Some(1 << 30)),
            ("12 B", Some(12)),
            ("12", None),
            ("8 MB", None),
            ("18446744073709551615 KiB", None),
        ] {
            assert_eq!(text.parse().ok(), expected.map(ByteSize), "{text}");
        }
    }

    #[test]
    fn prices_are_decimal_numbers() {
        for (text, nanos) in [
            ("0", 0),
            ("0.10", 100_000_000),
            ("12", 12_000_000_000),
            ("3.123456789", 3_123_456_789),
            ("999999999", 999_999_999_000_000_000),
            ("999999999.999999999", 999_999_999_999_999_999),
        ] {
            let price: Price = text.parse().unwrap();
            assert_eq!((price.as_str(), price.credits().nanos()), (text, nanos));
        }
        for text in ["", ".5", "1.", "-1", "+1", "1e3", "1,5", "1.0123456789", "1000000000", "٣"] {
            assert!(text.parse::<Price>().is_err(), "{text}");
        }
    }
}
