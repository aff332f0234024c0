//! The engine replicas, by the scheduler's keys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overnight_app::Models;
use overnight_config::{EngineKind, Millis, WeeklyHours};
use overnight_domain::answers::{Completion, Warning};
use overnight_domain::chat::{CacheSalt, find_warnings};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::Json;
use overnight_domain::scheduler::{
    AttemptError, DeviceKey, EngineLoad, ModelKey, ProbeOutcome, ProcessRules, Replica, ReplicaKey,
};
use overnight_engine_clients::{Asked, EngineClient, Engines, NotReady};
use overnight_store::nodes::engine_reports::{EngineRates, PrefixCacheState};
use overnight_store::queue::Prompt;

use super::token_counters::TokenCounters;

/// How long a model that takes turns must have had work before it is loaded.
const LOAD_AFTER: Millis = Millis(0);
/// How long it must have had none before it counts as unloaded: the engine may then unload it itself, and another model need not wait.
const IDLE_MODEL: Millis = Millis(600_000);

/// The replicas in the settings, and those that leave. Immutable: changes make a successor.
pub struct Replicas {
    known: BTreeMap<ReplicaKey, Known>,
    devices: BTreeMap<String, DeviceKey>,
    next_key: u32,
    models: Arc<Models>,
}

#[derive(Clone)]
struct Known {
    client: Arc<EngineClient>,
    tokens: Arc<TokenCounters>,
    /// It is no longer in the settings, and finishes its requests.
    is_leaving: bool,
    /// The previous client of the same name, whose process may have the same port.
    after: Option<Arc<EngineClient>>,
}

impl Replicas {
    pub fn new(engines: &Engines, models: Arc<Models>) -> Self {
        let none = Self {
            known: BTreeMap::new(),
            devices: BTreeMap::new(),
            next_key: 0,
            models: Arc::clone(&models),
        };
        none.followed_by(engines, models)
    }

    /// The successor after a change of `engines`. A replica keeps its key while it has its name and its process, if any; one without a
    /// successor leaves. Keys are never reused.
    pub fn followed_by(&self, engines: &Engines, models: Arc<Models>) -> Self {
        let leaving = |it: &Known| Known { is_leaving: true, ..it.clone() };
        let known = self.known.iter().map(|(key, it)| (*key, leaving(it))).collect();
        let mut next = Self { known, devices: self.devices.clone(), next_key: self.next_key, models };
        for client in engines.list() {
            next.add_device(&client);
            let before = self.named(&client.config().name).map(|(key, it)| (key, it.clone()));
            let tokens = match &before {
                Some((_, before)) => Arc::clone(&before.tokens),
                None => Arc::new(TokenCounters::new(&client.config().name)),
            };
            let (key, after) = match before {
                Some((key, before)) if client.succeeds(&before.client) => (key, before.after),
                before => {
                    next.next_key += 1;
                    (ReplicaKey(next.next_key - 1), before.map(|(_, before)| before.client))
                }
            };
            next.known.insert(key, Known { client, tokens, is_leaving: false, after });
        }
        next
    }

    /// The same without a replica that has left, and its client.
    pub(super) fn without(&self, key: ReplicaKey) -> (Self, Option<Arc<EngineClient>>) {
        let mut known = self.known.clone();
        let left = known.remove(&key).map(|it| it.client);
        // Its successor need not wait for it any more, nor keep what it started.
        let is_left = |it: &Arc<EngineClient>| left.as_ref().is_some_and(|left| Arc::ptr_eq(left, it));
        known.values_mut().for_each(|it| it.after = it.after.take().filter(|after| !is_left(after)));
        let (devices, models) = (self.devices.clone(), Arc::clone(&self.models));
        (Self { known, devices, next_key: self.next_key, models }, left)
    }

    pub(super) fn leaving(&self) -> impl Iterator<Item = ReplicaKey> {
        self.known.iter().filter(|(_, it)| it.is_leaving).map(|(key, _)| *key)
    }

