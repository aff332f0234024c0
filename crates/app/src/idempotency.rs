//! Calls with an idempotency key run once; repeats get the first answer.

use bytes::Bytes;
use overnight_domain::ids::{Id, Kind};
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;
use overnight_store::idempotency_keys::{self, Guard, Guarded, IdempotencyKey, Once, Recalled};
use sha2::{Digest, Sha256};

use super::Services;
use super::errors::AppError;
use super::parsing::parse;

/// The outcome of a call that may be a repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered<T> {
    New(T),
    /// The body of the first call's answer.
    Repeat(Bytes),
}

impl<T> Answered<T> {
    /// The new outcome, if this was not a repeat.
    pub fn into_new(self) -> Option<T> {
        match self {
            Self::New(done) => Some(done),
            Self::Repeat(_) => None,
        }
    }
}

/// The identity and answer of a call that may be repeated.
pub struct Repeatable<T> {
    /// The SHA-256 of method, path and idempotency key; unique in the account.
    pub hash: [u8; 32],
    /// Appends the body of the answer.
    pub write: fn(&T, &mut Vec<u8>),
}

/// Identifies one submission of a form: the SHA-256 of its page, its page's token and all its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormKey(pub [u8; 32]);

impl FormKey {
    const fn key(self) -> IdempotencyKey {
        IdempotencyKey { hash: self.0, digest: self.0 }
    }

    /// For a call that is answered with the object's current state.
    pub(super) fn once(self, id: &impl ToString) -> Once {
        Once { key: self.key(), response: id.to_string().into() }
    }

    /// For a call that is answered with the identifier of the new object.
    pub(super) const fn guard<T>(self, write: fn(&T, &mut Vec<u8>)) -> Guard<T> {
        Guard { key: self.key(), write }
    }

    /// The key including a long text of the form.
    pub(super) async fn with_text(
        self,
        services: &Services,
        account: AccountKey,
        text: &Bytes,
    ) -> Result<Self, AppError> {
        let content = text.clone();
        let sum =
            move |_: &Services| Ok(Sha256::new_with_prefix(self.0).chain_update(&content).finalize().into());
        parse(services, account, text.len(), sum).await.map(Self)
    }
}

/// The identifier of the object that the same form created before.
pub(super) fn made_before<K: Kind>(recalled: Recalled) -> Result<Id<K>, AppError> {
    read_id(&response(recalled)?)
}

/// Reads an answer that is kept as the identifier of the created object.
pub fn read_id<K: Kind>(answer: &[u8]) -> Result<Id<K>, AppError> {
    let id = std::str::from_utf8(answer).ok().and_then(Id::parse);
    id.ok_or_else(|| StoreError::Damaged("the answer to a repeated call").into())
}

/// The key of a call that is answered with the current state of the object `id`.
pub(super) fn once(key: Option<IdempotencyKey>, id: &impl ToString) -> Option<Once> {
    key.map(|key| Once { key, response: id.to_string().into() })
}

/// Whether a changing call repeats one that succeeded.
pub(super) fn is_repeat<T>(done: Guarded<T>) -> Result<bool, AppError> {
    match done {
        Guarded::Done(_) => Ok(false),
        Guarded::Recalled(recalled) => response(recalled).map(|_| true),
    }
}

/// The guard of a call whose content has this SHA-256; `None` if it carries no key.
pub(super) async fn guard_of<T>(
    services: &Services,
    account: AccountKey,
    content: [u8; 32],
    call: Option<Repeatable<T>>,
) -> Result<Option<Guard<T>>, AppError> {
    let Some(Repeatable { hash, write }) = call else { return Ok(None) };
    let digest = services.store.content_digest(account, content).await?;
    Ok(Some(Guard { key: IdempotencyKey { hash, digest }, write }))
}

/// The guard of a call with this body; `None` if it carries no key.
pub(super) async fn guard<T>(
    services: &Services,
    account: AccountKey,
    body: &Bytes,
    call: Option<Repeatable<T>>,
) -> Result<Option<Guard<T>>, AppError> {
    if call.is_none() {
        return Ok(None);
    }
    let content = body.clone();
    let digest = parse(services, account, body.len(), move |_| Ok(Sha256::digest(&content).into())).await?;
    guard_of(services, account, digest, call).await
}

/// The outcome of a call; if it was refused, the answer of an earlier call with the same key, because a repeat must not fail for a change
/// that the first call made.
pub(super) async fn or_repeat<T>(
    services: &Services,
    account: AccountKey,
    guard: Option<Guard<T>>,
    outcome: Result<Answered<T>, AppError>,
) -> Result<Answered<T>, AppError> {
    let (
        Some(guard),
        Err(AppError::Invalid(_) | AppError::QuotaExceeded(_) | AppError::InsufficientCredits { .. }),
    ) = (guard, &outcome)
    else {
        return outcome;
    };
    match idempotency_keys::find(&services.store, account, &guard.key).await? {
        Some(recalled) => response(recalled).map(Answered::Repeat),
        None => outcome,
    }
}

/// The stored body of the first answer.
pub(super) fn response(recalled: Recalled) -> Result<Bytes, AppError> {
    match recalled {
        Recalled::Response(response) => {
            metrics::counter!("overnight_idempotent_replays_total").increment(1);
            Ok(response)
        }
        Recalled::OtherContent => Err(AppError::IdempotencyKeyReused),
    }
}
