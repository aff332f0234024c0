use jiff::Timestamp;
use overnight_domain::scheduler::EngineHours;

use super::*;

/// The hours of an engine with these settings at a time in UTC.
fn told(settings: &str, now: &str) -> EngineHours {
    engine(settings).hours.unwrap().at(now.parse::<Timestamp>().unwrap().as_millisecond())
}

/// Whether it is open at a time in UTC, and until when.
fn at(settings: &str, now: &str) -> (bool, String) {
    let hours = told(settings, now);
    let until = hours.until.map(|at| Timestamp::from_millisecond(at).unwrap().to_string());
    (hours.is_open, until.unwrap_or_else(|| "for ever".to_owned()))
}

/// Asserts when an engine opens and closes: each change follows the last, from `now` on.
fn check_changes(settings: &str, now: &str, is_open: bool, changes: &str) {
    let (mut now, mut is_open) = (now.to_owned(), is_open);
    for change in changes.split(' ') {
        assert_eq!(at(settings, &now), (is_open, change.to_owned()), "{settings} at {now}");
        (now, is_open) = (change.to_owned(), !is_open);
    }
}

#[test]
fn an_engine_without_hours_is_always_open() {
    assert_eq!(engine("").hours, None);
    for settings in ["hours = [\"00:00-24:00\"]", "hours = [\"06:00-22:00\", \"22:00-06:00\"]"] {
        assert_eq!(at(settings, "2026-11-23T16:00:00Z"), (true, "for ever".to_owned()));
    }
}

#[test]
fn a_stretch_may_cross_midnight() {
    let night = "hours = [\"22:00-06:00\"]";
    check_changes(
        night,
        "2026-11-23T21:59:59.999Z",
        false,
        "2026-11-23T22:00:00Z 2026-11-24T06:00:00Z 2026-11-24T22:00:00Z",
    );
    assert_eq!(at(night, "2026-11-24T00:00:00Z"), (true, "2026-11-24T06:00:00Z".to_owned()));
    for to_midnight in ["hours = [\"22:00-24:00\"]", "hours = [\"22:00-00:00\"]"] {
        assert_eq!(at(to_midnight, "2026-11-23T23:00:00Z"), (true, "2026-11-24T00:00:00Z".to_owned()));
    }
}

#[test]
fn stretches_begin_on_their_weekdays_and_join_their_neighbours() {
    // 2026-11-27 is a Friday.
    check_changes(
        "hours = [\"mon-fri 22:00-06:00\", \"sat,sun 00:00-24:00\"]",
        "2026-11-27T12:00:00Z",
        false,
        "2026-11-27T22:00:00Z 2026-11-30T00:00:00Z 2026-11-30T22:00:00Z 2026-12-01T06:00:00Z",
    );
    check_changes(
        "hours = [\"sat-mon,wed 10:00-12:00\"]",
        "2026-11-27T12:00:00Z",
        false,
        "2026-11-28T10:00:00Z 2026-11-28T12:00:00Z 2026-11-29T10:00:00Z 2026-11-29T12:00:00Z 2026-11-30T10:00:00Z 2026-11-30T12:00:00Z 2026-12-02T10:00:00Z",
    );
}

#[test]
fn a_night_in_which_the_clock_changes_is_an_hour_longer_or_shorter() {
    let night = "hours = [\"22:00-06:00\"]\ntimezone = \"Europe/Paris\"";
    // Forward in the night to 2026-03-29, back in the night to 2026-10-25.
    check_changes(night, "2026-03-28T12:00:00Z", false, "2026-03-28T21:00:00Z 2026-03-29T04:00:00Z");
    check_changes(night, "2026-10-24T12:00:00Z", false, "2026-10-24T20:00:00Z 2026-10-25T05:00:00Z");
    check_changes(night, "2026-07-01T12:00:00Z", false, "2026-07-01T20:00:00Z 2026-07-02T04:00:00Z");
}

