//! Accepted calls, and headers of every answer.

use overnight_app::users::Standing;
use overnight_app::{api_keys, users};

use super::browser::Browser;
use super::{link, operator};
use crate::support::TestApp;

#[tokio::test]
async fn a_form_of_somebody_elses_page_does_nothing() {
    let app = TestApp::start().await;
    let account = app.own().await;
    let mut browser = operator(&app).await;
    let keys = format!("/console/{}/keys", account.id);
    let count = async || api_keys::list(&app.services, account.id).await.unwrap().keys.len();
    let before = count().await;
    for headers in [
        &[("sec-fetch-site", "cross-site")][..],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "cross-site"), ("origin", "http://127.0.0.1:8080")],
        &[("origin", "http://evil.example.com")],
        &[("origin", "https://127.0.0.1:8080")],
        &[("origin", "http://localhost:8080")],
        &[("origin", "null")],
        &[],
    ] {
        let refused = browser.post_with(&keys, &[("name", "stolen")], headers).await;
        assert_eq!(refused.status, 403, "{headers:?}");
        assert_eq!(count().await, before, "{headers:?}");
        for path in ["/console/sign-out", "/console/you/sign-out-everywhere", "/console/you"] {
            assert_eq!(browser.post_with(path, &[], headers).await.status, 403, "{path} {headers:?}");
        }
    }
    assert!(browser.is_signed_in().await);
    for headers in [&[("sec-fetch-site", "same-origin")][..], &[("origin", "http://127.0.0.1:8080")]] {
        let answered = browser.post_with(&keys, &[("name", "own"), ("expires", "never")], headers).await;
        assert_eq!(answered.status, 200, "{headers:?}");
    }
    assert_eq!(count().await, before + 2);
    app.stop().await;
}

#[tokio::test]
async fn the_console_answers_to_its_own_names_alone() {
    let app = TestApp::start().await;
    for (host, status) in [
        ("127.0.0.1:8080", 200),
        ("LOCALHOST:8080", 200),
        ("[::1]:8080", 200),
        ("localhost", 403),
        ("localhost:8081", 403),
        ("evil.example.com", 403),
        ("evil.example.com:8080", 403),
        ("127.0.0.1.evil.example.com:8080", 403),
    ] {
        let answered = Browser::at(&app, host).get("/console/sign-in").await;
        assert_eq!(answered.status, status, "{host}");
        let is_told = answered.text().contains("not called by this name");
        assert_eq!(is_told, status == 403, "{host}");
    }
    let answered = app.anonymous().with("host", "anything").get("/livez").await;
    assert_eq!(answered.status, 200, "the API does not mind");
    app.stop().await;
}

#[tokio::test]
async fn every_answer_tells_browsers_to_be_careful() {
    let app = TestApp::start().await;
    let mut browser = operator(&app).await;
    for path in ["/console/sign-in", "/console/you", "/console/operator", "/console/nothing", "/console"] {
        let answered = browser.get(path).await;
        let policy = answered.header("content-security-policy");
        for part in
            ["default-src 'none'", "script-src 'self'", "form-action 'self'", "frame-ancestors 'none'"]
        {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{path}: {policy}");
        }
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("strict-transport-security", ""),
        ] {
            assert_eq!(answered.header(name), value, "{path}: {name}");
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn over_https_cookies_are_the_hosts_own_and_browsers_come_by_https_from_then_on() {
    let app = TestApp::start_with(&[("public_url", "https://night.example.com")]).await;
    let user = users::create(&app.services, "a@example.com", Standing::Ordinary).await.unwrap();
    let path = link(&app, &user).await;
    let mut browser = Browser::at(&app, "night.example.com");
    let answered = browser.post(&path, &[]).await;
    let cookie = answered.header("set-cookie");
    assert!(cookie.starts_with("__Host-overnight_session="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    assert_eq!(answered.header("strict-transport-security"), "max-age=31536000");
    assert!(browser.is_signed_in().await);
    assert_eq!(Browser::at(&app, "127.0.0.1:8080").get("/console/sign-in").await.status, 403);
    app.stop().await;
}

#[tokio::test]
async fn a_tunnel_to_this_machine_leads_to_the_console_of_a_service_that_others_reach_too() {
    let app =
        TestApp::start_with(&[("listen", "0.0.0.0:8080"), ("public_url", "http://127.0.0.1:8080")]).await;
    assert_eq!(Browser::at(&app, "127.0.0.1:8080").get("/console/sign-in").await.status, 200);
    assert_eq!(Browser::at(&app, "night.example.com:8080").get("/console/sign-in").await.status, 403);
    app.stop().await;
}

#[tokio::test]
async fn there_is_no_console_where_passwords_would_go_in_the_open() {
    for (name, value, sentence) in [
        ("public_url", "http://night.example.com", "Passwords would be sent in the open"),
        ("listen", "0.0.0.0:8080", "ssh -N -L 8080:127.0.0.1:PORT SERVER"),
        ("console.enabled", "false", "has switched the console off"),
    ] {
        let app = TestApp::start_with(&[(name, value)]).await;
        for path in ["/console", "/console/sign-in", "/console/you", "/console/sign-in/oidc"] {
            let answered = Browser::at(&app, "night.example.com").get(path).await;
            assert_eq!(answered.status, 403, "{name}: {path}");
            answered.shows(sentence);
            assert_eq!(answered.header("x-frame-options"), "DENY");
        }
        let mut browser = Browser::at(&app, "night.example.com");
        assert_eq!(browser.post("/console/sign-in", &[("email", "a@b.c")]).await.status, 403);
        app.stop().await;
    }
}
