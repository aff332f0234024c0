//! What API keys with the scope `admin` do to every account: the operator's commands, over HTTP.

pub mod accounts;
pub mod api_keys;
mod bodies;
pub mod closing;
pub mod credits;
pub mod settings;

use bytes::Bytes;
use overnight_domain::ids::KeyId;
use overnight_domain::scheduler::AccountKey;

use super::Services;
use super::errors::AppError;
use super::idempotency;
use crate::store::idempotency_keys::IdempotencyKey;

/// The most rows of a page.
pub const PAGE_MAX: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Administrator {
    pub account: AccountKey,
    pub key: KeyId,
}

/// What was made or changed, and whether a call with the same idempotency key did so before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made<T> {
    pub made: T,
    /// Whether it was done before.
    pub is_repeat: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// What names the place behind which the next page begins; `None` where this is the last.
    pub next: Option<String>,
}

/// The idempotency key of a call with this body, whose name is `call`.
async fn key_of(
    services: &Services,
    caller: Administrator,
    body: &Bytes,
    call: Option<[u8; 32]>,
) -> Result<Option<IdempotencyKey>, AppError> {
    let repeatable = call.map(|hash| idempotency::Repeatable::<()> { hash, write: |(), _| {} });
    let guard = idempotency::guard(services, caller.account, body, repeatable).await?;
    Ok(guard.map(|guard| guard.key))
}
