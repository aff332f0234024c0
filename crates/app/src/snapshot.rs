//! A view of the whole service for operators, read from the store by any process.

use std::collections::BTreeMap;

use overnight_domain::activity::{ActivityPart, PART_MS, QUARTER_MS, quarter_of};
use overnight_domain::records::FailedAttempt;
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::AccountKey;
use overnight_store::DiskSpace;
use overnight_store::identity::accounts;
use overnight_store::ledger::activity;
use overnight_store::queue::attempts;
use overnight_store::queue::counts::{self, AccountCount};

use super::engines::EngineReport;
use super::errors::AppError;
use super::requests::waiting::{self, WaitingReason};
use super::webhooks::{self, WaitingEvents};
use super::{Services, engines};

/// Complete quarters of an hour of the measured rates, in addition to the current one.
const QUARTERS: i64 = 4;
/// Rates are settled this long after the first five minutes in which requests ended.
const SETTLED_MS: i64 = 60_000;
/// The minimum time of a measurement.
const MEASURED_MS_MIN: i64 = 30_000;
const HOUR_MS: i64 = 3_600_000;
/// The maximum number of failed attempts shown.
const ATTEMPTS: i64 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// In milliseconds.
    pub at: i64,
    /// Requests that gather, and are in no queue yet.
    pub gathering: i64,
    /// The earliest deadline of a live request, in milliseconds.
    pub next_deadline: Option<i64>,
    /// Ends in the last hour, per hour.
    pub rates: HourlyRates,
    /// In the order of the settings.
    pub models: Vec<ModelLine>,
    /// The accounts with requests in a queue, those with the most first.
    pub accounts: Vec<AccountLine>,
    /// The engines by name; of processes that share an engine, its driver's report.
    pub engines: Vec<EngineReport>,
    /// Webhook events that are not delivered yet.
    pub webhooks: WaitingEvents,
    /// The disk of the database; `None` if it is on another machine.
    pub disk: Option<DiskSpace>,
    /// The latest first.
    pub attempts: Vec<FailedAttempt>,
}

/// The rate of ends, per hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HourlyRates {
    pub completed: i64,
    pub failed: i64,
    pub cancelled: i64,
    /// Input and output tokens of completed requests.
    pub tokens: i64,
    /// The charge, in nano-credits.
    pub amount: i64,
    /// Whether the whole measured time has ends of requests. In the first minutes rates are too low, because the first end is known only to
    /// five minutes.
    pub is_settled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLine {
    pub name: String,
    pub waiting: i64,
    pub leased: i64,
    /// Why no request for it is sent to an engine; `None` if requests are sent.
    pub hindrance: Option<WaitingReason>,
}

/// An account and its requests in the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountLine {
    pub name: String,
    pub waiting: i64,
    pub leased: i64,
    /// The earliest deadline of its requests, in milliseconds.
    pub next_deadline: i64,
}

impl Snapshot {
    /// Includes gathering requests.
    pub fn waiting(&self) -> i64 {
        self.gathering + self.models.iter().map(|model| model.waiting).sum::<i64>()
    }

    /// Requests that are at an engine, or about to be.
    pub fn leased(&self) -> i64 {
        self.models.iter().map(|model| model.leased).sum()
    }

    /// The arrival of the oldest live request, in milliseconds.
    pub fn oldest(&self) -> Option<i64> {
        self.next_deadline.map(|at| at - COMPLETION_WINDOW_MS)
    }

    /// The estimated end of all live requests at the current rate, in milliseconds; `None` if none ended, or the rates are not settled.
    pub fn done_at(&self) -> Option<i64> {
        let live = self.waiting() + self.leased();
        let HourlyRates { completed, failed, .. } = self.rates;
        let ended = completed + failed;
        (live > 0 && ended > 0 && self.rates.is_settled)
            .then(|| self.at.saturating_add(live.saturating_mul(HOUR_MS).div_euclid(ended)))
    }
}

