//! Signing in by password or by a one-time link, and signing out. Sign-in by an OpenID provider: `oidc.rs`.

use crate::pages::{LinkPage, SignInPage};
use axum::extract::{Path, RawQuery};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use overnight_app::sessions::{self, SignInError, SignedIn, oidc};
use overnight_base::percent;
use overnight_config::ConsoleOrigin;
use url::{Position, Url, form_urlencoded};

use super::assets;
use super::cookies::Cookie;
use super::forms::Form;
use super::replies::{self, PageError, PageResult};
use super::visitors::{Guest, Visit};

/// The lifetime of a browser's mark after a sign-in by password, in seconds: half a year.
const MARK_SECONDS: u32 = 180 * 86_400;

/// Paths resolve alike at every origin.
const ANY_ORIGIN: &str = "https://localhost/";

/// `GET /console/sign-in`.
pub(super) async fn page(guest: Guest, RawQuery(query): RawQuery) -> PageResult {
    let query = query.unwrap_or_default();
    let next = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "next");
    let next = next.map(|(_, next)| next.into_owned()).unwrap_or_default();
    if guest.visitor.is_some() {
        return replies::see_other(&destination(&guest.origin, &next));
    }
    sign_in_page(&guest, StatusCode::OK, &next, "", None)
}

fn sign_in_page(
    guest: &Guest,
    status: StatusCode,
    next: &str,
    email: &str,
    refused: Option<String>,
) -> PageResult {
    let base = &*guest.origin.base;
    let provider = oidc::name(&guest.context.services).map(|name| {
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        (name, format!("{base}/sign-in/oidc?next={next}"))
    });
    replies::page_with(status, &SignInPage { base, assets: &assets::NAMES, next, email, provider, refused })
}

/// The same page with the reason of the failure.
pub(super) fn refused(guest: &Guest, error: SignInError, next: &str, email: &str) -> PageResult {
    let (status, refused) = told(error)?;
    sign_in_page(guest, status, next, email, Some(refused))
}

/// `POST /console/sign-in`.
pub(super) async fn sign_in(guest: Guest, form: Form) -> PageResult {
    let services = &guest.context.services;
    let (email, next) = (form.get("email"), form.raw("next"));
    let signed_in = sessions::sign_in(services, email, form.raw("password"), guest.browser.clone()).await;
    match signed_in {
        Ok(signed_in) => let_in(&guest, &signed_in, &destination(&guest.origin, next)).await,
        Err(error) => refused(&guest, error, next, email),
    }
}

/// `GET /console/sign-in/link/{token}`. Programs open links before people do: only the page's button uses it up.
pub(super) async fn link_page(guest: Guest, Path(token): Path<String>) -> PageResult {
    match sessions::whose_link(&guest.context.services, &token).await {
        Ok(user) => {
            let (base, assets) = (&*guest.origin.base, &*assets::NAMES);
            let page = LinkPage { base, assets, token: &token, user: Some(&user), refused: None };
            replies::page_with(StatusCode::OK, &page)
        }
        Err(error) => useless_link(&guest.origin, error),
    }
}

/// `POST /console/sign-in/link/{token}`.
pub(super) async fn sign_in_by_link(guest: Guest, Path(token): Path<String>) -> PageResult {
    let browser = guest.browser.clone();
    match sessions::sign_in_by_link(&guest.context.services, &token, browser).await {
        Ok((token, user)) => {
            let base = &guest.origin.base;
            let flash = if user.has_password || user.issuer.is_some() { "by_link" } else { "welcome" };
            let_in(&guest, &SignedIn { token, mark: None }, &format!("{base}/you?flash={flash}")).await
        }
        Err(error) => useless_link(&guest.origin, error),
    }
}

fn useless_link(origin: &ConsoleOrigin, error: SignInError) -> PageResult {
    let (status, refused) = told(error)?;
    let (base, assets) = (&*origin.base, &*assets::NAMES);
    replies::page_with(status, &LinkPage { base, assets, token: "", user: None, refused: Some(refused) })
}

/// `POST /console/sign-out`.
pub(super) async fn sign_out(visit: Visit) -> PageResult {
    sessions::sign_out(visit.services(), &visit.visitor).await?;
    Ok(out(&visit.origin))
}

