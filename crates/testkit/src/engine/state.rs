//! State that all connections of one engine share.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::mpsc::UnboundedSender;

use super::config::{Overload, SimConfig, Speed, Tunables};
use super::driver::Driver;
use super::faults::FaultRates;
use super::gate::Gate;
use super::holder::Holder;
use super::metrics::Metrics;
use super::recorder::{Ending, Recorder};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Die as a killed process does, and listen again after this time.
    Die {
        ms: u64,
    },
    Stop,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) config: SimConfig,
    pub(super) recorder: Recorder,
    pub(super) metrics: Metrics,
    pub(super) gate: Gate,
    pub(super) holder: Holder,
    pub(super) driver: Option<Driver>,
    pub(super) commands: UnboundedSender<Command>,
    tunables: RwLock<(Tunables, Arc<Settings>)>,
}

/// The tunables in the form that request handlers need.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) models: Vec<Model>,
    pub(super) owned_by: Option<String>,
    pub(super) counts_one_choice: bool,
    pub(super) ignores_fields: bool,
    pub(super) lists_context: bool,
    pub(super) takes_cache_salt: bool,
    refused_fields: Vec<(&'static str, &'static str)>,
    pub(super) missing_paths: Vec<&'static str>,
    pub(super) unknown_model_status: u16,
    /// The whole `Authorization` header that is required.
    pub(super) authorization: Option<String>,
    pub(super) is_healthy: bool,
    pub(super) reports_metrics: bool,
    pub(super) load_ms: Option<u64>,
    pub(super) base_latency_ms: u64,
    pub(super) waiting_max: usize,
    pub(super) overload: Overload,
    pub(super) faults: FaultRates,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) quoted: String,
}

impl Settings {
    /// The message that refuses a body for one of its fields.
    pub(super) fn refusal_of_field(&self, body: &[u8]) -> Option<&'static str> {
        if self.refused_fields.is_empty() {
            return None;
        }
        let body: serde_json::Value = serde_json::from_slice(body).ok()?;
        let refused = self.refused_fields.iter().find(|(field, _)| body.get(field).is_some());
        refused.map(|(_, message)| *message)
    }

    fn new(tunables: &Tunables) -> Arc<Self> {
        let quote = |name: &String| serde_json::Value::from(name.as_str()).to_string();
        let models = tunables.models.iter().map(|name| Model { name: name.clone(), quoted: quote(name) });
        Arc::new(Self {
            models: models.collect(),
            owned_by: tunables.owned_by.clone(),
            counts_one_choice: tunables.counts_one_choice,
            ignores_fields: tunables.ignores_fields,
            lists_context: tunables.lists_context,
            takes_cache_salt: tunables.takes_cache_salt,
            refused_fields: tunables.refused_fields.clone(),
            missing_paths: tunables.missing_paths.clone(),
            unknown_model_status: tunables.unknown_model_status,
            authorization: tunables.api_key.as_ref().map(|key| format!("Bearer {key}")),
            is_healthy: tunables.healthy,
            reports_metrics: tunables.reports_metrics,
            base_latency_ms: tunables.base_latency_ms,
            waiting_max: tunables.waiting_max,
            overload: tunables.overload,
            load_ms: tunables.load_ms,
            faults: tunables.faults.clone(),
        })
    }
}

impl State {
    pub(super) fn new(config: SimConfig, commands: UnboundedSender<Command>) -> Arc<Self> {
        let running_max = config.tunables.running_max;
        let driver = match &config.speed {
            Speed::Instant => None,
            Speed::Modelled(cost) => Some(Driver::new(cost.clone(), running_max)),
        };
        Arc::new(Self {
            recorder: Recorder::default(),
            metrics: Metrics::default(),
            gate: Gate::new(running_max),
            holder: Holder::default(),
            driver,
            commands,
            tunables: RwLock::new((config.tunables.clone(), Settings::new(&config.tunables))),
            config,
        })
    }

    pub(super) fn tunables(&self) -> Arc<Settings> {
        Arc::clone(&self.tunables.read().unwrap_or_else(PoisonError::into_inner).1)
    }

    pub(super) fn tune(&self, change: impl FnOnce(&mut Tunables)) {
        let mut tunables = self.tunables.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut tunables.0);
        tunables.1 = Settings::new(&tunables.0);
        self.gate.resize(tunables.0.running_max);
        if let Some(driver) = &self.driver {
            driver.resize(tunables.0.running_max);
        }
    }

    /// Forgets the state that dies with a process: the cache, the batch, the metrics.
    pub(super) fn reset(&self) {
        self.metrics.reset();
        self.holder.reset();
        if let Some(driver) = &self.driver {
            driver.reset();
        }
    }
}

/// A request inside the engine. If it is dropped without an end, its client aborted it or the engine died.
#[derive(Debug)]
pub(super) struct Visit {
    state: Arc<State>,
    ending: Option<Ending>,
}

impl Visit {
    /// Must directly follow [`Recorder::arrive`].
    pub(super) fn begin(state: &Arc<State>) -> Self {
        Self { state: Arc::clone(state), ending: None }
    }

    pub(super) fn end(mut self, ending: Ending) {
        self.ending = Some(ending);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.state.recorder.depart(self.ending);
        if self.ending.is_none() {
            self.state.metrics.count_abort();
        }
    }
}
