//! Aliases and retirement of models in every dialect.

use overnight_app::file_batches::FillPause;
use serde_json::{Value, json};

use super::openai_files::{batch, create, fill, upload};
use crate::support::{Answered, START, TestApp, check_json};

/// `old` retires one minute after the start.
const RETIRES_AT: i64 = START + 60_000;

const MODELS: &str = r#"[{ name = "new", aliases = ["short"], input_price = "0.10", output_price = "0.15" },
    { name = "old", retires_at = "2025-06-15T15:07:40Z", replaced_by = "new" }]"#;

async fn start() -> TestApp {
    TestApp::start_with(&[("models", MODELS)]).await
}

fn chat(model: &str) -> Value {
    json!({"model": model, "max_tokens": 8, "messages": [{"role": "user", "content": "Hello"}]})
}

async fn create_of(app: &TestApp, model: &str) -> Answered {
    app.client().post("/v1/requests", &json!({"request_body": chat(model)})).await
}

async fn names(app: &TestApp, path: &str) -> Vec<String> {
    let list = app.client().get(path).await.json();
    let names = list["data"].as_array().expect("a list").iter().map(|model| model["id"].as_str());
    names.map(|name| name.expect("a name").to_owned()).filter(|name| name == "new" || name == "old").collect()
}

#[tokio::test]
async fn a_request_may_have_an_alias_and_keeps_it() {
    let app = start().await;
    let held = async || app.client().get("/v1/account").await.json()["held"].as_str().map(str::to_owned);
    let (none, by_alias) = (held().await, create_of(&app, "short").await);
    assert_eq!(by_alias.status, 201, "{by_alias:?}");
    let id = by_alias.id();
    let once = held().await;
    assert_ne!(once, none, "the price is that of the model");
    assert_eq!(create_of(&app, "new").await.status, 201);
    let record = app.client().get(&format!("/v1/requests/{id}")).await.json();
    assert_eq!(record[0]["request_body"]["model"], "short");
    let listed =
        async |model: &str| app.client().get(&format!("/v1/requests?model={model}")).await.ids().len();
    assert_eq!(listed("short").await, 1);
    assert_eq!(listed("new").await, 1);
    for path in ["/openai/v1/models/short", "/anthropic/v1/models/short"] {
        assert_eq!(app.client().get(path).await.json()["id"], "new", "{path}");
    }
    app.client()
        .post(
            "/anthropic/v1/messages/batches",
            &json!({"requests": [{"custom_id": "a", "params": chat("short")}]}),
        )
        .await
        .checked(200);
    app.stop().await;
}

#[tokio::test]
async fn a_model_is_offered_until_it_retires_and_the_refusal_names_its_successor() {
    let app = start().await;
    let lists = ["/v1/models", "/openai/v1/models", "/anthropic/v1/models"];
    for path in lists {
        assert_eq!(names(&app, path).await, ["new", "old"], "{path}");
    }
    let list = app.client().get("/v1/models").await.json();
    let [new, old] = [0, 1].map(|place: usize| &list["data"][place]);
    assert_eq!((&new["aliases"], &new["retires_at"]), (&json!(["short"]), &Value::Null));
    assert_eq!((&old["retires_at"], &old["replaced_by"]), (&json!(RETIRES_AT / 1_000), &json!("new")));
    let old = app.client().get("/anthropic/v1/models/old").await.json();
    check_json(&old, &json!({"lifecycle": "deprecated", "retires_at": "2025-06-15T15:07:40Z"}));
    assert_eq!(create_of(&app, "old").await.status, 201);

    app.clock.set(RETIRES_AT);
    for path in lists {
        assert_eq!(names(&app, path).await, ["new"], "{path}");
    }
    for path in ["/openai/v1/models/old", "/anthropic/v1/models/old"] {
        assert_eq!(app.client().get(path).await.status, 404, "{path}");
    }
    let refused = create_of(&app, "old").await.checked(422);
    let detail = refused.json()["error"]["details"][0].clone();
    assert_eq!((&detail["param"], &detail["code"]), (&json!("request_body.model"), &json!("model_retired")));
    let message = "must not be 'old', which takes no new requests since 2025-06-15T15:07:40Z: use 'new'";
    assert!(detail["message"].as_str().is_some_and(|told| told.contains(message)), "{detail}");
    for path in ["/openai/v1/chat/completions", "/anthropic/v1/messages"] {
        let refused = app.client().post(path, &chat("old")).await;
        assert!(refused.status == 400 && refused.text().contains("use 'new'"), "{refused:?}");
    }
    let unknown = create_of(&app, "none").await.json()["error"]["details"][0].clone();
    assert_eq!(unknown["code"], "unknown_value");
    assert!(!unknown["message"].as_str().expect("words").contains("old"), "{unknown}");
    app.stop().await;
}

#[tokio::test]
async fn the_lines_of_a_batch_are_those_of_its_creation() {
    let app = start().await;
    let line =
        json!({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": chat("old")});
    let file = upload(&app, &format!("{line}\n")).await;
    let before = create(&app, &file).await;
    app.clock.set(RETIRES_AT);
    let after = create(&app, &file).await;
    assert_eq!(fill(&app).await, FillPause::Idle);
    let found = batch(&app, &before).await["status"].take();
    assert_eq!(found, "in_progress", "it was created before the model retired");
    let after = batch(&app, &after).await;
    assert_eq!((&after["status"], &after["request_counts"]["completed"]), (&json!("cancelled"), &json!(0)));
    let late = upload(&app, &format!("{line}\n")).await;
    let failed = create(&app, &late).await;
    check_json(&failed, &json!({"status": "failed", "errors.data.0.code": "model_retired"}));
    app.stop().await;
}
