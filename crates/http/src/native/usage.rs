//! Completed requests of accounts and their charges: the caller's own, and any account's for an API key with the scope `admin`.

use axum::extract::{RawQuery, State};
use overnight_app::usage;
use overnight_domain::ids::AccountKind;

use super::admin_accounts::record;
use crate::calls::{AdminKey, Caller};
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::QueriedId;
use crate::queries::read_usage_query;
#[cfg(test)]
use {
    super::refusals::{Always, OfAdmin, OfPath, OfUsage},
    overnight_wire::native::usage::{UsageFilter, UsageList},
};

/// List usage
///
/// Lists the number, tokens and charge of the requests that completed on up to 31 days, grouped by any of day, model and API key, a page at a
/// time. A request counts on the day (UTC) on which it completes, and for the key that created it, or that created the batch of its file. Every
/// page of a list is about the same days.
#[cfg_attr(test, utoipa::path(get, path = "/v1/usage", operation_id = "list_usage", tag = "Account",
    params(UsageFilter),
    responses((status = 200, description = "A page of usage.", body = UsageList), Always, OfUsage)))]
pub(super) async fn list(State(context): State<Shared>, caller: Caller, RawQuery(query): RawQuery) -> Answer {
    let query = read_usage_query(&query.unwrap_or_default())?;
    Ok(record(&usage::page(&context.services, caller.0, query).await?))
}

/// List an account's usage
///
/// Lists the usage of any account, as List usage does.
#[cfg_attr(test, utoipa::path(get, path = "/v1/admin/accounts/{account_id}/usage", operation_id = "admin_list_usage", tag = "Administration",
    params(("account_id" = String, Path, description = "The identifier of the account."), UsageFilter),
    responses((status = 200, description = "A page of usage.", body = UsageList), Always, OfAdmin, OfPath)))]
pub(super) async fn list_of_account(
    State(context): State<Shared>,
    _: AdminKey,
    QueriedId(account): QueriedId<AccountKind>,
    RawQuery(query): RawQuery,
) -> Answer {
    let query = read_usage_query(&query.unwrap_or_default())?;
    Ok(record(&usage::page_of(&context.services, account, query).await?))
}
