//! When requests in the scheduler's queue will have been completed, forecast as the service does.

use std::collections::BTreeMap;

use overnight_domain::forecast::{EngineTime, Mark, Pace, QueueOutlook, Work, done_at};
use overnight_domain::scheduler::{AccountKey, Position, QueuePartition, ReplicaKey};

use super::swept::{MODEL, Row, Swept, clock_ms};

/// Into how many parts what waits in a partition is divided.
const MARKS: usize = 256;

impl Swept {
    /// When the last of these requests of one account will have been completed, on the fleet's clock; `None` where nobody knows:
    /// no engine is in use, or none has shown yet how fast it is.
    pub(super) fn forecast(
        &self,
        account: i64,
        requests: &[usize],
        replicas: usize,
        now_us: u64,
    ) -> Option<u64> {
        let now = clock_ms(now_us);
        let engines = self.engines(replicas, now);
        let account = AccountKey(account);
        let outlook = self.outlook(account, now)?;
        let rows = self.waiting.get(&QueuePartition { model: MODEL, account });
        let places: BTreeMap<i64, &Position> =
            rows.into_iter().flatten().map(|(position, _)| (position.seq, position)).collect();
        let slot_ms = |request: &usize| {
            let place = i64::try_from(*request).ok().and_then(|seq| places.get(&seq));
            place.map_or(outlook.leased_ms, |place| outlook.slot_ms_until(Some(place), engines.len()))
        };
        let at = done_at(&engines, now, requests.iter().map(slot_ms).fold(0.0, f64::max))?;
        Some(now_us + u64::try_from(at - now).ok()? * 1_000)
    }

    fn engines(&self, replicas: usize, now: i64) -> Vec<EngineTime> {
        let keys = (0..u32::try_from(replicas).unwrap_or(u32::MAX)).map(ReplicaKey);
        let usable = keys.filter(|key| self.scheduler.pause_reason(*key).is_none());
        let slots = usable.filter_map(|key| self.scheduler.concurrency_limit(key));
        slots.map(|slots| EngineTime { slots: slots.into(), open: vec![(now, i64::MAX)] }).collect()
    }

    fn outlook(&self, account: AccountKey, at: i64) -> Option<QueueOutlook> {
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
        let slots = |account| self.leased.values().filter(|row| row.account == account).count() as f64;
        let other = |account| {
            let pace = pace(account)?;
            let cost = rows(account).map(|(_, row)| cost(row, pace)).sum();
            Some(Work { cost, slot_ms: pace.slot_ms, slots: slots(account) })
        };
        let others = self.waiting.keys().map(|it| it.account).filter(|it| *it != account);
        let leased = self.leased.values().filter_map(|row| {
            let pace = pace(row.account)?;
            Some(cost(row, pace) * pace.slot_ms)
        });
        Some(QueueOutlook {
            at,
            marks: own.chunks(own.len().div_ceil(MARKS).max(1)).filter_map(mark).collect(),
            slot_ms: own_pace.slot_ms,
            slots: slots(account),
            segments: self.scheduler.swept_segments(QueuePartition { model: MODEL, account }),
            leased_ms: leased.sum(),
            other_accounts: others.filter_map(other).collect(),
            other_models_ms: Vec::new(),
        })
    }
}
