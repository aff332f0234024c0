//! How the whole service stands, for operators: read from the store, beside a running service or in it.

use std::collections::BTreeMap;

use overnight_domain::activity::{ActivityPart, PART_MS, QUARTER_MS, quarter_of};
use overnight_domain::records::FailedAttempt;
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::AccountKey;

use super::engines::EngineReport;
use super::errors::AppError;
use super::waiting::{self, WaitingReason};
use super::webhooks::{self, WaitingEvents};
use super::{Services, engines};
use crate::store::DiskSpace;
use crate::store::identity::accounts;
use crate::store::ledger::activity;
use crate::store::queue::{attempts, totals};

/// Quarters of an hour over which is measured how fast requests end, beside the one that runs.
const QUARTERS: i64 = 4;
/// How long after the first five minutes in which requests ended rates are settled.
const SETTLED_MS: i64 = 60_000;
/// What is measured over less time is no rate.
const MEASURED_MS_MIN: i64 = 30_000;
const HOUR_MS: i64 = 3_600_000;
/// Failed attempts that are shown at most.
const ATTEMPTS: i64 = 20;

/// The whole service at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// When, in milliseconds.
    pub at: i64,
    /// How many requests gather, and are in no queue yet.
    pub gathering: i64,
    /// The earliest deadline of any live request, in milliseconds.
    pub next_deadline: Option<i64>,
    /// What ended in the last hour, by hour.
    pub rates: HourlyRates,
    /// The models of the settings, in their order.
    pub models: Vec<ModelLine>,
    /// The accounts that have requests in a queue, those with the most first.
    pub accounts: Vec<AccountLine>,
    /// The engines by name: of processes that share one, what the one says that drives it.
    pub engines: Vec<EngineReport>,
    /// Webhook events that wait to be told.
    pub webhooks: WaitingEvents,
    /// The disk of the database; `None` where that is another machine's.
    pub disk: Option<DiskSpace>,
    /// Failed attempts, the latest first.
    pub attempts: Vec<FailedAttempt>,
}

/// How fast requests end, by hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HourlyRates {
    pub completed: i64,
    pub failed: i64,
    pub cancelled: i64,
    /// Tokens that those that are completed read and wrote.
    pub tokens: i64,
    /// What is charged, in nano-credits.
    pub amount: i64,
    /// Whether they were measured from a time on in which requests ended all along. Within the first minutes they are too low, because
    /// it is not known when in the first five minutes the first request ended.
    pub is_settled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLine {
    pub name: String,
    pub waiting: i64,
    pub leased: i64,
    /// Why nothing of it is sent to an engine; `None` where it is.
    pub hindrance: Option<WaitingReason>,
}

/// An account and what it has in the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountLine {
    pub name: String,
    pub waiting: i64,
    pub leased: i64,
    /// The earliest deadline of any of them, in milliseconds.
    pub next_deadline: i64,
}

impl Snapshot {
    /// How many requests wait: those that gather among them.
    pub fn waiting(&self) -> i64 {
        self.gathering + self.models.iter().map(|model| model.waiting).sum::<i64>()
    }

    /// How many are leased: at an engine, or about to be.
    pub fn leased(&self) -> i64 {
        self.models.iter().map(|model| model.leased).sum()
    }

    /// Since when the oldest live request is there, in milliseconds.
    pub fn oldest(&self) -> Option<i64> {
        self.next_deadline.map(|at| at - COMPLETION_WINDOW_MS)
    }

    /// When all live requests will have ended if requests go on to end as fast, in milliseconds; `None` where none ended, or the rates
    /// are not settled.
    pub fn done_at(&self) -> Option<i64> {
        let live = self.waiting() + self.leased();
        let HourlyRates { completed, failed, .. } = self.rates;
        let ended = completed + failed;
        (live > 0 && ended > 0 && self.rates.is_settled)
            .then(|| self.at.saturating_add(live.saturating_mul(HOUR_MS).div_euclid(ended)))
    }
}

/// How the service stands now. Reads the whole queue: a tenth of a second for some hundred thousand requests.
pub async fn take(services: &Services) -> Result<Snapshot, AppError> {
    let (store, at) = (&services.store, services.clock.now());
    let mut models = Vec::new();
    let mut by_account: BTreeMap<AccountKey, AccountLine> = BTreeMap::new();
    for model in services.models().iter() {
        let (mut waiting, mut leased) = (0, 0);
        for total in totals::of_model(store, model.key).await? {
            waiting += total.waiting;
            leased += total.leased;
            let line = by_account.entry(total.account).or_insert_with(|| AccountLine {
                name: String::new(),
                waiting: 0,
                leased: 0,
                next_deadline: i64::MAX,
            });
            line.waiting += total.waiting;
            line.leased += total.leased;
            line.next_deadline = line.next_deadline.min(total.next_deadline);
        }
        let name = model.config.name.clone();
        let hindrance = waiting::of_model(services, &name).await?;
        models.push(ModelLine { name, waiting, leased, hindrance });
    }
    let gathering = totals::gathering(store).await?;
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

/// What ended since an hour ago, or since the second five minutes of it in which something did.
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
