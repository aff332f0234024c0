//! What forecasts are made from: the queue, its sweep and the engines, as this process knows them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::forecast::{EngineTime, QueueOutlook};
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::{ModelKey, QueuePartition, SURVEY_MAX};

use super::paces::Paces;
use super::{Forecast, WAIT};
use crate::app::engines::{self, EngineReport};
use crate::app::errors::AppError;
use crate::app::{ReadsFor, Services, SweepState};
use crate::store::queue::outlook::{self, AccountQueue};

/// The scheduler is asked no longer than this: a process may have none.
const ASK: Duration = Duration::from_secs(2);
/// Requests that a scan brings, where nodes share the queue.
const WINDOW: f64 = 64.0;
/// How old what is known of the queue may be.
const BEFORE_MS: i64 = 3_600_000;
/// How far ahead the hours of engines are looked up: nothing waits longer.
const AHEAD_MS: i64 = 2 * COMPLETION_WINDOW_MS;

impl Forecast<'_> {
    /// The engines and the queue; `None` where no engine is in use, or too little is known.
    pub(super) async fn known(&self) -> Result<Option<(Vec<EngineTime>, Arc<QueueOutlook>)>, AppError> {
        let engines = self.engines().await?;
        if engines.is_empty() {
            return Ok(None);
        }
        Ok(self.outlook().await?.map(|outlook| (engines, outlook)))
    }

    /// The engines of the model that are in use, and those that will open.
    async fn engines(&self) -> Result<Vec<EngineTime>, AppError> {
        let reports = engines::recent(self.services).await?;
        let serving = self.serving(&reports);
        let now = self.services.clock.now();
        Ok(serving.filter(|it| it.engine.pause.is_none()).map(|it| self.time_of(it, now)).collect())
    }

    /// What is known of the engines that serve the model.
    fn serving<'r>(&self, reports: &'r [EngineReport]) -> impl Iterator<Item = &'r EngineReport> + use<'r> {
        let name = self.services.models.iter().find(|it| it.key == self.partition.model);
        let name = name.map(|model| model.config.name.clone());
        let serves =
            move |it: &&EngineReport| it.engine.models.iter().any(|served| Some(served) == name.as_ref());
        reports.iter().filter(|it| it.engine.is_driven).filter(serves)
    }

    fn time_of(&self, report: &EngineReport, now: i64) -> EngineTime {
        let slots = report.engine.max_concurrency as f64;
        let config = self.services.config.engines.iter().find(|it| it.name == report.engine.name);
        let open = match config.and_then(|config| config.hours.as_ref()) {
            Some(hours) => hours.stretches(now - BEFORE_MS, now + AHEAD_MS),
            None => vec![(report.engine.closed_until.unwrap_or(i64::MIN), i64::MAX)],
        };
        EngineTime { slots, open }
    }

    /// What waits, as it was seen a second ago, or so many times as long ago as it took.
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
        let segments = state.segments.clone();
        let least_slot_ms = state.least_slot_ms.unwrap_or(0.0);
        let Some(paces) = Paces::new(state) else { return Ok(None) };
        let own = queues.iter().find(|it| it.account == account);
        let own_pace = paces.of(account);
        let at = services.clock.now();
        let (mut marks, shared) =
            outlook::marks(&services.store, self.partition, own.map_or(0, |it| it.waiting)).await?;
        marks.iter_mut().for_each(|mark| mark.cost *= own_pace.used_part);
        let beside = self.other_models().await?;
        let leased = queues.iter().map(|it| it.leased as f64).sum::<f64>();
        let leased_ms = queues.iter().map(|it| paces.leased_ms(it)).sum::<f64>();
        let others = queues.iter().filter(|it| it.account != account);
        let waiting: f64 = marks.iter().map(|mark| mark.cost).sum();
        let mean_cost = waiting / own.map_or(1.0, |it| it.waiting.max(1) as f64);
        Ok(Some(Arc::new(QueueOutlook {
            at,
            marks,
            slot_ms: own_pace.slot_ms,
            request_ms: own_pace.request_ms,
            most_part: own_pace.most_part,
            least_slot_ms,
            window_cost: if services.store.is_shared() { WINDOW * mean_cost } else { 0.0 },
            segments: if services.store.is_shared() { shared } else { segments },
            survey_cost: f64::from(SURVEY_MAX) * mean_cost,
            leased: leased + beside.leased,
            leased_ms: leased_ms + beside.leased_ms,
            other_accounts: others.map(|it| paces.work(it)).collect(),
            other_models_ms: beside.waiting_ms,
        })))
    }

    async fn other_models(&self) -> Result<OtherModels, AppError> {
        let reports = engines::recent(self.services).await?;
        let mut beside = OtherModels::default();
        for model in self.services.models.iter().filter(|it| it.key != self.partition.model) {
            let is_beside = |it: &EngineReport| it.engine.models.contains(&model.config.name);
            if !self.serving(&reports).any(is_beside) {
                continue;
            }
            let partition = QueuePartition { model: model.key, account: self.partition.account };
            let paces = self.ask(partition).await.and_then(Paces::new);
            let Some(paces) = paces else { continue };
            let queues = queues(self.services, model.key).await?;
            beside.leased += queues.iter().map(|it| it.leased as f64).sum::<f64>();
            beside.leased_ms += queues.iter().map(|it| paces.leased_ms(it)).sum::<f64>();
            beside.waiting_ms.push(queues.iter().map(|it| paces.work(it).ms()).sum());
        }
        Ok(beside)
    }

    async fn ask(&self, partition: QueuePartition) -> Option<SweepState> {
        tokio::time::timeout(ASK, self.services.signals.ask(partition)?).await.ok()?.ok()
    }
}

/// How much waits for a model, by account; the last count where a new one takes long.
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
    // For all accounts, so it does not wait for the turn of the one that asks.
    ReadsFor::Service.scope(async move { Ok(outlook::accounts(&store, model).await?.into()) }).boxed()
}

/// What is worked on of the other models of the same engines.
#[derive(Default)]
struct OtherModels {
    /// Requests that are leased.
    leased: f64,
    /// For how many milliseconds they take a slot.
    leased_ms: f64,
    /// For how many milliseconds what waits for each takes a slot.
    waiting_ms: Vec<f64>,
}
