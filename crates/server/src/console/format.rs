//! Numbers, money, times and identifiers as people read them.

use std::fmt::{self, Display};

use askama::filters::HtmlSafe;
use overnight_domain::money::Credits;

use crate::config::BillingConfig;

/// A value, or however many references to it: templates hand on what they have.
pub(crate) trait Holds<T> {
    fn held(&self) -> T;
}

impl Holds<Self> for i64 {
    fn held(&self) -> Self {
        *self
    }
}

impl Holds<Self> for Credits {
    fn held(&self) -> Self {
        *self
    }
}

impl<T, V: Holds<T> + ?Sized> Holds<T> for &V {
    fn held(&self) -> T {
        (**self).held()
    }
}

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

/// A whole number with its thousands apart.
fn count(number: &impl Display) -> String {
    let number = number.to_string();
    let (sign, digits) = number.strip_prefix('-').map_or(("", &*number), |digits| ("\u{2212}", digits));
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + sign.len());
    text.push_str(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A length of time, in its two largest units.
fn duration(milliseconds: &i64) -> String {
    let seconds = milliseconds.max(&0) / 1_000;
    let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    let Some(first) = units.iter().position(|(_, unit)| seconds >= *unit) else { return "0 s".to_owned() };
    let (name, unit) = units[first];
    let text = format!("{} {name}", seconds / unit);
    match units.get(first + 1).map(|(name, next)| (name, seconds % unit / next)) {
        Some((name, rest)) if rest > 0 => format!("{text} {rest} {name}"),
        _ => text,
    }
}

/// The ends of an identifier, enough to tell it from its neighbours: the first digits of all of them are their time.
pub(super) fn short(id: &impl Display) -> String {
    let id = id.to_string();
    match id.split_once('_') {
        Some((prefix, digits)) if digits.len() > 12 && digits.is_ascii() => {
            format!("{prefix}_{}…{}", &digits[..6], &digits[digits.len() - 4..])
        }
        _ => id,
    }
}

/// How much of a time is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grain {
    Minute,
    Second,
    Day,
}

/// An instant: shown in UTC, until the script shows it in the reader's zone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant {
    milliseconds: i64,
    grain: Grain,
}

/// How something stands: a word, a shape and a colour.
#[derive(Debug, Clone)]
pub(crate) struct State(String);

impl HtmlSafe for State {}

impl Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every word is one of ours; others have no class and are not written.
        let (class, word) = match &*self.0 {
            "in progress" => ("running", "in progress"),
            "completed" => ("completed", "completed"),
            "failed" => ("failed", "failed"),
            "cancelled" => ("cancelled", "cancelled"),
            "pending" => ("running", "pending"),
            "delivered" => ("completed", "delivered"),
            "exhausted" => ("failed", "exhausted"),
            "registered" => ("registered", "registered"),
            _ => ("registered", "unknown"),
        };
        write!(formatter, "<span class=\"state {class}\">{word}</span>")
    }
}

/// How much of a batch has ended, from night to dawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Night {
    ended: i64,
    total: i64,
}

impl HtmlSafe for Night {}

impl Display for Night {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.ended as f64 / self.total.max(1) as f64 * 100.0;
        write!(
            formatter,
            "<svg class=\"night\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{} of {} ended\"><rect class=\"sky\" width=\"100\" height=\"10\"/>\
             <rect width=\"{share:.1}\" height=\"10\" fill=\"url(#dawn)\"/></svg>",
            count(&self.ended),
            count(&self.total)
        )
    }
}

impl HtmlSafe for Instant {}

/// What templates write behind a bar.
#[expect(unreachable_pub, reason = "what a filter becomes is public")]
pub(crate) mod filters {
    use std::fmt::Display;

    use askama::{Result, Values};

    use overnight_domain::batches::Counters;

    use super::{Grain, Holds, Instant, Night, State};

