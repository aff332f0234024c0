//! Checks the engines: calls each one, or looks for its program.

mod command;
mod models;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_base::ids::Ids;
use overnight_config::{Config, EmbeddedConfig, EngineConfig, EngineKind, ModelSource};
use overnight_engine_clients::{
    EngineUnusable, Engines, ModelFileUnusable, ModelPurpose, check_model_file, engine_environment,
};
use overnight_hub::{Hub, HubOptions};
use tokio::process::Command;

use self::models::{Contexts, Told, judge};
use super::Finding;
use crate::times;

const PROGRAM_NAME: &str = "overnight-engine";

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::with_capacity(config.engines.len());
    let mut contexts = Contexts::default();
    for engine in &config.engines {
        let name = format!("engine {}", engine.name);
        if engine.is_discovered() {
            findings.extend(ask_each(name, config, engine, &mut contexts).await);
            continue;
        }
        findings.push(match &engine.kind {
            EngineKind::OpenAi(_) => ask(name, config, engine, &mut contexts).await,
            EngineKind::Command(command) => {
                command::check(name, config, engine, command, &mut contexts).await
            }
            EngineKind::Embedded(embedded) => {
                look_for(name, embedded, models::cache_use(config, engine, |_| true)).await
            }
        });
    }
    findings.extend(contexts.differences());
    findings
}

const UNUSABLE: &str = "correct this engine's settings";

/// The client of this engine only.
fn client(config: &Config, engine: &EngineConfig, clock: &SharedClock) -> Result<Engines, EngineUnusable> {
    let only = Config { engines: vec![engine.clone()], ..config.clone() };
    Engines::start(&only, clock, &Arc::new(Ids::from_system()))
}

/// Calls each of the engines that DNS names now.
async fn ask_each(
    name: String,
    config: &Config,
    engine: &EngineConfig,
    contexts: &mut Contexts,
) -> Vec<Finding> {
    let clock: SharedClock = Arc::new(SystemClock);
    let engines = match client(config, engine, &clock) {
        Ok(engines) => engines,
        Err(error) => return vec![Finding::fail(name, error.to_string(), UNUSABLE)],
    };
    if let Err(error) = engines.look_up_again().await {
        return vec![Finding::fail(name, error.to_string(), UNUSABLE)];
    }
    let mut findings = Vec::new();
    for replica in engines.list() {
        let replica = replica.config();
        findings.push(ask(format!("engine {}", replica.name), config, replica, contexts).await);
    }
    if findings.is_empty() {
        let why = engines.lookup_failure(&engine.name).await.unwrap_or_else(|| "has no address".to_owned());
        findings.push(Finding::fail(
            name,
            why,
            "check its `base_url`; requests wait until DNS names an engine",
        ));
    }
    findings
}

/// Reads an engine's models, as the service does, and its metrics.
async fn ask(name: String, config: &Config, engine: &EngineConfig, contexts: &mut Contexts) -> Finding {
    let clock: SharedClock = Arc::new(SystemClock);
    let engines = match client(config, engine, &clock) {
        Ok(engines) => engines,
        Err(error) => return Finding::fail(name, error.to_string(), UNUSABLE),
    };
    let Some(client) = engines.list().pop() else { return Finding::ok(name, "is not configured") };
    let name = match client.proxy() {
        Some(proxy) => format!("{name} (through the proxy {proxy})"),
        None => name,
    };
    let closed = closed_until(engine, clock.now());
    let listed = match client.list_models().await {
        Ok(listed) => listed,
        Err(reason) if closed.is_some() => {
            let message = format!("{reason}{}", outside_hours(closed));
            return Finding::warn(name, message, "it need not answer now; run `overnight doctor` again then");
        }
        Err(reason) => {
            let hint = "check its `base_url` and its key, and that it runs; requests wait until it answers";
            return Finding::fail(name, reason, hint);
        }
    };
    if engine.colocated_percent().is_some() && client.load().await.is_none() {
        let hint = "let it serve its metrics, or give it to this service alone: remove `colocated_share`";
        return Finding::fail(name, "is co-located and tells no load at /metrics: it is sent nothing", hint);
    }
    contexts.note(engine, &listed);
    let caches = client.prefix_caching().await;
    let told = Told { listed, caches, outside_hours: outside_hours(closed) };
    let mut finding = judge(name, config, engine, &told);
    let listed = |id: &String| told.listed.iter().find(|model| model.id == *id);
    finding.add_if_ok(models::cache_use(config, engine, |id| client.separates_accounts(listed(id))));
    finding
}

