//! Probes and keys.

use std::sync::Arc;

use overnight_domain::scheduler::AttemptError;
use overnight_server::clock::{SharedClock, SystemClock};
use overnight_server::engines::Engines;
use overnight_server::ids::Ids;

use super::{ask, at, client_of, config, simulate, start};

/// A variable that cargo sets for every test, and what it says.
const KEY_VARIABLE: (&str, &str) = ("CARGO_PKG_NAME", "overnight-server");

#[tokio::test]
async fn a_probe_lists_the_engines_models() {
    let engine = simulate(|_| {});
    assert_eq!(client_of(&engine).probe().await, Ok(vec!["theirs".to_owned()]));
}

#[tokio::test]
async fn a_probe_says_what_is_wrong() {
    let engine = simulate(|tunables| tunables.api_key = Some("other".to_owned()));
    let client = client_of(&engine);
    let words = client.probe().await.unwrap_err();
    assert!(words.starts_with("GET /v1/models answers 401: "), "{words}");
    engine.stop().await;
    assert!(client.probe().await.unwrap_err().contains("refused"));
}

#[tokio::test]
async fn the_key_is_read_from_its_variable_and_sent() {
    let (variable, key) = KEY_VARIABLE;
    let engine = simulate(|tunables| tunables.api_key = Some(key.to_owned()));
    let settings = format!(r#"{}, api_key_env = "{variable}""#, at(&engine.base_url()));
    let engines = start(&config(&settings));
    let client = engines.iter().next().unwrap();
    assert!(client.probe().await.is_ok());
    ask(client, "hello").await.unwrap();
    let error = ask(&client_of(&engine), "hello").await.unwrap_err();
    assert!(matches!(error, AttemptError::Status { code: 401, .. }), "{error:?}");
}

#[tokio::test]
async fn a_key_that_is_not_there_stops_the_start() {
    let settings = format!(r#"{}, api_key_env = "NO_SUCH_VARIABLE""#, at("http://h"));
    let clock: SharedClock = Arc::new(SystemClock);
    let error = Engines::start(&config(&settings), &clock, &Arc::new(Ids::from_seed(1))).err().unwrap();
    let expected =
        "engine `e`: the environment variable NO_SUCH_VARIABLE, which should hold its key, is not set";
    assert_eq!(error.to_string(), expected);
}
