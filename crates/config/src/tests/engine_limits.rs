use overnight_domain::scheduler::{DailyLimits, RateLimits};

use super::*;

#[test]
fn an_engine_has_the_limits_that_are_set() {
    let per_minute =
        |requests_per_minute, tokens_per_minute| RateLimits { requests_per_minute, tokens_per_minute };
    let per_day = |requests_per_day, tokens_per_day| DailyLimits { requests_per_day, tokens_per_day };
    for (settings, minute, day) in [
        ("", (None, None), (None, None)),
        ("max_requests_per_minute = 1", (Some(1), None), (None, None)),
        ("max_tokens_per_day = 1", (None, None), (None, Some(1))),
        (
            "max_requests_per_minute = 1_000_000\nmax_tokens_per_minute = 10_000_000_000\n\
             max_requests_per_day = 1_000_000_000\nmax_tokens_per_day = 10_000_000_000_000",
            (Some(1_000_000), Some(10_000_000_000)),
            (Some(1_000_000_000), Some(10_000_000_000_000)),
        ),
    ] {
        let engine = engine(settings);
        assert_eq!(engine.rate_limits(), per_minute(minute.0, minute.1), "{settings}");
        assert_eq!(engine.daily_limits(), per_day(day.0, day.1), "{settings}");
    }
    assert!(
        !EngineConfig::boxed().rate_limits().are_set() && !EngineConfig::boxed().daily_limits().are_set()
    );
}

#[test]
fn a_limit_out_of_its_range_or_of_an_embedded_engine_is_refused() {
    for (key, most) in [
        ("max_requests_per_minute", 1_000_000_i64),
        ("max_tokens_per_minute", 10_000_000_000),
        ("max_requests_per_day", 1_000_000_000),
        ("max_tokens_per_day", 10_000_000_000_000),
    ] {
        for number in [0, -1, most + 1] {
            let wanted = format!("`engines[0].{key}` must be an integer from 1 to {most}, and is {number}");
            check_refused(&format!("{ENGINE}{key} = {number}"), &[&wanted, ".toml line"]);
        }
        check_refused(&format!("{ENGINE}{key} = \"1M\""), &["and is a string"]);
        let wanted = format!("`engines[0].{key}` is a setting of engines with kind = \"openai\"");
        check_refused(&format!("{EMBEDDED}{key} = 1"), &[&wanted]);
    }
}
