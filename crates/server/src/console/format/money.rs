//! Credits as money.

use std::fmt::{self, Display};

use askama::filters::HtmlSafe;
use overnight_domain::money::Credits;

use super::{Holds, count};
use crate::config::BillingConfig;

/// How credits are written: as the money that they cost one to one, or as credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Money {
    Sign(&'static str),
    Credits,
}

impl Money {
    /// How the credits of these settings are written.
    pub(crate) fn of(billing: &BillingConfig) -> Self {
        let is_one_to_one = billing.credit_price.credits().nanos() == 1_000_000_000;
        match billing.currency.as_str() {
            "usd" if is_one_to_one => Self::Sign("$"),
            "eur" if is_one_to_one => Self::Sign("€"),
            "gbp" if is_one_to_one => Self::Sign("£"),
            _ => Self::Credits,
        }
    }

    /// The same, to stand large.
    pub(crate) fn large(&self, amount: impl Holds<Credits>) -> LargeMoney {
        LargeMoney(self.show(amount))
    }

    /// An amount with as many digits as it has, two at the least.
    pub(crate) fn show(&self, amount: impl Holds<Credits>) -> String {
        let text = amount.held().to_string();
        let (sign, text) = text.strip_prefix('-').map_or(("", &*text), |digits| ("\u{2212}", digits));
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let whole = count(&whole);
        match self {
            Self::Sign(currency) => format!("{sign}{currency}\u{a0}{whole}.{part:0<2}"),
            Self::Credits if part.is_empty() => format!("{sign}{whole}\u{a0}credits"),
            Self::Credits => format!("{sign}{whole}.{part}\u{a0}credits"),
        }
    }
}

/// An amount that stands large: what comes behind its cents is small.
#[derive(Debug, Clone)]
pub(crate) struct LargeMoney(String);

impl HtmlSafe for LargeMoney {}

impl Display for LargeMoney {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Signs, digits and a unit of ours: nothing to escape.
        let cents = self.0.find('.').map_or(self.0.len(), |point| (point + 3).min(self.0.len()));
        match self.0.split_at_checked(cents) {
            Some((large, small)) if !small.is_empty() => write!(formatter, "{large}<small>{small}</small>"),
            _ => formatter.write_str(&self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_as_many_digits_as_it_has() {
        let of = |text: &str| text.parse::<Credits>().expect("an amount");
        let dollars = Money::Sign("$");
        for (amount, expected) in [
            ("0", "$\u{a0}0.00"),
            ("418.07", "$\u{a0}418.07"),
            ("0.000056", "$\u{a0}0.000056"),
            ("-1234.5", "\u{2212}$\u{a0}1,234.50"),
        ] {
            assert_eq!(dollars.show(of(amount)), expected);
        }
        assert_eq!(dollars.large(of("0.000056")).to_string(), "$\u{a0}0.00<small>0056</small>");
        assert_eq!(dollars.large(of("12.5")).to_string(), "$\u{a0}12.50");
        assert_eq!(Money::Credits.large(of("0.5")).to_string(), "0.5\u{a0}credits");
        assert_eq!(Money::Credits.show(of("12000")), "12,000\u{a0}credits");
        assert_eq!(Money::Credits.show(of("0.5")), "0.5\u{a0}credits");
    }
}
