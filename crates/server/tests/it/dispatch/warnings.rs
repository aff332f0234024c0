//! Fields that an engine ignores, as warnings in a request's record.

use metrics_exporter_prometheus::PrometheusBuilder;
use overnight_domain::records::RequestRecord;
use overnight_testkit::engine::{SimConfig, Tunables};
use serde_json::{Value, json};

use super::{Rig, create_of, result_of};

/// An engine that ignores `n` and `logprobs`, and does not know `response_format`.
fn forgetful() -> SimConfig {
    let tunables = Tunables { ignores_fields: true, ..Tunables::default() };
    SimConfig { tunables, ..SimConfig::default() }
}

/// The record of a completed request for two choices with a response format and log probabilities.
async fn ask(rig: &Rig, content: &str) -> RequestRecord {
    let schema = json!({"type": "object", "required": ["answer"]});
    let body = json!({"request_body": {
        "model": "sim", "n": 2, "logprobs": true,
        "messages": [{"role": "user", "content": content}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}},
    }});
    let created = create_of(&rig.services, rig.account, body.to_string()).await;
    rig.completed(created.id).await
}

#[tokio::test]
async fn fields_that_an_engine_passes_over_are_told_beside_its_own_answer() {
    let recorder = PrometheusBuilder::new().build_recorder();
    // The whole service runs on this thread.
    let _guard = metrics::set_default_local_recorder(&recorder);
    let rig = Rig::start(vec![forgetful()]).await;
    let record = ask(&rig, "hello").await;
    let warnings: Value = serde_json::from_slice(&record.warnings.clone().expect("warnings")).expect("JSON");
    let warning = |field: &str, what: &str| {
        let message = format!("The engine did not honour `{field}`: {what}.");
        json!({"param": format!("request_body.{field}"), "message": message})
    };
    let expected = [
        warning("logprobs", "a choice has none"),
        warning("response_format", "the text of a choice is no JSON"),
    ];
    assert_eq!(warnings, Value::from(expected.to_vec()));
    let result: Value = serde_json::from_str(&result_of(&record)).expect("JSON");
    let mut keys: Vec<_> = result.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["choices", "created", "id", "model", "object", "usage"], "it is the engine's own");
    // The second choice was requested separately.
    assert_eq!(result["choices"].as_array().map(Vec::len), Some(2));
    for field in ["logprobs", "response_format"] {
        let counted = format!(r#"overnight_engine_ignored_fields_total{{engine="sim-0",field="{field}"}} 1"#);
        assert!(recorder.handle().render().contains(&counted), "{counted}");
    }
    rig.finish().await;
}

#[tokio::test]
async fn an_engine_that_honours_every_field_is_not_warned_of() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let record = ask(&rig, r#"{"answer":"[[sim:say]]"}"#).await;
    assert_eq!(record.warnings, None, "{}", result_of(&record));
    rig.finish().await;
}
