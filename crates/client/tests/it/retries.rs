use std::sync::Arc;
use std::time::Duration;

use overnight_client::{BatchFilter, Client, Error};
use tokio::net::TcpListener;

use crate::stand_in::{StandIn, refusal, reply, serve, stream};

const BUSY: &str = "503 Service Unavailable\r\nretry-after: 0";
const CREATED: &str = r#"[{"id":"req_1","status":"registered","created_at":1,"expires_at":86401}]"#;
const MODELS: &str = r#"{"object":"list","data":[]}"#;

#[tokio::test]
async fn a_create_is_repeated_when_the_service_took_nothing() {
    let replies = vec![
        refusal(BUSY, "unavailable"),
        refusal("429 Too Many\r\nretry-after: 0", "unavailable"),
        reply("201 Created", CREATED),
    ];
    let service = StandIn::start(replies).await;
    let created = service.client.create_request_raw("{}").await.expect("the third try");
    assert_eq!(created.id, "req_1");
    assert_eq!(service.calls().len(), 3);
}

#[tokio::test]
async fn a_create_without_an_answer_is_not_repeated() {
    let cut = "HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n[".to_owned();
    for first in [String::new(), cut, reply("503 Busy", "a proxy's page")] {
        let service = StandIn::start(vec![first, reply("201 Created", CREATED)]).await;
        service.client.create_request_raw("{}").await.expect_err("it may have been accepted");
        assert_eq!(service.calls().len(), 1);
    }
}

#[tokio::test]
async fn a_read_is_repeated_when_its_answer_was_lost() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n[".to_owned();
    let service = StandIn::start(vec![String::new(), cut, reply("200 OK", MODELS)]).await;
    assert_eq!(service.client.list_models().await.expect("the third try"), []);
}

#[tokio::test]
async fn a_list_is_repeated_until_its_first_line_and_no_further() {
    let service = StandIn::start(vec![refusal(BUSY, "unavailable"), stream(&["{}\n"], false)]).await;
    let mut lines =
        service.client.list_batches(&BatchFilter::default()).await.expect("the second try").into_raw();
    assert_eq!(lines.next().await.expect("a line").expect("text"), "{}");
    assert!(matches!(lines.next().await, Some(Err(Error::Cut(_)))));
    assert_eq!(service.calls().len(), 2);
}

#[tokio::test]
async fn a_caller_may_ask_for_no_repetition() {
    let service = StandIn::start(vec![refusal(BUSY, "unavailable")]).await;
    let error = service.client.clone().with_retries(0).list_models().await.expect_err("it is busy");
    assert!(matches!(error, Error::Api { status: 503, retry_after: Some(Duration::ZERO), .. }));
}

#[tokio::test]
async fn a_service_that_is_just_starting_is_waited_for() {
    let address = TcpListener::bind("127.0.0.1:0").await.and_then(|free| free.local_addr()).expect("a port");
    let client = Client::new(&format!("http://{address}"), "key").expect("a client");
    let error = client.clone().with_retries(0).create_request_raw("{}").await.expect_err("nobody is there");
    assert!(error.to_string().starts_with("no answer: Connection refused"), "{error}");

    let start = async {
        tokio::task::yield_now().await;
        let listener = TcpListener::bind(address).await.expect("the port is free again");
        serve(listener, vec![reply("201 Created", CREATED)], Arc::default()).await;
    };
    let (created, ()) = tokio::join!(client.create_request_raw("{}"), start);
    assert_eq!(created.expect("a later try").id, "req_1");
}

#[tokio::test]
async fn a_create_with_a_key_is_repeated_whatever_broke() {
    let cut = "HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n[".to_owned();
    for first in [String::new(), cut, reply("503 Busy", "a proxy's page")] {
        let service = StandIn::start(vec![first, reply("201 Created", CREATED)]).await;
        let once = service.client.once("row-17").expect("a key");
        assert_eq!(once.create_request_raw("{}").await.expect("the second try").id, "req_1");
        let asked = service.asked();
        assert_eq!(asked.len(), 2);
        assert!(asked.iter().all(|text| text.contains("\r\nidempotency-key: row-17\r\n")), "{asked:?}");
    }
}
