//! Checks an engine's report: its models, their contexts, and whether it caches prefixes.

use std::collections::BTreeMap;

use overnight_config::{Config, EngineConfig};
use overnight_engine_clients::ListedModel;

use super::super::Finding;

pub(super) struct Told {
    pub(super) listed: Vec<ListedModel>,
    /// Whether it keeps a prefix cache; `None` if its metrics do not contain this.
    pub(super) caches: Option<bool>,
    /// Says that it is outside its hours, or is empty.
    pub(super) outside_hours: String,
}

/// Checks that it lists its models, with contexts that suit their output limits, and caches prefixes.
pub(super) fn judge(name: String, config: &Config, engine: &EngineConfig, told: &Told) -> Finding {
    let Told { listed, caches, outside_hours } = told;
    let find = |id: &String| listed.iter().find(|model| model.id == *id);
    let names = listed.iter().map(describe).collect::<Vec<_>>().join(", ");
    let missing: Vec<&str> =
        engine.models.values().filter(|id| find(id).is_none()).map(String::as_str).collect();
    if !missing.is_empty() {
        let message = format!("answers, and does not list {}", missing.join(", "));
        return Finding::warn(name, message, format!("it lists {names}: correct its `models`"));
    }
    let is_swapped = |id: &String| find(id).is_some_and(|model| model.is_loaded_on_demand);
    let swapped = engine.models.values().filter(|id| is_swapped(id)).count();
    if swapped > 1 && !engine.holds_one_model() {
        let message = format!("answers, and loads and unloads its {swapped} models as requests name them");
        let hint = "if it cannot hold all of them at once, add `one_model_at_a_time = true` to its settings: it then gets the requests of one model after those of another, instead of a swap for each";
        return Finding::warn(name, message, hint);
    }
    let limit = |ours: &String| config.models.iter().find(|model| model.name == *ours);
    let too_long = engine.models.iter().filter_map(|(ours, id)| {
        let (limit, context) = (limit(ours)?.default_max_tokens, find(id)?.context?);
        (u64::from(limit) >= context)
            .then(|| format!("`default_max_tokens` of {ours} is {limit}, and its context is {context}"))
    });
    let too_long: Vec<String> = too_long.collect();
    if !too_long.is_empty() {
        let hint = "requests without `max_tokens` are sent no limit there, and hold credits for more than they can use: lower it";
        return Finding::warn(name, format!("answers; {}", too_long.join("; ")), hint);
    }
    match caches {
        Some(false) => {
            let hint = "requests with a common prefix come one after another for that cache: start vLLM with --enable-prefix-caching";
            Finding::warn(name, "answers, and keeps no prefix cache (enable_prefix_caching is False)", hint)
        }
        Some(true) => {
            Finding::ok(name, format!("answers, caches prefixes, and lists {names}{outside_hours}"))
        }
        None => Finding::ok(name, format!("answers, and lists {names}{outside_hours}")),
    }
}

/// Whether accounts share prefixes in the cache of the engine. `separates` takes the name of a model at the engine.
pub(super) fn cache_use(
    config: &Config,
    engine: &EngineConfig,
    separates: impl Fn(&String) -> bool,
) -> &'static str {
    let is_shared =
        |ours: &String| config.models.iter().any(|model| model.name == *ours && model.shared_cache);
    match engine.models.iter().all(|(ours, id)| !is_shared(ours) && separates(id)) {
        true => "; accounts share no prefixes",
        false => "; accounts share its prefix cache",
    }
}

fn describe(model: &ListedModel) -> String {
    match model.context {
        Some(context) => format!("{} (context: {context} tokens)", model.id),
        None => model.id.clone(),
    }
}

/// For each of our models: the listed contexts in tokens, with their engines.
#[derive(Debug, Default)]
pub(super) struct Contexts(BTreeMap<String, BTreeMap<u64, Vec<String>>>);

impl Contexts {
    pub(super) fn note(&mut self, engine: &EngineConfig, listed: &[ListedModel]) {
        for (ours, id) in &engine.models {
            let context = listed.iter().find(|model| model.id == *id).and_then(|model| model.context);
            if let Some(context) = context {
                let engines = self.0.entry(ours.clone()).or_default().entry(context).or_default();
                engines.push(engine.name.clone());
            }
        }
    }

    /// Models whose engines have different context lengths.
    pub(super) fn differences(&self) -> Vec<Finding> {
        let mixed = self.0.iter().filter(|(_, contexts)| contexts.len() > 1);
        let told = mixed.map(|(model, contexts)| {
            let contexts = contexts.iter().map(|(tokens, engines)| format!("{tokens} ({})", engines.join(", ")));
            let message = format!("its engines have contexts of {} tokens", contexts.collect::<Vec<_>>().join(", "));
            let hint = "a request that only the longer one holds fails where it comes to the shorter: start them alike";
            Finding::warn(format!("model {model}"), message, hint)
        });
        told.collect()
    }
}
