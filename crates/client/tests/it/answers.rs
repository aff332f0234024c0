use overnight_client::{
    BatchStatus, ChatCompletionRequest, ChatMessage, CreateBatch, CreateRequest, Error, RequestStatus,
    ResultBody,
};

use crate::stand_in::{StandIn, refusal, reply};

const CREATED: &str =
    r#"[{"id":"req_1","status":"registered","created_at":1751500000,"expires_at":1751586400}]"#;

pub(crate) const FULL: &str = concat!(
    r#"{"id":"req_1","status":"completed","created_at":1,"expires_at":86401,"in_progress_at":2,"ended_at":3,"#,
    r#""batch_id":null,"metadata":{},"request_body":{"model":"m","messages":[],"temperature":1.50},"#,
    r#""completion_window":"24h","webhook":null,"result_body":{"id":"c","object":"chat.completion","created":3,"#,
    r#""model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"#,
    r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}},"#,
    r#""warnings":[{"param":"request_body.n","message":"Fewer."}]}"#
);

fn chat() -> CreateRequest {
    let chat = ChatCompletionRequest::new("m", vec![ChatMessage::new("user", "Hello")]);
    CreateRequest::new(&chat).expect("a body is JSON")
}

#[tokio::test]
async fn a_request_is_created_with_the_key_and_nothing_the_service_would_refuse() {
    let service = StandIn::start(vec![reply("201 Created", CREATED)]).await;
    let created = service.client.create_request(&chat()).await.expect("it is created");
    assert_eq!((created.id.as_str(), created.status), ("req_1", RequestStatus::Registered));
    let asked = service.asked().remove(0);
    assert!(asked.starts_with("POST /v1/requests HTTP/1.1\r\n"));
    assert!(asked.contains("\r\nx-api-key: on_live_key\r\n"));
    assert!(asked.contains("\r\ncontent-type: application/json\r\n"));
    assert!(asked.ends_with(concat!(
        "\r\n\r\n",
        r#"{"request_body":{"model":"m","messages":[{"role":"user","content":"Hello"}]},"completion_window":"24h"}"#
    )));
}

#[tokio::test]
async fn a_raw_body_is_sent_as_it_is() {
    let service = StandIn::start(vec![reply("201 Created", CREATED)]).await;
    service.client.create_request_raw(r#"{ "request_body" : 1.50 }"#).await.expect("it is created");
    assert!(service.asked()[0].ends_with("\r\n\r\n{ \"request_body\" : 1.50 }"));
}

#[tokio::test]
async fn a_result_can_be_read_typed_and_as_it_was_written() {
    let service = StandIn::start(vec![reply("200 OK", &format!("[{FULL}]"))]).await;
    let request = service.client.get_request("req_1").await.expect("it is there");
    assert_eq!(serde_json::to_string(&request).expect("a record is JSON"), FULL);
    let told: Vec<_> = request.warnings.iter().map(|it| (&*it.param, &*it.message)).collect();
    assert_eq!(told, [("request_body.n", "Fewer.")]);
    let result = request.result_body.expect("it has ended");
    let Ok(ResultBody::Completed(completion)) = serde_json::from_str(result.get()) else {
        panic!("{result} is a completion")
    };
    assert_eq!(completion.choices[0].message.content, "Hi");
    assert_eq!(completion.usage.total_tokens, 3);
}

#[tokio::test]
async fn every_operation_has_its_path() {
    let batch = concat!(
        r#"{"id":"batch_1","status":"cancelled","requests_counts":{"total":1,"completed":0,"failed":0,"#,
        r#""in_progress":0,"registered":0,"cancelled":1},"created_at":1,"cancelled_at":2,"#,
        r#""requests_ids":["req_1"],"webhook":null,"metadata":null}"#
    );
    let models = r#"{"object":"list","data":[]}"#;
    let bodies = [
        FULL,
        FULL,
        r#"{"id":"req_1","deleted":true}"#,
        batch,
        batch,
        batch,
        batch,
        r#"{"id":"batch_1","deleted":true}"#,
        models,
    ];
    let replies = bodies.iter().map(|body| reply("200 OK", body)).collect();
    let service = StandIn::start(replies).await;
    let client = &service.client;
    client.get_request_status("req_1").await.expect("a status");
    client.cancel_request("req_1").await.expect("a request");
    client.delete_request("req_1").await.expect("a deletion");
    let ids = CreateBatch { requests_ids: vec!["req_1".to_owned()], ..CreateBatch::default() };
    client.create_batch(&ids).await.expect("a batch");
    client.get_batch("batch_1").await.expect("a batch");
    client.get_batch_status("batch_1").await.expect("a status");
    let cancelled = client.cancel_batch("batch_1").await.expect("a batch");
    assert_eq!((cancelled.status, cancelled.requests_counts.cancelled), (BatchStatus::Cancelled, 1));
    client.delete_batch("batch_1").await.expect("a deletion");
    assert_eq!(client.list_models().await.expect("a list"), []);
    assert_eq!(
        service.calls(),
        [
            "GET /v1/requests/req_1/status HTTP/1.1",
            "POST /v1/requests/req_1/cancel HTTP/1.1",
            "DELETE /v1/requests/req_1 HTTP/1.1",
            "POST /v1/batches HTTP/1.1",
            "GET /v1/batches/batch_1 HTTP/1.1",
            "GET /v1/batches/batch_1/status HTTP/1.1",
            "POST /v1/batches/batch_1/cancel HTTP/1.1",
            "DELETE /v1/batches/batch_1 HTTP/1.1",
            "GET /v1/models HTTP/1.1",
        ]
    );
    assert!(service.asked()[3].ends_with("\r\n\r\n{\"requests_ids\":[\"req_1\"]}"));
}

#[tokio::test]
async fn a_refusal_says_all_that_the_service_said() {
    let service = StandIn::start(vec![refusal("422 Unprocessable Content", "invalid_input")]).await;
    let error = service.client.create_request(&chat()).await.expect_err("it is refused");
    assert_eq!(error.to_string(), "No. (invalid_input, HTTP 422, call_1)");
    assert_eq!(error.code(), Some("invalid_input"));
    let Error::Api { error, .. } = error else { panic!("{error} is a refusal") };
    assert_eq!(
        (error.details[0].param.as_deref(), error.details[0].code.as_str()),
        (Some("n"), "out_of_range")
    );
}

#[tokio::test]
async fn an_answer_of_something_else_is_told_apart() {
    let service = StandIn::start(vec![
        reply("302 Found\r\nlocation: http://127.0.0.1:9/", "elsewhere"),
        reply("200 OK", "<html>"),
    ])
    .await;
    let error = service.client.get_batch("batch_1").await.expect_err("a redirect is no answer");
    assert_eq!(error.to_string(), "HTTP 302 without an error of this API: elsewhere");
    let error = service.client.get_batch("batch_1").await.expect_err("a page is no answer");
    assert!(matches!(error, Error::Unreadable(_)));
}
