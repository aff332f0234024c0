//! Estimates of when requests and batches will have been completed.

mod outlook;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use overnight_domain::forecast::{AccountQueue, Subject};
use overnight_domain::ids::BatchId;
use overnight_domain::records::{BatchRecord, RequestSummary};
use overnight_domain::requests::{COMPLETION_WINDOW_MS, RequestState};
use overnight_domain::scheduler::{AccountKey, ModelKey, QueuePartition};
use overnight_store::requests::{self, LiveRequest};

use self::outlook::recent_queues;
use super::Services;
use super::errors::AppError;
use super::settings::Model;

/// After this time a client gets the previous forecast, which is nearly as good.
const WAIT: Duration = Duration::from_millis(200);

/// The estimated completion time of a request, in milliseconds, not after it expires. `None` if it has ended, no engine of its model is in
/// use, or too few of its requests have completed to know how long they take.
pub async fn of_request(
    services: &Services,
    account: AccountKey,
    request: &RequestSummary,
) -> Result<Option<i64>, AppError> {
    let (gathers_ms, sent_at) = match request.state {
        RequestState::Gathering { ready_at } => ((ready_at - services.clock.now()).max(0), None),
        RequestState::Queued => (0, None),
        RequestState::InProgress { in_progress_at } => (0, Some(in_progress_at)),
        _ => return Ok(None),
    };
    let Some(live) = requests::find_live(&services.store, account, request.id).await? else {
        return Ok(None);
    };
    let partition = QueuePartition { model: live.model, account };
    let at = Forecast { services, partition }.of_last(&[live], sent_at).await?;
    let at = at.map(|at| at.saturating_add(gathers_ms));
    Ok(at.map(|at| at.min(whole_second(request.expires_at))))
}

/// The estimated completion time of a batch's last request, like that of a request, from a sample of its requests.
pub async fn of_batch(
    services: &Services,
    account: AccountKey,
    batch: &BatchRecord,
) -> Result<Option<i64>, AppError> {
    if batch.counters.live() == 0 || services.store.is_advance_held() {
        return Ok(None);
    }
    let Some(sample) = sample(services, account, batch.id).await? else { return Ok(None) };
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

/// A sample of a batch's live requests; `None` if taking it is slow.
async fn sample(
    services: &Services,
    account: AccountKey,
    batch: BatchId,
) -> Result<Option<Arc<[LiveRequest]>>, AppError> {
    let (batch, _) = super::batches::find(services, account, batch).await?;
    let store = services.store.clone();
    let sample = async move { Ok(requests::sample_live(&store, account, batch).await?.into()) };
    services.live_counts.samples.get_within(WAIT, batch, &services.clock, Box::pin(sample)).await
}

/// The models of a sample of a batch's live requests.
pub async fn models_of_batch(
    services: &Services,
    account: AccountKey,
    batch: BatchId,
) -> Result<BTreeSet<ModelKey>, AppError> {
    let sample = sample(services, account, batch).await?;
    Ok(sample.iter().flat_map(|sample| sample.iter()).map(|it| it.model).collect())
}

/// Whether requests of the account are in the queue for a model, by a recent count.
pub async fn has_work(services: &Services, account: AccountKey, model: &Model) -> Result<bool, AppError> {
    for key in model.keys() {
        let queues = recent_queues(services, key).await?;
        if queues.is_some_and(|queues| queues.iter().any(|it| it.account == account)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The estimated completion time of all of an account's requests, in milliseconds, like that of a request.
pub async fn of_account(services: &Services, account: AccountKey) -> Result<Option<i64>, AppError> {
    if services.store.is_advance_held() {
        return Ok(None);
    }
    let (mut last, models) = (None, services.models());
    for model in models.iter().flat_map(|model| model.keys()) {
        let has_work = |it: &AccountQueue| it.account == account;
        let Some(queues) = recent_queues(services, model).await? else { return Ok(None) };
        if !queues.iter().any(has_work) {
            continue;
        }
        let forecast = Forecast { services, partition: QueuePartition { model, account } };
        let Some(at) = forecast.of_all().await? else { return Ok(None) };
        last = last.max(Some(at));
    }
    let latest = services.clock.now().saturating_add(COMPLETION_WINDOW_MS);
    Ok(last.map(|at| at.min(latest)))
}

/// The forecast of an account's requests to a model.
struct Forecast<'a> {
    services: &'a Services,
    partition: QueuePartition,
}

impl Forecast<'_> {
    /// For the last of several requests, each no later than it expires. `sent_at` is when they were first sent to an engine, if they were.
    async fn of_last(&self, requests: &[LiveRequest], sent_at: Option<i64>) -> Result<Option<i64>, AppError> {
        let Some((engines, outlook)) = self.known().await? else { return Ok(None) };
        let now = self.services.clock.now();
        let sent_at = sent_at.unwrap_or(now);
        let at = |request: &LiveRequest| {
            let subject = match request.is_leased {
                true => Subject::Sent(sent_at),
                false => Subject::Waiting(&request.position),
            };
            let again_at = Some(request.retry_at).filter(|at| *at > now);
            let again_at = again_at.and_then(|at| outlook.completed_at(&engines, Subject::Sent(at)));
            let at = outlook.completed_at(&engines, subject)?.max(again_at.unwrap_or(now));
            Some(at.min(request.deadline))
        };
        let last = requests.iter().try_fold(now, |last, request| Some(last.max(at(request)?)));
        let latest = requests.iter().map(|it| whole_second(it.deadline)).max().unwrap_or(now);
        Ok(last.map(|at| rounded(at, now).min(latest)))
    }

    async fn of_all(&self) -> Result<Option<i64>, AppError> {
        let Some((engines, outlook)) = self.known().await? else { return Ok(None) };
        let now = self.services.clock.now();
        Ok(outlook.completed_at(&engines, Subject::All).map(|at| rounded(at.max(now), now)))
    }
}

/// Delays a forecast by at most a fortieth of the remaining time, in whole seconds, so that it reveals little of other accounts and stays
/// stable between calls.
fn rounded(at: i64, now: i64) -> i64 {
    const STEPS_S: [i64; 9] = [1_800, 600, 300, 120, 60, 30, 10, 5, 1];
    let left_s = (at - now) / 1_000;
    let step_ms = 1_000 * STEPS_S.into_iter().find(|step| step * 40 <= left_s).unwrap_or(1);
    at.saturating_add(step_ms - 1) / step_ms * step_ms
}

/// A deadline as clients see it, in whole seconds.
const fn whole_second(deadline: i64) -> i64 {
    deadline - deadline.rem_euclid(1_000)
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
