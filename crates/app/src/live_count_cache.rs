//! Caches figures that are slow to compute, each for a multiple of its computing time. So computing takes a small share of the time, and
//! concurrent callers wait for one answer.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use overnight_base::clock::SharedClock;
use overnight_domain::forecast::{AccountQueue, QueueOutlook};
use overnight_domain::scheduler::{AccountKey, ModelKey, QueuePartition};
use overnight_store::requests::LiveRequest;
use tokio::sync::Mutex as AsyncMutex;

use super::accounts::overview::Standing;
use super::batches::BatchCost;
use super::engines::EngineReport;
use super::errors::AppError;
use super::finish;

/// The minimum lifetime of an answer, in milliseconds.
const FRESH_MS: i64 = 1_000;

/// An answer's lifetime as a multiple of its computing time.
const FRESH_TIMES: i64 = 20;

/// The minimum time for which an old answer is preferred to none, in milliseconds.
const RECENT_MS: i64 = 60_000;

const ANSWERS_MAX: usize = 4_096;

/// Caches counts of live requests, and other figures that are slow to compute.
pub struct LiveCountCache {
    pub(super) of_accounts: Counted<AccountKey, Standing>,
    pub(super) waiting: Counted<ModelKey, i64>,
    /// By the row number of a batch, and whether requests of it live.
    pub(super) costs: Counted<(i64, bool), BatchCost>,
    /// Expired requests of a batch, by its row number.
    pub(super) expired: Counted<i64, i64>,
    pub(super) engines: Counted<(), Arc<[EngineReport]>>,
    pub(super) queues: Counted<ModelKey, Arc<[AccountQueue]>>,
    pub(super) outlooks: Counted<QueuePartition, Option<Arc<QueueOutlook>>>,
    /// A sample of a batch's requests, by its row number.
    pub(super) samples: Counted<i64, Arc<[LiveRequest]>>,
}

impl Default for LiveCountCache {
    fn default() -> Self {
        Self {
            of_accounts: Counted::by_account(|_| true),
            waiting: Counted::one_by_one(),
            costs: Counted::by_account(|_| true),
            expired: Counted::by_account(|_| true),
            engines: Counted::one_by_one(),
            queues: Counted::one_by_one(),
            outlooks: Counted::by_account(Option::is_some),
            samples: Counted::by_account(|_| true),
        }
    }
}

pub(super) struct Counted<K, V> {
    cells: Mutex<HashMap<K, Arc<Cell<V>>>>,
    /// Set if counts of all keys are computed one after the other.
    lock: Option<Arc<AsyncMutex<()>>>,
    /// Whether an answer lives for a multiple of its computing time; otherwise it lives for the minimum.
    is_lasting: fn(&V) -> bool,
}

struct Cell<V> {
    known: Mutex<Option<Answer<V>>>,
    /// Held while the answer is computed.
    turn: Arc<AsyncMutex<()>>,
}

impl<V: Clone> Cell<V> {
    /// The last answer, if `will_do` accepts it.
    fn answer(&self, will_do: impl Fn(&Answer<V>) -> bool) -> Option<V> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|answer| will_do(answer)).map(|answer| answer.value.clone())
    }
}

impl<V> Cell<V> {
    /// The computing time of its answer, or a much larger value while it is computed; `None` if the answer is too old to be of use.
    fn worth_ms(self: &Arc<Self>, now: i64) -> Option<i64> {
        if self.turn.try_lock().is_err() {
            return Some(i64::MAX);
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|answer| answer.is_recent(now)).map(|answer| answer.took_ms)
    }
}

struct Answer<V> {
    value: V,
    known_at: i64,
    took_ms: i64,
}

impl<V> Answer<V> {
    fn is_fresh(&self, now: i64) -> bool {
        (0..self.fresh_ms()).contains(&(now - self.known_at))
    }

    /// Whether it is preferred to none.
    fn is_recent(&self, now: i64) -> bool {
        (0..RECENT_MS.max(2 * self.fresh_ms())).contains(&(now - self.known_at))
    }

    fn fresh_ms(&self) -> i64 {
        FRESH_MS.max(self.took_ms.saturating_mul(FRESH_TIMES))
    }
}

