//! Caches the accounts of keys for less than a second: a call costs no read of the store, and revocations by other processes take effect
//! within a second. Each read of the store also notes that the key was used.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_domain::api_keys::KeyScope;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_domain::scheduler::AccountKey;
use overnight_store::identity::api_keys::KeyHolder;

use super::uses::Uses;

/// After this time one caller reads the store again, while others use the cached answer.
const FRESH_MS: i64 = 500;

/// After this time the cached answer is not used any more.
const KNOWN_MS: i64 = 900;

/// The maximum number of cached keys. Further keys are read from the store each time until entries have aged.
const KEYS_MAX: usize = 16_384;

/// Caches keys that recently opened an account, by SHA-256. Keys that opened none are never cached.
#[derive(Debug, Default)]
pub struct ApiKeyCache {
    known: Mutex<HashMap<[u8; 32], Known>>,
    pub(super) uses: Uses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    pub account: AccountKey,
    pub id: AccountId,
    pub key: i64,
    pub sha256: [u8; 32],
    pub key_id: KeyId,
    pub scope: KeyScope,
    pub is_suspended: bool,
}

#[derive(Debug)]
struct Known {
    opened: Opened,
    expires_at: Option<i64>,
    /// Time of the store's answer; `None` if every caller must ask it again.
    read_at: Option<i64>,
    is_being_read: bool,
}

impl Opened {
    pub(super) fn by(holder: &KeyHolder, sha256: [u8; 32]) -> Self {
        let KeyHolder { account, account_id: id, key, key_id, scope, is_suspended, .. } = *holder;
        Self { account, id, key, sha256, key_id, scope, is_suspended }
    }
}

impl ApiKeyCache {
    /// The account of a key at `now`; `None` if the caller must read the store and report to [`ApiKeyCache::learn`].
    pub(super) fn find(&self, sha256: &[u8; 32], now: i64) -> Option<Opened> {
        let mut known = self.known();
        let holder = known.get_mut(sha256)?;
        let age_ms = now - holder.read_at?;
        let is_expired = holder.expires_at.is_some_and(|expires_at| expires_at <= now);
        if !(0..KNOWN_MS).contains(&age_ms) || is_expired {
            return None;
        }
        if age_ms >= FRESH_MS && !holder.is_being_read {
            holder.is_being_read = true;
            return None;
        }
        Some(holder.opened)
    }

    /// The account that the key opened when the store was last asked, however long ago.
    pub(super) fn last_opened(&self, sha256: &[u8; 32]) -> Option<AccountKey> {
        self.known().get(sha256).map(|known| known.opened.account)
    }

    /// Records the store's answer of `now`.
    pub(super) fn learn(&self, sha256: [u8; 32], holder: Option<&KeyHolder>, now: i64) {
        let mut known = self.known();
        let Some(holder) = holder else {
            known.remove(&sha256);
            return;
        };
        self.uses.note(holder.key, holder.last_used_at, now);
        if known.len() >= KEYS_MAX && !known.contains_key(&sha256) {
            known.retain(|_, holder| holder.is_known_at(now));
            if known.len() >= KEYS_MAX {
                return;
            }
        }
        let (opened, expires_at) = (Opened::by(holder, sha256), holder.expires_at);
        known.insert(sha256, Known { opened, expires_at, read_at: Some(now), is_being_read: false });
    }

    /// Makes the next use of every key read the store, so that this process's own changes take effect immediately.
    pub(crate) fn distrust(&self) {
        self.known().values_mut().for_each(|holder| holder.read_at = None);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<[u8; 32], Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn is_known_at(&self, now: i64) -> bool {
        self.read_at.is_some_and(|read_at| (0..KNOWN_MS).contains(&(now - read_at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: Opened = Opened {
        account: AccountKey(7),
        id: AccountId::from_bits(1),
        key: 2,
        sha256: [1; 32],
        key_id: KeyId::from_bits(2),
        scope: KeyScope::Write,
        is_suspended: false,
    };

    fn holder(expires_at: Option<i64>) -> KeyHolder {
        KeyHolder {
            account: OPENED.account,
            account_id: OPENED.id,
            key: OPENED.key,
            key_id: OPENED.key_id,
            scope: OPENED.scope,
            expires_at,
            is_suspended: OPENED.is_suspended,
            is_activated: true,
            last_used_at: None,
            requests_per_second_quota: None,
        }
    }

    #[test]
    fn one_caller_reads_again_while_the_others_go_on_and_none_does_past_the_bound() {
        let cache = ApiKeyCache::default();
        cache.learn([1; 32], Some(&holder(None)), 1_000);
        assert_eq!(cache.find(&[1; 32], 1_499), Some(OPENED));
        assert_eq!(cache.find(&[1; 32], 1_500), None);
        assert_eq!(cache.find(&[1; 32], 1_500), Some(OPENED));
        assert_eq!(cache.find(&[1; 32], 1_900), None);
        assert_eq!(cache.find(&[1; 32], 999), None);
    }

    #[test]
    fn a_revoked_and_an_expired_key_are_not_known() {
        let cache = ApiKeyCache::default();
        cache.learn([1; 32], Some(&holder(Some(1_100))), 1_000);
        assert_eq!(cache.find(&[1; 32], 1_099), Some(OPENED));
        assert_eq!(cache.find(&[1; 32], 1_100), None);
        assert_eq!(cache.last_opened(&[1; 32]), Some(OPENED.account));
        cache.learn([1; 32], None, 1_101);
        assert_eq!(cache.last_opened(&[1; 32]), None);
    }

    #[test]
    fn a_key_that_is_distrusted_is_asked_about_and_has_opened_an_account_all_the_same() {
        let cache = ApiKeyCache::default();
        cache.learn([1; 32], Some(&holder(None)), 1_000);
        cache.distrust();
        assert_eq!(cache.find(&[1; 32], 1_000), None);
        assert_eq!(cache.last_opened(&[1; 32]), Some(OPENED.account));
    }

    #[test]
    fn no_more_than_the_bound_are_kept_and_old_ones_make_room() {
        let cache = ApiKeyCache::default();
        let key = |number: usize| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_le_bytes());
            key
        };
        for number in 0..=KEYS_MAX {
            cache.learn(key(number), Some(&holder(None)), 1_000);
        }
        assert_eq!(cache.known().len(), KEYS_MAX);
        cache.learn(key(KEYS_MAX + 1), Some(&holder(None)), 5_000);
        assert_eq!(cache.known().len(), 1);
    }
}
