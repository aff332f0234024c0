//! The dialect under `/v1`: the service's own API, and what its reference is drawn from.

mod accounts;
mod batches;
mod lines;
mod models;
mod refusals;
mod requests;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::context::Shared;

/// Everything under `/v1`, with its place in the reference. Each handler names its method and path.
pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(requests::list, requests::create))
        .routes(routes!(requests::get))
        .routes(routes!(requests::get_status))
        .routes(routes!(requests::cancel))
        .routes(routes!(batches::list, batches::create))
        .routes(routes!(batches::get))
        .routes(routes!(batches::get_status))
        .routes(routes!(batches::get_requests))
        .routes(routes!(batches::get_results))
        .routes(routes!(batches::cancel))
        .routes(routes!(models::list))
        .routes(routes!(accounts::get))
}
