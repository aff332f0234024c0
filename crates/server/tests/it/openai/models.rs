use super::support::refused;
use crate::support::{MODEL, TestApp};

#[tokio::test]
async fn models_are_listed_and_retrieved_by_their_names() {
    let app = TestApp::start_with(&[(
        "models",
        r#"[{ name = "org/model a" }, { name = "llama-3.1-8b-instruct" }]"#,
    )])
    .await;
    let listed = app.client().get("/openai/v1/models").await.json();
    assert_eq!((listed["object"].as_str(), listed["data"].as_array().map(Vec::len)), (Some("list"), Some(3)));
    for (path, name) in [(MODEL, MODEL), ("org/model%20a", "org/model a"), ("org%2Fmodel%20a", "org/model a")]
    {
        let model = app.client().get(&format!("/openai/v1/models/{path}")).await.json();
        assert_eq!((model["id"].as_str(), model["object"].as_str()), (Some(name), Some("model")), "{path}");
        assert!(model["created"].is_i64() && model["owned_by"].is_string());
    }
    refused(&app.client().get("/openai/v1/models/unknown").await, 404, "not_found");
    refused(&app.client().get("/openai/v1/models/%ff").await, 404, "not_found");
    refused(&app.anonymous().get("/openai/v1/models").await, 401, "invalid_api_key");
    app.stop().await;
}
