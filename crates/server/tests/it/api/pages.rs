//! Pages beside the API: reference, health, metrics and models.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use overnight_app::{MetricsAccess, Services};
use overnight_http::OPENAPI_JSON;
use overnight_runtime::workers;
use overnight_store::queue::releases;
use serde_json::json;

use crate::support::{Client, MODEL, START, TestApp};

#[tokio::test]
async fn the_reference_is_served_as_data_and_as_a_page() {
    let app = TestApp::start().await;
    let document = app.anonymous().get("/openapi.json").await;
    assert_eq!(document.text(), OPENAPI_JSON);
    let document = document.json();
    assert_eq!((&document["openapi"], &document["info"]["version"]), (&json!("3.1.0"), &json!("0.1.0")));
    let page = app.anonymous().get("/docs").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let found = app.anonymous().get("/docs?q=idempotency+key").await;
    assert!(found.text().contains("id=\"create_batch\"") && !found.text().contains("id=\"cancel_batch\""));
    let hostile = app.anonymous().get(&format!("/docs?q=%3Cb%3E{}", "a".repeat(5_000))).await;
    assert!(hostile.status == 200 && !hostile.text().contains("<b>a") && hostile.text().len() < 10_000);
    let style = app.anonymous().get("/docs/style.css").await;
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    app.stop().await;
}

#[tokio::test]
async fn the_root_leads_people_to_the_console_and_programs_to_the_api() {
    for (settings, console) in [(&[][..], Some("/console")), (&[("listen", "0.0.0.0:8080")][..], None)] {
        let app = TestApp::start_with(settings).await;
        let browser = app.anonymous().with("accept", "text/html,application/xhtml+xml;q=0.9").get("/").await;
        assert_eq!((browser.status, browser.header("location")), (303, console.unwrap_or("/docs")));
        let places = app.anonymous().get("/").await.json();
        assert_eq!((&places["console"], &places["openapi"]), (&json!(console), &json!("/openapi.json")));
        app.anonymous().post("/", &json!({})).await.refused(405, "method_not_allowed");
        app.stop().await;
    }
}

#[tokio::test]
async fn pages_keep_the_path_of_the_public_url() {
    let app = TestApp::start_with(&[("public_url", "https://example.com/night/")]).await;
    let anonymous = app.anonymous();
    let root = anonymous.clone().with("accept", "text/html").get("/").await;
    assert_eq!(root.header("location"), "/night/console");
    let places = anonymous.get("/").await.json();
    assert_eq!((&places["api"], &places["documentation"]), (&json!("/night/v1"), &json!("/night/docs")));
    let document = anonymous.get("/openapi.json").await.json();
    assert_eq!(document["servers"][0]["url"], "/night/");
    for page in ["/docs", "/docs?q=key", "/payments/thanks"] {
        let page = anonymous.get(page).await;
        let text = page.text();
        assert!(!text.contains("href=\"/") && !text.contains("action=\"/"), "links are relative: {text}");
    }
    app.stop().await;
}

