//! Dates for templates, in UTC. Days become dates by Howard Hinnant's `civil_from_days`.

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

struct Date {
    year: u64,
    month: u64,
    day: u64,
}

/// Formats a time in seconds since 1970 with C's common conversions; others stay as they are written.
pub(super) fn format(seconds: u64, format: &str) -> String {
    let mut text = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        match (character, character == '%') {
            (_, true) => match characters.next() {
                Some('-') => text.push_str(convert(seconds, characters.next()).trim_start_matches('0')),
                conversion => text.push_str(&convert(seconds, conversion)),
            },
            (other, false) => text.push(other),
        }
    }
    text
}

fn convert(seconds: u64, conversion: Option<char>) -> String {
    let days = seconds / 86_400;
    let Date { year, month, day } = date(days);
    let second_of_day = seconds % 86_400;
    let (hour, minute) = (second_of_day / 3_600, second_of_day / 60 % 60);
    let named = |names: &[&'static str], index: u64| names[usize::try_from(index).unwrap_or(0)];
    match conversion {
        Some('Y') => year.to_string(),
        Some('y') => format!("{:02}", year % 100),
        Some('m') => format!("{month:02}"),
        Some('B') => named(&MONTHS, month - 1).to_owned(),
        Some('b') => named(&MONTHS, month - 1)[..3].to_owned(),
        Some('d') => format!("{day:02}"),
        Some('A') => named(&DAYS, days % 7).to_owned(),
        Some('a') => named(&DAYS, days % 7)[..3].to_owned(),
        Some('H') => format!("{hour:02}"),
        Some('I') => format!("{:02}", (hour + 11) % 12 + 1),
        Some('p') => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        Some('M') => format!("{minute:02}"),
        Some('S') => format!("{:02}", second_of_day % 60),
        Some('F') => format!("{year}-{month:02}-{day:02}"),
        Some('T') => format!("{hour:02}:{minute:02}:{:02}", second_of_day % 60),
        Some('%') => "%".to_owned(),
        Some(other) => format!("%{other}"),
        None => "%".to_owned(),
    }
}

fn date(days_since_1970: u64) -> Date {
    let days = days_since_1970 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    Date { year: year_of_era + era * 400 + u64::from(month <= 2), month, day }
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn dates_are_formatted_as_in_c() {
        let leap_day = 951_827_696; // 2000-02-29 12:34:56 UTC, a Tuesday
        assert_eq!(format(leap_day, "%d %B %Y"), "29 February 2000");
        assert_eq!(
            format(leap_day, "%a %A %b %y %F %T %I %p %%"),
            "Tue Tuesday Feb 00 2000-02-29 12:34:56 12 PM %"
        );
        assert_eq!(format(0, "%-d.%-m. %H:%M:%S %A"), "1.1. 00:00:00 Thursday");
        assert_eq!(format(1_767_225_599, "%Y-%m-%d %I %p"), "2025-12-31 11 PM");
        assert_eq!(format(0, "%Q and %"), "%Q and %");
    }
}
