//! Every operation with every refusal that its head can cause.

use serde_json::json;

use crate::support::{Client, TestApp};

/// The method and path of every operation, with `REQ` and `BATCH` for identifiers.
const OPERATIONS: [(&str, &str); 32] = [
    ("GET", "/v1/requests"),
    ("POST", "/v1/requests"),
    ("GET", "/v1/requests/REQ"),
    ("DELETE", "/v1/requests/REQ"),
    ("GET", "/v1/requests/REQ/status"),
    ("POST", "/v1/requests/REQ/cancel"),
    ("POST", "/v1/batches/REQ/cancel"),
    ("GET", "/v1/batches"),
    ("POST", "/v1/batches"),
    ("GET", "/v1/batches/BATCH"),
    ("DELETE", "/v1/batches/BATCH"),
    ("GET", "/v1/batches/BATCH/status"),
    ("GET", "/v1/batches/BATCH/requests"),
    ("GET", "/v1/batches/BATCH/results"),
    ("POST", "/v1/batches/BATCH/cancel"),
    ("GET", "/v1/models"),
    ("GET", "/v1/account"),
    ("GET", "/v1/usage"),
    ("GET", "/exxa/v1/requests"),
    ("POST", "/exxa/v1/requests"),
    ("GET", "/exxa/v1/requests/REQ"),
    ("GET", "/exxa/v1/requests/REQ/status"),
    ("POST", "/exxa/v1/requests/REQ/cancel"),
    ("POST", "/exxa/v1/batches/REQ/cancel"),
    ("GET", "/exxa/v1/batches"),
    ("POST", "/exxa/v1/batches"),
    ("GET", "/exxa/v1/batches/BATCH"),
    ("GET", "/exxa/v1/batches/BATCH/status"),
    ("GET", "/exxa/v1/batches/BATCH/requests"),
    ("GET", "/exxa/v1/batches/BATCH/results"),
    ("POST", "/exxa/v1/batches/BATCH/cancel"),
    ("GET", "/exxa/v1/models"),
];

const UNKNOWN: (&str, &str) = ("req_01jz8m3v6qf8jbk2w5n7y9t0xd", "batch_01jz8m3v6qf8jbk2w5n7y9t0xd");

fn fill(path: &str, (request, batch): (&str, &str)) -> String {
    path.replace("REQ", request).replace("BATCH", batch)
}

fn with_id() -> impl Iterator<Item = (&'static str, &'static str)> {
    OPERATIONS.into_iter().filter(|(_, path)| path.contains("REQ") || path.contains("BATCH"))
}

