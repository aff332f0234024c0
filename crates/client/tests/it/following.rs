use overnight_client::Error;

use crate::answers::FULL;
use crate::stand_in::{StandIn, refusal, stream};

const EVENTS: &str = "GET /v1/batches/batch_1/results?follow=true HTTP/1.1";

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
    assert_eq!(service.calls(), [EVENTS, resumed, resumed, resumed]);
    assert!(service.asked()[0].contains("accept: text/event-stream\r\n"), "{:?}", service.asked());
}

#[tokio::test]
async fn a_batch_of_which_nothing_is_left_has_no_more_requests() {
    let nothing = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned();
    let service = StandIn::start(vec![nothing]).await;
    let mut following = service.client.follow_batch_results("batch_1", Some("req_9"));
    assert!(following.next().await.is_none());
    assert_eq!(following.after(), Some("req_9"));
}

#[tokio::test]
async fn a_refusal_and_a_service_that_only_breaks_are_told() {
    let service = StandIn::start(vec![refusal("422 No", "invalid_input")]).await;
    let mut following = service.client.follow_batch_results("batch_1", Some("req_9"));
    let told = following.next().await.expect("an error");
    assert_eq!(told.expect_err("a refusal").code(), Some("invalid_input"));
    assert!(following.next().await.is_none());
    let service = StandIn::start(vec![stream(&[":\n\n"], false), stream(&[], false)]).await;
    let mut following = service.client.clone().with_retries(1).follow_batch_results("batch_1", None);
    let told = following.next().await.expect("an error");
    assert!(matches!(told, Err(Error::Cut(_))), "{told:?}");
    assert_eq!(service.calls().len(), 2);
}
