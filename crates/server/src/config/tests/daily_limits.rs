use super::*;

fn read(settings: &str) -> (Option<u32>, Option<i64>) {
    let limits = load_text(&format!("{ENGINE}{settings}")).unwrap().engines[0].daily_limits();
    (limits.requests_per_day, limits.tokens_per_day)
}

#[test]
fn an_engine_has_the_daily_budget_that_is_set() {
    assert_eq!(read(""), (None, None));
    assert_eq!(read("max_tokens_per_day = 1"), (None, Some(1)));
    let most = "max_requests_per_day = 1_000_000_000\nmax_tokens_per_day = 10_000_000_000_000";
    assert_eq!(read(most), (Some(1_000_000_000), Some(10_000_000_000_000)));
    assert!(!EngineConfig::boxed().daily_limits().are_set());
}

#[test]
fn a_daily_budget_out_of_its_range_is_refused() {
    for number in ["0", "-1", "1000000001"] {
        let wanted = "`engines[0].max_requests_per_day` must be an integer from 1 to 1000000000, and is";
        check_refused(&format!("{ENGINE}max_requests_per_day = {number}"), &[wanted, number, ".toml line"]);
    }
    for number in ["0", "-1", "10000000000001"] {
        let wanted = "`engines[0].max_tokens_per_day` must be an integer from 1 to 10000000000000, and is";
        check_refused(&format!("{ENGINE}max_tokens_per_day = {number}"), &[wanted, number]);
    }
    check_refused(&format!("{ENGINE}max_tokens_per_day = \"1M\""), &["and is a string"]);
}

#[test]
fn an_embedded_engine_has_no_daily_budget() {
    for key in ["max_requests_per_day", "max_tokens_per_day"] {
        let text =
            format!("[[models]]\nname = \"m\"\n[[engines]]\nname = \"e\"\nkind = \"embedded\"\n{key} = 1");
        let words = format!("`engines[0].{key}` is a setting of engines with kind = \"openai\"");
        check_refused(&text, &[&words]);
    }
}