    /// Whether the settings have a replica of this name.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    fn named(&self, name: &str) -> Option<(ReplicaKey, &Known)> {
        let mut known = self.known.iter().filter(|(_, it)| !it.is_leaving);
        known.find(|(_, it)| it.client.config().name == name).map(|(key, it)| (*key, it))
    }

    fn add_device(&mut self, client: &EngineClient) {
        let Some((device, _)) = client.config().device() else { return };
        let next = u32::try_from(self.devices.len()).map_or(DeviceKey(u32::MAX), DeviceKey);
        self.devices.entry(device.to_owned()).or_insert(next);
    }

    pub fn list(&self) -> Vec<Replica> {
        self.keyed().map(|(key, client)| self.describe(key, client)).collect()
    }

    /// The name under which nodes agree on its driver; `None` if only this node has it.
    pub fn shared_name(&self, key: ReplicaKey) -> Option<&str> {
        self.client(key)?.config().shared_name()
    }

    /// The names of all replicas that other nodes could drive.
    pub(super) fn shared_names(&self) -> Vec<String> {
        let names: BTreeSet<&str> =
            self.keyed().filter_map(|(_, client)| client.config().shared_name()).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    /// Includes leaving replicas.
    pub fn find_shared<'a>(&'a self, name: &'a str) -> impl Iterator<Item = ReplicaKey> + 'a {
        let is_named = move |it: &Known| it.client.config().shared_name() == Some(name);
        self.known.iter().filter(move |(_, it)| is_named(it)).map(|(key, _)| *key)
    }

    /// Only of replicas that are not always open.
    pub(super) fn hours(&self) -> impl Iterator<Item = (ReplicaKey, &WeeklyHours)> {
        self.keyed().filter_map(|(key, client)| Some((key, client.config().hours.as_ref()?)))
    }

    fn keyed(&self) -> impl Iterator<Item = (ReplicaKey, &Arc<EngineClient>)> {
        self.known.iter().filter(|(_, it)| !it.is_leaving).map(|(key, it)| (*key, &it.client))
    }

    fn describe(&self, key: ReplicaKey, client: &EngineClient) -> Replica {
        let names = client.config().models.keys();
        let models = names.filter_map(|name| self.models.find(name)).flat_map(|model| model.keys()).collect();
        let config = client.config();
        Replica {
            key,
            models,
            max_concurrency: config.max_concurrency,
            first_concurrency: config.first_concurrency,
            colocated_percent: config.colocated_percent(),
            rate_limits: config.rate_limits(),
            daily_limits: config.daily_limits(),
            process: self.process_rules(client),
        }
    }

    /// When its process is started and stopped, or its model loaded and unloaded, if the service does that.
    fn process_rules(&self, client: &EngineClient) -> Option<ProcessRules> {
        let config = client.config();
        let (start_after, idle_stop) = match &config.kind {
            EngineKind::Command(command) => (command.start_after, command.idle_stop),
            EngineKind::OpenAi(_) if config.holds_one_model() => (LOAD_AFTER, IDLE_MODEL),
            EngineKind::OpenAi(_) | EngineKind::Embedded(_) => return None,
        };
        let device = config.device();
        Some(ProcessRules {
            start_after_ms: start_after.0,
            idle_stop_ms: idle_stop.0,
            device: device.and_then(|(device, _)| self.devices.get(device).copied()),
            time_slice_ms: device.map_or(i64::MAX, |(_, time_slice)| time_slice.0),
        })
    }

    /// As [`EngineClient::start_process`], once nothing is left of the previous process of its name.
    pub(super) async fn start_process(&self, key: ReplicaKey) -> Result<(), NotReady> {
        let Some(Known { client, after, .. }) = self.known.get(&key) else {
            return Err(NotReady::Failed("the replica is not configured".to_owned()));
        };
        if let Some(before) = after {
            before.process_gone().await;
        }
        client.start_process().await
    }

    /// See [`EngineClient::process_ended`].
    pub(super) async fn process_ended(&self, key: ReplicaKey) -> Option<String> {
        self.client(key)?.process_ended().await
    }

    /// See [`EngineClient::stop_process`].
    pub(super) async fn stop_process(&self, key: ReplicaKey) -> Result<(), String> {
        match self.client(key) {
            Some(client) => client.stop_process().await,
            None => Ok(()),
        }
    }

    /// See [`EngineClient::process_gone`].
    pub(super) async fn process_gone(&self, key: ReplicaKey) {
        if let Some(client) = self.client(key) {
            client.process_gone().await;
        }
    }

    pub fn name(&self, key: ReplicaKey) -> &str {
        self.client(key).map_or("unknown", |client| &client.config().name)
    }

    /// Whether it is a model of an engine that holds one at a time.
    pub(super) fn holds_one_model(&self, key: ReplicaKey) -> bool {
        self.client(key).is_some_and(|client| client.config().holds_one_model())
    }

    /// Whether it is the key of a model, and not of an alias.
    pub(super) fn is_model(&self, key: ModelKey) -> bool {
        self.models.get(key).is_some_and(|model| model.key == key)
    }

    pub fn model_name(&self, key: ModelKey) -> &str {
        self.models.get(key).map_or("unknown", |model| &model.config.name)
    }

    pub(super) fn request_timeout_ms(&self, key: ReplicaKey) -> i64 {
        self.client(key).map_or(0, |client| client.config().request_timeout.0)
    }

    /// By our names.
    pub fn model_names(&self, key: ReplicaKey) -> Vec<String> {
        self.client(key).map_or_else(Vec::new, |client| client.config().models.keys().cloned().collect())
    }

    /// Sends a stored prompt to a replica, with its account's salt unless the model's cache is shared. A prompt without an output limit
    /// gets ours if it `is_limited`. The completion has its warnings.
    pub async fn complete(
        &self,
        key: ReplicaKey,
        model: ModelKey,
        prompt: &Prompt,
        is_limited: bool,
        account: &CacheSalt,
        traceparent: Option<&str>,
    ) -> Result<(Completion, Vec<Warning>), AttemptError> {
        let (Some(client), Some(model)) = (self.client(key), self.models.get(model)) else {
            return Err(AttemptError::Connect("the replica or the model is not configured".into()));
        };
        let body = Json::from_stored(&prompt.body).map_err(|error| AttemptError::Status {
            code: 400,
            message: format!("the stored request is damaged: {error}"),
            retry_after_ms: None,
        })?;
        let endpoint = prompt.endpoint;
        let is_limited = is_limited && endpoint.has_output();
        let max_tokens = is_limited.then(|| prompt.max_tokens.unwrap_or(model.config.default_max_tokens));
        let cache_salt = (!model.config.shared_cache).then_some(account);
        let asked = Asked {
            endpoint,
            model: &model.config.name,
            max_tokens,
            cache_salt,
            account: Some(account),
            traceparent,
            is_charged: model.price.is_some(),
            is_probe: false,
            body,
        };
        let mut completion = client.complete(asked).await?;
        if let Some(counters) = self.tokens(key) {
            counters.count(completion.usage, prompt);
        }
        let mut warnings = std::mem::take(&mut completion.warnings);
        match endpoint {
            Endpoint::ChatCompletions => warnings.extend(find_warnings(body, &completion)),
            Endpoint::Completions | Endpoint::Embeddings => {}
        }
        count_warnings(&client.config().name, &warnings);
        Ok((completion, warnings))
    }

    /// A replica's rates, for this process, in about the last minute before `now`.
    pub(super) fn rates(&self, key: ReplicaKey, now: i64) -> EngineRates {
        self.tokens(key).map_or_else(EngineRates::default, |counters| counters.rates(now))
    }

    pub(super) fn prefix_cache(&self, key: ReplicaKey) -> PrefixCacheState {
        let tokens = self.client(key).and_then(|client| client.cache_tokens());
        let counters = self.tokens(key);
        counters.map_or_else(PrefixCacheState::default, |counters| counters.prefix_cache(tokens))
    }

    /// `None` if the replica does not report it.
    pub async fn load(&self, key: ReplicaKey) -> Option<EngineLoad> {
        self.client(key)?.load().await
    }

    /// Whether a replica completes a tiny prompt with this model.
    pub async fn probe(&self, key: ReplicaKey, model: ModelKey) -> ProbeOutcome {
        match (self.client(key), self.models.get(model)) {
            (Some(client), Some(model)) => client.probe(&model.config.name, model.price.is_some()).await,
            _ => ProbeOutcome::Failed("the replica or the model is not configured".into()),
        }
    }

    fn client(&self, key: ReplicaKey) -> Option<&Arc<EngineClient>> {
        self.known.get(&key).map(|it| &it.client)
    }

    fn tokens(&self, key: ReplicaKey) -> Option<&TokenCounters> {
        self.known.get(&key).map(|it| &*it.tokens)
    }
}

fn count_warnings(engine: &str, warnings: &[Warning]) {
    for warning in warnings {
        let engine = engine.to_owned();
        if let Some(field) = warning.ignored_field() {
            metrics::counter!("overnight_engine_ignored_fields_total", "engine" => engine, "field" => field)
                .increment(1);
        } else if let Some(part) = warning.odd_part() {
            metrics::counter!("overnight_engine_odd_answers_total", "engine" => engine, "part" => part)
                .increment(1);
        }
    }
}
