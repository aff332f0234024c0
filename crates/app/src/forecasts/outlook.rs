//! The inputs of forecasts: the queue, its sweep and the engines, as this process knows them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::forecast::{AccountOrder, AccountQueue, EngineTime, ModelQueue, QueueOutlook};
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::{ModelKey, QueuePartition};
use overnight_store::queue::{counts, outlook};

use super::{Forecast, WAIT};
use crate::engines::{self, EngineReport, Out, Why};
use crate::errors::AppError;
use crate::{ReadsFor, Services, SweepState};

/// The maximum wait for the scheduler: a process may have none.
const ASK: Duration = Duration::from_secs(2);
/// Requests per scan if nodes share the queue.
const WINDOW: u32 = 64;
/// The maximum age of knowledge of the queue.
const BEFORE_MS: i64 = 3_600_000;
/// How far ahead the opening hours of engines are considered; requests wait no longer.
const AHEAD_MS: i64 = 2 * COMPLETION_WINDOW_MS;

impl Forecast<'_> {
    /// `None` if no engine is in use, or too little is known.
    pub(super) async fn known(&self) -> Result<Option<(Vec<EngineTime>, Arc<QueueOutlook>)>, AppError> {
        let engines = self.engines().await?;
        if engines.is_empty() {
            return Ok(None);
        }
        Ok(self.outlook().await?.map(|outlook| (engines, outlook)))
    }

    /// The engines of the model that are in use or will open.
    async fn engines(&self) -> Result<Vec<EngineTime>, AppError> {
        let reports = engines::recent(self.services).await?;
        let now = self.services.clock.now();
        Ok(self.serving(&reports).filter_map(|it| self.time_of(it, now)).collect())
    }

    fn model_name(&self) -> String {
        self.services.models().get(self.partition.model).map_or_else(String::new, |it| it.config.name.clone())
    }

    /// The reports of the engines that serve the model.
    fn serving<'r>(&self, reports: &'r [EngineReport]) -> impl Iterator<Item = &'r EngineReport> {
        let model = self.model_name();
        reports.iter().filter(move |it| it.engine.is_driven && it.engine.serves(&model))
    }

    /// `None` if the engine is paused for the model, or is stopped and its start cannot be estimated.
    fn time_of(&self, report: &EngineReport, now: i64) -> Option<EngineTime> {
        let out = report.engine.out_for(&self.model_name());
        let ready_at = match out {
            Some(Out { why: Why::Paused(_), .. } | Out { why: Why::Stopped, until: None }) => return None,
            // The next day has its own budget.
            Some(Out { why: Why::Stopped | Why::OverBudget, until: Some(at) }) => at,
            _ => i64::MIN,
        };
        let slots = report.engine.max_concurrency as f64;
        let config = self.services.config();
        let config = config.engine_of(&report.engine.name);
        let open = match config.and_then(|config| config.hours.as_ref()) {
            Some(hours) => hours.stretches(now - BEFORE_MS, now + AHEAD_MS),
            None => vec![(out.and_then(|it| it.until).unwrap_or(i64::MIN), i64::MAX)],
        };
        let open = open.into_iter().map(|(from, to)| (from.max(ready_at), to)).filter(|(from, to)| from < to);
        let open = open.collect();
        Some(EngineTime { slots, open })
    }

    /// The waiting requests, at least a second old, or a multiple of the time that the scan takes.
    async fn outlook(&self) -> Result<Option<Arc<QueueOutlook>>, AppError> {
        let (services, partition) = (self.services.clone(), self.partition);
        let outlook = async move { Forecast { services: &services, partition }.look().await };
        let services = self.services;
        let known =
            services.live_counts.outlooks.get_within(WAIT, partition, &services.clock, Box::pin(outlook));
        Ok(known.await?.flatten())
    }

    async fn look(&self) -> Result<Option<Arc<QueueOutlook>>, AppError> {
        let (services, QueuePartition { model, account }) = (self.services, self.partition);
        let queues = queues(services, model).await?;
        let Some(state) = self.ask(self.partition).await else { return Ok(None) };
        let (swept, portion) = (state.segments.clone(), state.portion);
        let Some(queue) = model_queue(&queues, state) else { return Ok(None) };
        let at = services.clock.now();
        let waiting = queues.iter().find(|it| it.account == account).map_or(0, |it| it.waiting);
        let (marks, shared) = outlook::marks(&services.store, self.partition, waiting).await?;
        let order = match services.store.is_shared() {
            true => AccountOrder { marks, segments: shared, window: WINDOW, portion },
            false => AccountOrder { marks, segments: swept, window: 0, portion },
        };
        Ok(Some(Arc::new(queue.outlook(account, order, &self.beside().await?, at))))
    }

    /// Other models of the same engines, if their speed is known.
    async fn beside(&self) -> Result<Vec<ModelQueue>, AppError> {
        let reports = engines::recent(self.services).await?;
        let mut beside = Vec::new();
        let models = self.services.models();
        for model in models.iter() {
            let is_beside = |it: &EngineReport| it.engine.serves(&model.config.name);
            if !self.serving(&reports).any(is_beside) {
                continue;
            }
            for key in model.keys().filter(|key| *key != self.partition.model) {
                let partition = QueuePartition { model: key, account: self.partition.account };
                let Some(state) = self.ask(partition).await else { continue };
                let queues = queues(self.services, key).await?;
                beside.extend(model_queue(&queues, state));
            }
        }
        Ok(beside)
    }

    async fn ask(&self, partition: QueuePartition) -> Option<SweepState> {
        tokio::time::timeout(ASK, self.services.signals.ask(partition)?).await.ok()?.ok()
    }
}

fn model_queue(queues: &[AccountQueue], state: SweepState) -> Option<ModelQueue> {
    ModelQueue::new(queues.to_vec(), state.paces, state.least_slot_ms)
}

/// Waiting work of a model by account; the previous count if a new one takes long.
pub(super) async fn recent_queues(
    services: &Services,
    model: ModelKey,
) -> Result<Option<Arc<[AccountQueue]>>, AppError> {
    let count = count(services, model);
    services.live_counts.queues.get_within(WAIT, model, &services.clock, count).await
}

async fn queues(services: &Services, model: ModelKey) -> Result<Arc<[AccountQueue]>, AppError> {
    services.live_counts.queues.get(model, &services.clock, count(services, model)).await
}

fn count(services: &Services, model: ModelKey) -> BoxFuture<'static, Result<Arc<[AccountQueue]>, AppError>> {
    let store = services.store.clone();
    // The answer is for all accounts, so it does not wait for the turn of one.
    let count = async move { Ok(counts::of_model(&store, model).await?.iter().map(|it| it.queue).collect()) };
    ReadsFor::Service.scope(count).boxed()
}
