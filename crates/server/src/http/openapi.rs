//! The reference in OpenAPI's terms, drawn from the handlers.

mod webhooks;

use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use overnight_wire::native::errors::ErrorEnvelope;
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use self::webhooks::Webhooks;
use super::{answers, native};

/// What the routes of `native/mod.rs` are added to.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Overnight",
        version = env!("CARGO_PKG_VERSION"),
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
        description = "Asynchronous batch inference: send chat-completion requests now, read the answers within 24 \
            hours. Group requests into a batch, before or after they have ended, to follow or cancel them together.\n\n\
            Times are Unix seconds. Lists are JSON Lines: one JSON object on each line. Every answer carries \
            `X-Request-Id`; every refusal has the one shape `Error` and repeats it."
    ),
    tags(
        (name = "Requests", description = "One chat completion each."),
        (name = "Batches", description = "Requests that are followed, and if need be cancelled, together."),
        (name = "Models", description = "What requests may ask for."),
        (name = "Account", description = "Whose key it is, and what credits are left."),
        (name = "Webhooks", description = "What the service tells of by itself."),
    ),
    components(schemas(ErrorEnvelope)),
    modifiers(&Keys, &Webhooks),
)]
struct Base;

/// The two ways to present a key.
struct Keys;

impl Modify for Keys {
    fn modify(&self, document: &mut Document) {
        let header =
            ApiKeyValue::with_description("X-API-Key", "An API key, `on_live_…`. Wins over a bearer.");
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("api_key", SecurityScheme::ApiKey(ApiKey::Header(header)));
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        document.security = Some(vec![
            SecurityRequirement::new("api_key", Vec::<String>::new()),
            SecurityRequirement::new("bearer", Vec::<String>::new()),
        ]);
    }
}

/// The document, as JSON for people to read and to compare: what `docs/openapi.json` holds.
pub fn openapi_json() -> String {
    let mut text = serde_json::to_string_pretty(&document()).unwrap_or_default();
    text.push('\n');
    text
}

/// The document.
pub(super) fn document() -> Document {
    OpenApiRouter::with_openapi(Base::openapi()).merge(native::routes()).into_openapi()
}

static TEXT: LazyLock<Bytes> = LazyLock::new(|| openapi_json().into());

/// `GET /openapi.json`.
pub(super) async fn get() -> Response {
    answers::typed(StatusCode::OK, HeaderValue::from_static("application/json"), Body::from(TEXT.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_release() {
        assert_eq!(document().info.version, env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn every_shape_that_is_referred_to_is_there() {
        let text = openapi_json();
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let schemas = &document["components"]["schemas"];
        for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(schemas.get(name).is_some(), "{name}");
        }
    }
}
