//! List Requests: filters, order and pages.

use crate::support::{Client, TestApp, keys};

/// Checks the requests of a list by their indices in `ids`.
async fn check(client: &Client, ids: &[String], query: &str, expected: &[usize]) {
    let answered = client.get(&format!("/v1/requests?{query}")).await;
    assert_eq!(answered.status, 200, "{query}: {}", answered.text());
    let places: Vec<usize> = answered
        .ids()
        .iter()
        .map(|id| ids.iter().position(|known| known == id).expect("one of ours"))
        .collect();
    assert_eq!(places, expected, "{query}");
}

#[tokio::test]
async fn requests_are_listed_by_what_a_query_asks_for() {
    let app = TestApp::start().await;
    let mut ids = vec![app.create("zero").await, app.create("one").await];
    app.complete_all().await;
    ids.push(app.create("two").await);
    app.lease_all().await;
    ids.push(app.create("three").await);
    ids.push(app.create("four").await);
    app.client().cancel(&format!("/v1/requests/{}", ids[4])).await;
    app.stranger().create("foreign").await;
    let created = app.client().get(&format!("/v1/requests/{}/status", ids[0])).await.json();
    let created_at = created["created_at"].as_i64().expect("a time");
    let (early, late) = (created_at - 1, created_at + 3_600);
    let client = app.client();
    for (query, expected) in [
        ("", &[0, 1, 2, 3, 4][..]),
        ("full=true", &[0, 1, 2, 3, 4]),
        ("full=0&order=asc", &[0, 1, 2, 3, 4]),
        ("order=desc", &[4, 3, 2, 1, 0]),
        ("status=completed", &[0, 1]),
        ("status=in+progress", &[2]),
        ("status=in%20progress&full=1", &[2]),
        ("status=registered", &[3]),
        ("status=cancelled", &[4]),
        ("status=failed", &[]),
        ("model=llama-3.1-8b-instruct", &[0, 1, 2, 3, 4]),
        ("model=other", &[]),
        ("model=never+heard+of", &[]),
        ("model=", &[]),
        ("limit=2", &[0, 1]),
        ("limit=2&order=desc&full=true", &[4, 3]),
        ("limit=9223372036854775807", &[0, 1, 2, 3, 4]),
        (&format!("after={}", ids[1]), &[2, 3, 4]),
        (&format!("after={}&order=desc", ids[2]), &[1, 0]),
        (&format!("after={}&limit=1&full=1", ids[2]), &[3]),
        (&format!("after={}", ids[4]), &[]),
        (&format!("created_after={early}&created_before={late}"), &[0, 1, 2, 3, 4]),
        (&format!("created_after={late}"), &[]),
        (&format!("created_before={created_at}"), &[]),
        ("created_after=-9223372036854775808&created_before=9223372036854775807", &[0, 1, 2, 3, 4]),
    ] {
        check(&client, &ids, query, expected).await;
    }
    app.stop().await;
}

#[tokio::test]
async fn a_simple_line_is_a_status_and_a_full_one_the_record() {
    let app = TestApp::start().await;
    let id = app.create("hello").await;
    app.complete_all().await;
    let simple = app.client().get("/v1/requests").await;
    assert_eq!(keys(simple.text().trim_end()), "id status created_at expires_at in_progress_at ended_at");
    let full = app.client().get("/v1/requests?full=true").await;
    let record = app.client().get(&format!("/v1/requests/{id}")).await;
    assert_eq!(format!("[{}]", full.text().trim_end()), record.text());
    app.stop().await;
}

#[tokio::test]
async fn an_invalid_query_is_refused_with_every_fault() {
    let app = TestApp::start().await;
    for (query, params) in [
        ("full=yes", &["full"][..]),
        ("full=", &["full"]),
        ("full", &["full"]),
        ("full=true&full=true", &["full"]),
        ("ful=true", &["ful"]),
        ("status=in_progress", &["status"]),
        ("status=", &["status"]),
        ("limit=0", &["limit"]),
        ("limit=-1", &["limit"]),
        ("limit=9223372036854775808", &["limit"]),
        ("limit=1.5", &["limit"]),
        ("limit=99999999999999999999", &["limit"]),
        ("limit='%20OR%201=1", &["limit"]),
        ("created_after=yesterday", &["created_after"]),
        ("created_before=1e9", &["created_before"]),
        ("order=ascending", &["order"]),
        ("x=%ff", &["query"]),
        ("full=%zz", &["query"]),
        ("limit=x&order=y&z=1", &["z", "limit", "order"]),
    ] {
        let error = app.client().get(&format!("/v1/requests?{query}")).await.refused(422, "invalid_input");
        let found: Vec<_> = error["details"].as_array().expect("details").iter().collect();
        let found: Vec<_> = found.iter().map(|detail| detail["param"].as_str().unwrap_or("")).collect();
        assert_eq!(found, params, "{query}");
        assert_eq!(error.get("details_total"), None);
    }
    let error = app.client().get("/v1/requests?ful=true").await.refused(422, "invalid_input");
    assert_eq!(error["message"], "ful is not a known query parameter; did you mean full?");
    app.stop().await;
}

#[tokio::test]
async fn a_list_goes_on_only_after_a_request_of_ones_own() {
    let app = TestApp::start().await;
    let foreign = app.stranger().create("foreign").await;
    for id in [foreign.as_str(), "req_01jz8m3v6qf8jbk2w5n7y9t0xd", "nonsense", ""] {
        app.client().get(&format!("/v1/requests?after={id}")).await.refused(404, "not_found");
    }
    app.stop().await;
}
