//! Headers with the state of a client's request rate.

use serde_json::json;

use crate::support::{Answered, MODEL, TestApp};

fn told(answered: &Answered) -> [&str; 3] {
    [
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ]
    .map(|name| answered.header(name))
}

#[tokio::test]
async fn an_account_with_a_rate_is_told_what_is_left_of_it_and_until_when() {
    let app = TestApp::start_with(&[("quotas.requests_per_second", "1")]).await;
    for _ in 0..10 {
        app.client().create("x").await;
    }
    let body = json!({"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]});
    let answered = app.client().post("/anthropic/v1/messages", &body).await.checked(429);
    let full_at = overnight_wire::anthropic::times::rfc3339(crate::support::START + 10_000);
    assert_eq!(told(&answered), ["10", "0", full_at.as_str()]);
    assert_eq!(told(&app.client().get("/anthropic/v1/models").await), ["", "", ""]);
    app.stop().await;
}
