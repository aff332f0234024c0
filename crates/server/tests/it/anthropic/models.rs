use serde_json::json;

use super::refused;
use crate::support::{MODEL, TestApp};

#[tokio::test]
async fn models_are_listed_in_pages_that_begin_at_either_side_of_one() {
    let app = TestApp::start().await;
    let list = async |query: &str| {
        let page = app.client().read(&format!("/anthropic/v1/models{query}")).await;
        let ids: Vec<String> = page["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|model| model["id"].as_str().expect("an id").to_owned())
            .collect();
        (ids, page["has_more"] == true)
    };
    let all = [MODEL, "other", "overnight-tiny"].map(str::to_owned).to_vec();
    assert_eq!(list("").await, (all.clone(), false));
    assert_eq!(list("?limit=1&beta=true").await, (all[..1].to_vec(), true));
    assert_eq!(list(&format!("?after_id={MODEL}")).await, (all[1..].to_vec(), false));
    assert_eq!(list("?before_id=other&limit=5").await, (all[..1].to_vec(), false));
    assert_eq!(list("?before_id=overnight-tiny&limit=1").await, (all[1..2].to_vec(), true));
    let model = app.client().get(&format!("/anthropic/v1/models/{MODEL}")).await.json();
    assert_eq!(
        model,
        json!({"type": "model", "id": MODEL, "display_name": MODEL, "created_at": "2025-06-15T15:06:40Z",
            "lifecycle": "active", "deprecated_at": null, "retires_at": null})
    );
    for path in ["/models/unknown", "/models?after_id=unknown"] {
        refused(&app.client().get(&format!("/anthropic/v1{path}")).await, 404, "not_found_error");
    }
    for query in ["limit=0", "limit=1001", "limit=x", "before_id=other&after_id=other"] {
        let answered = app.client().get(&format!("/anthropic/v1/models?{query}")).await;
        refused(&answered, 400, "invalid_request_error");
    }
    app.stop().await;
}