#[tokio::test]
async fn no_operation_works_without_a_valid_key_and_all_invalid_ones_look_alike() {
    let app = TestApp::start().await;
    let misspelt = app.key().replace("on_live_", "on_live-");
    let unknown = "on_live_00000000000000000000000000000000000000000003NVzMx";
    let clients = [
        app.anonymous(),
        app.revoked().await,
        app.anonymous().with("x-api-key", &misspelt),
        app.anonymous().with("x-api-key", unknown),
        app.anonymous().with("x-api-key", ""),
        app.anonymous().with("x-api-key", "'; DROP TABLE api_keys; --"),
        app.anonymous().with("x-api-key", "\u{e9}"),
        app.anonymous().with("authorization", "Bearer nothing"),
        app.anonymous().with("authorization", "Basic dXNlcjpwYXNz"),
        app.anonymous().with("x-api-key", "wins").with("authorization", &format!("Bearer {}", app.key())),
    ];
    let mut messages = Vec::new();
    for (place, (method, path)) in OPERATIONS.into_iter().enumerate() {
        for client in if place == 0 { &clients[..] } else { &clients[..2] } {
            let answered = client.send(method, &fill(path, UNKNOWN), "not even JSON").await;
            messages.push(answered.refused(401, "invalid_api_key")["message"].clone());
            assert_eq!(answered.header("www-authenticate"), "Bearer");
        }
    }
    messages.dedup();
    assert_eq!(messages.len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn a_bearer_opens_as_the_header_does() {
    let app = TestApp::start().await;
    for (name, value) in [
        ("x-api-key", app.key().to_owned()),
        ("authorization", format!("Bearer {}", app.key())),
        ("authorization", format!("bearer  {}", app.key())),
    ] {
        let answered = app.anonymous().with(name, &value).get("/v1/models").await;
        assert_eq!(answered.status, 200, "{name}");
    }
    app.stop().await;
}

/// Checks that every operation on an identifier gives `client` the same 404, apart from the name of the call.
async fn check_not_found(client: &Client, ids: (&str, &str)) {
    for (method, path) in with_id() {
        let path = fill(path, ids);
        let error = client.send(method, &path, "").await.refused(404, "not_found");
        let noun = if path.contains("/batches/") { "batch" } else { "request" };
        let noun = if path.contains("/batches/req_") { "request" } else { noun };
        assert_eq!(error["message"], format!("there is no such {noun}"), "{path}");
        assert_eq!((&error["param"], &error["details"]), (&json!(null), &json!([])));
    }
}

#[tokio::test]
async fn a_foreign_an_unknown_and_a_malformed_id_look_alike() {
    let app = TestApp::start().await;
    let (batch, requests) = app.create_batch(1).await;
    check_not_found(&app.stranger(), (&requests[0], &batch)).await;
    check_not_found(&app.client(), UNKNOWN).await;
    app.client().get(&format!("/v1/requests/{batch}")).await.refused(404, "not_found");
    app.client().get(&format!("/v1/batches/{}", requests[0])).await.refused(404, "not_found");
    app.client().cancel(&format!("/v1/requests/{batch}")).await.refused(404, "not_found");
    for (method, path) in with_id() {
        for id in
            ["x", "req_", "1%20OR%201=1", "%27--", "a%2Fb", "%00", "%C3%A9", "req_0000000000000000000000000u"]
        {
            app.client().send(method, &fill(path, (id, id)), "").await.refused(404, "not_found");
        }
        let long = "x".repeat(8_000);
        app.client().send(method, &fill(path, (&long, &long)), "").await.refused(404, "not_found");
    }
    let status = app.client().get(&format!("/v1/requests/{}/status", requests[0])).await;
    assert_eq!(status.json()["status"], "registered");
    app.stop().await;
}

#[tokio::test]
async fn a_path_that_spells_no_text_is_invalid() {
    let app = TestApp::start().await;
    for (method, path) in with_id() {
        for id in ["%ff", "%zz", "%"] {
            let error = app.client().send(method, &fill(path, (id, id)), "").await;
            assert_eq!(error.refused(422, "invalid_input")["param"], "path");
        }
    }
    app.client().get("/v1/%ff").await.refused(422, "invalid_input");
    app.anonymous().get("/v1/%ff").await.refused(401, "invalid_api_key");
    app.anonymous().get("/%zz").await.refused(422, "invalid_input");
    app.stop().await;
}

#[tokio::test]
async fn a_path_takes_its_own_methods_and_says_which() {
    let app = TestApp::start().await;
    for (path, allow, wrong) in [
        ("/v1/requests", "GET,HEAD,POST", "DELETE"),
        ("/v1/requests/REQ", "GET,HEAD,DELETE", "POST"),
        ("/v1/requests/REQ/status", "GET,HEAD", "PATCH"),
        ("/v1/requests/REQ/cancel", "POST", "GET"),
        ("/v1/batches", "GET,HEAD,POST", "PUT"),
        ("/v1/batches/BATCH", "GET,HEAD,DELETE", "PUT"),
        ("/v1/batches/BATCH/results", "GET,HEAD", "OPTIONS"),
        ("/v1/batches/BATCH/cancel", "POST", "GET"),
        ("/v1/models", "GET,HEAD", "POST"),
        ("/livez", "GET,HEAD", "POST"),
    ] {
        let answered = app.client().send(wrong, &fill(path, UNKNOWN), "").await;
        answered.refused(405, "method_not_allowed");
        assert_eq!(answered.header("allow"), allow, "{path}");
    }
    let head = app.client().send("HEAD", "/v1/models", "").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    app.stop().await;
}

#[tokio::test]
async fn a_trailing_slash_is_the_same_path() {
    let app = TestApp::start().await;
    let (batch, requests) = app.create_batch(1).await;
    for (method, path) in OPERATIONS.into_iter().filter(|(method, _)| *method == "GET") {
        let path = fill(path, (&requests[0], &batch));
        let (plain, slashed) = (
            app.client().send(method, &path, "").await,
            app.client().send(method, &format!("{path}/"), "").await,
        );
        assert_eq!((plain.status, plain.body), (slashed.status, slashed.body), "{path}");
    }
    app.client().post("/v1/requests/", &TestApp::quick_start("slashed")).await.checked(201);
    assert_eq!(app.client().get("/v1/requests/?full=1").await.lines().len(), 2);
    app.client().get("/v1/requests//").await.refused(404, "not_found");
    app.stop().await;
}

#[tokio::test]
async fn an_unknown_path_is_refused_in_the_same_shape() {
    let app = TestApp::start().await;
    for path in ["/v1", "/v1/nothing", "/v1/requests/a/b/c", "/v2/requests", "/docs/other", "/V1/requests"] {
        app.client().get(path).await.refused(404, "not_found");
    }
    app.anonymous().get("/v1/nothing").await.refused(401, "invalid_api_key");
    app.anonymous().get("/nothing").await.refused(404, "not_found");
    app.stop().await;
}

#[tokio::test]
async fn a_query_is_refused_where_none_is_taken() {
    let app = TestApp::start().await;
    let (batch, requests) = app.create_batch(1).await;
    for (method, path) in with_id() {
        let path = format!("{}?full=true", fill(path, (&requests[0], &batch)));
        let error = app.client().send(method, &path, "").await.refused(422, "invalid_input");
        assert_eq!(error["details"][0]["code"], "unknown_parameter");
    }
    app.client().post("/v1/requests?x=1", &TestApp::quick_start("x")).await.refused(422, "invalid_input");
    for path in ["/v1/batches?anything=%ff&x", "/v1/models?x=1", "/v1/requests?", "/v1/requests/?&"] {
        assert_eq!(app.client().get(path).await.status, 200, "{path}");
    }
    app.stop().await;
}