impl<K: Eq + Hash + Clone, V: Clone + Send + 'static> Counted<K, V> {
    /// Counts of the service, which leave readers for others.
    fn one_by_one() -> Self {
        Self { cells: Mutex::default(), lock: Some(Arc::default()), is_lasting: |_| true }
    }

    /// Counts that read in the turns of the asking accounts. They do not wait for one another: a count may wait long for its account's turn.
    fn by_account(is_lasting: fn(&V) -> bool) -> Self {
        Self { cells: Mutex::default(), lock: None, is_lasting }
    }

    /// The cached answer, or that of `count`, which continues if the caller leaves.
    pub(super) async fn get(
        &self,
        key: K,
        clock: &SharedClock,
        count: BoxFuture<'static, Result<V, AppError>>,
    ) -> Result<V, AppError> {
        let cell = self.cell(key, clock.now());
        let turn = Arc::clone(&cell.turn).lock_owned().await;
        if let Some(value) = cell.answer(|answer| answer.is_fresh(clock.now())) {
            return Ok(value);
        }
        let (clock, lock, is_lasting) = (Arc::clone(clock), self.lock.clone(), self.is_lasting);
        finish(async move {
            let _turn = turn;
            let _locked = match &lock {
                Some(lock) => Some(lock.lock().await),
                None => None,
            };
            let asked_at = clock.now();
            let value = count.await?;
            let known_at = clock.now();
            let took_ms = if is_lasting(&value) { known_at - asked_at } else { 0 };
            let answer = Answer { value: value.clone(), known_at, took_ms };
            *cell.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            Ok(value)
        })
        .await
    }

    /// Like `get`, but after the time limit returns the previous answer if it is not too old, for callers that should not wait. `None` if
    /// there is none.
    pub(super) async fn get_within(
        &self,
        wait: Duration,
        key: K,
        clock: &SharedClock,
        count: BoxFuture<'static, Result<V, AppError>>,
    ) -> Result<Option<V>, AppError> {
        let cell = self.cell(key.clone(), clock.now());
        if let Some(value) = cell.answer(|answer| answer.is_fresh(clock.now())) {
            return Ok(Some(value));
        }
        match tokio::time::timeout(wait, self.get(key, clock, count)).await {
            Ok(value) => value.map(Some),
            Err(_) => Ok(cell.answer(|answer| answer.is_recent(clock.now()))),
        }
    }

    fn cell(&self, key: K, now: i64) -> Arc<Cell<V>> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        if cells.len() >= ANSWERS_MAX && !cells.contains_key(&key) {
            make_room(&mut cells, now);
        }
        let new = || Arc::new(Cell { known: Mutex::default(), turn: Arc::default() });
        Arc::clone(cells.entry(key).or_insert_with(new))
    }
}

