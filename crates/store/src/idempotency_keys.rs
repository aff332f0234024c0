//! Idempotency keys: a call with an `Idempotency-Key` is done once, and repeats get the first answer.
//!
//! The key is taken in the transaction of the call, before accounts are locked, and the answer is written at its end. A second transaction
//! with the same key waits for the first. Calls with one key in one group are done once, and the rest get its answer. A refusal releases
//! the key. A console page gives each of its forms a key; that key and the form's content name a submission (`app::idempotency::FormKey`).

use std::collections::BTreeMap;

use bytes::Bytes;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Tx, Value, statements};
use crate::{Store, StoreError};

/// Bytes of a key's row in addition to the answer, with its places in two indexes.
const KEY_BYTES: i64 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// SHA-256 of method, path and key: names the call in its account.
    pub hash: [u8; 32],
    /// Of the content, by [`Store::content_digest`].
    pub digest: [u8; 32],
}

pub struct Guard<T> {
    pub key: IdempotencyKey,
    pub write: fn(&T, &mut Vec<u8>),
}

impl<T> Clone for Guard<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Guard<T> {}

impl<T> Guard<T> {
    pub(crate) fn response(&self, done: &T) -> Bytes {
        let mut response = Vec::new();
        (self.write)(done, &mut response);
        response.into()
    }
}

/// A key, and a short answer that is known before the call is done. The row counts for no quota: other bounds limit these calls.
#[derive(Debug, Clone)]
pub struct Once {
    pub key: IdempotencyKey,
    pub response: Bytes,
}

impl Once {
    /// Takes the key in the call's transaction, before accounts are locked. If the call was done before, returns its answer, and there is
    /// no work to do.
    pub(crate) async fn take(
        self,
        account: AccountKey,
        created_at: i64,
        tx: &mut Tx<'_>,
    ) -> Result<Option<Recalled>, StoreError> {
        let Self { key, response } = self;
        let hash = || Value::from(key.hash.to_vec());
        let take = vec![account.into(), hash(), key.digest.to_vec().into(), created_at.into()];
        if !tx.fetch(TAKE.over([], take)).await?.is_empty() {
            let keep = vec![account.into(), hash(), response.to_vec().into(), Value::Integer(None)];
            tx.execute(SET_RESPONSE.over([], keep)).await?;
            return Ok(None);
        }
        let rows = tx.fetch(FIND.bind(account).bind(key.hash.as_slice())).await?;
        rows.first().map(|row| Ok(Stored::read(row)?.recall(&key))).transpose()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recalled {
    Response(Bytes),
    OtherContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guarded<T> {
    /// Done now, or refused now.
    Done(T),
    /// The key was used before; the write was not done.
    Recalled(Recalled),
}

impl<T> Guarded<T> {
    /// For a write without a key, which is always done.
    pub(crate) fn into_done(self) -> Result<T, StoreError> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Recalled(_) => Err(StoreError::Damaged("the answer to a write without a key")),
        }
    }
}

/// Runs `work` in a transaction, once for all calls of the account with the same key; without a key, always.
pub(crate) async fn do_once<T: Send + 'static>(
    store: &Store,
    account: AccountKey,
    once: Option<Once>,
    now: i64,
    work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<Guarded<T>, StoreError> {
    let guarded = async move |tx: &mut Tx<'_>| {
        if let Some(once) = once
            && let Some(recalled) = once.take(account, now, tx).await?
        {
            return Ok(Guarded::Recalled(recalled));
        }
        work(tx).await.map(Guarded::Done)
    };
    store.transaction_of(account, guarded).await
}

