//! The reference for people: one page without scripts, drawn from the OpenAPI document when it is first asked for. It
//! needs nothing from elsewhere, so it works offline.

mod html;
mod page;
mod schemas;

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::response::Response;

use super::openapi::OPENAPI_JSON;
use super::pages;

static PAGE: LazyLock<Bytes> = LazyLock::new(|| {
    let document = serde_json::from_str(OPENAPI_JSON).unwrap_or_default();
    page::write(&document).into()
});

/// `GET /docs`.
pub(super) async fn page() -> Response {
    pages::html(PAGE.clone())
}

/// `GET /docs/style.css`.
pub(super) async fn style() -> Response {
    pages::css(Bytes::from_static(include_bytes!("style.css")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_operation_and_loads_nothing_from_elsewhere() {
        let page = String::from_utf8(PAGE.to_vec()).expect("text");
        let document: serde_json::Value = serde_json::from_str(OPENAPI_JSON).expect("JSON");
        for (path, item) in document["paths"].as_object().expect("paths") {
            assert!(page.contains(path), "{path}");
            for operation in item.as_object().expect("operations").values() {
                let id = operation["operationId"].as_str().expect("an id");
                assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
            }
        }
        assert!(page.contains("id=\"receive_event\""));
        for (name, _) in document["components"]["schemas"].as_object().expect("schemas") {
            assert!(page.contains(&format!("id=\"schema-{name}\"")), "{name}");
        }
        for forbidden in ["<script", "style=", "http://", "src="] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}
