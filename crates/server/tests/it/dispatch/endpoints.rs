//! Completions and embeddings are queued, sent, settled and charged like chat completions.

use overnight_app::{accounts, requests};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::{SimConfig, Tunables, echo_of};
use serde_json::{Value, json};

use super::{Rig, result_of};

/// One credit for each token read, and two for each token written.
const PRICES: (&str, &str) =
    ("OVERNIGHT_MODELS", r#"[{ name = "sim", input_price = "1000000", output_price = "2000000" }]"#);

async fn create(rig: &Rig, endpoint: Endpoint, body: &Value) -> RequestId {
    let body = json!({"request_body": body}).to_string();
    let created = requests::create(
        &rig.services,
        rig.account,
        requests::Sent { endpoint, ..requests::Sent::native(body) },
    )
    .await;
    created.expect("a create").into_new().expect("a call without a key").id
}

fn told(record: &RequestRecord) -> Value {
    serde_json::from_str(&result_of(record)).expect("JSON")
}

/// A rig with prices and an account with enough credits.
pub(super) async fn rich(engine: SimConfig) -> Rig {
    let rig = Rig::start_with(vec![engine], &[PRICES]).await;
    let account = accounts::get_own(&rig.services, rig.account).await.expect("an account").id;
    let credits = "1000000".parse().expect("credits");
    accounts::grant(&rig.services, account, credits, None).await.expect("a grant");
    accounts::activate(&rig.services, account).await.expect("an activation");
    rig
}

#[tokio::test]
async fn completions_and_embeddings_are_charged_by_what_they_use() {
    let rig = rich(SimConfig::default()).await;
    let completion = json!({"model": "sim", "prompt": ["once", "upon"], "max_tokens": 8});
    let embedding = json!({"model": "sim", "input": ["once", "upon"], "dimensions": 4});
    let first = create(&rig, Endpoint::Completions, &completion).await;
    let second = create(&rig, Endpoint::Embeddings, &embedding).await;

    let record = rig.completed(first).await;
    assert_eq!(record.endpoint, Endpoint::Completions);
    assert_eq!(record.body.as_ref(), completion.to_string().as_bytes());
    let answer = told(&record);
    assert_eq!((&answer["object"], &answer["model"]), (&json!("text_completion"), &json!("sim")));
    assert!(answer["choices"][1]["text"].as_str().expect("a text").starts_with(&echo_of("upon")));
    let charge = requests::charge_of(&rig.services, rig.account, first).await.expect("a charge");
    let prompt_tokens = answer["usage"]["prompt_tokens"].as_i64().expect("a count");
    assert_eq!((charge.prompt_tokens, charge.completion_tokens), (Some(prompt_tokens), Some(16)));
    assert_eq!(charge.amount.expect("an amount").to_string(), (prompt_tokens + 2 * 16).to_string());

    let record = rig.completed(second).await;
    assert_eq!(record.endpoint, Endpoint::Embeddings);
    assert_eq!(record.body.as_ref(), embedding.to_string().as_bytes());
    let answer = told(&record);
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(2));
    let charge = requests::charge_of(&rig.services, rig.account, second).await.expect("a charge");
    let prompt_tokens = answer["usage"]["prompt_tokens"].as_i64().expect("a count");
    assert_eq!((charge.prompt_tokens, charge.completion_tokens), (Some(prompt_tokens), Some(0)));
    assert_eq!(charge.amount.expect("an amount").to_string(), prompt_tokens.to_string());
    assert!(record.warnings.is_none());
    rig.finish().await;
}

#[tokio::test]
async fn an_engine_without_the_endpoint_refuses_a_request_for_good_and_goes_on() {
    let tunables = Tunables { missing_paths: vec!["/v1/embeddings"], ..Tunables::default() };
    let rig = Rig::start(vec![SimConfig { tunables, ..SimConfig::default() }]).await;
    let chat = rig.create("hello").await;
    rig.completed(chat).await;
    let id = create(&rig, Endpoint::Embeddings, &json!({"model": "sim", "input": "a"})).await;
    let record = rig.ended(id).await;
    assert_eq!(record.summary.state.status(), RequestStatus::Failed);
    let error = &told(&record)["error"];
    assert_eq!(error["code"], "engine_rejected");
    assert_eq!(error["message"], "the engine does not serve embeddings: Not Found");
    let attempts: Vec<_> = record.attempts.iter().map(|attempt| attempt.status).collect();
    assert_eq!(attempts, [Some(404)]);
    let chat = rig.create("and another").await;
    rig.completed(chat).await;
    rig.finish().await;
}

#[tokio::test]
async fn an_engine_that_answered_nothing_yet_shows_by_its_probe_that_it_lacks_the_endpoint() {
    let tunables = Tunables { missing_paths: vec!["/v1/completions"], ..Tunables::default() };
    let rig = Rig::start(vec![SimConfig { tunables, ..SimConfig::default() }]).await;
    let id = create(&rig, Endpoint::Completions, &json!({"model": "sim", "prompt": "a"})).await;
    let record = rig.ended(id).await;
    assert_eq!(told(&record)["error"]["code"], "engine_rejected");
    // One attempt if a probe preceded it, else a second one after a probe has shown that the engine works.
    assert!(record.attempts.len() <= 2, "{:?}", record.attempts);
    rig.finish().await;
}
