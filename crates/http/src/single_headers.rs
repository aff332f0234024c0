//! Headers that a call may not repeat: a proxy may read another copy than the service.

use axum::http::{HeaderMap, HeaderName, Version, header};

use super::errors::Refusal;

/// Headers that identify the caller, its site and the type of the body. Lists such as `Accept` may be repeated.
const SINGLE: [HeaderName; 10] = [
    header::HOST,
    header::ORIGIN,
    HeaderName::from_static("sec-fetch-site"),
    header::AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("stripe-signature"),
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
];

/// Refuses a call that repeats such a header, or that lacks `Host` over HTTP/1.1 (RFC 9112, section 3.2). Health checks over HTTP/1.0 have
/// none, and over HTTP/2 it is the `:authority`.
pub(super) fn check(version: Version, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    if let Some(name) = SINGLE.iter().find(is_repeated) {
        return Err(Refusal::RepeatedHeader(name.clone()));
    }
    if version == Version::HTTP_11 && !headers.contains_key(header::HOST) {
        return Err(Refusal::NoHost);
    }
    Ok(())
}