/// Redirects a signed-out browser to the sign-in page.
pub(super) fn out(origin: &ConsoleOrigin) -> Response {
    let mut response = PageError::Elsewhere(format!("{}/sign-in", origin.base)).into_response();
    if let Some(cookie) = Cookie::session(origin).forget() {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Sets the cookies of a signed-in user, and redirects to `next`. Ends the browser's earlier session, which could not be signed out
/// without its cookie.
pub(super) async fn let_in(guest: &Guest, signed_in: &SignedIn, next: &str) -> PageResult {
    if let Some(earlier) = &guest.visitor {
        sessions::sign_out(&guest.context.services, earlier).await?;
    }
    let origin = &guest.origin;
    let mut response = PageError::Elsewhere(next.to_owned()).into_response();
    if let Some(cookie) = Cookie::session(origin).set(&signed_in.token) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    keep_mark(origin, signed_in.mark.as_deref(), &mut response);
    Ok(response)
}

/// Sets the cookie of a new mark.
pub(super) fn keep_mark(origin: &ConsoleOrigin, mark: Option<&str>, response: &mut Response) {
    if let Some(cookie) = mark.and_then(|mark| Cookie::mark(origin).set_for(mark, MARK_SECONDS)) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

fn told(error: SignInError) -> Result<(StatusCode, String), PageError> {
    let message = error.to_string();
    let status = match error {
        SignInError::Refused(_) | SignInError::ByProvider { .. } => StatusCode::FORBIDDEN,
        SignInError::Away(_) => StatusCode::SERVICE_UNAVAILABLE,
        SignInError::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        SignInError::App(error) => return Err(error.into()),
    };
    Ok((status, replies::sentence(&message)))
}

/// The requested page if it belongs to the console, or else the console's first page.
pub(super) fn destination(origin: &ConsoleOrigin, next: &str) -> String {
    let path = origin.base.strip_suffix("/console").unwrap_or_default();
    own_page(next).map_or_else(|| origin.base.clone(), |page| format!("{path}{page}"))
}

/// The path and query of a page of the console, as a browser resolves them.
fn own_page(next: &str) -> Option<String> {
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let resolved = Url::parse(ANY_ORIGIN).ok()?.join(next).ok()?;
    let page = &resolved[Position::BeforePath..Position::AfterQuery];
    let decoded = percent::decode(resolved.path())?;
    // Proxies may decode a path before they resolve it.
    let leaves = decoded.split(['/', '\\']).any(|segment| matches!(segment, "." | ".."));
    let is_own = [resolved.path(), &decoded]
        .iter()
        .all(|path| path.starts_with("/console/") && !path.starts_with("/console/sign-"));
    (is_plain && next.starts_with("/console/") && is_own && !leaves).then(|| page.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_outside_the_console_leads_to_its_first_page() {
        let origin =
            ConsoleOrigin { hosts: Vec::new(), is_secure: true, port: 443, base: "/on/console".to_owned() };
        for (next, expected) in [
            ("/console/acct_1/keys?a=b", "/on/console/acct_1/keys?a=b"),
            ("https://evil.example.com/console/", "/on/console"),
            ("//evil.example.com/console/", "/on/console"),
            ("/console", "/on/console"),
            ("/console/sign-out", "/on/console"),
            ("/console/acct_1/requests?q=%2F..%2F&a=/../b", "/on/console/acct_1/requests?q=%2F..%2F&a=/../b"),
            ("/console/acct_1/../acct_2/keys", "/on/console/acct_2/keys"),
            ("/console/../../other/redirect?u=evil", "/on/console"),
            ("/console/%2e%2E/.%2e/other", "/on/console"),
            ("/console/..%2fother", "/on/console"),
            ("/console/a%5c..%5c..%5cother", "/on/console"),
            ("/console/..//evil.example.com/console/", "/on/console"),
            ("/console/./sign-in/oidc", "/on/console"),
            ("/console/%73ign-in/oidc", "/on/console"),
            ("/console/%zz", "/on/console"),
            ("/console/\\evil", "/on/console"),
            ("", "/on/console"),
        ] {
            assert_eq!(destination(&origin, next), expected, "{next}");
        }
    }
}
