//! What an account has in the object store and its quota does not count: objects that wait to be deleted. An account that has more of them
//! than its quota of stored bytes has its large bodies in the database, where they are gone once they are deleted.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use overnight_domain::quotas::Quota;
use overnight_domain::scheduler::AccountKey;

use crate::store::database::statements;
use crate::store::ledger::totals;
use crate::store::{Store, StoreError};

statements! {
    FIND = "SELECT live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota,
            (SELECT CAST(coalesce(sum(o.bytes), 0) AS BIGINT) FROM objects o WHERE o.account = a.seq AND o.state <> 1 /* in use */) AS bytes
        FROM accounts a WHERE a.seq = ?";
}

/// An answer is good for so long, in milliseconds.
const FRESH_MS: i64 = 1_000;

/// How many accounts are kept.
const ACCOUNTS_MAX: usize = 4_096;

/// Caches for each account whether it may put objects.
#[derive(Default)]
pub(super) struct QuotaCache(Mutex<HashMap<AccountKey, Answer>>);

#[derive(Clone, Copy)]
struct Answer {
    is_within: bool,
    known_at: i64,
}

impl QuotaCache {
    fn get(&self, account: AccountKey) -> Option<Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&account).copied()
    }

    fn set(&self, account: AccountKey, answer: Answer) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= ACCOUNTS_MAX && !answers.contains_key(&account) {
            answers.clear();
        }
        answers.insert(account, answer);
    }
}

/// Whether the unused objects of an account take no more bytes than it may store, as of a second ago at most.
pub(super) async fn is_within_quota(
    store: &Store,
    account: AccountKey,
    now: i64,
) -> Result<bool, StoreError> {
    let cache = &store.objects().quota_cache;
    let known = cache.get(account);
    if let Some(answer) = known.filter(|answer| (0..FRESH_MS).contains(&(now - answer.known_at))) {
        return Ok(answer.is_within);
    }
    let Some(row) = store.readers().fetch_optional(FIND.bind(account)).await? else { return Ok(true) };
    let limit = totals::read_quotas(&row)?.or(&store.quotas()).get(Quota::StoredBytes);
    let bytes: i64 = row.get("bytes")?;
    let is_within = limit.is_none_or(|limit| bytes <= limit);
    if !is_within && known.is_none_or(|answer| answer.is_within) {
        tracing::warn!(
            account = account.0,
            bytes,
            "large bodies of an account are stored in the database: its objects that wait to be deleted exceed its stored_bytes"
        );
    }
    cache.set(account, Answer { is_within, known_at: now });
    Ok(is_within)
}
