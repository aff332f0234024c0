//! Objects of an account that wait for deletion, which its quota does not count. If they exceed its quota of stored bytes, its large bodies
//! are stored in the database, which deletes them immediately.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use overnight_base::clock::SharedClock;
use overnight_domain::quotas::Quota;
use overnight_domain::scheduler::AccountKey;
use tokio::sync::Mutex as AsyncMutex;

use crate::database::statements;
use crate::ledger::totals;
use crate::{Store, StoreError};

statements! {
    FIND_QUOTAS = "SELECT live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota FROM accounts WHERE seq = ?";
    /// An object being put counts once it is in use.
    SUM = "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM objects
        WHERE account = ? AND state > 1 /* in use no more, or being deleted */";
}

/// Minimum validity of an answer.
const FRESH_MS: i64 = 1_000;

/// An answer is valid for this many times as long as it took.
const FRESH_TIMES: i64 = 20;

const ACCOUNTS_MAX: usize = 4_096;

/// Caches for each account whether it may put objects.
pub(super) struct QuotaCache {
    clock: SharedClock,
    cells: Mutex<HashMap<AccountKey, Arc<Cell>>>,
}

#[derive(Default)]
struct Cell {
    known: Mutex<Option<Answer>>,
    turn: AsyncMutex<()>,
}

#[derive(Clone, Copy)]
struct Answer {
    is_within: bool,
    known_at: i64,
    took_ms: i64,
}

impl Answer {
    /// A clock that was set back does not prolong it.
    fn is_fresh(&self, now: i64) -> bool {
        let fresh_ms = FRESH_MS.max(self.took_ms.saturating_mul(FRESH_TIMES));
        (0..fresh_ms).contains(&(now - self.known_at))
    }
}

impl Cell {
    fn last(&self) -> Option<Answer> {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QuotaCache {
    pub(super) fn new(clock: SharedClock) -> Self {
        Self { clock, cells: Mutex::default() }
    }

    /// The cached value, or the answer of `ask`, which gets the old value. While one call asks, others use the old value, or wait if there
    /// is none.
    async fn get(
        &self,
        account: AccountKey,
        ask: impl AsyncFnOnce(Option<bool>) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let cell = self.cell(account);
        let fresh = || cell.last().filter(|answer| answer.is_fresh(self.clock.now()));
        if let Some(answer) = fresh() {
            return Ok(answer.is_within);
        }
        let _turn = match (cell.turn.try_lock(), cell.last()) {
            (Ok(turn), _) => turn,
            (Err(_), Some(old)) => return Ok(old.is_within),
            (Err(_), None) => cell.turn.lock().await,
        };
        if let Some(answer) = fresh() {
            return Ok(answer.is_within);
        }
        let asked_at = self.clock.now();
        let is_within = ask(cell.last().map(|answer| answer.is_within)).await?;
        let known_at = self.clock.now();
        let answer = Answer { is_within, known_at, took_ms: known_at - asked_at };
        *cell.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        Ok(is_within)
    }

    fn cell(&self, account: AccountKey) -> Arc<Cell> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        if cells.len() >= ACCOUNTS_MAX && !cells.contains_key(&account) {
            cells.clear();
        }
        Arc::clone(cells.entry(account).or_default())
    }

    #[cfg(test)]
    pub(super) fn forget(&self) {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Whether the account's unused objects are within its quota, as of a while ago. Read in the account's turn.
pub(super) async fn is_within_quota(store: &Store, account: AccountKey) -> Result<bool, StoreError> {
    let ask = async |before: Option<bool>| {
        let Some(limit) = find_limit(store, account).await? else { return Ok(true) };
        let row = store.long_readers(account).fetch_one(SUM.bind(account)).await?;
        let bytes: i64 = row.get("bytes")?;
        if bytes > limit && before != Some(false) {
            tracing::warn!(
                account = account.0,
                bytes,
                "large bodies of an account are stored in the database: its objects that wait to be deleted exceed its stored_bytes"
            );
        }
        Ok(bytes <= limit)
    };
    store.objects().quota_cache.get(account, ask).await
}

/// Quota of stored bytes; `None` for no limit.
async fn find_limit(store: &Store, account: AccountKey) -> Result<Option<i64>, StoreError> {
    let row = store.long_readers(account).fetch_optional(FIND_QUOTAS.bind(account)).await?;
    let own = row.as_ref().map(totals::read_quotas).transpose()?;
    Ok(own.unwrap_or_default().or(&store.quotas()).get(Quota::StoredBytes))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use overnight_base::clock::{Clock, ManualClock};
    use tokio::sync::oneshot;

    use super::*;

    const ONE: AccountKey = AccountKey(1);

    fn cache() -> (Arc<ManualClock>, QuotaCache) {
        let clock = ManualClock::at(0);
        (clock.clone(), QuotaCache::new(clock))
    }

    /// Whether the cache asks again, which takes `takes_ms`.
    async fn is_asked(cache: &QuotaCache, clock: &ManualClock, account: AccountKey, takes_ms: i64) -> bool {
        let mut is_asked = false;
        let ask = async |_| {
            is_asked = true;
            clock.set(clock.now() + takes_ms);
            Ok(true)
        };
        cache.get(account, ask).await.expect("an answer");
        is_asked
    }

    #[tokio::test]
    async fn an_answer_is_good_for_a_second_or_for_many_times_as_long_as_it_took_from_its_end_on() {
        let (clock, cache) = cache();
        for (now, takes_ms, asked) in [
            (0, 10, true),
            (1_009, 0, false),
            (1_010, 200, true),
            (1_210 + 3_999, 0, false),
            (1_210 + 4_000, 0, true),
            (5_209, 0, true),
        ] {
            clock.set(now);
            assert_eq!(is_asked(&cache, &clock, ONE, takes_ms).await, asked, "at {now}");
        }
    }

    /// Asks; the sender gives the answer.
    fn ask(cache: &QuotaCache) -> (oneshot::Sender<bool>, BoxFuture<'_, bool>) {
        let (answer, answered) = oneshot::channel();
        let get = cache.get(ONE, async |_| Ok(answered.await.expect("an answer")));
        let mut get = async { get.await.expect("an answer") }.boxed();
        assert!(get.as_mut().now_or_never().is_none());
        (answer, get)
    }

    #[tokio::test]
    async fn while_one_asks_others_wait_for_its_answer_or_take_the_old_one() {
        let (clock, cache) = cache();
        let (answer, first) = ask(&cache);
        let (_never, second) = ask(&cache);
        answer.send(false).expect("it waits");
        assert_eq!((first.await, second.now_or_never()), (false, Some(false)));
        clock.set(FRESH_MS);
        let (answer, first) = ask(&cache);
        assert_eq!(is_asked(&cache, &clock, ONE, 0).now_or_never(), Some(false));
        let old = cache.get(ONE, async |_| panic!("one asks")).now_or_never().expect("no wait");
        assert!(!old.expect("an answer"));
        answer.send(true).expect("it waits");
        assert!(first.await);
    }

    #[tokio::test]
    async fn so_many_accounts_are_kept_and_no_more() {
        let (clock, cache) = cache();
        let kept = ACCOUNTS_MAX as i64;
        for account in 1..=kept {
            assert!(is_asked(&cache, &clock, AccountKey(account), 0).await);
        }
        assert!(!is_asked(&cache, &clock, ONE, 0).await, "all of them are");
        assert!(is_asked(&cache, &clock, AccountKey(kept + 1), 0).await);
        assert!(cache.cells.lock().expect("cells").len() <= ACCOUNTS_MAX);
    }
}
