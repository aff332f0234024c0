//! Bulk creates over connections that break.

use std::collections::BTreeSet;

use futures_util::stream;
use overnight_client::{Bulk, BulkOutcome, Error};
use overnight_wire::native::bulk::LineDigest;
use serde_json::json;

use crate::stand_in::{StandIn, refusal, reply, stream as answer};

/// The answer to a body. The request's identifier is the body's text.
fn created(body: &str) -> String {
    let sha256 = LineDigest::of(body.as_bytes());
    format!(
        "{}\n",
        json!({"line": 9, "sha256": sha256, "id": format!("req_{body}"), "status": "registered", "created_at": 1, "expires_at": 2})
    )
}

fn refused(body: &str, kind: &str, code: &str) -> String {
    let error = json!({"message": "No.", "type": kind, "code": code, "param": null, "details": [], "request_id": "call_1"});
    format!("{}\n", json!({"line": 9, "sha256": LineDigest::of(body.as_bytes()), "error": error}))
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

/// The bodies of the calls so far, and the number of their keys.
fn bodies(service: &StandIn) -> (Vec<String>, usize) {
    let asked = service.asked();
    let calls = asked.iter().map(|text| text.split_once("\r\n\r\n").expect("a head"));
    let key = |(head, _): (&str, &str)| {
        assert!(head.contains("content-type: application/x-ndjson") && head.contains("content-length: "));
        let line = head.lines().find(|line| line.starts_with("idempotency-key: "));
        line.expect("a key").to_owned()
    };
    let keys: BTreeSet<_> = calls.clone().map(key).collect();
    (calls.map(|(_, body)| body.to_owned()).collect(), keys.len())
}

fn lines(outcomes: &[BulkOutcome]) -> Vec<u64> {
    outcomes.iter().map(|it| it.line).collect()
}

#[tokio::test]
async fn each_body_has_its_outcome() {
    let text = [created("{\"a\":\t1}"), refused("2", "invalid_request_error", "invalid_input"), created("4")]
        .concat();
    let service = StandIn::start(vec![answer(&[&text], true)]).await;
    let outcomes = all(bulk(&service, vec!["{\"a\":\n1}", "2", "", "4"])).await;
    let ids: Vec<_> = outcomes.iter().map(|it| it.created.as_ref().map(|it| it.id.as_str()).ok()).collect();
    assert_eq!(ids, [Some("req_{\"a\":\t1}"), None, Some("req_4")]);
    assert_eq!(lines(&outcomes), [1, 2, 4]);
    assert!(matches!(outcomes[1].created, Err(Error::Api { status: 422, .. })));
    assert_eq!(bodies(&service), (vec!["{\"a\":\t1}\n2\n\n4\n".to_owned()], 1));
}

#[tokio::test]
async fn a_line_without_an_answer_is_sent_again_in_its_place() {
    let busy = [created("2"), refused("3", "server_error", "unavailable"), created("4")].concat();
    let replies = vec![
        refusal("503 Service Unavailable\r\nretry-after: 0", "unavailable"),
        answer(&[&created("1")], false),
        answer(&[&busy], true),
        answer(&[&[created("4"), created("3")].concat()], true),
    ];
    let service = StandIn::start(replies).await;
    let outcomes = all(bulk(&service, vec!["1", "2", "3", "4"])).await;
    assert_eq!(lines(&outcomes), [1, 2, 4, 3]);
    assert!(outcomes.iter().all(|it| it.created.is_ok()));
    assert_eq!(bodies(&service).0, ["1\n2\n3\n4\n", "1\n2\n3\n4\n", "\n2\n3\n4\n", "\n\n3\n4\n"]);
    assert_eq!(bodies(&service).1, 1);
}

/// A proxy could lose a part of a body.
#[tokio::test]
async fn an_answer_counts_for_the_line_with_its_digest_alone() {
    let shifted = [created("1"), created("2\"}{\"4"), created("5")].concat();
    let rest = [created("3"), created("2"), created("4")].concat();
    let service = StandIn::start(vec![answer(&[&shifted], true), answer(&[&rest], true)]).await;
    let mut bulk = bulk(&service, vec!["1", "2", "3", "4", "5"]);
    let mut seen = Vec::new();
    while let Some(outcome) = bulk.next().await {
        let BulkOutcome { line, created, .. } = outcome.expect("an outcome");
        assert_eq!(created.expect("a request").id, format!("req_{line}"));
        seen.push(line);
    }
    assert_eq!((seen, bulk.strays()), (vec![1, 5, 3, 2, 4], &["req_2\"}{\"4".to_owned()][..]));
    assert_eq!(bodies(&service).0[1], "\n2\n3\n4\n");
}

#[tokio::test]
async fn many_bodies_go_in_calls_of_bounded_length() {
    let answers = |count: usize| answer(&[&created("x").repeat(count)], true);
    let service = StandIn::start(vec![answers(1_024), answers(1_024), answers(52)]).await;
    let outcomes = all(bulk(&service, vec!["x"; 2_100])).await;
    assert_eq!(lines(&outcomes), (1..=2_100).collect::<Vec<_>>());
    let (bodies, keys) = bodies(&service);
    assert_eq!(bodies.iter().map(String::len).collect::<Vec<_>>(), [2_048, 2_048, 104]);
    assert_eq!(keys, 3);
}

#[tokio::test]
async fn what_is_not_answered_is_an_error_and_ends_it() {
    for text in [created("1"), created("2"), [created("1"), created("3")].concat(), "{}\n".to_owned()] {
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
