//! When requests and batches will have been completed, as far as anybody can tell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::forecast::{EngineTime, Pace, QueueOutlook, Work, done_at};
use overnight_domain::ids::RequestId;
use overnight_domain::records::{BatchRecord, RequestSummary};
use overnight_domain::requests::{COMPLETION_WINDOW_MS, RequestState};
use overnight_domain::scheduler::{AccountKey, ModelKey, Position, QueuePartition};

use super::engines::{self, EngineReport};
use super::errors::AppError;
use super::{Services, SweepState};
use crate::store::batches::{self, Sampled};
use crate::store::queue::outlook::{self, AccountQueue};
use crate::store::requests;

/// The scheduler is asked no longer than this: a process may have none.
const ASK: Duration = Duration::from_secs(2);
/// A client waits no longer for a forecast: the last one is nearly as good.
const WAIT: Duration = Duration::from_millis(200);
/// How far ahead the hours of engines are looked up: nothing waits longer.
const AHEAD_MS: i64 = 2 * COMPLETION_WINDOW_MS;

/// When a request will have been completed, in milliseconds; `None` of one that has ended, and where nobody can tell: no engine of its
/// model is in use, or too few of its requests have been completed yet to know what they take. Never later than it expires.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn of_request(
    services: &Services,
    account: AccountKey,
    model: &str,
    request: &RequestSummary,
) -> Result<Option<i64>, AppError> {
    let Some(model) = services.models.find(model).map(|model| model.key) else { return Ok(None) };
    let forecast = Forecast { services, partition: QueuePartition { model, account } };
    let at = match request.state {
        RequestState::Gathering { ready_at } => {
            let gathers_ms = (ready_at - services.clock.now()).max(0);
            forecast.of_place(request.id).await?.map(|at| at.saturating_add(gathers_ms))
        }
        RequestState::Queued => forecast.of_place(request.id).await?,
        RequestState::InProgress { in_progress_at } => forecast.of_leased(in_progress_at).await?,
        _ => None,
    };
    Ok(at.map(|at| at.min(request.expires_at)))
}

/// When the last request of a batch will have been completed, in milliseconds, as that of a request; by some of its requests that
/// stand for all of them.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn of_batch(
    services: &Services,
    account: AccountKey,
    batch: &BatchRecord,
) -> Result<Option<i64>, AppError> {
    if batch.counters.live() == 0 || services.store.is_advance_held() {
        return Ok(None);
    }
    let (batch, _) = super::batches::find(services, account, batch.id).await?;
    let store = services.store.clone();
    let sample = async move { Ok(batches::sample_live(&store, account, batch).await?.into()) };
    let sample = services.live_counts.samples.get_within(WAIT, batch, &services.clock, Box::pin(sample));
    let Some(sample) = sample.await? else { return Ok(None) };
    let mut by_model: BTreeMap<ModelKey, Vec<&Sampled>> = BTreeMap::new();
    sample.iter().for_each(|it| by_model.entry(it.model).or_default().push(it));
    let mut last = None;
    for (model, sampled) in by_model {
        let forecast = Forecast { services, partition: QueuePartition { model, account } };
        let places = sampled.iter().map(|it| Some(&it.position).filter(|_| !it.is_leased));
        let Some(at) = forecast.of_last(places).await? else { return Ok(None) };
        last = last.max(Some(at));
    }
    Ok(last)
}

/// When all that an account's requests wait for will have been completed, in milliseconds, as that of a request.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn of_account(services: &Services, account: AccountKey) -> Result<Option<i64>, AppError> {
    let mut last = None;
    for model in services.models.iter() {
        let has_work = |it: &AccountQueue| it.account == account;
        let queues = services.live_counts.queues.get_within(
            WAIT,
            model.key,
            &services.clock,
            count(services, model.key),
        );
        let Some(queues) = queues.await? else { return Ok(None) };
        if !queues.iter().any(has_work) {
            continue;
        }
        let forecast = Forecast { services, partition: QueuePartition { model: model.key, account } };
        let Some(at) = forecast.of_all().await? else { return Ok(None) };
        last = last.max(Some(at));
    }
    Ok(last)
}

/// What an account's requests to a model wait for.
struct Forecast<'a> {
    services: &'a Services,
    partition: QueuePartition,
}