#[tokio::test]
async fn every_operation_of_the_reference_is_served() {
    let app = TestApp::start().await;
    let document: serde_json::Value = serde_json::from_str(OPENAPI_JSON).expect("JSON");
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let path = path.replace("{request_id}", "x").replace("{batch_id}", "x");
            let answered = app.client().send(&method.to_uppercase(), &path, "").await;
            assert_ne!(answered.status, 405, "{method} {path}");
            let status = answered.status.to_string();
            assert!(operation["responses"].get(&status).is_some(), "{method} {path} answers {status}");
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn the_process_lives_and_is_ready_while_the_store_takes_writes() {
    let app = TestApp::start().await;
    for path in ["/livez", "/readyz"] {
        let answered = app.anonymous().get(path).await;
        assert_eq!((answered.status, answered.text()), (200, r#"{"status":"ok"}"#));
        assert!(answered.header("x-request-id").starts_with("call_"));
    }
    app.stop().await;
}

#[tokio::test]
async fn nothing_is_accepted_once_the_store_takes_no_writes() {
    let app = TestApp::start().await;
    app.services.store.close().await;
    let answered = app.client().post("/v1/requests", &TestApp::quick_start("x")).await;
    answered.refused(503, "unavailable");
    assert_eq!(answered.header("retry-after"), "1");
}

#[tokio::test]
async fn models_are_listed_with_their_prices() {
    let app = TestApp::start().await;
    let list = app.client().get("/v1/models").await.json();
    assert_eq!(list["object"], "list");
    let first = &list["data"][0];
    assert_eq!((&first["id"], &first["object"]), (&json!(MODEL), &json!("model")));
    assert_eq!((&first["input_price"], &first["output_price"]), (&json!("0.10"), &json!("0.15")));
    assert_eq!(list["data"][1]["input_price"], json!(null));
    assert_eq!((&first["default_max_tokens"], &first["image_tokens"]), (&json!(4096), &json!(1024)));
    app.stop().await;
}

#[tokio::test]
async fn figures_name_routes_and_no_account() {
    let app = TestApp::start().await;
    let id = app.create("measured").await;
    app.client().get(&format!("/v1/requests/{id}")).await;
    app.client().get("/v1/nowhere").await;
    let figures = app.anonymous().get("/metrics").await;
    let text = figures.text();
    for line in [
        r#"overnight_http_requests_total{route="/v1/requests",method="POST",status="201"}"#,
        r#"overnight_http_requests_total{route="/v1/requests/{request_id}",method="GET",status="200"}"#,
        r#"overnight_http_requests_total{route="unmatched",method="GET",status="404"}"#,
        r#"overnight_http_request_duration_seconds_bucket{route="/v1/requests",method="POST",le="0.0005"}"#,
        "overnight_http_connections ",
        "overnight_store_writes_waiting ",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("acct_") && !text.contains(&id));
    app.stop().await;
}

#[tokio::test]
async fn lengths_of_runs_are_shown_in_buckets() {
    let app = TestApp::start().await;
    // Nothing is recorded before the first look at the metrics.
    app.anonymous().get("/metrics").await;
    metrics::histogram!("overnight_run_length_requests", "engine" => "bucketed").record(5.0);
    for (bound, count) in [("1", 0), ("4", 0), ("8", 1), ("256", 1), ("+Inf", 1)] {
        let bucket = r#"overnight_run_length_requests_bucket{engine="bucketed",le=""#;
        app.check_counted(&format!("{bucket}{bound}\"}} {count}\n")).await;
    }
    app.stop().await;
}

#[tokio::test]
async fn the_time_to_the_earliest_deadline_is_shown() {
    let app = TestApp::start().await;
    // Workers of other tests also set the process's own recorder.
    let recorder = PrometheusBuilder::new().build_recorder();
    let slack = async || {
        workers::deadline_slack(&app.services, app.services.clock.now()).await.expect("a read");
        let figures = recorder.handle().render();
        let line = figures.lines().find_map(|line| line.strip_prefix("overnight_deadline_slack_seconds "));
        line.map(str::to_owned)
    };
    let _guard = metrics::set_default_local_recorder(&recorder);
    assert_eq!(slack().await.as_deref(), Some("NaN"));
    app.create("one").await;
    app.clock.set(START + 3_600_000);
    assert_eq!(slack().await.as_deref(), Some("82800"));
    app.stop().await;
}

/// On SQLite, the scheduler shows these counts, because it knows every request.
#[tokio::test]
async fn what_waits_is_counted_where_nodes_share_the_queue() {
    let app = TestApp::start().await;
    let recorder = PrometheusBuilder::new().build_recorder();
    let _guard = metrics::set_default_local_recorder(&recorder);
    app.create("one").await;
    app.create("two").await;
    releases::release(&app.services.store, START + 60_000, 10).await.expect("a release");
    workers::requests_waiting(&app.services).await.expect("a read");
    let line = format!("overnight_requests_waiting{{model=\"{MODEL}\"}} 2\n");
    assert_eq!(recorder.handle().render().contains(&line), app.services.store.is_shared());
    app.stop().await;
}

#[tokio::test]
async fn figures_are_open_only_where_no_other_machine_calls() {
    for (setting, value, status) in [
        ("public_url", "http://localhost:8080", 200),
        ("listen", "[::1]:8080", 200),
        ("listen", "0.0.0.0:8080", 404),
        ("listen", "192.0.2.1:8080", 404),
        ("public_url", "https://overnight.example.com", 404),
    ] {
        let app = TestApp::start_with(&[(setting, value)]).await;
        let answered = app.anonymous().get("/metrics").await;
        assert_eq!(answered.status, status, "{setting} = {value}: {answered:?}");
        app.stop().await;
    }
    // Only a node on PostgreSQL has another role; here only the settings say so.
    let role = [("role", "scheduler"), ("database_url", "postgres://h/d"), ("listen", "0.0.0.0:8080")];
    let scheduler = TestApp::start_with(&role).await;
    scheduler.anonymous().get("/metrics").await.refused(404, "not_found");
    scheduler.stop().await;
}

#[tokio::test]
async fn figures_with_a_token_are_for_those_who_show_it() {
    let access = MetricsAccess::with(Some("SCRAPE"), |_| Some("secret-token".into()));
    let settings = [("listen", "0.0.0.0:8080"), ("metrics_token_env", "SCRAPE")];
    let change = |services| Services { metrics_access: Arc::new(access), ..services };
    let app = TestApp::start_changed(&settings, change).await;
    let (own_key, anonymous) = (format!("Bearer {}", app.key()), app.anonymous());
    for (name, value) in [
        ("x-nothing", "shown"),
        ("authorization", "Bearer wrong-token"),
        ("authorization", "Basic secret-token"),
        ("authorization", &own_key),
        ("x-api-key", "secret-token"),
    ] {
        let refused = app.anonymous().with(name, value).get("/metrics").await;
        refused.refused(401, "invalid_token");
        assert_eq!(refused.header("www-authenticate"), "Bearer");
        refused.lacks("overnight_");
    }
    let scraped = anonymous.with("authorization", "Bearer secret-token").get("/metrics").await.checked(200);
    scraped.shows("overnight_http_connections");
    app.stop().await;
}

#[tokio::test]
async fn figures_without_a_token_are_not_told_to_pages_of_a_foreign_name() {
    let settings =
        [("metrics_listen", "127.0.0.1:0"), ("public_url", "https://night.example.com"), ("node", "night-1")];
    for token in [None, Some("secret-token")] {
        let access = MetricsAccess::with(token.map(|_| "SCRAPE"), |_| token.map(Into::into));
        let change = |services| Services { metrics_access: Arc::new(access), ..services };
        let app = TestApp::start_changed(&settings, change).await;
        for (host, status) in [
            ("127.0.0.1:8080", 200),
            ("[::1]:8080", 200),
            ("10.0.0.7", 200),
            ("LocalHost:9464", 200),
            ("night.example.com:9464", 200),
            ("night-1:9464", 200),
            ("night-2:9464", 404),
            ("evil.example.com", 404),
            ("evil.example.com:9464", 404),
            ("127.0.0.1.evil.example.com", 404),
            ("localhost.evil.example.com:8080", 404),
        ] {
            let there = Client::new(app.metrics_address.expect("an address"), None).with("host", host);
            let scraped = there.with("authorization", "Bearer secret-token").get("/metrics").await;
            assert_eq!(scraped.status, if token.is_some() { 200 } else { status }, "{host}");
        }
        app.stop().await;
    }
}

#[tokio::test]
async fn figures_may_have_an_address_of_their_own() {
    for (token, status) in [(None, 200), (Some("secret-token"), 401)] {
        let access = MetricsAccess::with(token.map(|_| "SCRAPE"), |_| token.map(Into::into));
        let change = |services| Services { metrics_access: Arc::new(access), ..services };
        let settings = [("metrics_listen", "127.0.0.1:0"), ("listen", "0.0.0.0:8080")];
        let app = TestApp::start_changed(&settings, change).await;
        app.anonymous().get("/metrics").await.refused(404, "not_found");
        let there = Client::new(app.metrics_address.expect("an address"), None);
        assert_eq!(there.get("/metrics").await.status, status);
        there.with("authorization", "Bearer secret-token").get("/metrics").await.checked(200);
        app.stop().await;
    }
}
