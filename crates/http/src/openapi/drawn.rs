//! The reference as the handlers and the shapes tell it, held against the one that is committed.

mod links;
mod webhooks;

use std::path::Path;
use std::{env, fs};

use overnight_wire::native::errors::ErrorEnvelope;
use serde_json::Value;
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use self::webhooks::Webhooks;
use super::OPENAPI_JSON;
use crate::native;

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
        (name = "Administration", description = "Every account, for operators: calls with an API key of the scope `admin`."),
        (name = "Webhooks", description = "What the service tells of by itself."),
    ),
    servers((url = "/", description = "The service that this document was read from.")),
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

fn document() -> Document {
    let base = OpenApiRouter::with_openapi(Base::openapi());
    let routes = native::described().into_iter();
    let mut document = routes.fold(base, |whole, (_, _, route)| whole.merge(route)).into_openapi();
    links::add(&mut document);
    document
}

#[test]
fn the_committed_reference_is_what_the_handlers_say() {
    let mut drawn = serde_json::to_string_pretty(&document()).expect("JSON");
    drawn.push('\n');
    if env::var_os("UPDATE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        fs::write(path, &drawn).expect("the file is written");
        return;
    }
    assert!(
        OPENAPI_JSON == drawn,
        "docs/openapi.json is out of date: run this test with UPDATE=1 and look at the difference"
    );
}

#[test]
fn every_handler_is_routed_where_it_says() {
    for (method, path, route) in native::described() {
        let told = serde_json::to_value(route.into_openapi()).expect("JSON");
        let paths = told["paths"].as_object().expect("paths");
        assert_eq!(paths.keys().collect::<Vec<_>>(), [path]);
        let methods = paths[path].as_object().expect("methods");
        assert_eq!(methods.keys().collect::<Vec<_>>(), [method], "{path}");
    }
}

#[test]
fn the_version_is_that_of_the_release() {
    assert_eq!(document().info.version, env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_shape_that_is_referred_to_is_there() {
    let document: Value = serde_json::from_str(OPENAPI_JSON).expect("JSON");
    let schemas = &document["components"]["schemas"];
    for name in OPENAPI_JSON.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next())
    {
        assert!(schemas.get(name).is_some(), "{name}");
    }
}

/// Generators name a schema without a name of its own after the shape and the field.
#[test]
fn no_shape_is_named_as_a_field_of_another() {
    let document: Value = serde_json::from_str(OPENAPI_JSON).expect("JSON");
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for (shape, schema) in schemas {
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            let words = field.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
            let generated = shape.clone() + &words.collect::<String>();
            let is_named = property["enum"].is_null() && property["properties"].is_null();
            assert!(is_named || !schemas.contains_key(&generated), "{generated}");
        }
    }
}

#[test]
fn what_a_creation_leads_to_is_there() {
    let operations: Vec<String> = Vec::from_iter(
        OPENAPI_JSON
            .split("\"operationId\": \"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next().map(str::to_owned)),
    );
    let document: Value = serde_json::from_str(OPENAPI_JSON).expect("JSON");
    for path in ["/v1/requests", "/v1/batches"] {
        let links = document["paths"][path]["post"]["responses"]["201"]["links"].as_object().expect("links");
        for link in links.values() {
            let operation = link["operationId"].as_str().expect("an operation").to_owned();
            let count = operations.iter().filter(|it| **it == operation).count();
            assert_eq!(count, 2, "{operation}: once where it is, once in the link");
        }
        assert!(links.len() >= 5, "{path}: every operation that takes its identifier");
    }
}
