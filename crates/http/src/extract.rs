//! Extractors for the head of a request.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use overnight_app::errors::AppError;
use overnight_base::percent;
use overnight_domain::faults::codes;
use overnight_domain::ids::{BatchId, Id, Kind, RequestId};

use super::context::Shared;
use super::dialects::Dialect;
use super::errors::Refusal;
use super::queries;

/// The token of `Authorization: Bearer`; empty if it is absent.
pub(super) fn bearer(headers: &HeaderMap) -> &[u8] {
    let authorization = headers.get(header::AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
    match authorization.split_first_chunk::<7>() {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
        _ => b"",
    }
}

/// The identifier in the path, for a call without a query. A malformed one becomes zero, which is never found, so that it is looked up like
/// any other.
pub(super) struct PathId<K>(pub(super) Id<K>);

impl<K: Kind> FromRequestParts<Shared> for PathId<K> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, Refusal> {
        refuse_query(parts)?;
        path_text(parts, context).await.map(|text| Self(parse_id(&text)))
    }
}

/// The same for a call with a query, which another extractor reads.
pub(super) struct QueriedId<K>(pub(super) Id<K>);

impl<K: Kind> FromRequestParts<Shared> for QueriedId<K> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, Refusal> {
        path_text(parts, context).await.map(|text| Self(parse_id(&text)))
    }
}

/// The two identifiers in the path, for a call without a query.
pub(super) struct PathIds<K, L>(pub(super) Id<K>, pub(super) Id<L>);

impl<K: Kind, L: Kind> FromRequestParts<Shared> for PathIds<K, L> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, Refusal> {
        refuse_query(parts)?;
        check_path(parts)?;
        let params = RawPathParams::from_request_parts(parts, context).await.map_err(|_| bad_path())?;
        let mut texts = params.iter().map(|(_, text)| text);
        let (one, other) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
        Ok(Self(parse_id(one), parse_id(other)))
    }
}

/// The target of a cancel path: the prefix distinguishes requests from batches.
pub(super) enum CancelTarget {
    Request(RequestId),
    Batch(BatchId),
}

impl FromRequestParts<Shared> for CancelTarget {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, Refusal> {
        refuse_query(parts)?;
        let text = path_text(parts, context).await?;
        Ok(match RequestId::parse(&text) {
            Some(id) => Self::Request(id),
            None => Self::Batch(parse_id(&text)),
        })
    }
}

fn parse_id<K: Kind>(text: &str) -> Id<K> {
    Id::parse(text).unwrap_or(Id::from_bits(0))
}

async fn path_text(parts: &mut Parts, context: &Shared) -> Result<String, Refusal> {
    check_path(parts)?;
    let params = RawPathParams::from_request_parts(parts, context).await.map_err(|_| bad_path())?;
    Ok(params.iter().next().map_or_else(String::new, |(_, text)| text.to_owned()))
}

/// Refuses a path whose escapes are not valid text.
pub(super) fn check_path(parts: &Parts) -> Result<(), Refusal> {
    percent::decode(parts.uri.path()).map(drop).ok_or_else(bad_path)
}

fn bad_path() -> Refusal {
    AppError::invalid("path", codes::INVALID_ENCODING, "is not percent-encoded UTF-8").into()
}

/// Refuses a query, except in a dialect that ignores unknown parameters.
pub(super) fn refuse_query(parts: &Parts) -> Result<(), Refusal> {
    let ignores = parts.extensions.get().is_some_and(|dialect: &Dialect| dialect.ignores_queries);
    match parts.uri.query().filter(|_| !ignores) {
        None => Ok(()),
        Some(query) => queries::Parameters::read(query, &[]).map(drop),
    }
}
