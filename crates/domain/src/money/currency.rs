//! The currencies that credits are paid in.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Currencies without a smaller unit.
const WITHOUT_DECIMALS: [&str; 15] =
    ["bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf"];

/// Currencies of a thousand smaller units, of which payments take only multiples of ten.
const WITH_THREE_DECIMALS: [&str; 5] = ["bhd", "jod", "kwd", "omr", "tnd"];

/// Currencies without a smaller unit whose payments are nevertheless written in hundredths.
const WRITTEN_IN_HUNDREDTHS: [&str; 2] = ["isk", "ugx"];

/// A currency: the three letters of ISO 4217 in lower case. Its amounts are counted in whole minor units, of which there are a hundred or
/// one in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

/// Why a text is not a currency of payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotCurrency {
    /// It is not three small letters.
    #[error("three small letters like usd")]
    Letters,
    /// Its amounts do not count in units or in hundredths.
    #[error("a currency of 100 minor units, or of none; bhd, isk, jod, kwd, omr, tnd and ugx are not")]
    MinorUnits,
}

impl Currency {
    /// The three letters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// An amount of minor units in whole units, such as `12.50`.
    pub fn amount(self, minor_units: i64) -> String {
        match self.decimals() {
            0 => minor_units.to_string(),
            _ => format!("{}.{:02}", minor_units / 100, (minor_units % 100).abs()),
        }
    }

    /// The number of decimals of an amount: 2 or 0.
    pub fn decimals(self) -> u32 {
        if WITHOUT_DECIMALS.contains(&self.as_str()) { 0 } else { 2 }
    }
}

impl FromStr for Currency {
    type Err = NotCurrency;

    fn from_str(text: &str) -> Result<Self, NotCurrency> {
        let letters: [u8; 3] = text.as_bytes().try_into().map_err(|_| NotCurrency::Letters)?;
        if !letters.iter().all(u8::is_ascii_lowercase) {
            return Err(NotCurrency::Letters);
        }
        if WITH_THREE_DECIMALS.contains(&text) || WRITTEN_IN_HUNDREDTHS.contains(&text) {
            return Err(NotCurrency::MinorUnits);
        }
        Ok(Self(letters))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_in_whole_units() {
        let write = |currency: &str, amount| currency.parse::<Currency>().unwrap().amount(amount);
        assert_eq!([write("usd", 1_250), write("eur", 5), write("jpy", 500)], ["12.50", "0.05", "500"]);
    }

    #[test]
    fn a_currency_knows_its_decimals() {
        for (text, decimals) in [
            ("usd", Ok(2)),
            ("eur", Ok(2)),
            ("huf", Ok(2)),
            ("twd", Ok(2)),
            ("jpy", Ok(0)),
            ("krw", Ok(0)),
            ("kwd", Err(NotCurrency::MinorUnits)),
            ("isk", Err(NotCurrency::MinorUnits)),
            ("ugx", Err(NotCurrency::MinorUnits)),
            ("USD", Err(NotCurrency::Letters)),
            ("us", Err(NotCurrency::Letters)),
            ("usdt", Err(NotCurrency::Letters)),
            ("u$d", Err(NotCurrency::Letters)),
            ("", Err(NotCurrency::Letters)),
        ] {
            assert_eq!(text.parse::<Currency>().map(Currency::decimals), decimals, "{text}");
        }
    }

    #[test]
    fn a_currency_is_written_as_it_is_read() {
        assert_eq!("chf".parse::<Currency>().map(|currency| currency.to_string()), Ok("chf".to_owned()));
    }
}
