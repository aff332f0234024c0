//! When requests and batches will have been completed, as far as anybody can tell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::forecast::{EngineTime, QueueOutlook, Subject, Work};
use overnight_domain::ids::RequestId;
use overnight_domain::records::{BatchRecord, RequestSummary};
use overnight_domain::requests::{COMPLETION_WINDOW_MS, RequestState};
use overnight_domain::scheduler::{AccountKey, ModelKey, Pace, QueuePartition};

use super::engines::{self, EngineReport};
use super::errors::AppError;
use super::{ReadsFor, Services, SweepState};
use crate::store::queue::outlook::{self, AccountQueue};
use crate::store::requests::{self, LiveRequest};

/// The scheduler is asked no longer than this: a process may have none.
const ASK: Duration = Duration::from_secs(2);
/// A client waits no longer for a forecast: the last one is nearly as good.
const WAIT: Duration = Duration::from_millis(200);
/// Requests that a scan brings, where nodes share the queue.
const WINDOW: f64 = 64.0;
/// How old what is known of the queue may be.
const BEFORE_MS: i64 = 3_600_000;
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
            forecast.of(request.id, None).await?.map(|at| at.saturating_add(gathers_ms))
        }
        RequestState::Queued => forecast.of(request.id, None).await?,
        RequestState::InProgress { in_progress_at } => forecast.of(request.id, Some(in_progress_at)).await?,
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
    let sample = async move { Ok(requests::sample_live(&store, account, batch).await?.into()) };
    let sample = services.live_counts.samples.get_within(WAIT, batch, &services.clock, Box::pin(sample));
    let Some(sample) = sample.await? else { return Ok(None) };
    let mut by_model: BTreeMap<ModelKey, Vec<LiveRequest>> = BTreeMap::new();
    sample.iter().for_each(|it| by_model.entry(it.model).or_default().push(it.clone()));
    let mut last = None;
    for (model, sampled) in by_model {
        let forecast = Forecast { services, partition: QueuePartition { model, account } };
        let Some(at) = forecast.of_last(&sampled, None).await? else { return Ok(None) };
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
    if services.store.is_advance_held() {
        return Ok(None);
    }
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
    let latest = services.clock.now().saturating_add(COMPLETION_WINDOW_MS);
    Ok(last.map(|at| at.min(latest)))
}

/// What an account's requests to a model wait for.
struct Forecast<'a> {
    services: &'a Services,
    partition: QueuePartition,
}

impl Forecast<'_> {
    /// Of one request, which was first sent to an engine then, if it was.
    async fn of(&self, id: RequestId, sent_at: Option<i64>) -> Result<Option<i64>, AppError> {
        let live = requests::find_live(&self.services.store, self.partition.account, id).await?;
        let Some(live) = live else { return Ok(None) };
        self.of_last(&[live], sent_at).await
    }

    /// Of the last of several, none later than it expires.
    async fn of_last(&self, requests: &[LiveRequest], sent_at: Option<i64>) -> Result<Option<i64>, AppError> {
        let Some((engines, outlook)) = self.known().await? else { return Ok(None) };
        let now = self.services.clock.now();
        // One that was sent long ago was probably sent again.
        let sent_at = sent_at.filter(|at| (now - at) as f64 <= outlook.request_ms).unwrap_or(now);
        let at = |request: &LiveRequest| {
            let subject = match request.is_leased {
                true => Subject::Sent(sent_at),
                false => Subject::Waiting(&request.position),
            };
            let again_at = outlook.completed_at(&engines, Subject::Sent(request.retry_at))?;
            let at = outlook.completed_at(&engines, subject)?.max(again_at);
            Some(at.min(request.deadline))
        };
        let last = requests.iter().try_fold(now, |last, request| Some(last.max(at(request)?)));
        Ok(last.map(|at| rounded(at, now)))
    }

    /// Of all that waits.
    async fn of_all(&self) -> Result<Option<i64>, AppError> {
        let Some((engines, outlook)) = self.known().await? else { return Ok(None) };
        let now = self.services.clock.now();
        Ok(outlook.completed_at(&engines, Subject::All).map(|at| rounded(at.max(now), now)))
    }

    /// The engines and the queue; `None` where no engine is in use, or too little is known.
    async fn known(&self) -> Result<Option<(Vec<EngineTime>, Arc<QueueOutlook>)>, AppError> {
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
            slots: paces.slots(account),
            window_cost: if services.store.is_shared() { WINDOW * mean_cost } else { 0.0 },
            segments: if services.store.is_shared() { shared } else { segments },
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

/// A time a little later than it is, so that it tells little of what others do and stays the same from one look to the next: by a
/// fortieth of what is left at most, in whole seconds.
fn rounded(at: i64, now: i64) -> i64 {
    const STEPS_S: [i64; 9] = [1_800, 600, 300, 120, 60, 30, 10, 5, 1];
    let left_s = (at - now) / 1_000;
    let step_ms = 1_000 * STEPS_S.into_iter().find(|step| step * 40 <= left_s).unwrap_or(1);
    at.saturating_add(step_ms - 1) / step_ms * step_ms
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

/// What requests to a model take, and who has some in flight. Those of accounts of which it is not known take what the others' do in the
/// mean.
struct Paces {
    known: BTreeMap<AccountKey, Pace>,
    mean: Pace,
    in_flight: BTreeMap<AccountKey, usize>,
}

impl Paces {
    /// `None` where nothing is known.
    fn new(SweepState { paces: known, in_flight, .. }: SweepState) -> Option<Self> {
        let count = known.len() as f64;
        let mean = |of: fn(&Pace) -> f64| known.iter().map(|(_, pace)| of(pace)).sum::<f64>() / count;
        let mean = Pace {
            used_part: mean(|it| it.used_part),
            slot_ms: mean(|it| it.slot_ms),
            request_ms: mean(|it| it.request_ms),
        };
        (!known.is_empty()).then(|| Self { known: known.into_iter().collect(), mean, in_flight })
    }

    fn of(&self, account: AccountKey) -> Pace {
        self.known.get(&account).copied().unwrap_or(self.mean)
    }

    /// Slots of this process's engines that its requests take now.
    fn slots(&self, account: AccountKey) -> f64 {
        self.in_flight.get(&account).copied().unwrap_or(0) as f64
    }

    fn work(&self, queue: &AccountQueue) -> Work {
        let Pace { used_part, slot_ms, .. } = self.of(queue.account);
        Work { cost: queue.waiting_cost as f64 * used_part, slot_ms, slots: self.slots(queue.account) }
    }

    fn leased_ms(&self, queue: &AccountQueue) -> f64 {
        let Pace { used_part, slot_ms, .. } = self.of(queue.account);
        queue.leased_cost as f64 * used_part * slot_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_up_by_a_fortieth_of_what_is_left_at_most() {
        for (left_ms, expected_ms) in [
            (0, 0),
            (1, 1_000),
            (39_001, 40_000),
            (400_001, 410_000),
            (3_600_000, 3_600_000),
            (3_600_001, 3_660_000),
            (86_399_999, 86_400_000),
        ] {
            assert_eq!(rounded(left_ms, 0), expected_ms, "{left_ms}");
        }
    }
}
