//! The reference for people: one page without scripts, generated from the OpenAPI document at the first request. It loads no other files,
//! so it works offline.

mod html;
mod page;
mod samples;
mod schemas;
mod search;

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::RawQuery;
use axum::response::Response;
use serde_json::Value;
use url::form_urlencoded;

use self::search::Search;
use super::openapi::OPENAPI_JSON;
use super::pages;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(OPENAPI_JSON).unwrap_or_default());

static PAGE: LazyLock<Bytes> = LazyLock::new(|| page::write(&DOCUMENT, &Search::default()).into());

/// `GET /docs`. With `q`, only entries with all of its words.
pub(super) async fn page(RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let words = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "q");
    let search = words.map(|(_, words)| Search::new(&words)).unwrap_or_default();
    if search.is_for_all() {
        return pages::html(PAGE.clone());
    }
    pages::html(page::write(&DOCUMENT, &search).into())
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
        let document: Value = serde_json::from_str(OPENAPI_JSON).expect("JSON");
        for (path, item) in document["paths"].as_object().expect("paths") {
            assert!(page.contains(path), "{path}");
            for operation in item.as_object().expect("operations").values() {
                let id = operation["operationId"].as_str().expect("an id");
                assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
            }
        }
        assert!(page.contains("id=\"receive_event\""));
        for code in super::super::errors::CODES {
            assert!(page.contains(&format!("<code>{}</code>", code.code)), "{}", code.code);
        }
        for (name, _) in document["components"]["schemas"].as_object().expect("schemas") {
            assert!(page.contains(&format!("id=\"schema-{name}\"")), "{name}");
        }
        for forbidden in ["<script", "style=", "http://", "src="] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn a_search_shows_what_has_its_words_and_says_where_nothing_has() {
        let found = |words: &str| page::write(&DOCUMENT, &Search::new(words));
        let cancel = found("cancel batch");
        assert!(cancel.contains("id=\"cancel_batch\"") && !cancel.contains("id=\"list_models\""));
        assert!(found("insufficient_credits").contains("<h2 id=\"errors\">"));
        let nothing = found("<b>none");
        assert!(nothing.contains("Nothing has all of these words"));
        assert!(nothing.contains("value=\"&lt;b&gt;none\""));
    }
}