/// Reads the whole queue: a tenth of a second for some hundred thousand requests.
pub async fn take(services: &Services) -> Result<Snapshot, AppError> {
    let (store, at) = (&services.store, services.clock.now());
    let mut models = Vec::new();
    let mut by_account: BTreeMap<AccountKey, AccountLine> = BTreeMap::new();
    for model in services.models().iter() {
        let (mut waiting, mut leased) = (0, 0);
        for AccountCount { queue, next_deadline, .. } in counts::of_model(store, model.key).await? {
            waiting += queue.waiting;
            leased += queue.leased;
            let line = by_account.entry(queue.account).or_insert_with(|| AccountLine {
                name: String::new(),
                waiting: 0,
                leased: 0,
                next_deadline: i64::MAX,
            });
            line.waiting += queue.waiting;
            line.leased += queue.leased;
            line.next_deadline = line.next_deadline.min(next_deadline);
        }
        let name = model.config.name.clone();
        let hindrance = waiting::of_model(services, &name).await?;
        models.push(ModelLine { name, waiting, leased, hindrance });
    }
    let gathering = counts::gathering(store).await?;
    let deadlines = by_account.values().map(|line| line.next_deadline).chain(gathering.next_deadline);
    Ok(Snapshot {
        at,
        gathering: gathering.count,
        next_deadline: deadlines.min(),
        rates: rates(services, at).await?,
        models,
        accounts: named(services, by_account).await?,
        engines: engines_by_name(services).await?,
        webhooks: webhooks::count_waiting(services).await?,
        disk: store.disk_space().await?,
        attempts: attempts::latest(store, ATTEMPTS).await?,
    })
}

/// The accounts with their names, those with the most requests first.
async fn named(
    services: &Services,
    mut by_account: BTreeMap<AccountKey, AccountLine>,
) -> Result<Vec<AccountLine>, AppError> {
    if by_account.is_empty() {
        return Ok(Vec::new());
    }
    for account in accounts::list(&services.store).await? {
        if let Some(line) = by_account.get_mut(&account.key) {
            line.name = account.name;
        }
    }
    let mut lines: Vec<_> = by_account.into_values().collect();
    lines.sort_by(|one, other| other.waiting.cmp(&one.waiting).then_with(|| one.name.cmp(&other.name)));
    Ok(lines)
}

async fn engines_by_name(services: &Services) -> Result<Vec<EngineReport>, AppError> {
    let mut named: BTreeMap<String, EngineReport> = BTreeMap::new();
    for report in engines::list(services).await? {
        let known = named.get(&report.engine.name);
        if known.is_none_or(|known| !known.engine.is_driven) {
            named.insert(report.engine.name.clone(), report);
        }
    }
    Ok(named.into_values().collect())
}

/// The ends of the last hour, or since the second five minutes of it with ends.
async fn rates(services: &Services, now: i64) -> Result<HourlyRates, AppError> {
    let records = activity::list_all(&services.store, quarter_of(now) - QUARTERS).await?;
    let parts = records.iter().flat_map(|record| {
        record
            .parts()
            .into_iter()
            .zip(0..)
            .map(|(part, place)| (record.quarter * QUARTER_MS + place * PART_MS, part))
    });
    Ok(by_hour(parts, now))
}

fn by_hour(parts: impl IntoIterator<Item = (i64, ActivityPart)>, now: i64) -> HourlyRates {
    let mut parts: Vec<_> = parts.into_iter().filter(|(_, part)| *part != ActivityPart::default()).collect();
    let is_settled = parts.get(1).is_some_and(|(from, _)| now - from >= SETTLED_MS);
    if is_settled {
        parts.remove(0);
    }
    let measured_ms = parts.first().map_or(0, |(from, _)| now - from).max(MEASURED_MS_MIN);
    let mut sum = ActivityPart::default();
    parts.iter().for_each(|(_, part)| sum.add(part));
    let rate = |sum: i64| {
        i64::try_from(i128::from(sum) * i128::from(HOUR_MS) / i128::from(measured_ms)).unwrap_or(i64::MAX)
    };
    HourlyRates {
        completed: rate(sum.completed),
        failed: rate(sum.failed),
        cancelled: rate(sum.cancelled),
        tokens: rate(sum.tokens),
        amount: rate(sum.amount),
        is_settled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_time_in_which_something_ended() {
        let part = ActivityPart { completed: 100, failed: 10, ..ActivityPart::default() };
        let at = |from| (from, part);
        let rates = by_hour([at(0), (300_000, ActivityPart::default()), at(1_500_000)], 1_800_000);
        assert_eq!((rates.completed, rates.failed, rates.is_settled), (1_200, 120, true));
        let rates = by_hour([at(0), at(300_000), at(600_000)], 900_000);
        assert_eq!((rates.completed, rates.is_settled), (1_200, true), "the first may have begun late");
        let rates = by_hour([at(0), at(300_000)], 330_000);
        assert_eq!((rates.completed, rates.is_settled), (2_181, false));
        let rates = by_hour([at(1_000)], 2_000);
        assert_eq!((rates.completed, rates.is_settled), (12_000, false));
        assert_eq!(by_hour([], 2_000), HourlyRates::default());
    }
}
