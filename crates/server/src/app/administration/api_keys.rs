//! The API keys of an account.

use bytes::Bytes;
use overnight_domain::api_keys::KeyScope;
use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_wire::native::administration::{ApiKey as Record, ApiKeyCreated, ApiKeyList, LIST_OBJECT};

use super::{Administrator, Made, bodies, key_of};
use crate::app::api_keys::{self, ApiKey, KeyDraft};
use crate::app::errors::AppError;
use crate::app::{Services, accounts};

const fn seconds(ms: i64) -> i64 {
    ms.div_euclid(1_000)
}

fn record(key: ApiKey) -> Record {
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

/// Makes a key, from the JSON text of the call's body. The key itself is told in the answer, and in those to repeats of the call.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account; [`AppError::Invalid`] for what is wrong with the body, and where very many
/// keys work already; [`AppError::IdempotencyKeyReused`].
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

/// The keys of an account, oldest first: all that work, and the newest of those that were revoked or have expired.
pub async fn list(services: &Services, account: AccountId) -> Result<ApiKeyList, AppError> {
    let listed = api_keys::list(services, account).await?;
    let data = listed.keys.into_iter().map(record).collect();
    Ok(ApiKeyList { object: LIST_OBJECT.to_owned(), data, is_cut: listed.is_cut })
}

/// Revokes a key of an account. A second time changes nothing.
///
/// # Errors
///
/// [`AppError::NotFound`] where the account, or the key in it, is not there; [`AppError::Invalid`] for the key of this very call:
/// whoever calls is not to be locked out by mistake.
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
