//! The console in a browser: a real service, simulated providers, and Chromium. Each story is a module in
//! `crates/cli/tests/browser/stories/`; run one with `cargo test -p overnight-cli --test end_to_end console::NAME`.

mod stage;

use stage::Stage;

#[test]
fn the_first_start_leads_in_and_a_password_leads_back() {
    Stage::set("first-start").play();
}

#[test]
fn a_key_is_made_used_and_revoked() {
    Stage::set("keys").play();
}

#[test]
fn credits_are_ordered_paid_and_seen_to_arrive() {
    Stage::set("top-up").play();
}

#[test]
fn many_lines_are_priced_sent_followed_and_cancelled() {
    Stage::set("new-batch").play();
}

#[test]
fn a_table_fills_a_prompt_row_by_row() {
    Stage::set("tables").play();
}

#[test]
fn one_prompt_is_sent_from_the_playground_and_sent_again() {
    Stage::set("playground").play();
}

#[test]
fn a_chart_tells_its_bars_by_keys_and_by_pointer() {
    Stage::set("charts").play();
}

#[test]
fn a_receiver_is_tested_and_told_again() {
    Stage::set("webhooks").play();
}

#[test]
fn a_viewer_changes_nothing() {
    Stage::set("viewer").play();
}

#[test]
fn a_foreign_account_looks_like_none() {
    Stage::set("foreign").play();
}

#[test]
fn guessing_a_password_takes_time() {
    Stage::set("guessing").play();
}

#[test]
fn pages_of_others_do_nothing_and_show_nothing() {
    Stage::set("other-sites").play();
}

#[test]
fn hostile_text_is_only_text_in_a_browser() {
    Stage::set("hostile-text").play();
}

#[test]
fn everything_works_without_script() {
    Stage::set("no-script").play();
}

#[test]
fn every_page_of_an_empty_account_is_in_order() {
    Stage::set("empty-pages").play();
}

#[test]
fn every_page_of_a_full_account_is_in_order() {
    Stage::set("full-pages").play();
}
