use overnight_client::Error;

use crate::answers::FULL;
use crate::stand_in::{StandIn, refusal, stream};

const EVENTS: &str = "GET /v1/batches/batch_1/results?follow=true HTTP/1.1";

/// The service's answer if no results are left.
const NOTHING: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

fn event(id: &str) -> String {
    format!("id: {id}\ndata: {}\n\n", FULL.replace("req_1", id))
}

#[tokio::test]
async fn a_broken_connection_is_made_again_behind_the_last_request_that_was_read() {
    let (first, second, third) = (event("req_1"), event("req_2"), event("req_3"));
    let half = &third[..third.len() - 1];
    let service = StandIn::start(vec![
        stream(&[":\n\n", &first, &second, half], false),
        refusal("503 Busy\r\nretry-after: 0", "unavailable"),
        stream(&[":\n", "\n"], false),
        stream(&[&third], true),
        NOTHING.to_owned(),
    ])
    .await;
    let mut following = service.client.follow_batch_results("batch_1", None);
    let mut ids = Vec::new();
    while let Some(request) = following.next().await {
        ids.push(request.expect("a request").id);
    }
    assert_eq!(ids, ["req_1", "req_2", "req_3"]);
    assert!(following.next().await.is_none());
    let resumed = "GET /v1/batches/batch_1/results?follow=true&after=req_2 HTTP/1.1";
    let last = "GET /v1/batches/batch_1/results?follow=true&after=req_3 HTTP/1.1";
    assert_eq!(service.calls(), [EVENTS, resumed, resumed, resumed, last]);
    assert!(service.asked()[0].contains("accept: text/event-stream\r\n"), "{:?}", service.asked());
}

#[tokio::test]
async fn a_batch_of_which_nothing_is_left_has_no_more_requests() {
    let service = StandIn::start(vec![NOTHING.to_owned()]).await;
    let mut following = service.client.follow_batch_results("batch_1", Some("req_9"));
    assert!(following.next().await.is_none());
    assert_eq!(following.after(), Some("req_9"));
}

#[tokio::test]
async fn list_that_a_proxy_ends_early_goes_on_and_one_whose_batch_was_deleted_is_over() {
    for end in [NOTHING.to_owned(), refusal("404 No", "not_found"), refusal("422 No", "invalid_input")] {
        let parts = [stream(&[&event("req_1")], true), stream(&[&event("req_2")], true), end];
        let service = StandIn::start(parts.into()).await;
        let mut following = service.client.follow_batch_results("batch_1", None);
        let mut ids = Vec::new();
        while let Some(request) = following.next().await {
            ids.push(request.expect("a request").id);
        }
        assert_eq!(ids, ["req_1", "req_2"]);
    }
}

#[tokio::test]
async fn a_refusal_and_a_service_that_only_breaks_are_told() {
    let service = StandIn::start(vec![refusal("422 No", "invalid_input")]).await;
    let mut following = service.client.follow_batch_results("batch_1", Some("req_9"));
    let told = following.next().await.expect("an error");
    assert_eq!(told.expect_err("a refusal").code(), Some("invalid_input"));
    assert!(following.next().await.is_none());
    let service = StandIn::start(vec![stream(&[":\n\n"], false), stream(&[], true)]).await;
    let mut following = service.client.clone().with_retries(1).follow_batch_results("batch_1", None);
    let told = following.next().await.expect("an error");
    assert!(matches!(told, Err(Error::Cut(_))), "{told:?}");
    assert_eq!(service.calls().len(), 2);
}