statements! {
    FIND = "SELECT digest, response FROM idempotency_keys WHERE account = ? AND key = ?";
    /// Waits for another node's transaction that takes the same key.
    TAKE over [Integer, Bytes, Bytes, Integer] = {
        sqlite: "INSERT INTO idempotency_keys (account, key, digest, response, created_at) VALUES (?1, ?2, ?3, x'', ?4)
            ON CONFLICT DO NOTHING RETURNING account, key",
        postgres: "INSERT INTO idempotency_keys (account, key, digest, response, created_at)
            SELECT v.account, v.key, v.digest, ''::bytea, v.created_at
            FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) AS v(account, key, digest, created_at)
            ON CONFLICT DO NOTHING RETURNING account, key",
    };
    FIND_TAKEN over [Integer, Bytes] = {
        sqlite: "SELECT account, key, digest, response FROM idempotency_keys WHERE account = ?1 AND key = ?2",
        postgres: "SELECT k.account, k.key, k.digest, k.response FROM unnest($1::bigint[], $2::bytea[]) AS v(account, key)
            JOIN idempotency_keys k ON k.account = v.account AND k.key = v.key",
    };
    SET_RESPONSE over [Integer, Bytes, Bytes, Integer] = {
        sqlite: "UPDATE idempotency_keys SET response = ?3, bytes = ?4 WHERE account = ?1 AND key = ?2",
        postgres: "UPDATE idempotency_keys SET response = v.response, bytes = v.bytes
            FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) AS v(account, key, response, bytes)
            WHERE idempotency_keys.account = v.account AND idempotency_keys.key = v.key",
    };
    GIVE_BACK over [Integer, Bytes] = {
        sqlite: "DELETE FROM idempotency_keys WHERE account = ?1 AND key = ?2",
        postgres: "DELETE FROM idempotency_keys WHERE (account, key) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]))",
    };
}

/// The answer of an earlier call; `None` if there was none, or it was refused.
pub async fn find(
    store: &Store,
    account: AccountKey,
    key: &IdempotencyKey,
) -> Result<Option<Recalled>, StoreError> {
    let row = store.readers().fetch_optional(FIND.bind(account).bind(key.hash.as_slice())).await?;
    row.map(|row| Ok(Stored::read(&row)?.recall(key))).transpose()
}

struct Stored {
    digest: Vec<u8>,
    response: Bytes,
}

impl Stored {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self { digest: row.get("digest")?, response: row.get::<Vec<u8>>("response")?.into() })
    }

    fn recall(&self, key: &IdempotencyKey) -> Recalled {
        if self.digest == key.digest {
            Recalled::Response(self.response.clone())
        } else {
            Recalled::OtherContent
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) account: AccountKey,
    pub(crate) key: IdempotencyKey,
    /// In milliseconds.
    pub(crate) created_at: i64,
}

enum Claimed {
    First,
    Before(Stored),
    /// Same key as the write at this place of the group.
    Beside(usize),
}

/// A write's outcome, and the answer for repeats.
type Outcome<T> = (T, Option<Bytes>);

/// Claims of a group's writes, with or without a key.
pub(crate) struct Claims {
    claims: Vec<Option<Claim>>,
    claimed: Vec<Claimed>,
}

impl Claims {
    /// Takes the unused keys; [`Claims::first`] names their writes. Locks their rows, before accounts.
    pub(crate) async fn take(claims: Vec<Option<Claim>>, tx: &mut Tx<'_>) -> Result<Self, StoreError> {
        // Every node locks in this order.
        let mut first = BTreeMap::new();
        let mut claimed = Vec::with_capacity(claims.len());
        for (place, claim) in claims.iter().enumerate() {
            let holder = claim.map_or(place, |claim| *first.entry(name(&claim)).or_insert(place));
            claimed.push(if holder == place { Claimed::First } else { Claimed::Beside(holder) });
        }
        let mut this = Self { claims, claimed };
        if !first.is_empty() {
            this.take_first(first, tx).await?;
        }
        Ok(this)
    }

