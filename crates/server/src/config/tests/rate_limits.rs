use super::*;

fn read(settings: &str) -> (Option<u32>, Option<i64>) {
    let limits = load_text(&format!("{ENGINE}{settings}")).unwrap().engines[0].rate_limits();
    (limits.requests_per_minute, limits.tokens_per_minute)
}

#[test]
fn an_engine_has_the_rate_limits_that_are_set() {
    assert_eq!(read(""), (None, None));
    assert_eq!(read("max_requests_per_minute = 1"), (Some(1), None));
    let most = "max_requests_per_minute = 1_000_000\nmax_tokens_per_minute = 10_000_000_000";
    assert_eq!(read(most), (Some(1_000_000), Some(10_000_000_000)));
    assert!(!EngineConfig::boxed().rate_limits().are_set());
}

#[test]
fn a_rate_limit_out_of_its_range_is_refused() {
    for number in ["0", "-1", "1000001"] {
        let wanted = "`engines[0].max_requests_per_minute` must be an integer from 1 to 1000000, and is";
        check_refused(
            &format!("{ENGINE}max_requests_per_minute = {number}"),
            &[wanted, number, ".toml line"],
        );
    }
    for number in ["0", "-1", "10000000001"] {
        let wanted = "`engines[0].max_tokens_per_minute` must be an integer from 1 to 10000000000, and is";
        check_refused(&format!("{ENGINE}max_tokens_per_minute = {number}"), &[wanted, number]);
    }
    check_refused(&format!("{ENGINE}max_tokens_per_minute = \"1k\""), &["and is a string"]);
}

#[test]
fn an_embedded_engine_has_no_rate_limits() {
    for key in ["max_requests_per_minute", "max_tokens_per_minute"] {
        let text =
            format!("[[models]]\nname = \"m\"\n[[engines]]\nname = \"e\"\nkind = \"embedded\"\n{key} = 1");
        let words = format!("`engines[0].{key}` is a setting of engines with kind = \"openai\"");
        check_refused(&text, &[&words]);
    }
}
