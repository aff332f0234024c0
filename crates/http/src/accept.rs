//! The `Accept` header.

use axum::http::{HeaderMap, header};

/// Whether `Accept` names a media type, whatever its weight.
pub(super) fn names(headers: &HeaderMap, media_type: &str) -> bool {
    let listed = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    let types = listed.flat_map(|accept| accept.split(','));
    types
        .filter_map(|accepted| accepted.split(';').next())
        .any(|it| it.trim().eq_ignore_ascii_case(media_type))
}
