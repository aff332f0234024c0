//! What charts are made of.

use overnight_domain::activity::{ActivityRecord, QUARTER_MS, quarter_of};
use overnight_domain::money::Credits;

use crate::console::{Activity, ActivityRow, Chart, Money, Period, Series, thousands};

/// The charts of what ended until `now`, in milliseconds. Where no period is chosen, it is a day; or the last hour, where nothing ended
/// before it: a new account has no day to look back on.
pub(super) fn activity(
    records: &[ActivityRecord],
    now: i64,
    period: Option<Period>,
    money: Money,
) -> Activity {
    let quarters_of = |period: Period| i64::from(period.hours()) * 3_600_000 / QUARTER_MS;
    let begins = |period: Period| quarter_of(now) - quarters_of(period) + 1;
    let is_young = records.first().is_some_and(|first| first.quarter >= begins(Period::Hour));
    let period = period.unwrap_or(if is_young { Period::Hour } else { Period::Day });
    let (per_bar, per_row) = period.quarters();
    let first = begins(period);
    let bars = parts(records, first, quarters_of(period), per_bar);
    let column = |value: fn(&ActivityRow) -> i64| bars.iter().map(value).collect::<Vec<_>>();
    let first_at = first * QUARTER_MS;
    let step_ms = per_bar as i64 * QUARTER_MS;
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
    let mut rows = parts(records, first, quarters_of(period), per_row);
    rows.retain(|row| row.completed + row.failed + row.cancelled > 0);
    Activity {
        period,
        ended: Chart::of(&ended, first_at, step_ms, thousands),
        tokens: Chart::of(&one(&tokens), first_at, step_ms, thousands),
        spent: Chart::of(&one(&nanos), first_at, step_ms, spent),
        rows,
    }
}

/// So many quarters of an hour from `first` on, some at a time.
fn parts(records: &[ActivityRecord], first: i64, quarters: i64, at_a_time: usize) -> Vec<ActivityRow> {
    let count = usize::try_from(quarters).unwrap_or(0).div_ceil(at_a_time);
    let begin = |place: usize| ActivityRow {
        at: (first + (place * at_a_time) as i64) * QUARTER_MS,
        ..ActivityRow::default()
    };
    let mut parts: Vec<ActivityRow> = (0..count).map(begin).collect();
    for record in records {
        let place = usize::try_from(record.quarter - first).ok().map(|place| place / at_a_time);
        let Some(part) = place.and_then(|place| parts.get_mut(place)) else { continue };
        part.completed += record.completed;
        part.failed += record.failed;
        part.cancelled += record.cancelled;
        let tokens = record.prompt_tokens.saturating_add(record.completion_tokens);
        part.tokens = part.tokens.saturating_add(tokens);
        part.nanos = part.nanos.saturating_add(record.amount);
    }
    parts
}

#[cfg(test)]
mod tests {
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
        let rows: Vec<_> = young.rows.iter().map(|it| (it.at, it.completed, it.failed, it.tokens)).collect();
        assert_eq!(rows, [(999 * QUARTER_MS, 4, 1, 10)]);
        let old = [record(905, 1, 0), record(906, 2, 0), record(999, 4, 1)];
        let day = activity(&old, now, None, Money::Credits);
        assert_eq!((day.period, day.rows.len()), (Period::Day, 2));
        assert_eq!((day.rows[0].at, day.rows[0].completed), (905 * QUARTER_MS, 3));
        assert_eq!(activity(&old, now, Some(Period::Week), Money::Credits).period, Period::Week);
        assert_eq!(activity(&[], now, None, Money::Credits).period, Period::Day);
    }
}