/// If an engine is outside its hours at `now` (milliseconds): the end of that time.
fn closed_until(engine: &EngineConfig, now: i64) -> Option<i64> {
    let hours = engine.hours.as_ref()?.at(now);
    hours.until.filter(|_| !hours.is_open)
}

fn outside_hours(until: Option<i64>) -> String {
    until.map(|at| format!("; it is outside its hours until {}", times::utc(at / 1_000))).unwrap_or_default()
}

/// Checks that an embedded engine could start, without starting it, because its model may use all memory. For a model that chats, the finding ends with `cache_use`.
async fn look_for(name: String, embedded: &EmbeddedConfig, cache_use: &str) -> Finding {
    let path = program(embedded);
    let hint =
        "build it with `cargo build --release -p overnight-engine`, or say in `engine_path` where it is";
    let mut command = Command::new(&path);
    command.arg("--version").env_clear().envs(engine_environment()).stdin(Stdio::null());
    let told = command.output().await;
    let version = match told {
        Ok(told) if told.status.success() => version(&told.stdout, embedded),
        Ok(told) => {
            let words = String::from_utf8_lossy(&told.stderr);
            let last = words.trim().lines().last().map_or_else(String::new, |last| format!(": {last}"));
            return Finding::fail(name, format!("{} ends with {}{last}", path.display(), told.status), hint);
        }
        Err(error) => return Finding::fail(name, format!("{}: {error}", path.display()), hint),
    };
    let model = match &embedded.model {
        ModelSource::Boxed => {
            return Finding::ok(name, format!("{version} with the model in the box{cache_use}"));
        }
        ModelSource::File(path) => path.clone(),
        ModelSource::Hub(hub_name) => {
            let hub = Hub::new(HubOptions::from_environment());
            match hub.find(hub_name) {
                Some(path) => path,
                None if hub.options().is_offline => {
                    let hint =
                        format!("`overnight model pull {hub_name}` downloads it, without HF_HUB_OFFLINE");
                    return Finding::fail(name, format!("the model {hub_name} is not in the cache"), hint);
                }
                None => {
                    let message = format!("{version}; the model {hub_name} is not in the cache");
                    let hint = format!(
                        "the service downloads it when it starts; `overnight model pull {hub_name}` does so now"
                    );
                    return Finding::warn(name, message, hint);
                }
            }
        }
    };
    match check_model_file(&model) {
        Ok(ModelPurpose::Chat) => Finding::ok(name, format!("{version} with {}{cache_use}", model.display())),
        Ok(ModelPurpose::Embeddings) => {
            Finding::ok(name, format!("{version} with {}, an embedding model", model.display()))
        }
        Err(error) => {
            let hint = match error {
                ModelFileUnusable::Unreadable(_) | ModelFileUnusable::NoFile => {
                    "`model_path` is relative to the working directory of the service"
                }
                ModelFileUnusable::Ranks => "name a model that chats or makes embeddings",
                _ => "fetch the file again, and compare its length with that at its source",
            };
            Finding::fail(name, format!("the model {} {error}", model.display()), hint)
        }
    }
}

/// The program's version, and its compute devices.
fn version(told: &[u8], embedded: &EmbeddedConfig) -> String {
    let told = String::from_utf8_lossy(told);
    match embedded.gpu_layers {
        Some(layers) => format!("{} (`gpu_layers` = {layers})", told.trim()),
        None => told.trim().to_owned(),
    }
}

fn program(embedded: &EmbeddedConfig) -> PathBuf {
    let beside = || std::env::current_exe().map(|own| own.with_file_name(PROGRAM_NAME)).ok();
    embedded.engine_path.clone().or_else(beside).unwrap_or_else(|| PathBuf::from(PROGRAM_NAME))
}
