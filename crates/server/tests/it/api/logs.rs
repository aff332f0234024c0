//! Log lines about calls.

use crate::support::{Log, TestApp};

#[tokio::test]
async fn what_is_logged_of_a_call_names_its_route_its_identifier_and_its_account() {
    let log = Log::keep();
    let app = TestApp::start().await;
    let account = app.own().await.id;
    let id = app.create("logged").await;
    for (answered, route, account) in [
        (app.client().get(&format!("/v1/requests/{id}")).await, "/v1/requests/{request_id}", Some(account)),
        (app.client().get("/v1/nothing").await, "unmatched", Some(account)),
        (app.anonymous().get("/v1/models").await, "/v1/models", None),
        (app.anonymous().get("/livez").await, "/livez", None),
    ] {
        let call = answered.header("x-request-id");
        let account = account.map_or(String::new(), |account| format!(" account={account}"));
        let span = format!("call{{method=\"GET\" route=\"{route}\" request_id={call}{account}}}");
        let lines = log.lines_with(&format!("answered call {call}"));
        assert!(lines.len() == 1 && lines[0].contains(&span), "{span}: {lines:?}");
        assert!(!lines[0].contains(&id), "the path itself is not logged: {lines:?}");
    }
    app.stop().await;
}