    /// How something stands.
    #[askama::filter_fn]
    pub(crate) fn state(word: impl Display, _: &dyn Values) -> Result<State> {
        Ok(State(word.to_string()))
    }

    /// How much of a batch has ended.
    #[askama::filter_fn]
    pub(crate) fn night(counters: &Counters, _: &dyn Values) -> Result<Night> {
        Ok(Night { ended: counters.total() - counters.live(), total: counters.total() })
    }

    /// A whole number with its thousands apart.
    #[askama::filter_fn]
    pub(crate) fn count(number: impl Display, _: &dyn Values) -> Result<String> {
        Ok(super::count(&number))
    }

    /// A length of time in milliseconds, in its two largest units.
    #[askama::filter_fn]
    pub(crate) fn duration(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<String> {
        Ok(super::duration(&milliseconds.held()))
    }

    /// The ends of an identifier.
    #[askama::filter_fn]
    pub(crate) fn short(id: impl Display, _: &dyn Values) -> Result<String> {
        Ok(super::short(&id))
    }

    /// A time to the minute.
    #[askama::filter_fn]
    pub(crate) fn time(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
        Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Minute })
    }

    /// A time to the second.
    #[askama::filter_fn]
    pub(crate) fn second(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
        Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Second })
    }

    /// A day.
    #[askama::filter_fn]
    pub(crate) fn day(milliseconds: impl Holds<i64>, _: &dyn Values) -> Result<Instant> {
        Ok(Instant { milliseconds: milliseconds.held(), grain: Grain::Day })
    }
}

impl Display for Instant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let Civil { year, month, day } = Civil::of(self.milliseconds.div_euclid(86_400_000));
        let seconds = self.milliseconds.div_euclid(1_000).rem_euclid(86_400);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let name = usize::try_from(month - 1).ok().and_then(|place| MONTHS.get(place)).unwrap_or(&"");
        let (grain, shown) = match self.grain {
            Grain::Minute => ("minute", format!("{day} {name} {hour:02}:{minute:02} UTC")),
            Grain::Second => ("second", format!("{day} {name} {hour:02}:{minute:02}:{second:02} UTC")),
            Grain::Day => ("day", format!("{day} {name} {year}")),
        };
        write!(
            formatter,
            "<time datetime=\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z\" \
             data-grain=\"{grain}\">{shown}</time>"
        )
    }
}

/// A day of the calendar.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
}

impl Civil {
    /// The day that is so many days after 1 January 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    const fn of(days: i64) -> Self {
        let days = days + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        Self { year: year + era * 400 + (month <= 2) as i64, month, day }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (62_114, "62,114"), (-1_234_567, "\u{2212}1,234,567")]
        {
            assert_eq!(count(&number), expected);
        }
    }

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

    #[test]
    fn durations_show_their_two_largest_units() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_725, "1 h 2 min"),
            (69_120, "19 h 12 min"),
            (90_061, "1 d 1 h"),
            (-5, "0 s"),
        ] {
            assert_eq!(duration(&(seconds * 1_000)), expected);
        }
    }

    #[test]
    fn instants_are_exact_and_read_without_a_script() {
        let of = |milliseconds, grain| Instant { milliseconds, grain };
        let shown = of(1_795_300_867_000, Grain::Minute).to_string();
        assert_eq!(
            shown,
            "<time datetime=\"2026-11-21T22:41:07Z\" data-grain=\"minute\">21 Nov 22:41 UTC</time>"
        );
        assert!(of(951_782_400_000, Grain::Second).to_string().contains(">29 Feb 00:00:00 UTC<"));
        assert!(of(0, Grain::Day).to_string().contains(">1 Jan 1970<"));
    }

    #[test]
    fn an_identifier_shows_its_ends() {
        assert_eq!(short(&"batch_01jd7m4zr3f8vt1x0k9y5c6hx4"), "batch_01jd7m…6hx4");
        assert_eq!(short(&"gpu-0"), "gpu-0");
    }
}
