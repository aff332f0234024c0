//! All routes. Those of a dialect are listed in the `mod.rs` of its folder, as are those of the console.

use std::sync::Arc;

use axum::routing::{get, post};
use axum::{Router, middleware};
use overnight_base::telemetry;

use super::context::{Context, Shared, Timeouts};
use super::dialects::Dialect;
use super::{
    anthropic, calls, console, docs, exxa, health, metrics, native, openai, openapi, payments, root,
};
use crate::app::Services;
use crate::app::payments::RETURN_PATH;
use crate::config::ProviderConfig;

/// Makes the routes of a dialect.
type Routes = fn() -> Router<Shared>;

/// Every dialect of the API, with its routes.
const DIALECTS: [(Dialect, Routes); 4] = [
    (native::DIALECT, native::routes),
    (exxa::DIALECT, exxa::routes),
    (openai::DIALECT, openai::routes),
    (anthropic::DIALECT, anthropic::routes),
];

/// The context of a service, with every dialect.
pub(super) fn context(services: Services, timeouts: Timeouts) -> Shared {
    Context::new(services, timeouts, DIALECTS.map(|(dialect, _)| dialect).into())
}

/// The routes that every process has, whatever its part.
fn health_routes(has_metrics: bool) -> Router<Shared> {
    let router = Router::new()
        .route(health::LIVE_PATH, get(health::live))
        .route(health::READY_PATH, get(health::ready));
    if has_metrics { router.route("/metrics", get(metrics::get)) } else { router }
}

/// The routes that need no key.
fn open_routes(services: &Services) -> Router<Shared> {
    let router = health_routes(services.config().serves_metrics_with_api());
    let router = match services.config().billing.provider {
        ProviderConfig::Manual => router,
        ProviderConfig::Stripe(_) => router.route(payments::STRIPE_PATH, post(payments::hear)),
    };
    router
        .route("/", get(root::get))
        .route("/openapi.json", get(openapi::get))
        .route("/docs", get(docs::page))
        .route("/docs/style.css", get(docs::style))
        .route(RETURN_PATH, get(payments::thanks))
}

/// Everything that is served, for a host program with a server of its own; [`super::serve`] also keeps the time-outs
/// and takes a trailing slash for the same path.
pub fn router(services: Services) -> Router {
    let timeouts = Timeouts::new(&services.config().connections);
    assemble(context(services, timeouts))
}

/// Everything that is served where the API is.
pub(super) fn assemble(context: Shared) -> Router {
    let has_metrics = context.services.config().serves_metrics_with_api();
    if !context.services.config().role.serves_api() {
        return finish(health_routes(has_metrics), context);
    }
    let dialects = DIALECTS.iter().fold(Router::new(), |routes, (_, more)| routes.merge(more()));
    let routes = open_routes(&context.services).merge(dialects);
    finish(routes.merge(console::routes(&context)), context)
}

/// What is served at `metrics_listen`, where clients cannot keep probes out.
pub(super) fn assemble_metrics(context: Shared) -> Router {
    finish(health_routes(true), context)
}

fn finish(router: Router<Shared>, context: Shared) -> Router {
    telemetry::install();
    router
        .fallback(calls::no_such_path)
        .method_not_allowed_fallback(calls::method_not_allowed)
        .layer(middleware::from_fn_with_state(Arc::clone(&context), calls::handle))
        .with_state(context)
}
