//! The dialect under `/v1`: the service's own API, and what its reference is drawn from.

mod accounts;
mod admin_accounts;
mod admin_api_keys;
mod admin_closing;
mod admin_grants;
mod admin_settings;
mod batches;
#[cfg(test)]
mod lines;
mod models;
#[cfg(test)]
mod refusals;
mod requests;
mod usage;

pub(super) use self::models::{list as list_models, models as models_of};

use axum::Router;
use axum::routing::MethodRouter;

use super::context::Shared;
use super::dialects::Dialect;
use super::errors::write_envelope;

pub(super) const DIALECT: Dialect = Dialect::new("/v1", write_envelope);

/// Declares the routes of the dialect: each path with its methods and handlers. Tests generate the reference from the same list.
macro_rules! routes {
    ($($path:literal: $($method:ident $noun:ident::$handler:ident),+;)+) => {
        pub(super) fn routes() -> Router<Shared> {
            Router::new()$(.route($path, MethodRouter::new()$(.$method($noun::$handler))+))+
        }

        /// The method and path of each route, and its handler's description.
        #[cfg(test)]
        pub(super) fn described() -> Vec<(&'static str, &'static str, utoipa_axum::router::OpenApiRouter<Shared>)> {
            vec![$($((
                stringify!($method),
                $path,
                utoipa_axum::router::OpenApiRouter::new().routes(utoipa_axum::routes!($noun::$handler)),
            )),+),+]
        }
    };
}

routes! {
    "/v1/requests": get requests::list, post requests::create;
    "/v1/requests/{request_id}": get requests::get, delete requests::delete;
    "/v1/requests/{request_id}/status": get requests::get_status;
    "/v1/requests/{request_id}/cancel": post requests::cancel;
    "/v1/batches": get batches::list, post batches::create;
    "/v1/batches/{batch_id}": get batches::get, delete batches::delete;
    "/v1/batches/{batch_id}/status": get batches::get_status;
    "/v1/batches/{batch_id}/requests": get batches::get_requests;
    "/v1/batches/{batch_id}/results": get batches::get_results;
    "/v1/batches/{batch_id}/cancel": post batches::cancel;
    "/v1/models": get models::list;
    "/v1/account": get accounts::get;
    "/v1/usage": get usage::list;
    "/v1/admin/accounts": get admin_accounts::list, post admin_accounts::create;
    "/v1/admin/accounts/{account_id}": get admin_accounts::get;
    "/v1/admin/accounts/{account_id}/activate": post admin_accounts::activate;
    "/v1/admin/accounts/{account_id}/suspend": post admin_accounts::suspend;
    "/v1/admin/accounts/{account_id}/resume": post admin_accounts::resume;
    "/v1/admin/accounts/{account_id}/limits": post admin_accounts::set_limits;
    "/v1/admin/accounts/{account_id}/retention": post admin_settings::set_retention;
    "/v1/admin/accounts/{account_id}/monthly_credits": post admin_settings::set_monthly_credits;
    "/v1/admin/accounts/{account_id}/low_credits": post admin_settings::set_low_credits;
    "/v1/admin/accounts/{account_id}/close": post admin_closing::close;
    "/v1/admin/accounts/{account_id}/erase": post admin_closing::erase;
    "/v1/admin/accounts/{account_id}/totals": get admin_accounts::get_totals;
    "/v1/admin/accounts/{account_id}/usage": get usage::list_of_account;
    "/v1/admin/accounts/{account_id}/api_keys": get admin_api_keys::list, post admin_api_keys::create;
    "/v1/admin/accounts/{account_id}/api_keys/{api_key_id}/revoke": post admin_api_keys::revoke;
    "/v1/admin/accounts/{account_id}/grants": get admin_grants::list, post admin_grants::create;
}
