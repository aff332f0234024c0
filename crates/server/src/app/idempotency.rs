//! Calls that carry an idempotency key: each is done once, and a repeat of it is answered what the first one was.

use bytes::Bytes;
use overnight_domain::ids::{Id, Kind};
use overnight_domain::scheduler::AccountKey;
use sha2::{Digest, Sha256};

use super::Services;
use super::errors::AppError;
use super::parsing::parse;
use crate::store::StoreError;
use crate::store::idempotency_keys::{self, Guard, Guarded, IdempotencyKey, Once, Recalled};

/// What a call was answered that may have been repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered<T> {
    New(T),
    /// It was done before: the body of the answer that it got then.
    Repeat(Bytes),
}

impl<T> Answered<T> {
    /// What was done now, if it was.
    pub fn into_new(self) -> Option<T> {
        match self {
            Self::New(done) => Some(done),
            Self::Repeat(_) => None,
        }
    }
}

/// What a caller says of a call that may be repeated.
pub struct Repeatable<T> {
    /// Names the call in its account: the SHA-256 of its method, its path and its idempotency key.
    pub hash: [u8; 32],
    /// Appends the body of the answer.
    pub write: fn(&T, &mut Vec<u8>),
}

/// What names the sending of a form: the SHA-256 of its page, of what its page was made with, and of all that was filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormKey(pub [u8; 32]);

impl FormKey {
    const fn key(self) -> IdempotencyKey {
        IdempotencyKey { hash: self.0, digest: self.0 }
    }

    /// The same for what is made by its identifier.
    pub(super) fn once(self, id: &impl ToString) -> Once {
        Once { key: self.key(), response: id.to_string().into() }
    }

    /// The same for what is answered with the identifier of what was made.
    pub(super) const fn guard<T>(self, write: fn(&T, &mut Vec<u8>)) -> Guard<T> {
        Guard { key: self.key(), write }
    }

    /// The same with a long text that was filled in.
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

/// The identifier of what a form made before.
pub(super) fn made_before<K: Kind>(recalled: Recalled) -> Result<Id<K>, AppError> {
    read_id(&response(recalled)?)
}

/// The identifier that a form is answered with.
pub(super) fn read_id<K: Kind>(answer: &[u8]) -> Result<Id<K>, AppError> {
    let id = std::str::from_utf8(answer).ok().and_then(Id::parse);
    id.ok_or_else(|| StoreError::Damaged("the answer to a form").into())
}

/// The key of a call that is answered with what `id` names, as that is by then.
pub(super) fn once(key: Option<IdempotencyKey>, id: &impl ToString) -> Option<Once> {
    key.map(|key| Once { key, response: id.to_string().into() })
}

/// Whether a call that changes something repeats one that did.
pub(super) fn is_repeat<T>(done: Guarded<T>) -> Result<bool, AppError> {
    match done {
        Guarded::Done(_) => Ok(false),
        Guarded::Recalled(recalled) => response(recalled).map(|_| true),
    }
}

/// What guards a call with this body; `None` where it carries no key.
pub(super) async fn guard<T>(
    services: &Services,
    account: AccountKey,
    body: &Bytes,
    call: Option<Repeatable<T>>,
) -> Result<Option<Guard<T>>, AppError> {
    let Some(Repeatable { hash, write }) = call else { return Ok(None) };
    let content = body.clone();
    let digest = parse(services, account, body.len(), move |_| Ok(Sha256::digest(&content).into())).await?;
    Ok(Some(Guard { key: IdempotencyKey { hash, digest }, write }))
}

/// The outcome of a call, or where it was refused, what it was answered when it was done before: a repeat is not to be refused for
/// what the first call changed.
///
/// # Errors
///
/// As the outcome, and [`AppError::IdempotencyKeyReused`] where the key was used with another body.
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

/// The body of the answer that a call got before.
pub(super) fn response(recalled: Recalled) -> Result<Bytes, AppError> {
    match recalled {
        Recalled::Response(response) => {
            metrics::counter!("overnight_idempotent_replays_total").increment(1);
            Ok(response)
        }
        Recalled::OtherContent => Err(AppError::IdempotencyKeyReused),
    }
}
