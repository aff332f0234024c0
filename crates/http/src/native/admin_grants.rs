//! Grants of credits to any account, by an API key with the scope `admin`.

use axum::extract::{RawQuery, State};
use overnight_app::administration::{PAGE_MAX, credits};
use overnight_domain::ids::AccountKind;
use overnight_wire::native::administration::{GrantList, LIST_OBJECT};

use super::admin_accounts::{PAGE_DEFAULT, made, record};
use crate::bodies::JsonBody;
use crate::calls::AdminKey;
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::{PathId, QueriedId};
use crate::idempotency::CallName;
use crate::queries::PlaceQuery;
#[cfg(test)]
use {
    super::refusals::{Always, OfAccount, OfAdmin, OfBody, OfPath},
    overnight_wire::native::administration::{CreateGrant, GrantCreated, PageFilter},
};

/// List an account's grants
///
/// The newest first, a page at a time.
#[cfg_attr(test, utoipa::path(get, path = "/v1/admin/accounts/{account_id}/grants", operation_id = "admin_list_grants", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), PageFilter),
    responses((status = 200, description = "A page of grants.", body = GrantList), Always, OfAdmin, OfPath)))]
pub(super) async fn list(
    State(context): State<Shared>,
    _: AdminKey,
    QueriedId(account): QueriedId<AccountKind>,
    RawQuery(query): RawQuery,
) -> Answer {
    let query = query.unwrap_or_default();
    let place = |text: &str| text.parse().ok();
    let query = PlaceQuery::read(&query, "the next of a page", place, PAGE_DEFAULT, PAGE_MAX)?;
    let page = credits::list(&context.services, account, query.after, query.limit).await?;
    Ok(record(&GrantList { object: LIST_OBJECT.to_owned(), data: page.rows, next: page.next }))
}

/// Grant credits
///
/// Grants an account credits, or takes some back that are available. With a `source`, such as an invoice's number, they are granted
/// once, whoever asks and however often.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/grants", operation_id = "admin_create_grant", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), ("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same key do it once: a repeat within 48 \
        hours gets the answer to the first, as things are by then, with the header `Idempotent-Replayed: true`. Another body under \
        the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    request_body(content = CreateGrant, content_type = "application/json"),
    responses((status = 201, description = "The grant.", body = GrantCreated), Always, OfBody, OfAccount)))]
pub(super) async fn create(
    State(context): State<Shared>,
    caller: AdminKey,
    call: CallName,
    PathId(account): PathId<AccountKind>,
    JsonBody(body): JsonBody,
) -> Answer {
    let grant = credits::grant(&context.services, caller.0, account, &body, call.hash()).await?;
    Ok(made(&grant))
}
