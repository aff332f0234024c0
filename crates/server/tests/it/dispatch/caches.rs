//! Which requests share blocks in an engine's prefix cache.

use overnight_app as app;
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::AccountKey;
use overnight_testkit::engine::{CostModel, SimConfig, Speed, Tunables};
use serde_json::{Value, json};

use super::{Rig, create_of, result_of};

/// An engine with a prefix cache and this name of the owner.
pub(super) fn engine(owned_by: &str) -> SimConfig {
    let cost =
        CostModel { prompt_tokens_per_second: 1e6, output_tokens_per_second: 1e4, ..CostModel::default() };
    let tunables = Tunables { owned_by: Some(owned_by.to_owned()), ..Tunables::default() };
    SimConfig { speed: Speed::Modelled(cost), tunables, ..SimConfig::default() }
}

async fn other_account(rig: &Rig) -> AccountKey {
    app::accounts::create(&rig.services, "other").await.expect("an account").key
}

/// Creates a request with the same long prompt each time and more fields.
async fn create(rig: &Rig, account: AccountKey, fields: Value) -> RequestId {
    let mut body = json!({
        "model": "sim", "max_tokens": 8,
        "messages": [{"role": "user", "content": "one and the same prompt, ".repeat(20)}],
    });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let create = json!({"request_body": body}).to_string();
    create_of(&rig.services, account, create).await.id
}

/// The `usage` of an account's request, as the account reads it.
async fn usage(rig: &Rig, account: AccountKey, fields: Value) -> Value {
    let id = create(rig, account, fields).await;
    let result = result_of(&rig.ended_of(account, id).await);
    let result: Value = serde_json::from_str(&result).expect("JSON");
    result["usage"].clone()
}

/// The number of cached prompt tokens of an account's request.
async fn cached(rig: &Rig, account: AccountKey, fields: Value) -> u64 {
    let usage = usage(rig, account, fields).await;
    usage["prompt_tokens_details"]["cached_tokens"].as_u64().expect("a count")
}

/// The prompt tokens that the engine found in its cache since its start.
fn found(rig: &Rig) -> u64 {
    rig.engines[0].model_stats().expect("a model").prefix_cache_hits_total
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_shares_its_blocks_with_itself_alone() {
    let rig = Rig::start(vec![engine("vllm")]).await;
    let other = other_account(&rig).await;
    assert_eq!(cached(&rig, rig.account, json!({})).await, 0);
    assert!(cached(&rig, rig.account, json!({})).await > 0);
    assert_eq!(cached(&rig, other, json!({})).await, 0);
    assert!(cached(&rig, other, json!({})).await > 0);
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_that_share_a_cache_cannot_see_what_was_found_in_it() {
    let models = r#"[{ name = "sim", shared_cache = true }]"#;
    let rig = Rig::start_with(vec![engine("vllm")], &[("OVERNIGHT_MODELS", models)]).await;
    let other = other_account(&rig).await;
    let first = usage(&rig, rig.account, json!({})).await;
    assert_eq!(found(&rig), 0);
    assert_eq!(usage(&rig, other, json!({})).await, first);
    assert!(found(&rig) > 0);
    assert!(first["prompt_tokens"].is_u64() && first.get("prompt_tokens_details").is_none(), "{first}");
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_refuses_the_field_and_is_not_vllm_serves_every_request() {
    let mut config = engine("llamacpp");
    config.tunables.takes_cache_salt = false;
    let rig = Rig::start(vec![config]).await;
    let first = usage(&rig, rig.account, json!({})).await;
    assert_eq!(usage(&rig, rig.account, json!({})).await, first);
    assert!(found(&rig) > 0);
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_salt_of_the_clients_own_narrows_its_account_and_reaches_no_other() {
    let allowed = [("OVERNIGHT_LIMITS__ALLOW_FIELDS", r#"["cache_salt"]"#)];
    let rig = Rig::start_with(vec![engine("vllm")], &allowed).await;
    let other = other_account(&rig).await;
    let own = || json!({"cache_salt": "mine"});
    assert_eq!(cached(&rig, rig.account, json!({})).await, 0);
    assert_eq!(cached(&rig, rig.account, own()).await, 0);
    assert!(cached(&rig, rig.account, own()).await > 0);
    assert_eq!(cached(&rig, other, own()).await, 0);
    let id = create(&rig, other, own()).await;
    let body = rig.ended_of(other, id).await.body;
    assert!(String::from_utf8_lossy(&body).contains(r#""cache_salt":"mine""#), "it is stored as it was sent");
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_finds_its_blocks_again_after_a_restart() {
    let rig = Rig::start(vec![engine("vllm")]).await;
    let other = other_account(&rig).await;
    assert_eq!(cached(&rig, rig.account, json!({})).await, 0);
    let rig = rig.restart().await;
    assert!(cached(&rig, rig.account, json!({})).await > 0);
    assert_eq!(cached(&rig, other, json!({})).await, 0);
    rig.finish().await;
}
