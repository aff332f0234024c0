//! Caches which account a key opens, for less than a second, so that a call costs no read of the store and another
//! process's revocation is still felt within one second. Whoever reads the store notes that the key was used.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_domain::api_keys::KeyScope;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_domain::scheduler::AccountKey;

use super::uses::Uses;
use crate::store::identity::api_keys::KeyHolder;

/// After this long one caller reads the store again, while the others go on with what is known.
const FRESH_MS: i64 = 500;

/// After this long nobody goes on with what is known.
const KNOWN_MS: i64 = 900;

/// How many keys are kept; the next one is read from the store each time until others have aged.
const KEYS_MAX: usize = 16_384;

/// Caches the keys that opened an account a moment ago, by SHA-256. Keys that opened none are never kept.
#[derive(Debug, Default)]
pub struct ApiKeyCache {
    known: Mutex<HashMap<[u8; 32], Known>>,
    pub(super) uses: Uses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// Its row number.
    pub account: AccountKey,
    pub id: AccountId,
    /// The row number of the key.
    pub key: i64,
    pub sha256: [u8; 32],
    pub key_id: KeyId,
    pub scope: KeyScope,
    /// Whether the account is suspended.
    pub is_suspended: bool,
}

#[derive(Debug)]
struct Known {
    opened: Opened,
    expires_at: Option<i64>,
    /// When the store said so; `None` where it is to be asked again before anybody goes on.
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
    /// The account that a key opens at `now`, or `None` where the caller has to read the store, and then tell
    /// [`ApiKeyCache::learn`].
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

    /// Whether a key opened an account when the store was asked last, however long ago.
    pub(super) fn has_opened(&self, sha256: &[u8; 32]) -> bool {
        self.known().contains_key(sha256)
    }

    /// What the store said of a key; it was asked at `now`.
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

    /// Has the store asked again about every key, so that what this process changed is felt at once.
    pub(in crate::app) fn distrust(&self) {
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
        assert!(cache.has_opened(&[1; 32]));
        cache.learn([1; 32], None, 1_101);
        assert!(!cache.has_opened(&[1; 32]));
    }

    #[test]
    fn a_key_that_is_distrusted_is_asked_about_and_has_opened_an_account_all_the_same() {
        let cache = ApiKeyCache::default();
        cache.learn([1; 32], Some(&holder(None)), 1_000);
        cache.distrust();
        assert_eq!(cache.find(&[1; 32], 1_000), None);
        assert!(cache.has_opened(&[1; 32]));
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
