//! Answers of the console: pages, redirects and errors.

use std::borrow::Cow;

use crate::pages::{ErrorPage, Page};
use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use overnight_app::errors::AppError;
use overnight_config::NoConsole;
use overnight_domain::roles::Role;

use super::assets;
use overnight_http::{answers, errors};

/// The name in the log.
const A_CALL: &str = "a call of the console";

pub(super) type PageResult = Result<Response, PageError>;

/// Why a handler returns no page.
#[derive(Debug)]
pub(super) enum PageError {
    /// A redirect.
    Elsewhere(String),
    App(AppError),
    Suspended,
    /// The role lacks the permission.
    NotAllowed(Role),
    /// The page does not exist, or is not for the visitor.
    NoSuchPage,
    /// Malformed input.
    Unreadable(Cow<'static, str>),
    /// A template failed.
    Unwritten(askama::Error),
}

impl From<AppError> for PageError {
    fn from(error: AppError) -> Self {
        Self::App(error)
    }
}

impl From<askama::Error> for PageError {
    fn from(error: askama::Error) -> Self {
        Self::Unwritten(error)
    }
}

/// Informs `live::watch` whether the page changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct IsFollowed(pub(super) bool);

/// A page with its own status.
pub(super) fn page(page: &impl Page) -> PageResult {
    let is_refused = page.layout().refused.is_some();
    let status = if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let mut response = html(status, page.render()?);
    if !is_refused {
        response.extensions_mut().insert(IsFollowed(page.layout().is_followed()));
    }
    Ok(response)
}

/// A page for signing in.
pub(super) fn page_with(status: StatusCode, page: &impl Template) -> PageResult {
    Ok(html(status, page.render()?))
}

/// A redirect after a change, so that a reload does not repeat the change.
pub(super) fn see_other(location: &str) -> PageResult {
    Err(PageError::Elsewhere(location.to_owned()))
}

/// The message of an error that the visitor can correct on the page.
pub(super) fn mendable(error: AppError) -> Result<String, PageError> {
    match error {
        AppError::Invalid(invalid) => Ok(sentence(&invalid.message())),
        AppError::AlreadyEnded { .. }
        | AppError::InsufficientCredits { .. }
        | AppError::QuotaExceeded(_)
        | AppError::PaymentsNotActivated
        | AppError::AccountSuspended
        | AppError::TooManyChanges(_)
        | AppError::Payment(_)
        | AppError::Unavailable(_) => Ok(sentence(&error.to_string())),
        AppError::StoreAway { .. } => {
            errors::log(&error, A_CALL);
            Ok(sentence(&error.to_string()))
        }
        error => Err(error.into()),
    }
}

/// The message as a complete sentence.
pub(super) fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}

fn html(status: StatusCode, page: String) -> Response {
    answers::typed(status, HeaderValue::from_static("text/html; charset=utf-8"), Body::from(page))
}

/// An error on its way to [`write`], which knows the console's address.
#[derive(Debug, Clone)]
struct Refused(String);

/// An error page.
pub(super) fn refused(status: StatusCode, sentence: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response.extensions_mut().insert(Refused(sentence.to_owned()));
    response
}

/// Turns an error into its page.
pub(super) fn write(response: Response, base: &str) -> Response {
    let Some(Refused(sentence)) = response.extensions().get() else { return response };
    let status = response.status();
    let title = match status {
        StatusCode::NOT_FOUND => "There is nothing here",
        StatusCode::FORBIDDEN => "Not from here",
        StatusCode::SERVICE_UNAVAILABLE => "Not now",
        status if status.is_server_error() => "Something went wrong",
        _ => "That cannot be done",
    };
    let page = ErrorPage { base, assets: &assets::NAMES, title, sentence }.render();
    html(status, page.unwrap_or_else(|_| sentence.clone()))
}

/// The answer if there is no console.
pub(super) fn no_console(why: NoConsole) -> Response {
    refused(StatusCode::FORBIDDEN, why.reason())
}

/// `GET /console/assets/{file}`.
pub(super) async fn asset(Path(file): Path<String>, headers: HeaderMap) -> PageResult {
    let asset = assets::find(&file).ok_or(PageError::NoSuchPage)?;
    let is_packed = takes_gzip(&headers);
    let bytes: &'static [u8] = if is_packed { &asset.packed } else { asset.bytes };
    let content_type = HeaderValue::from_static(asset.content_type);
    let mut response = answers::typed(StatusCode::OK, content_type, Body::from(Bytes::from_static(bytes)));
    if is_packed {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let for_good = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, for_good);
    Ok(response)
}

/// Whether a browser accepts gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight != Some(0.0)
    })
}

pub(super) async fn no_such_page() -> Response {
    PageError::NoSuchPage.into_response()
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        match self {
            Self::Elsewhere(location) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::SEE_OTHER;
                if let Ok(location) = HeaderValue::try_from(location) {
                    response.headers_mut().insert(header::LOCATION, location);
                }
                response
            }
            Self::NoSuchPage | Self::App(AppError::NotFound(_)) => {
                refused(StatusCode::NOT_FOUND, "This page does not exist, or it is not yours to see.")
            }
            Self::NotAllowed(role) => {
                let role = role.as_str();
                let sentence = format!(
                    "You are a {role} in this account, and may not do that. An owner can change your role."
                );
                refused(StatusCode::FORBIDDEN, &sentence)
            }
            Self::Suspended => refused(
                StatusCode::FORBIDDEN,
                "This account is suspended. Its members read, and change nothing, until the operator of this service resumes it.",
            ),
            Self::Unreadable(why) => refused(StatusCode::BAD_REQUEST, &why),
            Self::Unwritten(error) => {
                tracing::error!(%error, "console page failed to render");
                refused(StatusCode::INTERNAL_SERVER_ERROR, "The page could not be written. The log says why.")
            }
            Self::App(error @ (AppError::Unavailable(_) | AppError::StoreAway { .. })) => {
                errors::log(&error, A_CALL);
                refused(StatusCode::SERVICE_UNAVAILABLE, &sentence(&error.to_string()))
            }
            Self::App(error @ AppError::Internal(_)) => {
                errors::log(&error, A_CALL);
                refused(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong here. The log says what.")
            }
            Self::App(error) => refused(StatusCode::UNPROCESSABLE_ENTITY, &sentence(&error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for (given, takes) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip;q=0.0, identity", false),
            ("identity", false),
            ("", false),
        ] {
            let value = HeaderValue::from_str(given).expect("a header");
            assert_eq!(
                takes_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)])),
                takes,
                "{given}"
            );
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
