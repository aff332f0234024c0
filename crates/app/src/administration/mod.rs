//! The operator's commands over HTTP, for API keys with the scope `admin`.

pub mod accounts;
pub mod api_keys;
mod bodies;
pub mod closing;
pub mod credits;
pub mod settings;

use bytes::Bytes;
use overnight_domain::ids::KeyId;
use overnight_domain::scheduler::AccountKey;
use overnight_store::idempotency_keys::IdempotencyKey;

use super::Services;
use super::errors::AppError;
use super::idempotency;

/// The maximum rows of a page.
pub const PAGE_MAX: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Administrator {
    pub account: AccountKey,
    pub key: KeyId,
}

/// A created or changed record, and whether a call with the same idempotency key did it before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made<T> {
    pub made: T,
    pub is_repeat: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// The cursor of the next page; `None` on the last.
    pub next: Option<String>,
}

/// The idempotency key of a call named `call` with this body.
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
