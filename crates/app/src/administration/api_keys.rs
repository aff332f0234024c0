use bytes::Bytes;
use overnight_domain::api_keys::KeyScope;
use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_wire::native::administration::{ApiKey as Record, ApiKeyCreated, ApiKeyList, LIST_OBJECT};

use super::{Administrator, Made, bodies, key_of};
use crate::api_keys::{self, ApiKey, KeyDraft};
use crate::errors::AppError;
use crate::{Services, accounts};

const fn seconds(ms: i64) -> i64 {
    ms.div_euclid(1_000)
}

#[must_use]
pub fn record(key: ApiKey) -> Record {
    Record {
        id: key.id.to_string(),
        prefix: key.prefix,
        name: key.name,
        scope: key.scope.as_str().to_owned(),
        created_at: seconds(key.created_at),
        expires_at: key.expires_at.map(seconds),
        revoked_at: key.revoked_at.map(seconds),
        last_used_at: key.last_used_at.map(seconds),
    }
}

/// Creates a key from the JSON text of the call's body. Only this answer, and answers to its repeats, hold the secret. Fails with
/// [`AppError::Invalid`] if the account has too many working keys.
pub async fn create(
    services: &Services,
    caller: Administrator,
    account: AccountId,
    body: &Bytes,
    call: Option<[u8; 32]>,
) -> Result<Made<ApiKeyCreated>, AppError> {
    let key = key_of(services, caller, body, call).await?;
    let (name, scope, expires_in) = bodies::read(body, &["name", "scope", "expires_in"], |members| {
        (members.text("name"), members.text("scope"), members.positive("expires_in"))
    })?;
    let scope = scope.as_deref().map_or(Some(KeyScope::Write), KeyScope::parse);
    let scope = scope.ok_or_else(|| {
        let names = KeyScope::ALL.map(KeyScope::as_str).join(", ");
        AppError::invalid("scope", codes::UNKNOWN_VALUE, &format!("must be one of {names}"))
    })?;
    let expires_in_ms = expires_in.map(|seconds| seconds.saturating_mul(1_000));
    let draft = KeyDraft { name: name.as_deref(), scope, expires_in_ms };
    let (made, is_repeat) = api_keys::create_repeatably(services, account, draft, key).await?;
    Ok(Made { made: ApiKeyCreated { key: made.key, record: record(made.record) }, is_repeat })
}

/// The keys of an account, oldest first: all working ones, and the newest revoked or expired ones.
pub async fn list(services: &Services, account: AccountId) -> Result<ApiKeyList, AppError> {
    let listed = api_keys::list(services, account).await?;
    let data = listed.keys.into_iter().map(record).collect();
    Ok(ApiKeyList { object: LIST_OBJECT.to_owned(), data, is_cut: listed.is_cut })
}

/// Revokes a key of an account. Idempotent. Fails with [`AppError::Invalid`] for the key of this call, so that callers do not lock
/// themselves out.
pub async fn revoke(
    services: &Services,
    caller: Administrator,
    account: AccountId,
    key: KeyId,
) -> Result<Record, AppError> {
    if key == caller.key {
        let message = "is the key of this call: revoke it with another one, or with `overnight key revoke`";
        return Err(AppError::invalid("api_key_id", codes::CONFLICT, message));
    }
    let account = accounts::get(services, account).await?;
    api_keys::revoke_own(services, account.key, key).await.map(record)
}
