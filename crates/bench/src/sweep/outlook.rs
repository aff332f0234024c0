//! Forecasts when requests in the scheduler's queue will complete, as the service does.

use std::collections::BTreeMap;

use overnight_domain::forecast::{
    AccountOrder, AccountQueue, EngineTime, Mark, ModelQueue, QueueOutlook, Subject,
};
use overnight_domain::scheduler::{AccountKey, Position, QueuePartition, ReplicaKey};

use super::swept::{MODEL, Row, Swept, clock_ms};

/// The number of parts into which a partition's queue is divided.
const MARKS: usize = 1_024;

/// The basis of forecasts for one account's requests at one time.
pub(super) struct AccountOutlook<'a> {
    now_us: u64,
    engines: Vec<EngineTime>,
    queue: QueueOutlook,
    /// The position of each waiting request.
    places: BTreeMap<i64, &'a Position>,
}

impl AccountOutlook<'_> {
    /// When the last of these requests will complete, on the fleet's clock; `None` if no engine is in use. `sent_us` gives the time at
    /// which a request was sent, if it was.
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
    /// The outlook of an account's requests; `None` before any completion has shown their duration.
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
        let costs = |rows: &mut dyn Iterator<Item = &Row>| {
            rows.fold((0, 0), |(count, cost), row| (count + 1, cost + row.candidate.cost))
        };
        let of_account = |key: &QueuePartition| {
            let (waiting, waiting_cost) = costs(&mut self.waiting[key].values());
            let (leased, leased_cost) =
                costs(&mut self.leased.values().filter(|row| row.account == key.account));
            AccountQueue { account: key.account, waiting, waiting_cost, leased, leased_cost }
        };
        let paces = self.scheduler.paces(MODEL).collect();
        let accounts = self.waiting.keys().map(of_account).collect();
        let queue = ModelQueue::new(accounts, paces, self.scheduler.least_slot_ms(MODEL))?;
        let partition = QueuePartition { model: MODEL, account };
        let rows: Vec<(&Position, &Row)> = self.waiting.get(&partition).into_iter().flatten().collect();
        let mark = |rows: &[(&Position, &Row)]| {
            let cost = rows.iter().map(|(_, row)| row.candidate.cost as f64).sum();
            Some(Mark { last: rows.last()?.0.clone(), cost })
        };
        let marks = rows.chunks(rows.len().div_ceil(MARKS).max(1)).filter_map(mark).collect();
        let segments = self.scheduler.swept_segments(partition);
        let portion = self.scheduler.portion(partition);
        Some(queue.outlook(account, AccountOrder { marks, segments, window: 0, portion }, &[], at))
    }
}
