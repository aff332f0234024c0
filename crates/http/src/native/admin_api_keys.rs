//! The API keys of any account, by an API key with the scope `admin`.

use axum::extract::State;
use overnight_app::administration::api_keys;
use overnight_domain::ids::{AccountKind, KeyKind};

use super::admin_accounts::{made, record};
use crate::bodies::JsonBody;
use crate::calls::AdminKey;
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::{PathId, PathIds};
use crate::idempotency::CallName;
#[cfg(test)]
use {
    super::refusals::{Always, OfAccount, OfAdmin, OfBody, OfPath},
    overnight_wire::native::administration::{ApiKey, ApiKeyCreated, ApiKeyList, CreateApiKey},
};

/// List an account's API keys
///
/// Oldest first: all that work, and the newest 1,000 of those that were revoked or have expired.
#[cfg_attr(test, utoipa::path(get, path = "/v1/admin/accounts/{account_id}/api_keys", operation_id = "admin_list_api_keys", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account.")),
    responses((status = 200, description = "The keys.", body = ApiKeyList), Always, OfAdmin, OfPath)))]
pub(super) async fn list(
    State(context): State<Shared>,
    _: AdminKey,
    PathId(account): PathId<AccountKind>,
) -> Answer {
    Ok(record(&api_keys::list(&context.services, account).await?))
}

/// Create an API key
///
/// The key itself is in this answer, and in those to repeats of the call, and nowhere else.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/api_keys", operation_id = "admin_create_api_key", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), ("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same key do it once: a repeat within 48 \
        hours gets the answer to the first, as things are by then, with the header `Idempotent-Replayed: true`. Another body under \
        the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    request_body(content = CreateApiKey, content_type = "application/json"),
    responses((status = 201, description = "The key.", body = ApiKeyCreated), Always, OfBody, OfAccount)))]
pub(super) async fn create(
    State(context): State<Shared>,
    caller: AdminKey,
    call: CallName,
    PathId(account): PathId<AccountKind>,
    JsonBody(body): JsonBody,
) -> Answer {
    let key = api_keys::create(&context.services, caller.0, account, &body, call.hash()).await?;
    Ok(made(&key))
}

/// Revoke an API key
///
/// It is refused at once where the call is answered, and within a second elsewhere. A second time changes nothing. The key of this very
/// call is not revoked.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/api_keys/{api_key_id}/revoke", operation_id = "admin_revoke_api_key", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), ("api_key_id" = String, Path, description = "The identifier of the key.")),
    responses((status = 200, description = "The key.", body = ApiKey), Always, OfAdmin, OfPath)))]
pub(super) async fn revoke(
    State(context): State<Shared>,
    caller: AdminKey,
    PathIds(account, key): PathIds<AccountKind, KeyKind>,
) -> Answer {
    Ok(record(&api_keys::revoke(&context.services, caller.0, account, key).await?))
}
