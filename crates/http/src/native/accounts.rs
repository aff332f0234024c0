//! The caller's account over HTTP.

use axum::extract::State;
use overnight_app::accounts;

use crate::answers;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::Answer;
#[cfg(test)]
use {super::refusals::Always, overnight_wire::native::accounts::Account};

/// Get your account
///
/// The account that the key belongs to, its credits and its quotas.
#[cfg_attr(test, utoipa::path(get, path = "/v1/account", operation_id = "get_account", tag = "Account",
    responses((status = 200, description = "The account.", body = Account), Always)))]
pub(super) async fn get(State(context): State<Shared>, caller: Caller) -> Answer {
    let services = &context.services;
    let account = accounts::record(services, &accounts::get_own(services, caller.0).await?).await?;
    // Writing to memory cannot fail.
    Ok(answers::ok(|out| drop(serde_json::to_writer(out, &account))))
}
