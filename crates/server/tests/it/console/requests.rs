//! The pages of requests.

use overnight_domain::requests::RequestStatus;
use overnight_domain::roles::Role;
use serde_json::json;

use super::{both_accounts, member};
use crate::support::TestApp;

#[tokio::test]
async fn a_request_is_shown_with_everything_that_was_sent() {
    let app = TestApp::start().await;
    let [account, _] = both_accounts(&app).await;
    let mut body = TestApp::quick_start("the-prompt");
    body["metadata"] = json!({"row": "the-metadata"});
    body["webhook"] = json!("https://example.com/the-webhook");
    let created = app.client().post("/v1/requests", &body).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let id = created.json()[0]["id"].as_str().expect("an id").to_owned();
    let mut browser = member(&app, &account, "a@example.com", Role::Viewer).await;
    let page = browser.get(&format!("/console/{}/requests/{id}", account.id)).await;
    for shown in ["the-prompt", "the-metadata", "https://example.com/the-webhook"] {
        assert!(page.text().contains(shown), "{shown}: {}", page.text());
    }
    app.stop().await;
}

#[tokio::test]
async fn what_an_engine_did_not_honour_is_shown_below_its_answer() {
    let app = TestApp::start().await;
    let [account, _] = both_accounts(&app).await;
    let id = app.create("hello").await;
    let warnings = json!([{"param": "request_body.n", "message": "Too few <choices>."}]).to_string();
    let leases = app.lease_all().await;
    assert!(app.settle_with_warnings(&leases[0], RequestStatus::Completed, Some(warnings.into())).await);
    let mut browser = member(&app, &account, "a@example.com", Role::Viewer).await;
    let page = browser.get(&format!("/console/{}/requests/{id}", account.id)).await;
    assert!(page.text().contains("Too few &#60;choices&#62;."), "{}", page.text());
    app.stop().await;
}
