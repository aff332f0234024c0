//! The end of any account, by an API key with the scope `admin`.

use axum::extract::State;
use overnight_app::administration::closing;
use overnight_domain::ids::AccountKind;

use super::admin_accounts::changed;
use crate::calls::AdminKey;
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::PathId;
use crate::idempotency::CallName;
#[cfg(test)]
use {
    super::refusals::{Always, OfAdmin, OfPath},
    overnight_wire::native::accounts::Account,
};

/// Close an account
///
/// Closes an account for good: its keys are revoked, its members do not see it any more, and what waits and runs is cancelled soon. Nothing opens it
/// again. A second time changes nothing. The account of the key of this call is refused.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/close", operation_id = "admin_close_account", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), ("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same key do it once: a repeat within 48 \
        hours gets the answer to the first, as things are by then, with the header `Idempotent-Replayed: true`. Another body under \
        the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    responses((status = 200, description = "The account.", body = Account), Always, OfAdmin, OfPath)))]
pub(super) async fn close(
    State(context): State<Shared>,
    caller: AdminKey,
    call: CallName,
    PathId(id): PathId<AccountKind>,
) -> Answer {
    Ok(changed(&closing::close(&context.services, caller.0, id, call.hash()).await?))
}

/// Erase an account
///
/// Erases what a closed account had, soon and piece by piece: all but the entries of its ledger. Nothing brings it back. A second time changes
/// nothing. An account that is not closed is refused.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/erase", operation_id = "admin_erase_account", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), ("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same key do it once: a repeat within 48 \
        hours gets the answer to the first, as things are by then, with the header `Idempotent-Replayed: true`. Another body under \
        the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    responses((status = 200, description = "The account.", body = Account), Always, OfAdmin, OfPath)))]
pub(super) async fn erase(
    State(context): State<Shared>,
    caller: AdminKey,
    call: CallName,
    PathId(id): PathId<AccountKind>,
) -> Answer {
    Ok(changed(&closing::erase(&context.services, caller.0, id, call.hash()).await?))
}
