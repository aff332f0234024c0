//! Pages and day ranges of usage lists, and the console's page of them.

use overnight_app::usage::{self as uses, Days};
use overnight_domain::roles::Role;
use serde_json::Value;

use super::usage::{by_name, counts, team, usage};
use crate::console::visit;
use crate::support::{Client, MODEL, START, TestApp};

const DAY_MS: i64 = 86_400_000;

async fn page(client: &Client, query: &str) -> Value {
    let answered = client.get(&format!("/v1/usage?{query}")).await;
    assert_eq!(answered.status, 200, "{query}: {answered:?}");
    answered.json()
}

/// Creates two keys with one completed request each; the client has the second key.
async fn two_keys(app: &TestApp) -> Client {
    let (first, _) = team(app, "first").await;
    let (second, _) = team(app, "second").await;
    for client in [&first, &second] {
        client.create("one").await;
    }
    app.complete_all().await;
    second
}

#[tokio::test]
async fn the_last_page_names_no_other_be_it_full_or_not() {
    let app = TestApp::start().await;
    let client = two_keys(&app).await;
    for (limit, count, is_last) in [(1, 1, false), (2, 2, true), (3, 2, true)] {
        let page = page(&client, &format!("group_by=api_key&limit={limit}")).await;
        assert_eq!(page["data"].as_array().map(Vec::len), Some(count), "{page}");
        assert_eq!(page["next"].is_null(), is_last, "{page}");
    }
    app.stop().await;
}

#[tokio::test]
async fn the_pages_of_a_list_are_about_the_same_days_when_a_day_ends_between_them() {
    let app = TestApp::start().await;
    let client = two_keys(&app).await;
    // The earliest possible first day, counted from the day of the first page.
    let query = "group_by=api_key&limit=1&first_day=2025-05-16";
    let first = page(&client, query).await;
    let next = first["next"].as_str().expect("a place").to_owned();
    app.clock.set(START + DAY_MS);
    client.create("of the next day").await;
    app.complete_all().await;
    let second = page(&client, &format!("{query}&after={next}")).await;
    assert_eq!((&second["data"][0]["requests"], &second["next"]), (&1.into(), &Value::Null), "{second}");
    let told = page(&client, &format!("{query}&after={next}&last_day=2025-06-15")).await;
    assert_eq!(told, second, "the day that the place names may be told");
    let other = client.get(&format!("/v1/usage?group_by=api_key&after={next}&last_day=2025-06-16")).await;
    assert_eq!(other.refused(422, "invalid_input")["details"][0]["param"], "after");
    assert_eq!(by_name(&client).await, counts(&[("first", 1), ("second", 2)]));
    app.stop().await;
}

#[tokio::test]
async fn a_place_of_another_grouping_is_refused() {
    const GROUPINGS: [&str; 7] =
        ["day", "model", "api_key", "day,model", "day,api_key", "api_key,model", "day,model,api_key"];
    let app = TestApp::start().await;
    let client = two_keys(&app).await;
    client.create("one").await;
    app.clock.set(START + DAY_MS);
    app.complete_all().await;
    let named = usage(&client, "/v1/usage?group_by=day,model,api_key").await;
    let key = named[0]["api_key_id"].as_str().expect("a key");
    for of in GROUPINGS {
        let part = |name, value| if of.contains(name) { value } else { "" };
        let (day, model) = (part("day", "2025-06-15"), part("model", MODEL));
        let after = format!("2025-06-16,{day},{},{model}", part("api_key", key));
        if of.contains("day") || of.contains("api_key") {
            let first = page(&client, &format!("group_by={of}&limit=1")).await;
            assert_eq!(first["next"], after.as_str(), "{of}");
        }
        for asked in GROUPINGS {
            let answered = client.get(&format!("/v1/usage?group_by={asked}&after={after}")).await;
            if asked == of {
                assert_eq!(answered.status, 200, "{answered:?}");
            } else {
                let refused = answered.refused(422, "invalid_input");
                assert_eq!(refused["details"][0]["param"], "after", "{of} {asked}");
            }
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn thirty_days_are_asked_about_where_nobody_says() {
    let app = TestApp::start().await;
    let client = two_keys(&app).await;
    let today = uses::read_day("2025-06-15").expect("a day");
    assert_eq!(uses::last_days(&app.services, 30), Days { first: today - 29, last: today });
    assert_eq!(uses::last_days(&app.services, 1), Days { first: today, last: today });
    for (days, count) in [(29, 2), (30, 0)] {
        app.clock.set(START + days * DAY_MS);
        assert_eq!(usage(&client, "/v1/usage?group_by=api_key").await.len(), count, "{days} days later");
    }
    app.stop().await;
}

#[tokio::test]
async fn the_console_shows_twenty_keys_and_says_where_there_are_others() {
    let (app, account, mut browser) = visit("a@example.com", Role::Owner).await;
    let credits = format!("/console/{}/credits", account.id);
    let mut shown = Vec::new();
    for count in 1..=21 {
        let (client, _) = team(&app, &format!("team-{count}")).await;
        client.create("one").await;
        app.complete_all().await;
        if count >= 20 {
            let page = browser.get(&credits).await;
            let says_more = page.text().contains("The 20 keys that spent most are shown.");
            shown.push((page.text().matches("title=\"key_").count(), says_more));
        }
    }
    assert_eq!(shown, [(20, false), (20, true)]);
    let keys = browser.get(&format!("/console/{}/keys", account.id)).await;
    let text = keys.text();
    assert_eq!(text.matches("Spent, 30 days\">–").count(), 1, "the key of the app itself: {text}");
    app.stop().await;
}
