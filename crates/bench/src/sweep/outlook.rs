//! When requests in the scheduler's queue will have been completed, forecast as the service does.

use std::collections::BTreeMap;

use overnight_domain::forecast::{EngineTime, Mark, QueueOutlook, Subject, Work};
use overnight_domain::scheduler::{AccountKey, Pace, Position, QueuePartition, ReplicaKey, SURVEY_MAX};

use super::swept::{MODEL, Row, Swept, clock_ms};

/// Into how many parts what waits in a partition is divided.
const MARKS: usize = 256;

/// What forecasts of one account's requests are made from, at a time.
pub(super) struct AccountOutlook<'a> {
    now_us: u64,
    engines: Vec<EngineTime>,
    queue: QueueOutlook,
    /// Where each request that waits stands.
    places: BTreeMap<i64, &'a Position>,
}

impl AccountOutlook<'_> {
    /// When the last of these requests will have been completed, on the fleet's clock; `None` where nobody knows: no engine is in use.
    /// `sent_us` tells when each was sent that was.
    pub(super) fn completed_us(
        &self,
        requests: &[usize],
        sent_us: impl Fn(usize) -> Option<u64>,
    ) -> Option<u64> {
        let now = clock_ms(self.now_us);
        let at = |request: &usize| {
            let place = i64::try_from(*request).ok().and_then(|seq| self.places.get(&seq));
            let subject = match (place, sent_us(*request)) {
                (Some(place), _) => Subject::Waiting(place),
                (None, sent_us) => Subject::Sent(clock_ms(sent_us.unwrap_or(self.now_us))),
            };
            self.queue.completed_at(&self.engines, subject).map(|at| at.max(now))
        };
        let at = requests.iter().map(at).try_fold(now, |last, at| Some(last.max(at?)))?;
        Some(self.now_us + u64::try_from(at - now).ok()? * 1_000)
    }
}

impl Swept {
    /// What is known of an account's requests; `None` where none of any has shown yet what they take.
    pub(super) fn account_outlook(
        &self,
        account: i64,
        replicas: usize,
        now_us: u64,
    ) -> Option<AccountOutlook<'_>> {
        let now = clock_ms(now_us);
        let account = AccountKey(account);
        let rows = self.waiting.get(&QueuePartition { model: MODEL, account });
        Some(AccountOutlook {
            now_us,
            engines: self.engines(replicas, now),
            queue: self.queue_outlook(account, now)?,
            places: rows.into_iter().flatten().map(|(position, _)| (position.seq, position)).collect(),
        })
    }

    fn engines(&self, replicas: usize, now: i64) -> Vec<EngineTime> {
        let keys = (0..u32::try_from(replicas).unwrap_or(u32::MAX)).map(ReplicaKey);
        let usable = keys.filter(|key| self.scheduler.pause_reason(*key).is_none());
        let slots = usable.filter_map(|key| self.scheduler.concurrency_limit(key));
        slots.map(|slots| EngineTime { slots: slots.into(), open: vec![(now, i64::MAX)] }).collect()
    }

    fn queue_outlook(&self, account: AccountKey, at: i64) -> Option<QueueOutlook> {
        let paces: BTreeMap<AccountKey, Pace> = self.scheduler.paces(MODEL).collect();
        let pace = |account| paces.get(&account).or_else(|| paces.values().next()).copied();
        let rows =
            |account| self.waiting.get(&QueuePartition { model: MODEL, account }).into_iter().flatten();
        let cost = |row: &Row, pace: Pace| row.candidate.cost as f64 * pace.used_part;
        let own_pace = pace(account)?;
        let own: Vec<(&Position, f64)> =
            rows(account).map(|(place, row)| (place, cost(row, own_pace))).collect();
        let mark = |rows: &[(&Position, f64)]| {
            let last = rows.last()?.0.clone();
            Some(Mark { last, cost: rows.iter().map(|(_, cost)| cost).sum() })
        };
        let other = |account| {
            let pace = pace(account)?;
            let cost = rows(account).map(|(_, row)| cost(row, pace)).sum();
            Some(Work { cost, slot_ms: pace.slot_ms, most_part: pace.most_part })
        };
        let others = self.waiting.keys().map(|it| it.account).filter(|it| *it != account);
        let leased = self.leased.values().filter_map(|row| {
            let pace = pace(row.account)?;
            Some(cost(row, pace) * pace.slot_ms)
        });
        let mean_cost = own.iter().map(|(_, cost)| cost).sum::<f64>() / own.len().max(1) as f64;
        Some(QueueOutlook {
            at,
            marks: own.chunks(own.len().div_ceil(MARKS).max(1)).filter_map(mark).collect(),
            slot_ms: own_pace.slot_ms,
            request_ms: own_pace.request_ms,
            most_part: own_pace.most_part,
            least_slot_ms: self.scheduler.least_slot_ms(MODEL).unwrap_or(0.0),
            segments: self.scheduler.swept_segments(QueuePartition { model: MODEL, account }),
            window_cost: 0.0,
            survey_cost: f64::from(SURVEY_MAX) * mean_cost,
            leased: self.leased.len() as f64,
            leased_ms: leased.sum(),
            other_accounts: others.filter_map(other).collect(),
            other_models_ms: Vec::new(),
        })
    }
}
