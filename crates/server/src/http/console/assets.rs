//! The sheet and the script. Their names carry their digests, so that browsers keep them for good.

use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use sha2::{Digest, Sha256};

use super::replies;
use crate::console::Assets;
use crate::http::answers;

const SHEET: &[u8] = include_bytes!("assets/console.css");
const SCRIPT: &[u8] = include_bytes!("assets/console.js");

/// What pages name.
pub(super) static NAMES: LazyLock<Assets> =
    LazyLock::new(|| Assets { sheet: name("console", SHEET, "css"), script: name("console", SCRIPT, "js") });

fn name(stem: &str, bytes: &[u8], extension: &str) -> String {
    let digest = Sha256::digest(bytes);
    let digits: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{stem}.{digits}.{extension}")
}

/// `GET /console/assets/{file}`.
pub(super) async fn get(Path(file): Path<String>) -> Response {
    let (content_type, bytes) = match file {
        file if file == NAMES.sheet => ("text/css; charset=utf-8", SHEET),
        file if file == NAMES.script => ("text/javascript; charset=utf-8", SCRIPT),
        _ => return replies::no_such_page().await,
    };
    let body = Body::from(Bytes::from_static(bytes));
    let mut response = answers::typed(StatusCode::OK, HeaderValue::from_static(content_type), body);
    let for_good = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, for_good);
    response
}
