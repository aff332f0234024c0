//! Calls that carry an idempotency key: each is done once, and a repeat of it is answered what the first one was.

use bytes::Bytes;
use overnight_domain::scheduler::AccountKey;
use sha2::{Digest, Sha256};

use super::Services;
use super::errors::AppError;
use super::parsing::parse;
use crate::store::idempotency_keys::{self, Guard, IdempotencyKey, Recalled};

/// What a call was answered that may have been repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered<T> {
    /// It was done now.
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
