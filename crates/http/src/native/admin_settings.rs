//! What is set of any account, by an API key with the scope `admin`.

use axum::extract::State;
use overnight_app::administration::settings;
use overnight_domain::ids::AccountKind;

use super::admin_accounts::changed;
use crate::bodies::JsonBody;
use crate::calls::AdminKey;
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::PathId;
use crate::idempotency::CallName;
#[cfg(test)]
use {
    super::refusals::{Always, OfAccount, OfBody},
    overnight_wire::native::accounts::Account,
    overnight_wire::native::administration::{SetLowCredits, SetMonthlyCredits, SetRetention},
};

/// Set an account's monthly credits
///
/// Grants the account credits once each calendar month (UTC), from the current month on. What it does not use, it keeps. Another amount holds from
/// the next month on.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/monthly_credits", operation_id = "admin_set_monthly_credits", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), ("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same key do it once: a repeat within 48 \
        hours gets the answer to the first, as things are by then, with the header `Idempotent-Replayed: true`. Another body under \
        the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    request_body(content = SetMonthlyCredits, content_type = "application/json"),
    responses((status = 200, description = "The account.", body = Account), Always, OfBody, OfAccount)))]
pub(super) async fn set_monthly_credits(
    State(context): State<Shared>,
    caller: AdminKey,
    call: CallName,
    PathId(id): PathId<AccountKind>,
    JsonBody(body): JsonBody,
) -> Answer {
    Ok(changed(&settings::set_monthly_credits(&context.services, caller.0, id, &body, call.hash()).await?))
}

/// Set when an account is told of low credits
///
/// Sends an event `account.low_credits` to the address once less credits than the threshold are available, signed like the other webhooks of the
/// account; the next one once as much was available in between, and an hour after the last at the earliest.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/low_credits", operation_id = "admin_set_low_credits", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), ("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same key do it once: a repeat within 48 \
        hours gets the answer to the first, as things are by then, with the header `Idempotent-Replayed: true`. Another body under \
        the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    request_body(content = SetLowCredits, content_type = "application/json"),
    responses((status = 200, description = "The account.", body = Account), Always, OfBody, OfAccount)))]
pub(super) async fn set_low_credits(
    State(context): State<Shared>,
    caller: AdminKey,
    call: CallName,
    PathId(id): PathId<AccountKind>,
    JsonBody(body): JsonBody,
) -> Answer {
    Ok(changed(&settings::set_low_credits(&context.services, caller.0, id, &body, call.hash()).await?))
}

/// Set an account's retention
///
/// Keeps ended requests of the account for so long. What has ended longer ago is deleted within a minute, for good.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/retention", operation_id = "admin_set_retention", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), ("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same key do it once: a repeat within 48 \
        hours gets the answer to the first, as things are by then, with the header `Idempotent-Replayed: true`. Another body under \
        the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    request_body(content = SetRetention, content_type = "application/json"),
    responses((status = 200, description = "The account.", body = Account), Always, OfBody, OfAccount)))]
pub(super) async fn set_retention(
    State(context): State<Shared>,
    caller: AdminKey,
    call: CallName,
    PathId(id): PathId<AccountKind>,
    JsonBody(body): JsonBody,
) -> Answer {
    Ok(changed(&settings::set_retention(&context.services, caller.0, id, &body, call.hash()).await?))
}
