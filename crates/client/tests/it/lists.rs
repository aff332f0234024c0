use overnight_client::{BatchFilter, Error, Order, RequestFilter, RequestStatus};

use crate::answers::FULL;
use crate::stand_in::{StandIn, stream};

const FIRST: &str = r#"{"id":"req_1","status":"registered","created_at":1,"expires_at":86401}"#;
const SECOND: &str =
    r#"{"id":"req_2","status":"in progress","created_at":1,"expires_at":86401,"in_progress_at":2}"#;

#[tokio::test]
async fn lines_are_put_together_wherever_they_were_cut() {
    let text = format!("{FIRST}\n{SECOND}\n");
    let (head, tail) = text.split_at(FIRST.len() + 20);
    let service = StandIn::start(vec![stream(&[head, tail], true)]).await;
    let filter = RequestFilter {
        status: Some(RequestStatus::InProgress),
        model: Some("a/b&c".to_owned()),
        limit: Some(2),
        order: Some(Order::Desc),
        ..RequestFilter::default()
    };
    let mut lines = service.client.list_requests(&filter).await.expect("a list");
    assert_eq!(lines.next().await.expect("a line").expect("a request").id, "req_1");
    assert_eq!(lines.next().await.expect("a line").expect("a request").in_progress_at, Some(2));
    assert!(lines.next().await.is_none() && lines.next().await.is_none());
    assert_eq!(
        service.calls(),
        ["GET /v1/requests?status=in+progress&model=a%2Fb%26c&limit=2&order=desc HTTP/1.1"]
    );
}

#[tokio::test]
async fn a_raw_list_is_what_the_service_wrote() {
    let service = StandIn::start(vec![stream(&["{ \"a\" : 1.50 }\n{}\n"], true)]).await;
    let mut lines = service.client.get_batch_results("batch_1").await.expect("a list").into_raw();
    assert_eq!(lines.next().await.expect("a line").expect("text"), "{ \"a\" : 1.50 }");
    assert_eq!(lines.next().await.expect("a line").expect("text"), "{}");
    assert!(lines.next().await.is_none());
}

#[tokio::test]
async fn an_empty_list_is_whole() {
    let service = StandIn::start(vec![stream(&[], true)]).await;
    assert!(
        service.client.list_batches(&BatchFilter::default()).await.expect("a list").next().await.is_none()
    );
}

async fn read_cut(reply: String) {
    let service = StandIn::start(vec![reply]).await;
    let mut lines = service.client.get_batch_requests("batch_1").await.expect("a list");
    assert_eq!(lines.next().await.expect("a line").expect("a request").id, "req_1");
    let end = lines.next().await.expect("a cut is no end");
    assert!(matches!(end, Err(Error::Cut(_))), "{end:?}");
    assert!(lines.next().await.is_none());
}

#[tokio::test]
async fn a_list_that_is_cut_between_lines_is_no_whole_list() {
    read_cut(stream(&[FIRST, "\n"], false)).await;
}

#[tokio::test]
async fn a_list_that_is_cut_within_a_line_is_no_whole_list() {
    read_cut(stream(&[FIRST, "\n", "{\"id\":"], false)).await;
}

#[tokio::test]
async fn a_last_line_without_an_end_is_a_cut() {
    read_cut(stream(&[FIRST, "\n", SECOND], true)).await;
}

#[tokio::test]
async fn a_line_of_many_megabytes_is_read() {
    let words = "x".repeat(16 << 20);
    let long = FULL.replace("Hi", &words);
    let service = StandIn::start(vec![stream(&[&long, "\n"], true)]).await;
    let filter = RequestFilter::default();
    let mut lines = service.client.list_full_requests(&filter).await.expect("a list");
    let request = lines.next().await.expect("a line").expect("a request");
    assert!(request.result_body.expect("it has ended").get().len() > words.len());
    assert!(lines.next().await.is_none());
    assert_eq!(service.calls(), ["GET /v1/requests?full=true HTTP/1.1"]);
}
