//! The data of charts.

use crate::pages::{Activity, ActivityRow, Chart, Money, Period, Series, thousands};
use overnight_domain::activity::{ActivityPart, ActivityRecord, PART_MS, PARTS, quarter_of};
use overnight_domain::money::Credits;

/// The charts of requests that ended before `now`, in milliseconds. The default period is a day, or the last hour if none ended before it,
/// as in a new account.
pub(super) fn activity(
    records: &[ActivityRecord],
    now: i64,
    period: Option<Period>,
    money: Money,
) -> Activity {
    let is_young = ended_parts(records).next().is_some_and(|(part, _)| part >= first_part(Period::Hour, now));
    let period = period.unwrap_or(if is_young { Period::Hour } else { Period::Day });
    let (per_bar, per_row) = period.parts();
    let first = first_part(period, now);
    let bars = slots(records, first, parts_in(period), per_bar);
    let column = |value: fn(&ActivityRow) -> i64| bars.iter().map(value).collect::<Vec<_>>();
    let first_at = first * PART_MS;
    let step_ms = per_bar as i64 * PART_MS;
    let (completed, failed) = (column(|it| it.completed), column(|it| it.failed));
    let (cancelled, tokens, nanos) =
        (column(|it| it.cancelled), column(|it| it.tokens), column(|it| it.nanos));
    let ended = [
        Series { class: "done", word: "completed", values: &completed },
        Series { class: "fail", word: "failed", values: &failed },
        Series { class: "drop", word: "cancelled", values: &cancelled },
    ];
    let one = |values| [Series { class: "done", word: "", values }];
    let spent = |nanos: i64| money.plain(Credits::from_nanos(nanos));
    let mut rows = slots(records, first, parts_in(period), per_row);
    rows.retain(|row| row.completed + row.failed + row.cancelled > 0);
    Activity {
        period,
        ended: Chart::of(&ended, first_at, step_ms, thousands),
        tokens: Chart::of(&one(&tokens), first_at, step_ms, thousands),
        spent: Chart::of(&one(&nanos), first_at, step_ms, spent),
        rows,
    }
}

/// The parts of quarters of an hour in a period.
fn parts_in(period: Period) -> i64 {
    i64::from(period.hours()) * 3_600_000 / PART_MS
}

/// The last part of a period at `now`, counted since 1970: an hour ends with the current part, longer periods with the current quarter of
/// an hour.
fn first_part(period: Period, now: i64) -> i64 {
    let behind = match period {
        Period::Hour => now.div_euclid(PART_MS) + 1,
        Period::Day | Period::Week => (quarter_of(now) + 1) * PARTS as i64,
    };
    behind - parts_in(period)
}

/// The parts with ended requests, each with its number since 1970.
fn ended_parts(records: &[ActivityRecord]) -> impl Iterator<Item = (i64, ActivityPart)> {
    let all = records.iter().flat_map(|record| (record.quarter * PARTS as i64..).zip(record.parts()));
    all.filter(|(_, part)| *part != ActivityPart::default())
}

/// `parts` parts from `first` on, `at_a_time` per row.
fn slots(records: &[ActivityRecord], first: i64, parts: i64, at_a_time: usize) -> Vec<ActivityRow> {
    let count = usize::try_from(parts).unwrap_or(0).div_ceil(at_a_time);
    let begin = |place: usize| ActivityRow {
        at: (first + (place * at_a_time) as i64) * PART_MS,
        ..ActivityRow::default()
    };
    let mut slots: Vec<ActivityRow> = (0..count).map(begin).collect();
    for (number, part) in ended_parts(records) {
        let place = usize::try_from(number - first).ok().map(|place| place / at_a_time);
        let Some(slot) = place.and_then(|place| slots.get_mut(place)) else { continue };
        slot.completed += part.completed;
        slot.failed += part.failed;
        slot.cancelled += part.cancelled;
        slot.tokens = slot.tokens.saturating_add(part.tokens);
        slot.nanos = slot.nanos.saturating_add(part.amount);
    }
    slots
}

#[cfg(test)]
mod tests {
    use overnight_domain::activity::QUARTER_MS;

    use super::*;

    fn record(quarter: i64, completed: i64, failed: i64) -> ActivityRecord {
        ActivityRecord {
            quarter,
            completed,
            failed,
            prompt_tokens: 7,
            completion_tokens: 3,
            ..ActivityRecord::default()
        }
    }

    #[test]
    fn a_new_account_sees_its_first_hour_and_an_older_one_its_day() {
        let now = 1_000 * QUARTER_MS + 5;
        let young = activity(&[record(999, 4, 1)], now, None, Money::Credits);
        assert_eq!(young.period, Period::Hour);
        let old = [record(905, 1, 0), record(906, 2, 0), record(999, 4, 1)];
        let day = activity(&old, now, None, Money::Credits);
        assert_eq!((day.period, day.rows.len()), (Period::Day, 2));
        assert_eq!((day.rows[0].at, day.rows[0].completed), (905 * QUARTER_MS, 3));
        assert_eq!(activity(&old, now, Some(Period::Week), Money::Credits).period, Period::Week);
        assert_eq!(activity(&[], now, None, Money::Credits).period, Period::Day);
    }

    #[test]
    fn an_hour_has_a_bar_for_each_five_minutes_up_to_those_that_run() {
        let now = 1_000 * QUARTER_MS + PART_MS + 5;
        let earlier = [1, 2].map(|completed| ActivityPart { completed, ..ActivityPart::default() });
        let of = |quarter| ActivityRecord { earlier, ..record(quarter, 10, 0) };
        let hour = activity(&[of(996), of(999)], now, Some(Period::Hour), Money::Credits);
        let rows: Vec<_> = hour.rows.iter().map(|it| (it.at / PART_MS, it.completed)).collect();
        // Only the last five minutes of the oldest quarter are within the hour.
        assert_eq!(rows, [(996 * 3 + 2, 7), (999 * 3, 1), (999 * 3 + 1, 2), (999 * 3 + 2, 7)]);
    }
}
