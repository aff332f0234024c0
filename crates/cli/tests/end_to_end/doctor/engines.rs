//! Facts that engines report: prefix caching and the length of their contexts.

use overnight_testkit::engine::{CostModel, SimConfig, Speed};
use serde_json::Value;

use super::{examine, state, told};
use crate::support::{World, chats, wait_until};

/// An engine whose metrics report prefix caching, as vLLM's do.
fn world(prefix_caching: bool) -> World {
    let speed = Speed::Modelled(CostModel { prefix_caching, ..CostModel::default() });
    World::with(SimConfig { speed, ..SimConfig::default() })
}

#[test]
fn an_engine_that_keeps_no_prefix_cache_is_found() {
    let report = examine(&world(true)).1;
    assert_eq!(state(&report, "engine sim"), "ok", "{report}");
    assert!(told(&report, "engine sim").contains("answers, caches prefixes"), "{report}");
    let (ran, report) = examine(&world(false));
    assert_eq!((ran.code, state(&report, "engine sim")), (0, "warn"), "{report}");
    assert!(told(&report, "engine sim").contains("--enable-prefix-caching"), "{report}");
}

#[test]
fn an_engine_that_the_service_has_paused_is_found() {
    let world = World::new();
    let _serving = world.serve();
    assert!(!told(&examine(&world).1, "engine sim").contains("paused"));
    world.engine.tune(|engine| engine.api_key = Some("secret".to_owned()));
    world.write("prompts.jsonl", &chats(1));
    world.json("submit prompts.jsonl");
    wait_until("the service has paused it", || {
        told(&examine(&world).1, "engine sim").contains("has paused it")
    });
}

#[test]
fn engines_of_one_model_with_different_contexts_are_found() {
    let world = World::new();
    assert_eq!(state(&examine(&world).1, "model m"), "");
    let shorter = World::with(SimConfig { context_tokens: 8_192, ..SimConfig::default() });
    let second = format!(
        "[[engines]]\nname = \"short\"\nkind = \"openai\"\nbase_url = \"{}\"\n",
        shorter.engine.base_url()
    );
    world.write("overnight.toml", &format!("{}{second}", world.read("overnight.toml")));
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "model m")), (0, "warn"), "{report}");
    let words = "its engines have contexts of 8192 (short), 131072 (sim) tokens";
    assert!(told(&report, "model m").contains(words), "{report}");
}

#[test]
fn an_output_limit_as_long_as_the_context_is_found() {
    let world = World::with(SimConfig { context_tokens: 4_096, ..SimConfig::default() });
    assert_eq!(state(&examine(&world).1, "engine sim"), "warn");
}

#[test]
fn a_model_without_a_price_beside_others_that_have_one_is_found() {
    let world = World::new();
    let is_warned = |report: &Value| told(report, "billing").contains("models without a price: n");
    let settings = world.read("overnight.toml");
    assert_eq!(state(&examine(&world).1, "billing"), "ok", "nothing is sold");
    let models = "[[models]]\nname = \"m\"\ninput_price = \"1\"\n[[models]]\nname = \"n\"\n";
    world.write("overnight.toml", &settings.replace("[[models]]\nname = \"m\"\n", models));
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "billing"), is_warned(&report)), (0, "warn", true), "{report}");
    let free = models.replace("name = \"n\"\n", "name = \"n\"\ninput_price = \"0\"\n");
    world.write("overnight.toml", &settings.replace("[[models]]\nname = \"m\"\n", &free));
    assert_eq!(state(&examine(&world).1, "billing"), "ok", "it is meant to be free");
}

#[test]
fn an_engine_that_loads_models_on_demand_is_to_be_sent_one_at_a_time() {
    let world = World::new();
    world
        .engine
        .tune(|engine| (engine.models, engine.load_ms) = (["m", "n"].map(str::to_owned).into(), Some(0)));
    assert_eq!(state(&examine(&world).1, "engine sim"), "ok", "it serves one model");
    let two = format!("{}[[models]]\nname = \"n\"\n", world.read("overnight.toml"));
    world.write("overnight.toml", &two);
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "engine sim")), (0, "warn"), "{report}");
    assert!(told(&report, "engine sim").contains("add `one_model_at_a_time = true`"), "{report}");
    let told_so = two.replace("kind = \"openai\"", "kind = \"openai\"\none_model_at_a_time = true");
    world.write("overnight.toml", &told_so);
    assert_eq!(state(&examine(&world).1, "engine sim"), "ok", "{}", examine(&world).1);
}
