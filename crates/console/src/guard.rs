//! Admission: only browsers that call the console by its own name and were not led here by another site. Response headers allow only the
//! console's own script, and no frames.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use overnight_config::ConsoleOrigin;

use super::replies;
use overnight_http::context::Shared;
use overnight_http::hosts;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    // Under `no-referrer` browsers without Fetch Metadata would send no origin with forms of the console itself.
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (OPENER_POLICY, HeaderValue::from_static("same-origin")),
    (RESOURCE_POLICY, HeaderValue::from_static("same-origin")),
];

/// Browsers that used https once use it from then on.
const TRANSPORT_SECURITY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Admits or refuses a call. `next` is `live::watch`, then the handler that `console/mod.rs` names.
pub(super) async fn admit(State(context): State<Shared>, request: Request, next: Next) -> Response {
    let config = context.services.config();
    let origin = config.console_origin();
    let mut response = match &origin {
        // The error page needs its style sheet.
        Err(_) if request.uri().path().starts_with("/assets/") => next.run(request).await,
        Err(why) => replies::no_console(*why),
        Ok(origin) => match refusal(origin, request.method(), request.headers(), request.uri()) {
            Some(sentence) => replies::refused(StatusCode::FORBIDDEN, sentence),
            None => next.run(request).await,
        },
    };
    response = replies::write(response, &format!("{}/console", config.public_path()));
    let headers = response.headers_mut();
    headers.extend(HEADERS);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if origin.is_ok_and(|origin| origin.is_secure) {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, TRANSPORT_SECURITY);
    }
    response
}

/// Why a call is refused, if it is.
fn refusal(origin: &ConsoleOrigin, method: &Method, headers: &HeaderMap, uri: &Uri) -> Option<&'static str> {
    let host = hosts::named(uri, headers);
    // A foreign name that resolves to this machine would give its pages the console's origin.
    if !origin.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
        return Some("The console is not called by this name. Its operator sets the name as public_url.");
    }
    if method.is_safe() {
        return None;
    }
    let is_own = match headers.get(SEC_FETCH_SITE) {
        Some(site) => site == "same-origin",
        None => headers.get(header::ORIGIN).is_some_and(|it| is_origin(it, origin, host)),
    };
    (!is_own).then_some("This was sent from a page of somebody else, and nothing was done.")
}

fn is_origin(header: &HeaderValue, origin: &ConsoleOrigin, host: &str) -> bool {
    let scheme = if origin.is_secure { "https" } else { "http" };
    header.to_str().is_ok_and(|given| given.eq_ignore_ascii_case(&format!("{scheme}://{host}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &Method, given: &[(&'static str, &'static str)]) -> Option<&'static str> {
        let origin = ConsoleOrigin {
            hosts: vec!["night.example.com".to_owned()],
            is_secure: true,
            port: 443,
            base: "/console".to_owned(),
        };
        let headers = given
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        refusal(&origin, method, &headers.collect(), &Uri::default())
    }

    const HOST: (&str, &str) = ("host", "night.example.com");

    #[test]
    fn only_the_consoles_own_pages_change_anything() {
        for (given, is_refused) in [
            (&[HOST, ("sec-fetch-site", "same-origin")][..], false),
            (&[HOST, ("sec-fetch-site", "same-site")], true),
            (&[HOST, ("sec-fetch-site", "cross-site")], true),
            (&[HOST, ("sec-fetch-site", "none")], true),
            (&[HOST, ("origin", "https://night.example.com")], false),
            (&[HOST, ("origin", "http://night.example.com")], true),
            (&[HOST, ("origin", "https://evil.example.com")], true),
            (&[HOST, ("origin", "null")], true),
            (&[HOST], true),
            (&[HOST, ("sec-fetch-site", "cross-site"), ("origin", "https://night.example.com")], true),
        ] {
            assert_eq!(check(&Method::POST, given).is_some(), is_refused, "{given:?}");
        }
        assert_eq!(check(&Method::GET, &[HOST, ("sec-fetch-site", "cross-site")]), None);
    }

    #[test]
    fn a_foreign_name_is_refused() {
        for host in ["evil.example.com", "night.example.com.evil.example.com", "night.example.com:81", ""] {
            assert!(check(&Method::GET, &[("host", host)]).is_some(), "{host}");
        }
        assert_eq!(check(&Method::GET, &[("host", "NIGHT.example.com")]), None);
    }
}