/// Drops answers that are too old, or else the half that was cheapest to compute: many cheap answers do not displace expensive ones.
fn make_room<K, V: Clone>(cells: &mut HashMap<K, Arc<Cell<V>>>, now: i64) {
    cells.retain(|_, cell| cell.worth_ms(now).is_some());
    if cells.len() < ANSWERS_MAX {
        return;
    }
    let mut worths: Vec<i64> = cells.values().filter_map(|cell| cell.worth_ms(now)).collect();
    let middle = worths.len() / 2;
    let median = if worths.is_empty() { 0 } else { *worths.select_nth_unstable(middle).1 };
    let mut excess = cells.len() - ANSWERS_MAX / 2;
    cells.retain(|_, cell| {
        let is_cheap = |worth| worth <= median && worth < i64::MAX;
        let goes = excess > 0 && cell.worth_ms(now).is_some_and(is_cheap);
        excess -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use overnight_base::clock::ManualClock;

    use super::*;

    struct Asked {
        counted: Counted<usize, i64>,
        clock: Arc<ManualClock>,
        times: Arc<AtomicI64>,
    }

    impl Asked {
        fn new() -> Self {
            Self { counted: Counted::one_by_one(), clock: ManualClock::at(0), times: Arc::default() }
        }

        /// The answer is the number of earlier counts, each of which takes `takes_ms`.
        async fn get(&self, key: usize, takes_ms: i64) -> i64 {
            let (clock, times) = (Arc::clone(&self.clock), Arc::clone(&self.times));
            let shared: SharedClock = self.clock.clone();
            let count = async move {
                tokio::task::yield_now().await;
                clock.set(overnight_base::clock::Clock::now(&*clock) + takes_ms);
                Ok(times.fetch_add(1, Ordering::Relaxed))
            };
            self.counted.get(key, &shared, Box::pin(count)).await.expect("a count")
        }
    }

    #[tokio::test]
    async fn an_answer_is_good_for_a_second_or_for_many_times_as_long_as_it_took() {
        let asked = Asked::new();
        assert_eq!(asked.get(1, 10).await, 0);
        for (at, expected) in [(1_009, 0), (1_010, 1)] {
            asked.clock.set(at);
            assert_eq!(asked.get(1, 500).await, expected, "{at}");
        }
        for (at, expected) in [(1_510 + 9_999, 1), (1_510 + 10_000, 2), (0, 3)] {
            asked.clock.set(at);
            assert_eq!(asked.get(1, 0).await, expected, "{at}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_does_not_last_is_asked_for_again_soon() {
        let clock = ManualClock::at(0);
        let shared: SharedClock = clock.clone();
        let counted = Counted::<usize, Option<i64>>::by_account(Option::is_some);
        let get = async |value| {
            let slow = Arc::clone(&clock);
            let count = async move {
                slow.set(overnight_base::clock::Clock::now(&*slow) + 5_000);
                Ok(value)
            };
            counted.get(1, &shared, Box::pin(count)).await.expect("a count")
        };
        assert_eq!(get(None).await, None);
        clock.set(5_000 + FRESH_MS);
        assert_eq!(get(Some(1)).await, Some(1));
        clock.set(11_000 + 5_000 * FRESH_TIMES - 1);
        assert_eq!(get(Some(2)).await, Some(1));
    }

    #[tokio::test]
    async fn those_who_ask_at_the_same_time_share_an_answer_and_others_do_not() {
        let asked = Asked::new();
        let (first, second, other) = tokio::join!(asked.get(1, 0), asked.get(1, 0), asked.get(2, 0));
        assert_eq!(first, second);
        assert_ne!(first, other);
    }

    #[tokio::test]
    async fn a_count_of_an_account_does_not_wait_for_that_of_another() {
        let clock = ManualClock::at(0);
        let shared: SharedClock = clock.clone();
        let counted = Counted::<AccountKey, i64>::by_account(|_| true);
        let waits = counted.get(AccountKey(1), &shared, Box::pin(std::future::pending()));
        assert!(futures_util::FutureExt::now_or_never(waits).is_none());
        let other = counted.get(AccountKey(2), &shared, Box::pin(async { Ok(7) })).await;
        assert_eq!(other.expect("a count"), 7);
    }

    #[tokio::test]
    async fn a_count_goes_on_though_whoever_asked_left_and_one_that_failed_is_made_again() {
        let asked = Asked::new();
        assert!(futures_util::FutureExt::now_or_never(asked.get(1, 0)).is_none());
        assert_eq!(asked.get(1, 0).await, 0);
        let shared: SharedClock = asked.clock.clone();
        let fails = async { Err(AppError::NotFound("count")) };
        assert!(asked.counted.get(2, &shared, Box::pin(fails)).await.is_err());
        assert_eq!(asked.get(2, 0).await, 1);
    }

    #[tokio::test]
    async fn who_does_not_want_to_wait_gets_the_last_answer_and_the_count_goes_on() {
        let asked = Asked::new();
        let shared: SharedClock = asked.clock.clone();
        let gate = Arc::new(tokio::sync::Notify::new());
        let wait = Duration::from_millis(1);
        let get_within = |value| {
            let gate = Arc::clone(&gate);
            let slow = async move {
                gate.notified().await;
                Ok(value)
            };
            asked.counted.get_within(wait, 1, &shared, Box::pin(slow))
        };
        let known = || asked.counted.get(1, &shared, Box::pin(async { Ok(-1) }));
        assert_eq!(get_within(1).await.expect("nothing"), None);
        gate.notify_one();
        assert_eq!(known().await.expect("the first"), 1);
        assert_eq!(get_within(2).await.expect("the first"), Some(1), "it is fresh");
        asked.clock.set(FRESH_MS);
        assert_eq!(get_within(3).await.expect("the first"), Some(1), "it is being counted anew");
        gate.notify_one();
        assert_eq!(known().await.expect("the third"), 3);
        asked.clock.set(FRESH_MS + RECENT_MS);
        assert_eq!(get_within(4).await.expect("nothing"), None, "the third is too old");
    }

    #[tokio::test]
    async fn no_more_than_the_bound_are_kept() {
        let asked = Asked::new();
        for key in 0..=ANSWERS_MAX {
            asked.counted.cell(key, 0);
        }
        assert_eq!(asked.counted.cells.lock().expect("the cells").len(), 1, "those without answers went");
    }

    #[tokio::test]
    async fn what_took_long_stays_though_much_is_asked_for_that_did_not() {
        let asked = Asked::new();
        assert_eq!(asked.get(0, 1_000).await, 0);
        for key in 1..2 * ANSWERS_MAX {
            asked.get(key, 0).await;
        }
        assert_eq!(asked.get(0, 1_000).await, 0, "it is the first answer");
        assert!(asked.counted.cells.lock().expect("the cells").len() <= ANSWERS_MAX);
    }
}
