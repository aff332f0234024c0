//! All routes. Each dialect lists its own in the `mod.rs` of its folder. Pages for people are passed in by the server.

use std::sync::Arc;

use axum::routing::{get, post};
use axum::{Router, middleware};
use overnight_app::Services;
use overnight_app::payments::RETURN_PATH;
use overnight_base::telemetry;
use overnight_config::ProviderConfig;

use super::context::{Context, Shared, Timeouts};
use super::dialects::Dialect;
use super::{anthropic, calls, docs, exxa, health, metrics, native, openai, openapi, payments, root};

type Routes = fn() -> Router<Shared>;

/// The routes of pages for people, which need no key.
pub type Pages = fn(&Shared) -> Router<Shared>;

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

/// The routes of every process, whatever its role.
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

/// All routes, for a host program with its own server; [`super::serve`] also enforces time-outs and ignores a trailing slash.
pub fn router(services: Services, pages: Pages) -> Router {
    let timeouts = Timeouts::new(&services.config().connections);
    assemble(context(services, timeouts), pages)
}

/// The routes of the API's address.
pub(super) fn assemble(context: Shared, pages: Pages) -> Router {
    let has_metrics = context.services.config().serves_metrics_with_api();
    if !context.services.config().role.serves_api() {
        return finish(health_routes(has_metrics), context);
    }
    let dialects = DIALECTS.iter().fold(Router::new(), |routes, (_, more)| routes.merge(more()));
    let routes = open_routes(&context.services).merge(dialects);
    finish(routes.merge(pages(&context)), context)
}

/// The routes of `metrics_listen`, where clients cannot displace probes.
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
