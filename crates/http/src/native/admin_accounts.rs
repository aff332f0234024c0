//! Accounts, by an API key with the scope `admin`.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use overnight_app::administration::{Made, PAGE_MAX, accounts};
use overnight_domain::ids::{AccountId, AccountKind};
use overnight_wire::native::accounts::Account;
use overnight_wire::native::administration::{AccountList, LIST_OBJECT};
use serde::Serialize;

use crate::answers;
use crate::bodies::JsonBody;
use crate::calls::AdminKey;
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::PathId;
use crate::idempotency::{self, CallName};
use crate::queries::PlaceQuery;
#[cfg(test)]
use {
    super::refusals::{Always, OfAccount, OfAdmin, OfBody, OfPath, OfQuery},
    overnight_wire::native::administration::{CreateAccount, PageFilter, SetLimits, Totals},
};

/// The default rows of a page.
pub(super) const PAGE_DEFAULT: u32 = 20;

/// 200 with a record.
pub(super) fn record(record: &impl Serialize) -> Response {
    // Writing to memory cannot fail.
    answers::ok(|out| drop(serde_json::to_writer(out, record)))
}

/// 201 with the record that this call, or one that it repeats, created.
pub(super) fn made<T: Serialize>(made: &Made<T>) -> Response {
    // Writing to memory cannot fail.
    let mut response = answers::json(StatusCode::CREATED, |out| drop(serde_json::to_writer(out, &made.made)));
    if made.is_repeat {
        idempotency::mark_repeat(&mut response);
    }
    response
}

/// 200 with the record that this call, or one that it repeats, changed.
pub(super) fn changed<T: Serialize>(changed: &Made<T>) -> Response {
    let mut response = record(&changed.made);
    if changed.is_repeat {
        idempotency::mark_repeat(&mut response);
    }
    response
}

/// List accounts
///
/// Every account, oldest first, a page at a time.
#[cfg_attr(test, utoipa::path(get, path = "/v1/admin/accounts", operation_id = "admin_list_accounts", tag = "Administration",
    params(PageFilter),
    responses((status = 200, description = "A page of accounts.", body = AccountList), Always, OfAdmin, OfQuery)))]
pub(super) async fn list(State(context): State<Shared>, _: AdminKey, RawQuery(query): RawQuery) -> Answer {
    // A malformed identifier becomes one that is never found.
    let account = |text: &str| Some(AccountId::parse(text).unwrap_or(AccountId::from_bits(0)));
    let query = query.unwrap_or_default();
    let query = PlaceQuery::read(&query, "the id of an account", account, PAGE_DEFAULT, PAGE_MAX)?;
    let page = accounts::list(&context.services, query.after, query.limit).await?;
    Ok(record(&AccountList { object: LIST_OBJECT.to_owned(), data: page.rows, next: page.next }))
}

/// Create an account
///
/// Makes an account without credits. Keys and grants are calls of their own.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts", operation_id = "admin_create_account", tag = "Administration",
    params(("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same key do it once: a repeat within 48 \
        hours gets the answer to the first, as things are by then, with the header `Idempotent-Replayed: true`. Another body under \
        the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    request_body(content = CreateAccount, content_type = "application/json"),
    responses((status = 201, description = "The account.", body = Account), Always, OfBody)))]
pub(super) async fn create(
    State(context): State<Shared>,
    caller: AdminKey,
    call: CallName,
    JsonBody(body): JsonBody,
) -> Answer {
    let account: Made<Account> = accounts::create(&context.services, caller.0, &body, call.hash()).await?;
    Ok(made(&account))
}

/// Get an account
#[cfg_attr(test, utoipa::path(get, path = "/v1/admin/accounts/{account_id}", operation_id = "admin_get_account", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account.")),
    responses((status = 200, description = "The account.", body = Account), Always, OfAdmin, OfPath)))]
pub(super) async fn get(
    State(context): State<Shared>,
    _: AdminKey,
    PathId(id): PathId<AccountKind>,
) -> Answer {
    Ok(record(&accounts::get(&context.services, id).await?))
}

/// Activate an account's payments
///
/// Its keys work from then on. A second time changes nothing.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/activate", operation_id = "admin_activate_account", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account.")),
    responses((status = 200, description = "The account.", body = Account), Always, OfAdmin, OfPath)))]
pub(super) async fn activate(
    State(context): State<Shared>,
    _: AdminKey,
    PathId(id): PathId<AccountKind>,
) -> Answer {
    Ok(record(&accounts::activate(&context.services, id).await?))
}

/// Suspend an account
///
/// Its keys and members read, and change nothing, at once where the call is answered and within a second elsewhere. What it sent before
/// is completed and charged. A second time changes nothing. A key with the scope `admin` of this account goes on under `/v1/admin`.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/suspend", operation_id = "admin_suspend_account", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account.")),
    responses((status = 200, description = "The account.", body = Account), Always, OfAdmin, OfPath)))]
pub(super) async fn suspend(
    State(context): State<Shared>,
    _: AdminKey,
    PathId(id): PathId<AccountKind>,
) -> Answer {
    Ok(record(&accounts::suspend(&context.services, id).await?))
}

/// Resume an account
///
/// Lets an account go on that was suspended. A second time changes nothing.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/resume", operation_id = "admin_resume_account", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account.")),
    responses((status = 200, description = "The account.", body = Account), Always, OfAdmin, OfPath)))]
pub(super) async fn resume(
    State(context): State<Shared>,
    _: AdminKey,
    PathId(id): PathId<AccountKind>,
) -> Answer {
    Ok(record(&accounts::resume(&context.services, id).await?))
}

/// Set an account's limits
///
/// Sets quotas of the account's own, felt within a second. What is not in the body stays.
#[cfg_attr(test, utoipa::path(post, path = "/v1/admin/accounts/{account_id}/limits", operation_id = "admin_set_account_limits", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account.")),
    request_body(content = SetLimits, content_type = "application/json"),
    responses((status = 200, description = "The account.", body = Account), Always, OfBody, OfAccount)))]
pub(super) async fn set_limits(
    State(context): State<Shared>,
    _: AdminKey,
    PathId(id): PathId<AccountKind>,
    JsonBody(body): JsonBody,
) -> Answer {
    Ok(record(&accounts::set_limits(&context.services, id, &body).await?))
}

/// Get an account's totals
///
/// What the account has, holds and spent.
#[cfg_attr(test, utoipa::path(get, path = "/v1/admin/accounts/{account_id}/totals", operation_id = "admin_get_account_totals", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account.")),
    responses((status = 200, description = "The totals.", body = Totals), Always, OfAdmin, OfPath)))]
pub(super) async fn get_totals(
    State(context): State<Shared>,
    _: AdminKey,
    PathId(id): PathId<AccountKind>,
) -> Answer {
    Ok(record(&accounts::totals(&context.services, id).await?))
}
