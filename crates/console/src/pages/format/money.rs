use std::fmt::{self, Display};

use askama::filters::HtmlSafe;
use overnight_config::BillingConfig;
use overnight_domain::money::Credits;

use super::{Holds, count};

/// How credits are written: as money if their price is one to one, otherwise as credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Money {
    Sign(&'static str),
    Credits,
}

impl Money {
    pub(crate) fn of(billing: &BillingConfig) -> Self {
        let is_one_to_one = billing.credit_price.credits().nanos() == 1_000_000_000;
        match billing.currency.as_str() {
            "usd" if is_one_to_one => Self::Sign("$"),
            "eur" if is_one_to_one => Self::Sign("€"),
            "gbp" if is_one_to_one => Self::Sign("£"),
            _ => Self::Credits,
        }
    }

    /// An amount with four digits, including cents; if that is rounded, the exact amount on hover.
    pub(crate) fn show(&self, amount: impl Holds<Credits>) -> Amount {
        let exact = amount.held();
        let shown = self.rounded(exact);
        let exact = self.write(&exact.to_string());
        Amount { exact: Some(exact).filter(|exact| *exact != shown), shown }
    }

    /// Without the exact amount, outside of markup.
    pub(crate) fn plain(&self, amount: impl Holds<Credits>) -> String {
        self.rounded(amount.held())
    }

    fn rounded(self, amount: Credits) -> String {
        const CENT: u64 = 10_000_000;
        let nanos = amount.nanos().unsigned_abs();
        let digits = nanos.checked_ilog10().map_or(0, |it| it + 1);
        let step = 10_u64.pow(digits.saturating_sub(4)).min(CENT);
        let rounded = nanos.saturating_add(step / 2) / step * step;
        let rounded = i64::try_from(rounded).unwrap_or(i64::MAX);
        self.write(&Credits::from_nanos(rounded * amount.nanos().signum()).to_string())
    }

    fn write(self, text: &str) -> String {
        let (sign, text) = text.strip_prefix('-').map_or(("", text), |digits| ("\u{2212}", digits));
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let whole = count(&whole);
        match self {
            Self::Sign(currency) => format!("{sign}{currency}\u{a0}{whole}.{part:0<2}"),
            Self::Credits if part.is_empty() => format!("{sign}{whole}\u{a0}credits"),
            Self::Credits => format!("{sign}{whole}.{part}\u{a0}credits"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Amount {
    shown: String,
    /// `None` if the shown amount is exact.
    exact: Option<String>,
}

impl HtmlSafe for Amount {}

impl Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Signs, digits and our own units: nothing needs escaping.
        let Self { shown, exact } = self;
        match exact {
            Some(exact) => write!(formatter, "<span class=\"exact\" title=\"{exact}\">{shown}</span>"),
            None => formatter.write_str(shown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_four_digits_and_its_exact_amount_beside() {
        let of = |text: &str| text.parse::<Credits>().expect("an amount");
        let dollars = Money::Sign("$");
        for (amount, expected, exact) in [
            ("0", "$\u{a0}0.00", None),
            ("418.07", "$\u{a0}418.07", None),
            ("0.0125", "$\u{a0}0.0125", None),
            ("349.995", "$\u{a0}350.00", Some("$\u{a0}349.995")),
            ("0.01245678", "$\u{a0}0.01246", Some("$\u{a0}0.01245678")),
            ("0.000056", "$\u{a0}0.000056", None),
            ("0.000000001", "$\u{a0}0.000000001", None),
            ("-1234.5678", "\u{2212}$\u{a0}1,234.57", Some("\u{2212}$\u{a0}1,234.5678")),
        ] {
            let shown = dollars.show(of(amount));
            assert_eq!((&*shown.shown, shown.exact.as_deref()), (expected, exact), "{amount}");
        }
        let cut = dollars.show(of("349.995")).to_string();
        assert_eq!(cut, "<span class=\"exact\" title=\"$\u{a0}349.995\">$\u{a0}350.00</span>");
        assert_eq!(Money::Credits.plain(of("12000")), "12,000\u{a0}credits");
        assert_eq!(Money::Credits.plain(of("0.5")), "0.5\u{a0}credits");
    }
}
