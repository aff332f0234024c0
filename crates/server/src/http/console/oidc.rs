//! Sign-in by an OpenID provider: the redirect and the callback. It begins with a link, because a form may lead nowhere else.

use axum::extract::RawQuery;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use url::form_urlencoded;

use super::cookies::Cookie;
use super::replies::{PageError, PageResult};
use super::sign_in::{destination, let_in, refused};
use super::visitors::Guest;
use crate::app::sessions::SignedIn;
use crate::app::sessions::oidc::{self, Answer};

/// How long somebody may take at the provider, in seconds.
const TAKES_MAX: u32 = 600;

/// `GET /console/sign-in/oidc`.
pub(super) async fn begin(guest: Guest, RawQuery(query): RawQuery) -> PageResult {
    let services = &guest.context.services;
    if oidc::name(services).is_none() {
        return Err(PageError::NoSuchPage);
    }
    let next = field(query.as_deref(), "next").unwrap_or_default();
    let (url, secret) = match oidc::begin(services).await {
        Ok(begun) => begun,
        Err(error) => return refused(&guest, error, &next, ""),
    };
    let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
    let mut response = PageError::Elsewhere(url).into_response();
    let cookie = Cookie::sign_in(&guest.origin).set_for(&format!("{secret}.{next}"), TAKES_MAX);
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `GET /console/sign-in/oidc/callback`: whatever comes of it, the browser forgets what it kept.
pub(super) async fn finish(guest: Guest, headers: HeaderMap, RawQuery(query): RawQuery) -> PageResult {
    let services = &guest.context.services;
    if oidc::name(services).is_none() {
        return Err(PageError::NoSuchPage);
    }
    let cookie = Cookie::sign_in(&guest.origin);
    let (secret, next) = cookie.read(&headers).and_then(|kept| kept.split_once('.')).unwrap_or_default();
    let next = form_urlencoded::parse(next.as_bytes()).next().map(|(next, _)| next.into_owned());
    let next = next.unwrap_or_default();
    let field = |name| field(query.as_deref(), name);
    let answer = Answer {
        state: field("state").unwrap_or_default(),
        code: field("code"),
        error: field("error"),
        error_description: field("error_description"),
    };
    let reply = match oidc::finish(services, secret, answer, guest.browser.clone()).await {
        Ok(token) => {
            let_in(&guest.origin, &SignedIn { token, mark: None }, &destination(&guest.origin, &next))
        }
        Err(error) => refused(&guest, error, &next, ""),
    };
    let mut response = reply.into_response();
    if let Some(forget) = cookie.forget() {
        response.headers_mut().append(header::SET_COOKIE, forget);
    }
    Ok(response)
}

fn field(query: Option<&str>, name: &str) -> Option<String> {
    let mut fields = form_urlencoded::parse(query?.as_bytes());
    fields.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}
