//! The client of an engine with the simulated engine, and the supervisor with processes.

mod answers;
mod behaviours;
mod choices;
mod connections;
mod contexts;
mod embedded;
mod endpoints;
mod fake;
mod limit_fields;
mod odd_answers;
mod outgoing;
mod probes;
mod salts;

use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_base::ids::Ids;
use overnight_config::{Config, Sources};
use overnight_domain::answers::Completion;
use overnight_domain::chat::CacheSalt;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::{Json, minimize};
use overnight_domain::scheduler::{AccountKey, AttemptError};
use overnight_engine_clients::{Asked, EngineClient, Engines};
use overnight_testkit::engine::{SimConfig, SimEngine, Tunables};

/// A configuration with one model, `ours`, and one engine with these settings.
fn config(engine: &str) -> Config {
    let environment = vec![
        ("OVERNIGHT_MODELS".to_owned(), r#"[{ name = "ours", default_max_tokens = 64 }]"#.to_owned()),
        ("OVERNIGHT_ENGINES".to_owned(), format!(r#"[{{ name = "e", {engine} }}]"#)),
    ];
    Config::load(&Sources { environment, ..Sources::default() }).unwrap()
}

fn start(config: &Config) -> Engines {
    let clock: SharedClock = Arc::new(SystemClock);
    Engines::start(config, &clock, &Arc::new(Ids::from_seed(1))).unwrap()
}

/// A simulated engine that serves `theirs`.
fn simulate(change: impl FnOnce(&mut Tunables)) -> SimEngine {
    simulate_with_context(SimConfig::default().context_tokens, change)
}

fn simulate_with_client(change: impl FnOnce(&mut Tunables)) -> (SimEngine, Arc<EngineClient>) {
    let engine = simulate(change);
    let client = client_of(&engine);
    (engine, client)
}

fn simulate_with_context(context_tokens: usize, change: impl FnOnce(&mut Tunables)) -> SimEngine {
    let mut tunables = Tunables { models: vec!["theirs".to_owned()], ..Tunables::default() };
    change(&mut tunables);
    SimEngine::start(SimConfig { context_tokens, tunables, ..SimConfig::default() }).unwrap()
}

/// Settings of an engine at a base URL, with a time-out that a busy machine does not reach.
fn at(base_url: &str) -> String {
    format!(
        r#"kind = "openai", base_url = "{base_url}", models = {{ ours = "theirs" }}, request_timeout = "60s""#
    )
}

fn client_of(engine: &SimEngine) -> Arc<EngineClient> {
    let engines = start(&config(&at(&engine.base_url())));
    engines.list().remove(0)
}

/// The same with a time-out of one second.
fn impatient_client_of(engine: &SimEngine) -> Arc<EngineClient> {
    let settings = at(&engine.base_url()).replace("\"60s\"", "\"1s\"");
    start(&config(&settings)).list().remove(0)
}

/// Sends one user message.
async fn ask(client: &Arc<EngineClient>, content: &str) -> Result<Completion, AttemptError> {
    let messages = serde_json::json!([{"role": "user", "content": content}]);
    send(client, &serde_json::json!({"model": "ours", "messages": messages})).await
}

async fn send(client: &Arc<EngineClient>, body: &serde_json::Value) -> Result<Completion, AttemptError> {
    let body = minimize(body.to_string().as_bytes(), 0).unwrap();
    let config = config(&at("http://h"));
    let model = &config.models[0];
    let cache_salt = CacheSalt::new(&[7; 32], AccountKey(1));
    let asked = Asked {
        max_tokens: Some(model.default_max_tokens),
        cache_salt: Some(&cache_salt),
        ..asked(Endpoint::ChatCompletions, body.as_json())
    };
    client.complete(asked).await
}

/// A stored body for `ours`, which has prices, without a limit or a salt.
fn asked(endpoint: Endpoint, body: Json<'_>) -> Asked<'_> {
    Asked {
        endpoint,
        model: "ours",
        max_tokens: None,
        cache_salt: None,
        account: None,
        traceparent: None,
        is_charged: true,
        is_probe: false,
        body,
    }
}
