use overnight_domain::requests::RequestStatus;
use overnight_domain::roles::Role;
use serde_json::json;

use super::visit;
use crate::support::TestApp;

#[tokio::test]
async fn a_request_is_shown_with_everything_that_was_sent() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    let mut body = TestApp::quick_start("the-prompt");
    body["metadata"] = json!({"row": "the-metadata"});
    body["webhook"] = json!("https://example.com/the-webhook");
    let id = app.client().post("/v1/requests", &body).await.checked(201).id();
    let page = browser.get(&format!("/console/{}/requests/{id}", account.id)).await;
    for shown in ["the-prompt", "the-metadata", "https://example.com/the-webhook"] {
        page.shows(shown);
    }
    app.stop().await;
}

#[tokio::test]
async fn what_an_engine_did_not_honour_is_shown_below_its_answer() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    let id = app.create("hello").await;
    let warnings = json!([{"param": "request_body.n", "message": "Too few <choices>."}]).to_string();
    let leases = app.lease_all().await;
    assert!(app.settle_with_warnings(&leases[0], RequestStatus::Completed, Some(warnings.into())).await);
    browser.get(&format!("/console/{}/requests/{id}", account.id)).await.shows("Too few &#60;choices&#62;.");
    app.stop().await;
}
