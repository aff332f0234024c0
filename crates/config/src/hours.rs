//! Engine hours: weekly intervals in a time zone.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use overnight_domain::scheduler::EngineHours;

use super::Read;
use super::section::Section;
use super::tree::Value;
use super::values::{each, flag, like};

const STRETCHES_MAX: usize = 64;
/// Days to search, from the day before yesterday on: every weekly change occurs within them, even if one is skipped by a clock change.
const DAYS: usize = 18;
const DAY_MINUTES: i16 = 24 * 60;
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const WANTED: &str = "stretches of the day like \"22:00-06:00\" or \"sat,sun 00:00-24:00\"";

/// When an engine is open, each week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeeklyHours {
    stretches: Vec<Stretch>,
    zone: TimeZone,
    is_open_for_deadlines: bool,
}

/// An interval, by its first days, in minutes after midnight. If its end is not after its beginning, it ends on the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    days: [bool; 7],
    from: i16,
    to: i16,
}

impl WeeklyHours {
    /// Whether the engine is open at `now`, and when that changes next, both in milliseconds since the Unix epoch.
    ///
    /// Each interval opens and closes once, even if the clock changes: a skipped time counts as that much later, and of a repeated time the
    /// first counts.
    pub fn at(&self, now: i64) -> EngineHours {
        let (is_open, until) = self.look(now).unwrap_or((true, None));
        EngineHours { is_open, until, is_open_for_deadlines: self.is_open_for_deadlines }
    }

    /// When the engine is open between two times, in milliseconds: from and to, in order.
    pub fn stretches(&self, from: i64, to: i64) -> Vec<(i64, i64)> {
        let (mut stretches, mut now) = (Vec::new(), from);
        while now < to {
            let EngineHours { is_open, until, .. } = self.at(now);
            let until = until.filter(|until| *until > now).unwrap_or(i64::MAX);
            stretches.extend(is_open.then_some((now, until)));
            now = until;
        }
        stretches
    }

    /// `None` at times outside the calendar.
    fn look(&self, now: i64) -> Option<(bool, Option<i64>)> {
        let today = self.zone.to_datetime(Timestamp::from_millisecond(now).ok()?).date();
        let first = today.yesterday().ok()?.yesterday().ok()?;
        let days: Vec<Date> = first.series(jiff::Span::new().days(1)).take(DAYS).collect();
        let mut open: Vec<(i64, i64)> = days.iter().flat_map(|day| self.open_on(*day)).collect();
        open.sort_unstable();
        let horizon = self.instant(*days.last()?, 0)?;
        let mut until = None;
        for (begin, end) in open.into_iter().filter(|(_, end)| *end > now) {
            match until {
                None if begin > now => return Some((false, Some(begin))),
                Some(before) if begin > before => break,
                before => until = before.max(Some(end)),
            }
        }
        Some((until.is_some(), until.filter(|at| *at < horizon)))
    }

    /// The intervals that begin on a day.
    fn open_on(&self, day: Date) -> impl Iterator<Item = (i64, i64)> {
        let weekday = usize::try_from(day.weekday().to_monday_zero_offset()).unwrap_or(0);
        let begun = self.stretches.iter().filter(move |it| it.days[weekday]);
        begun.filter_map(move |it| {
            let is_over_midnight = it.to <= it.from;
            let to = if is_over_midnight { it.to + DAY_MINUTES } else { it.to };
            Some((self.instant(day, it.from)?, self.instant(day, to)?)).filter(|(begin, end)| begin < end)
        })
    }

    /// When the clock shows so many minutes after the midnight with which a day begins.
    fn instant(&self, day: Date, minutes: i16) -> Option<i64> {
        let day = if minutes < DAY_MINUTES { day } else { day.tomorrow().ok()? };
        let minutes = minutes % DAY_MINUTES;
        let (hour, minute) = (i8::try_from(minutes / 60).ok()?, i8::try_from(minutes % 60).ok()?);
        let shown = DateTime::from_parts(day, Time::new(hour, minute, 0, 0).ok()?);
        Some(self.zone.to_timestamp(shown).ok()?.as_millisecond())
    }
}

/// `None`: always open.
pub(super) fn read(section: &Section<'_>) -> Read<Option<WeeklyHours>> {
    let stretches = section.find("hours", stretches)?;
    let zone = section.find("timezone", like(zone))?;
    let is_open_for_deadlines = section.find("open_for_deadlines", flag)?;
    let Some(stretches) = stretches else {
        let alone = ["timezone", "open_for_deadlines"].into_iter().find(|key| section.has(key));
        return alone.map_or(Ok(None), |key| Err(section.refuse(key, "is of no use without `hours`")));
    };
    Ok(Some(WeeklyHours {
        stretches,
        zone: zone.unwrap_or(TimeZone::UTC),
        is_open_for_deadlines: is_open_for_deadlines.unwrap_or(true),
    }))
}

/// Looked up in the built-in database: the machine may have none.
fn zone(name: &str) -> Result<TimeZone, &'static str> {
    let wanted = "a name of the IANA time zone database, like \"Europe/Paris\"";
    TimeZoneDatabase::bundled().get(name).map_err(|_| wanted)
}

fn stretches(value: &Value) -> Result<Vec<Stretch>, String> {
    let stretches = each(WANTED, stretch)(value)?;
    let fits = (1..=STRETCHES_MAX).contains(&stretches.len());
    fits.then_some(stretches).ok_or_else(|| {
        format!("must have 1 to {STRETCHES_MAX} stretches; an engine without it is always open")
    })
}

fn stretch(text: &str) -> Option<Stretch> {
    let (days, times) = match text.split_once(' ') {
        Some((days, times)) => (weekdays(days)?, times),
        None => ([true; 7], text),
    };
    let (from, to) = times.split_once('-')?;
    let (from, to) = (minutes(from)?, minutes(to)?);
    // An empty one could mean the whole day or nothing.
    (from != to && from < DAY_MINUTES).then_some(Stretch { days, from, to })
}

/// `sat,sun` or `mon-fri`, or several of both.
fn weekdays(text: &str) -> Option<[bool; 7]> {
    let place = |name: &str| WEEKDAYS.iter().position(|it| *it == name);
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (place(first)?, place(last)?);
        let count = (last + 7 - first) % 7;
        (first..=first + count).for_each(|day| days[day % 7] = true);
    }
    Some(days)
}

/// Minutes after midnight, of 00:00 to 24:00.
fn minutes(text: &str) -> Option<i16> {
    let (hours, minutes) = text.split_once(':')?;
    let two_digits = |part: &str| {
        let is_plain = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| part.parse::<i16>().ok())?
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    let sum = hours * 60 + minutes;
    (minutes < 60 && sum <= DAY_MINUTES).then_some(sum)
}
