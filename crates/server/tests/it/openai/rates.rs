//! Headers with the state of a client's request rate.

use serde_json::json;

use super::support::{CHAT, chat, refused};
use crate::support::{Answered, MODEL, START, TestApp};

fn told(answered: &Answered) -> [&str; 3] {
    ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"]
        .map(|name| answered.header(name))
}

#[tokio::test]
async fn an_account_with_a_rate_is_told_what_is_left_of_it_where_requests_are_created() {
    let app = TestApp::start_with(&[("quotas.requests_per_second", "4")]).await;
    let client = app.client();
    let body = json!({"model": MODEL, "input": "x", "background": true});
    for (remaining, reset) in [("39", "250ms"), ("38", "500ms"), ("37", "750ms"), ("36", "1s"), ("35", "2s")]
    {
        let answered = client.post("/openai/v1/responses/", &body).await;
        assert_eq!((answered.status, told(&answered)), (200, ["40", remaining, reset]));
    }
    assert_eq!(told(&client.get("/openai/v1/models").await), ["", "", ""]);
    for _ in 0..35 {
        client.create("x").await;
    }
    let answered = client.post(CHAT, &chat("x")).await;
    refused(&answered, 429, "quota_exceeded");
    assert_eq!((told(&answered), answered.header("retry-after")), (["40", "0", "10s"], "1"));
    app.clock.set(START + 10_000);
    let answered = client.send("POST", CHAT, "{").await;
    refused(&answered, 400, "invalid_input");
    assert_eq!(told(&answered), ["40", "40", "0ms"], "nothing was created");
    app.stop().await;
}

#[tokio::test]
async fn an_account_without_a_rate_is_told_of_none() {
    let app = TestApp::start().await;
    let body = json!({"model": MODEL, "input": "x", "background": true});
    let answered = app.client().post("/openai/v1/responses", &body).await;
    assert_eq!((answered.status, told(&answered)), (200, ["", "", ""]));
    app.stop().await;
}