#[test]
fn times_that_the_clock_skips_or_shows_twice_open_and_close_once() {
    let zone = "timezone = \"Europe/Paris\"";
    // 02:30 is skipped on 2026-03-29: it counts as 03:30, which is 01:30 in UTC.
    let from = format!("hours = [\"02:30-12:00\"]\n{zone}");
    check_changes(&from, "2026-03-29T00:00:00Z", false, "2026-03-29T01:30:00Z 2026-03-29T10:00:00Z");
    let to = format!("hours = [\"22:00-02:30\"]\n{zone}");
    check_changes(&to, "2026-03-28T22:00:00Z", true, "2026-03-29T01:30:00Z 2026-03-29T20:00:00Z");
    // On 2026-10-25 it is shown twice: at 00:30 and 01:30 in UTC.
    check_changes(&from, "2026-10-25T00:00:00Z", false, "2026-10-25T00:30:00Z 2026-10-25T11:00:00Z");
    check_changes(&to, "2026-10-24T22:00:00Z", true, "2026-10-25T00:30:00Z 2026-10-25T21:00:00Z");
    // An interval that would end before it begins is empty.
    let lost = format!("hours = [\"sun 02:30-03:00\"]\n{zone}");
    check_changes(&lost, "2026-03-29T00:00:00Z", false, "2026-04-05T00:30:00Z 2026-04-05T01:00:00Z");
}

#[test]
fn what_is_told_agrees_with_every_minute_between() {
    let settings = "hours = [\"mon-fri 21:15-05:45\", \"sat 02:10-02:50\", \"sun 01:00-24:00\"]\ntimezone = \"America/New_York\"";
    let hours = engine(settings).hours.unwrap();
    // The clock changes on 2026-11-01.
    let begin = "2026-10-28T00:00:00Z".parse::<Timestamp>().unwrap().as_millisecond();
    let mut before = hours.at(begin);
    for minute in 1..10 * 24 * 60 {
        let now = begin + minute * 60_000;
        let told = hours.at(now);
        assert_eq!(told.is_open, before.is_open_at(now), "minute {minute}");
        assert_eq!(told.is_open, hours.at(now - 1).is_open_at(now), "minute {minute}");
        before = told;
    }
}

#[test]
fn deadlines_overrule_hours_unless_that_is_forbidden() {
    let with = |setting| {
        told(&format!("hours = [\"01:00-02:00\"]\n{setting}"), "2026-11-23T16:00:00Z").is_open_for_deadlines
    };
    assert!(with("") && with("open_for_deadlines = true") && !with("open_for_deadlines = false"));
}

#[test]
fn hours_that_nobody_can_mean_are_refused() {
    let wanted = "`engines[0].hours` must be stretches of the day like \"22:00-06:00\"";
    let stretches = "|22-6|22:00|22:00-22:00|24:00-06:00|22:00-24:01|22:60-23:00|2:00-06:00|+2:00-06:00|22:00 - 06:00|\
        monday 22:00-06:00|mon,, 22:00-06:00|mon-fri  22:00-06:00|mon-fri";
    for text in stretches.split('|') {
        check_refused(&format!("{ENGINE}hours = [\"{text}\"]"), &[wanted, &format!("and has {text:?}")]);
    }
    check_table(
        ENGINE,
        r#"
        hours = [] => `engines[0].hours` must have 1 to 64 stretches
        hours = ["22:00-06:00"] ; timezone = "Paris" => `engines[0].timezone` must be a name of the IANA | Paris
        timezone = "UTC" => `engines[0].timezone` is of no use without `hours`
        open_for_deadlines = false => `engines[0].open_for_deadlines` is of no use without `hours`
        "#,
    );
    let many = "\"01:00-02:00\",".repeat(65);
    check_refused(&format!("{ENGINE}hours = [{many}]"), &["must have 1 to 64 stretches"]);
}
