//! The reference for people: one page without scripts, drawn from the OpenAPI document when it is first asked for. It
//! needs nothing from elsewhere, so it works offline.

mod html;
mod page;
mod schemas;

use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::{answers, openapi};

const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

static PAGE: LazyLock<Bytes> = LazyLock::new(|| {
    let document = serde_json::to_value(openapi::document()).unwrap_or_default();
    page::write(&document).into()
});

/// `GET /docs`.
pub(super) async fn page() -> Response {
    guarded("text/html; charset=utf-8", PAGE.clone())
}

/// Another page in the same clothes.
pub(super) fn html(page: &'static str) -> Response {
    guarded("text/html; charset=utf-8", Bytes::from_static(page.as_bytes()))
}

/// `GET /docs/style.css`.
pub(super) async fn style() -> Response {
    guarded("text/css; charset=utf-8", Bytes::from_static(include_bytes!("style.css")))
}

fn guarded(content_type: &'static str, body: Bytes) -> Response {
    let content_type = HeaderValue::from_static(content_type);
    let mut response = answers::typed(StatusCode::OK, content_type, Body::from(body));
    response.headers_mut().extend(HEADERS);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_operation_and_loads_nothing_from_elsewhere() {
        let page = String::from_utf8(PAGE.to_vec()).expect("text");
        let document = serde_json::to_value(openapi::document()).expect("JSON");
        for (path, item) in document["paths"].as_object().expect("paths") {
            assert!(page.contains(path), "{path}");
            for operation in item.as_object().expect("operations").values() {
                let id = operation["operationId"].as_str().expect("an id");
                assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
            }
        }
        for (name, _) in document["components"]["schemas"].as_object().expect("schemas") {
            assert!(page.contains(&format!("id=\"schema-{name}\"")), "{name}");
        }
        for forbidden in ["<script", "style=", "http://", "src="] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}
