use std::fmt::{self, Display};

use askama::filters::HtmlSafe;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    Minute,
    Second,
    Day,
}

/// Shown in UTC until the script shows it in the reader's time zone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant {
    pub(super) milliseconds: i64,
    pub(super) grain: Grain,
}

impl HtmlSafe for Instant {}

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
}