    async fn take_first(
        &mut self,
        mut first: BTreeMap<(i64, Vec<u8>), usize>,
        tx: &mut Tx<'_>,
    ) -> Result<(), StoreError> {
        let take = first.values().flat_map(|&place| self.claims.get(place).copied().flatten());
        let take = take.flat_map(|Claim { account, key, created_at }| {
            [account.into(), key.hash.to_vec().into(), key.digest.to_vec().into(), created_at.into()]
        });
        for row in tx.fetch(TAKE.over([], take.collect())).await? {
            first.remove(&(row.get("account")?, row.get("key")?));
        }
        if first.is_empty() {
            return Ok(());
        }
        let taken = first.keys().flat_map(|(account, key)| [Value::from(*account), key.clone().into()]);
        for row in tx.fetch(FIND_TAKEN.over([], taken.collect())).await? {
            if let Some(&place) = first.get(&(row.get("account")?, row.get("key")?)) {
                self.claimed[place] = Claimed::Before(Stored::read(&row)?);
            }
        }
        Ok(())
    }

    pub(crate) fn first(&self) -> Vec<usize> {
        let is_first = |place: &usize| matches!(self.claimed.get(*place), Some(Claimed::First));
        (0..self.claimed.len()).filter(is_first).collect()
    }

    /// The answer to each write. `done` has the outcomes of the writes that were done; `response` returns the answer for repeats, or `None`
    /// for a refusal, whose key is released. `count` gets the stored bytes of each account.
    pub(crate) async fn end<T: Clone>(
        self,
        done: Vec<T>,
        response: impl Fn(usize, &T) -> Option<Bytes>,
        mut count: impl FnMut(i64, i64),
        tx: &mut Tx<'_>,
    ) -> Result<Vec<Guarded<T>>, StoreError> {
        let mut outcomes: Vec<Option<Outcome<T>>> = self.claims.iter().map(|_| None).collect();
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for (place, outcome) in self.first().into_iter().zip(done) {
            let claim = self.claims.get(place).copied().flatten();
            let response = claim.and_then(|_| response(place, &outcome));
            match (claim, &response) {
                (Some(Claim { account, key, .. }), Some(response)) => {
                    let bytes = KEY_BYTES + response.len() as i64;
                    count(account.0, bytes);
                    kept.extend([
                        account.into(),
                        key.hash.to_vec().into(),
                        response.to_vec().into(),
                        bytes.into(),
                    ]);
                }
                (Some(claim), None) => refused.extend([claim.account.into(), claim.key.hash.to_vec().into()]),
                (None, _) => {}
            }
            outcomes[place] = Some((outcome, response));
        }
        tx.execute(SET_RESPONSE.over([], kept)).await?;
        tx.execute(GIVE_BACK.over([], refused)).await?;
        Ok((0..self.claims.len()).filter_map(|place| self.answer(place, &outcomes)).collect())
    }

    fn answer<T: Clone>(&self, place: usize, outcomes: &[Option<Outcome<T>>]) -> Option<Guarded<T>> {
        let key = |place: usize| Some(self.claims.get(place)?.as_ref()?.key);
        let before = |stored: &Stored| Some(Guarded::Recalled(stored.recall(&key(place)?)));
        let holder = match self.claimed.get(place)? {
            Claimed::First => {
                return outcomes.get(place)?.as_ref().map(|(done, _)| Guarded::Done(done.clone()));
            }
            Claimed::Before(stored) => return before(stored),
            Claimed::Beside(holder) => *holder,
        };
        if let Claimed::Before(stored) = self.claimed.get(holder)? {
            return before(stored);
        }
        match outcomes.get(holder)? {
            _ if key(place)?.digest != key(holder)?.digest => Some(Guarded::Recalled(Recalled::OtherContent)),
            Some((_, Some(response))) => Some(Guarded::Recalled(Recalled::Response(response.clone()))),
            Some((refused, None)) => Some(Guarded::Done(refused.clone())),
            None => None,
        }
    }
}

fn name(claim: &Claim) -> (i64, Vec<u8>) {
    (claim.account.0, claim.key.hash.to_vec())
}
