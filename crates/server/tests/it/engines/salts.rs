//! Which engines receive `cache_salt`. One that does not accept it answers 400.

use overnight_domain::scheduler::{AttemptError, ProbeOutcome};
use overnight_testkit::engine::SimEngine;

use super::{EngineClient, ask, at, client_of, config, simulate, start};

/// An engine with this owner that refuses `cache_salt`.
fn strict(owned_by: Option<&str>) -> SimEngine {
    simulate(|tunables| {
        tunables.owned_by = owned_by.map(str::to_owned);
        tunables.takes_cache_salt = false;
    })
}

async fn is_sent_a_salt(client: &std::sync::Arc<EngineClient>) -> bool {
    match ask(client, "hello").await {
        Ok(_) => false,
        Err(AttemptError::Status { code: 400, message, .. }) if message.contains("cache_salt") => true,
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn vllm_is_sent_a_salt_with_its_first_request_and_others_are_not() {
    assert!(is_sent_a_salt(&client_of(&strict(Some("vllm")))).await);
    for owned_by in [Some("llamacpp"), Some("vLLM user"), Some(""), None] {
        assert!(!is_sent_a_salt(&client_of(&strict(owned_by))).await, "{owned_by:?}");
    }
}

#[tokio::test]
async fn the_setting_overrules_what_the_engine_says() {
    for (owned_by, setting, expected) in
        [("vllm", "never", false), ("llamacpp", "always", true), ("vllm", "auto", true)]
    {
        let engine = strict(Some(owned_by));
        let settings = format!(r#"{}, cache_salt = "{setting}""#, at(&engine.base_url()));
        let engines = start(&config(&settings));
        assert_eq!(is_sent_a_salt(&engines.list()[0]).await, expected, "{owned_by} {setting}");
    }
}

#[tokio::test]
async fn requests_that_come_at_once_wait_for_one_list_of_models() {
    let engine = strict(Some("vllm"));
    let client = client_of(&engine);
    let sent = futures_util::future::join_all((0..8).map(|_| is_sent_a_salt(&client))).await;
    assert_eq!(sent, [true; 8]);
}

#[tokio::test]
async fn an_engine_that_took_anothers_place_is_asked_again_by_its_probe() {
    let engine = strict(Some("llamacpp"));
    let client = client_of(&engine);
    assert!(!is_sent_a_salt(&client).await);
    engine.tune(|tunables| tunables.owned_by = Some("vllm".to_owned()));
    assert!(!is_sent_a_salt(&client).await);
    assert_eq!(client.probe("ours", false).await, ProbeOutcome::Healthy);
    assert!(is_sent_a_salt(&client).await);
    engine.tune(|tunables| tunables.owned_by = None);
    assert_eq!(client.probe("ours", false).await, ProbeOutcome::Healthy);
    assert!(is_sent_a_salt(&client).await);
}
