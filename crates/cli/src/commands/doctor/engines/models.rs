//! What an engine says of its models: those that it is to serve, their contexts, and whether it caches prefixes.

use std::collections::BTreeMap;

use overnight_server::config::{Config, EngineConfig};
use overnight_server::engines::ListedModel;

use super::super::Finding;

/// What an engine told.
pub(super) struct Told {
    /// The models that it lists.
    pub(super) listed: Vec<ListedModel>,
    /// Whether it keeps a prefix cache, where its metrics tell.
    pub(super) caches: Option<bool>,
    /// That it is outside its hours, in words, if it is.
    pub(super) outside_hours: String,
}

/// Whether it lists the models that it is to serve, with contexts that suit their output limits, and caches prefixes.
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

fn describe(model: &ListedModel) -> String {
    match model.context {
        Some(context) => format!("{} (context: {context} tokens)", model.id),
        None => model.id.clone(),
    }
}

/// The contexts that engines list for each model of ours: the engines by the length, in tokens.
#[derive(Debug, Default)]
pub(super) struct Contexts(BTreeMap<String, BTreeMap<u64, Vec<String>>>);

impl Contexts {
    /// What this engine lists.
    pub(super) fn note(&mut self, engine: &EngineConfig, listed: &[ListedModel]) {
        for (ours, id) in &engine.models {
            let context = listed.iter().find(|model| model.id == *id).and_then(|model| model.context);
            if let Some(context) = context {
                let engines = self.0.entry(ours.clone()).or_default().entry(context).or_default();
                engines.push(engine.name.clone());
            }
        }
    }

    /// The models whose engines have contexts of different lengths.
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