impl Forecast<'_> {
    async fn of_place(&self, id: RequestId) -> Result<Option<i64>, AppError> {
        let position = requests::find_position(&self.services.store, self.partition.account, id).await?;
        self.of_last(position.as_ref().into_iter().map(Some)).await
    }

    /// Of a request that is with an engine: it takes as long as all that is leased takes to be replaced.
    async fn of_leased(&self, since: i64) -> Result<Option<i64>, AppError> {
        let now = self.services.clock.now();
        let engines = self.engines().await?;
        let Some(outlook) = self.outlook().await? else { return Ok(None) };
        Ok(done_at(&engines, since, outlook.leased_ms).map(|at| at.max(now)))
    }

    async fn of_all(&self) -> Result<Option<i64>, AppError> {
        let engines = self.engines().await?;
        let Some(outlook) = self.outlook().await? else { return Ok(None) };
        self.until(&engines, &outlook, outlook.slot_ms_until(None, engines.len()))
    }

    /// Of the last of the requests at these places, `None` where one is with an engine.
    async fn of_last<'p>(
        &self,
        places: impl Iterator<Item = Option<&'p Position>> + Send,
    ) -> Result<Option<i64>, AppError> {
        let places: Vec<_> = places.collect();
        let engines = self.engines().await?;
        let Some(outlook) = self.outlook().await? else { return Ok(None) };
        let slot_ms = |place: Option<&Position>| match place {
            Some(place) => outlook.slot_ms_until(Some(place), engines.len()),
            None => outlook.leased_ms,
        };
        self.until(&engines, &outlook, places.into_iter().map(slot_ms).fold(0.0, f64::max))
    }

    #[expect(clippy::unnecessary_wraps, reason = "what its callers return")]
    fn until(
        &self,
        engines: &[EngineTime],
        outlook: &QueueOutlook,
        slot_ms: f64,
    ) -> Result<Option<i64>, AppError> {
        let now = self.services.clock.now();
        Ok(done_at(engines, outlook.at, slot_ms).map(|at| at.max(now)))
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
            Some(hours) => hours.stretches(now, now + AHEAD_MS),
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
        let Some(SweepState { segments, paces }) = self.ask(self.partition).await else { return Ok(None) };
        let Some(paces) = Paces::new(paces) else { return Ok(None) };
        let own = queues.iter().find(|it| it.account == account);
        let own_pace = paces.of(account);
        let at = services.clock.now();
        let (mut marks, shared) =
            outlook::marks(&services.store, self.partition, own.map_or(0, |it| it.waiting)).await?;
        marks.iter_mut().for_each(|mark| mark.cost *= own_pace.used_part);
        let (mut leased_ms, other_models_ms) = self.other_models().await?;
        leased_ms += queues.iter().map(|it| paces.leased_ms(it)).sum::<f64>();
        let others = queues.iter().filter(|it| it.account != account);
        Ok(Some(Arc::new(QueueOutlook {
            at,
            marks,
            slot_ms: own_pace.slot_ms,
            slots: own.map_or(0.0, |it| it.leased as f64),
            segments: if services.store.is_shared() { shared } else { segments },
            leased_ms,
            other_accounts: others.map(|it| paces.work(it)).collect(),
            other_models_ms,
        })))
    }

    /// What is leased of the other models of the same engines, and what waits for each: for how long it takes a slot.
    async fn other_models(&self) -> Result<(f64, Vec<f64>), AppError> {
        let reports = engines::recent(self.services).await?;
        let (mut leased_ms, mut waiting_ms) = (0.0, Vec::new());
        for model in self.services.models.iter().filter(|it| it.key != self.partition.model) {
            let is_beside = |it: &EngineReport| it.engine.models.contains(&model.config.name);
            if !self.serving(&reports).any(is_beside) {
                continue;
            }
            let partition = QueuePartition { model: model.key, account: self.partition.account };
            let paces = self.ask(partition).await.and_then(|it| Paces::new(it.paces));
            let Some(paces) = paces else { continue };
            let queues = queues(self.services, model.key).await?;
            leased_ms += queues.iter().map(|it| paces.leased_ms(it)).sum::<f64>();
            waiting_ms.push(queues.iter().map(|it| paces.work(it).ms()).sum());
        }
        Ok((leased_ms, waiting_ms))
    }

    async fn ask(&self, partition: QueuePartition) -> Option<SweepState> {
        tokio::time::timeout(ASK, self.services.signals.ask(partition)).await.ok()?.ok()
    }
}

async fn queues(services: &Services, model: ModelKey) -> Result<Arc<[AccountQueue]>, AppError> {
    services.live_counts.queues.get(model, &services.clock, count(services, model)).await
}

fn count(services: &Services, model: ModelKey) -> BoxFuture<'static, Result<Arc<[AccountQueue]>, AppError>> {
    let store = services.store.clone();
    async move { Ok(outlook::accounts(&store, model).await?.into()) }.boxed()
}

/// What requests to a model take: of accounts of which it is not known, as much as in the mean of the others.
struct Paces {
    known: BTreeMap<AccountKey, Pace>,
    mean: Pace,
}

impl Paces {
    /// `None` where nothing is known.
    fn new(known: Vec<(AccountKey, Pace)>) -> Option<Self> {
        let count = known.len() as f64;
        let mean = |of: fn(&Pace) -> f64| known.iter().map(|(_, pace)| of(pace)).sum::<f64>() / count;
        let mean = Pace { used_part: mean(|it| it.used_part), slot_ms: mean(|it| it.slot_ms) };
        (!known.is_empty()).then(|| Self { known: known.into_iter().collect(), mean })
    }

    fn of(&self, account: AccountKey) -> Pace {
        self.known.get(&account).copied().unwrap_or(self.mean)
    }

    fn work(&self, queue: &AccountQueue) -> Work {
        let Pace { used_part, slot_ms } = self.of(queue.account);
        Work { cost: queue.waiting_cost as f64 * used_part, slot_ms, slots: queue.leased as f64 }
    }

    fn leased_ms(&self, queue: &AccountQueue) -> f64 {
        let Pace { used_part, slot_ms } = self.of(queue.account);
        queue.leased_cost as f64 * used_part * slot_ms
    }
}
