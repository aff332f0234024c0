//! The routes that the reference describes.

use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Base;
use crate::http::context::Shared;
use crate::http::native::{accounts, batches, models, requests};

/// Each with its place in the reference.
pub(in crate::http) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Base::openapi())
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
