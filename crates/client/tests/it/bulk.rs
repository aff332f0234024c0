//! Many creates over one connection, which breaks.

use futures_util::stream;
use overnight_client::{Bulk, BulkOutcome, Error};
use serde_json::json;

use crate::stand_in::{StandIn, refusal, reply, stream as answer};

fn created(line: u64) -> String {
    format!(
        "{}\n",
        json!({"line": line, "id": format!("req_{line}"), "status": "registered", "created_at": 1, "expires_at": 2})
    )
}

fn refused(line: u64, kind: &str, code: &str) -> String {
    let error = json!({"message": "No.", "type": kind, "code": code, "param": null, "details": [], "request_id": "call_1"});
    format!("{}\n", json!({"line": line, "error": error}))
}

fn bulk(
    service: &StandIn,
    bodies: Vec<&'static str>,
) -> Bulk<impl futures_util::Stream<Item = Result<bytes::Bytes, Error>> + Unpin> {
    service.client.once("sub-1").expect("a key").create_requests_raw(stream::iter(bodies)).expect("a call")
}

async fn all<S>(mut bulk: Bulk<S>) -> Vec<BulkOutcome>
where
    S: futures_util::Stream<Item = Result<bytes::Bytes, Error>> + Unpin,
{
    let mut outcomes = Vec::new();
    while let Some(outcome) = bulk.next().await {
        outcomes.push(outcome.expect("an outcome"));
    }
    outcomes
}

/// The bodies of the calls so far, without the sizes of their chunks.
fn bodies(service: &StandIn) -> Vec<String> {
    let body = |text: &String| {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(
            head.contains("idempotency-key: sub-1") && head.contains("content-type: application/x-ndjson")
        );
        let mut rest = body;
        let mut whole = String::new();
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).expect("a size");
            whole.push_str(&after[..size]);
            rest = &after[size + 2..];
        }
        whole
    };
    service.asked().iter().map(body).collect()
}

#[tokio::test]
async fn each_body_has_its_outcome() {
    let text = [created(1), refused(2, "invalid_request_error", "invalid_input"), created(4)].concat();
    let service = StandIn::start(vec![answer(&[&text], true)]).await;
    let outcomes = all(bulk(&service, vec!["{\"a\":\n1}", "2", "", "4"])).await;
    let ids: Vec<_> = outcomes.iter().map(|it| it.created.as_ref().map(|it| it.id.as_str()).ok()).collect();
    assert_eq!(ids, [Some("req_1"), None, Some("req_4")]);
    assert_eq!(outcomes.iter().map(|it| it.line).collect::<Vec<_>>(), [1, 2, 4]);
    assert!(matches!(outcomes[1].created, Err(Error::Api { status: 422, .. })));
    assert_eq!(bodies(&service), ["{\"a\":\t1}\n2\n\n4\n"]);
}

#[tokio::test]
async fn a_broken_connection_goes_on_behind_the_last_outcome_with_the_same_numbers() {
    let first = created(1);
    let busy = [created(2), refused(3, "server_error", "unavailable"), created(4)].concat();
    let rest = [created(3), created(4)].concat();
    let replies = vec![
        refusal("503 Service Unavailable\r\nretry-after: 0", "unavailable"),
        answer(&[&first], false),
        answer(&[&busy], true),
        answer(&[&rest], true),
    ];
    let service = StandIn::start(replies).await;
    let outcomes = all(bulk(&service, vec!["1", "2", "3", "4"])).await;
    assert_eq!(outcomes.iter().map(|it| it.line).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(outcomes.iter().all(|it| it.created.is_ok()));
    assert_eq!(bodies(&service), ["1\n2\n3\n4\n", "1\n2\n3\n4\n", "\n2\n3\n4\n", "\n\n3\n4\n"]);
}

/// The stand-in reads a body whole before it answers, as some proxies do.
#[tokio::test]
async fn bodies_that_are_held_back_until_they_are_whole_go_by_parts() {
    let answers = |from, to| answer(&[&(from..=to).map(created).collect::<String>()], true);
    let service = StandIn::start(vec![answers(1, 1_024), answers(1_025, 2_048), answers(2_049, 2_100)]).await;
    let outcomes = all(bulk(&service, vec!["x"; 2_100])).await;
    assert_eq!(outcomes.iter().map(|it| it.line).collect::<Vec<_>>(), (1..=2_100).collect::<Vec<_>>());
    let sent: Vec<_> = bodies(&service).iter().map(|body| body.matches('x').count()).collect();
    assert_eq!(sent, [1_024, 1_024, 52]);
}

#[tokio::test]
async fn what_is_not_answered_is_an_error_and_ends_it() {
    for text in [created(1), created(2), [created(1), created(3)].concat(), "{}\n".to_owned()] {
        let service = StandIn::start(vec![answer(&[&text], true)]).await;
        let client = service.client.clone().with_retries(0);
        let mut bulk = client
            .once("sub-1")
            .expect("a key")
            .create_requests_raw(stream::iter(["1", "2"]))
            .expect("a call");
        let mut last = bulk.next().await.expect("something");
        if last.is_ok() {
            last = bulk.next().await.expect("something");
        }
        assert!(matches!(last, Err(Error::Cut(_) | Error::Unreadable(_))), "{last:?}");
        assert!(bulk.next().await.is_none());
    }
}

#[tokio::test]
async fn a_refused_call_is_told_once_and_nothing_is_sent_for_nothing() {
    let service = StandIn::start(vec![refusal("401 Unauthorized", "invalid_api_key")]).await;
    let mut refused = bulk(&service, vec!["1"]);
    assert!(matches!(refused.next().await, Some(Err(Error::Api { status: 401, .. }))));
    assert!(refused.next().await.is_none());
    let service = StandIn::start(vec![reply("200 OK", "")]).await;
    assert_eq!(all(bulk(&service, vec!["", " "])).await.len(), 0);
    assert_eq!(service.calls(), [""; 0]);
}
