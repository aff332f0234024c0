//! Sign-in by an OpenID provider: the redirect and the callback. It begins with a link, because forms may not lead to other sites.

use axum::extract::RawQuery;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use overnight_app::sessions::SignedIn;
use overnight_app::sessions::oidc::{self, Returned};
use url::form_urlencoded;

use super::begun::BegunSignIns;
use super::cookies::Cookie;
use super::replies::{PageError, PageResult};
use super::sign_in::{destination, let_in, refused};
use super::visitors::Guest;

/// The time for the sign-in at the provider, in seconds.
const TAKES_MAX: u32 = 600;

/// `GET /console/sign-in/oidc`.
pub(super) async fn begin(guest: Guest, headers: HeaderMap, RawQuery(query): RawQuery) -> PageResult {
    let services = &guest.context.services;
    if oidc::name(services).is_none() {
        return Err(PageError::NoSuchPage);
    }
    let next = field(query.as_deref(), "next").unwrap_or_default();
    let (url, secret) = match oidc::begin(services).await {
        Ok(begun) => begun,
        Err(error) => return refused(&guest, error, &next, ""),
    };
    let mut response = PageError::Elsewhere(url).into_response();
    let cookie = Cookie::sign_in(&guest.origin);
    let begun = BegunSignIns::read(cookie.read(&headers)).and(&secret, &next);
    if let Some(cookie) = cookie.set_for(&begun, TAKES_MAX) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `GET /console/sign-in/oidc/callback`: the browser forgets this sign-in, whatever its outcome, and no other.
pub(super) async fn finish(guest: Guest, headers: HeaderMap, RawQuery(query): RawQuery) -> PageResult {
    let services = &guest.context.services;
    if oidc::name(services).is_none() {
        return Err(PageError::NoSuchPage);
    }
    let field = |name| field(query.as_deref(), name);
    let returned = Returned {
        code: field("code"),
        error: field("error"),
        error_description: field("error_description"),
        issuer: field("iss"),
    };
    let state = field("state").unwrap_or_default();
    let cookie = Cookie::sign_in(&guest.origin);
    let mut begun = BegunSignIns::read(cookie.read(&headers));
    let finished = begun.take(|secret| oidc::is_of(secret, &state));
    let (secret, next) = finished.unzip();
    let next = next.unwrap_or_default();
    let reply = match oidc::finish(services, secret, &returned, guest.browser.clone()).await {
        Ok(token) => {
            let_in(&guest, &SignedIn { token, mark: None }, &destination(&guest.origin, &next)).await
        }
        Err(error) => refused(&guest, error, &next, ""),
    };
    let mut response = reply.into_response();
    let kept = match begun.kept() {
        Some(kept) => cookie.set_for(&kept, TAKES_MAX),
        None => cookie.forget(),
    };
    if let Some(kept) = kept {
        response.headers_mut().append(header::SET_COOKIE, kept);
    }
    Ok(response)
}

fn field(query: Option<&str>, name: &str) -> Option<String> {
    let mut fields = form_urlencoded::parse(query?.as_bytes());
    fields.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}
