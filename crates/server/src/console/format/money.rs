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

    /// An amount to four digits behind the point; where that is not all of it, the exact amount on hover.
    pub(crate) fn show(&self, amount: impl Holds<Credits>) -> Amount {
        let exact = amount.held();
        let shown = self.rounded(exact);
        let exact = self.write(&exact.to_string(), "");
        Amount { exact: Some(exact).filter(|exact| *exact != shown), shown }
    }

    /// The same without the exact amount, for where there is no markup.
    pub(crate) fn plain(&self, amount: impl Holds<Credits>) -> String {
        self.rounded(amount.held())
    }

    /// What is less than a ten-thousandth is not shown as nothing.
    fn rounded(self, amount: Credits) -> String {
        const STEP: i64 = 100_000;
        let nanos = amount.nanos();
        let steps = nanos.unsigned_abs().saturating_add(STEP.unsigned_abs() / 2) / STEP.unsigned_abs();
        if steps == 0 && nanos != 0 {
            let least = if nanos < 0 { "-0.0001" } else { "0.0001" };
            return self.write(least, "<\u{a0}");
        }
        let steps = i64::try_from(steps).unwrap_or(i64::MAX / STEP) * nanos.signum();
        self.write(&Credits::from_nanos(steps.saturating_mul(STEP)).to_string(), "")
    }

    fn write(self, text: &str, before: &str) -> String {
        let (sign, text) = text.strip_prefix('-').map_or(("", text), |digits| ("\u{2212}", digits));
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let whole = count(&whole);
        match self {
            Self::Sign(currency) => format!("{before}{sign}{currency}\u{a0}{whole}.{part:0<2}"),
            Self::Credits if part.is_empty() => format!("{before}{sign}{whole}\u{a0}credits"),
            Self::Credits => format!("{before}{sign}{whole}.{part}\u{a0}credits"),
        }
    }
}

/// An amount as it is shown, with the exact one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Amount {
    shown: String,
    /// Where it is not what is shown.
    exact: Option<String>,
}

impl HtmlSafe for Amount {}

impl Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Signs, digits and a unit of ours: nothing but the sign of less is to be escaped.
        let shown = self.shown.replace('<', "&lt;");
        match &self.exact {
            Some(exact) => write!(formatter, "<span class=\"exact\" title=\"{exact}\">{shown}</span>"),
            None => formatter.write_str(&shown),
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
            ("0.01245", "$\u{a0}0.0125", Some("$\u{a0}0.01245")),
            ("0.000056", "$\u{a0}0.0001", Some("$\u{a0}0.000056")),
            ("0.000046", "<\u{a0}$\u{a0}0.0001", Some("$\u{a0}0.000046")),
            ("-0.000001", "<\u{a0}\u{2212}$\u{a0}0.0001", Some("\u{2212}$\u{a0}0.000001")),
            ("-1234.5", "\u{2212}$\u{a0}1,234.50", None),
        ] {
            let shown = dollars.show(of(amount));
            assert_eq!((&*shown.shown, shown.exact.as_deref()), (expected, exact), "{amount}");
        }
        let small = dollars.show(of("0.000046")).to_string();
        let title = "<span class=\"exact\" title=\"$\u{a0}0.000046\">&lt;\u{a0}$\u{a0}0.0001</span>";
        assert_eq!(small, title);
        assert_eq!(Money::Credits.plain(of("12000")), "12,000\u{a0}credits");
        assert_eq!(Money::Credits.plain(of("0.5")), "0.5\u{a0}credits");
    }
}
