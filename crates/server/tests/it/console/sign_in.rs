//! Sign-in and sign-out.

use futures_util::future::{join, join_all};
use overnight_app::users::Standing;
use overnight_app::{bootstrap, sessions, users};

use super::browser::Browser;
use super::{PASSWORD, link, operator, try_password, with_password};
use crate::support::{START, TestApp};

const MINUTE_MS: i64 = 60_000;

#[tokio::test]
async fn the_link_of_the_first_start_signs_in_once_and_only_by_a_click() {
    let app = TestApp::start().await;
    let made = bootstrap::link_operator(&app.services).await.unwrap().expect("a link");
    let path = made.url.strip_prefix("http://127.0.0.1:8080").unwrap().to_owned();
    let mut browser = Browser::new(&app);
    for _ in 0..2 {
        let page = browser.get(&path).await;
        assert_eq!((page.status, page.headers.get("set-cookie")), (200, None), "a look uses nothing up");
        page.shows("operator");
    }
    let welcomed = browser.post(&path, &[]).await;
    assert_eq!((welcomed.status, welcomed.header("location")), (303, "/console/you?flash=welcome"));
    assert!(browser.is_signed_in().await);
    assert_eq!(browser.get("/console/operator").await.status, 200);

    let mut other = Browser::new(&app);
    assert_eq!(other.post(&path, &[]).await.status, 403);
    assert_eq!(other.get(&path).await.status, 403);
    assert!(!other.is_signed_in().await);
    assert!(bootstrap::link_operator(&app.services).await.unwrap().is_none(), "somebody has signed in");
    app.stop().await;
}

#[tokio::test]
async fn a_link_works_no_more_once_there_is_another_or_its_time_is_over() {
    let app = TestApp::start().await;
    let user = users::create(&app.services, "a@example.com", Standing::Ordinary).await.unwrap();
    let (first, second) = (link(&app, &user).await, link(&app, &user).await);
    let mut browser = Browser::new(&app);
    assert_eq!(browser.post(&first, &[]).await.status, 403);
    app.clock.set(START + 3 * 86_400_000);
    assert_eq!(browser.post(&second, &[]).await.status, 403);
    app.clock.set(START + 3 * 86_400_000 - 1);
    assert_eq!(browser.post(&second, &[]).await.status, 303);
    app.stop().await;
}

#[tokio::test]
async fn a_password_signs_in_and_guessing_takes_longer_each_time() {
    let app = TestApp::start().await;
    with_password(&app, "a@example.com").await;
    let mut browser = Browser::new(&app);
    assert_eq!(try_password(&mut browser, " A@Example.com ", PASSWORD).await.status, 303);
    assert!(browser.is_signed_in().await);

    let mut guesser = Browser::new(&app);
    let wrong = try_password(&mut guesser, "a@example.com", "wrong").await;
    let unknown = try_password(&mut guesser, "b@example.com", "wrong").await;
    let without_address = |text: &str| text.replace("a@example.com", "").replace("b@example.com", "");
    assert_eq!((wrong.status, unknown.status), (403, 403));
    assert_eq!(without_address(wrong.text()), without_address(unknown.text()), "nobody learns who is known");
    for _ in 0..4 {
        assert_eq!(try_password(&mut guesser, "a@example.com", "wrong").await.status, 403);
    }
    let throttled = try_password(&mut guesser, "a@example.com", "wrong").await;
    assert_eq!(throttled.status, 429, "five tries at one user from one network");
    throttled.shows("tried too often: try again in 1 s");
    assert_eq!(try_password(&mut guesser, "a@example.com", PASSWORD).await.status, 429, "a right one too");
    app.clock.set(START + 999);
    assert_eq!(try_password(&mut guesser, "a@example.com", PASSWORD).await.status, 429);
    app.clock.set(START + 1_000);
    assert_eq!(try_password(&mut guesser, "a@example.com", PASSWORD).await.status, 303);
    for _ in 0..5 {
        let answered = try_password(&mut guesser, "a@example.com", "wrong").await;
        assert_eq!(answered.status, 403, "all is forgotten");
    }
    assert_eq!(try_password(&mut guesser, "a@example.com", "wrong").await.status, 429);
    app.stop().await;
}

#[tokio::test]
async fn an_office_signs_in_from_one_network_as_often_as_it_likes() {
    let app = TestApp::start().await;
    with_password(&app, "a@example.com").await;
    for time in 0..60 {
        let signed_in = try_password(&mut Browser::new(&app), "a@example.com", PASSWORD).await;
        assert_eq!(signed_in.status, 303, "{time}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_guesser_with_a_password_of_their_own_does_not_begin_anew_by_it() {
    let app = TestApp::start().await;
    with_password(&app, "own@example.com").await;
    let mut guesser = Browser::new(&app);
    for number in 0..40 {
        let email = format!("{number}@example.com");
        assert_eq!(try_password(&mut guesser, &email, "wrong").await.status, 403, "{number}");
        if number % 8 == 0 {
            try_password(&mut Browser::new(&app), "own@example.com", PASSWORD).await.checked(303);
        }
    }
    assert_eq!(try_password(&mut guesser, "40@example.com", "wrong").await.status, 429);
    assert_eq!(try_password(&mut guesser, "own@example.com", PASSWORD).await.status, 429);
    app.clock.set(START + 1_000);
    assert_eq!(try_password(&mut guesser, "own@example.com", PASSWORD).await.status, 303);
    let answered = try_password(&mut guesser, "41@example.com", "wrong").await;
    assert_eq!(answered.status, 403, "of the wait that is over");
    assert_eq!(try_password(&mut guesser, "42@example.com", "wrong").await.status, 429);
    app.stop().await;
}

#[tokio::test]
async fn who_guesses_elsewhere_keeps_nobody_out_for_long() {
    let app = TestApp::start().await;
    with_password(&app, "a@example.com").await;
    for place in 0..20 {
        let mut guesser = Browser::new(&app).with("x-forwarded-for", &format!("192.0.2.{place}"));
        assert_eq!(try_password(&mut guesser, "a@example.com", "wrong").await.status, 403, "{place}");
    }
    let mut browser = Browser::new(&app);
    assert_eq!(try_password(&mut browser, "a@example.com", PASSWORD).await.status, 429);
    app.clock.set(START + 30_000);
    assert_eq!(try_password(&mut browser, "a@example.com", PASSWORD).await.status, 303);
    app.stop().await;
}

/// One wrong try for a user from each of several networks, all of them new.
async fn guess_from_elsewhere(app: &TestApp, email: &str, third: u8) {
    for place in 0..20 {
        let mut guesser = Browser::new(app).with("x-forwarded-for", &format!("192.0.{third}.{place}"));
        try_password(&mut guesser, email, "wrong").await;
    }
}

#[tokio::test]
async fn who_guesses_elsewhere_keeps_nobody_out_of_a_browser_that_is_known() {
    let app = TestApp::start().await;
    with_password(&app, "a@example.com").await;
    with_password(&app, "b@example.com").await;
    let mut known = Browser::new(&app);
    assert_eq!(try_password(&mut known, "a@example.com", PASSWORD).await.status, 303);
    known.post("/console/sign-out", &[]).await;
    for email in ["a@example.com", "b@example.com"] {
        guess_from_elsewhere(&app, email, 1).await;
        assert_eq!(try_password(&mut Browser::new(&app), email, PASSWORD).await.status, 429);
    }
    assert_eq!(try_password(&mut known.copy(), "b@example.com", PASSWORD).await.status, 429, "of a alone");
    assert_eq!(try_password(&mut known.copy(), "a@example.com", PASSWORD).await.status, 303);
    // A known browser has no more tries than others.
    for _ in 0..5 {
        assert_eq!(try_password(&mut known, "a@example.com", "wrong").await.status, 403);
    }
    assert_eq!(try_password(&mut known, "a@example.com", PASSWORD).await.status, 429);
    app.clock.set(START + 1_000);
    assert_eq!(try_password(&mut known, "a@example.com", PASSWORD).await.status, 303);
    app.stop().await;
}

/// All guesses are from one network, which has few permits for hashing.
#[tokio::test]
async fn who_guesses_beside_it_keeps_nobody_out_of_a_browser_that_is_known() {
    let app = TestApp::start().await;
    with_password(&app, "a@example.com").await;
    let mut known = Browser::new(&app);
    assert_eq!(try_password(&mut known, "a@example.com", PASSWORD).await.status, 303);
    known.post("/console/sign-out", &[]).await;
    let guess = async |number: usize| {
        try_password(&mut Browser::new(&app), &format!("{number}@example.com"), "wrong").await.status
    };
    let guesses = join_all((0..24).map(guess));
    let (_, signed_in) = join(guesses, try_password(&mut known, "a@example.com", PASSWORD)).await;
    assert_eq!(signed_in.status, 303, "{}", signed_in.text());
}

#[tokio::test]
async fn who_guesses_elsewhere_keeps_nobody_from_another_password() {
    let app = TestApp::start().await;
    let mut browser = with_password(&app, "a@example.com").await;
    guess_from_elsewhere(&app, "a@example.com", 1).await;
    app.clock.set(START + 15 * MINUTE_MS);
    guess_from_elsewhere(&app, "a@example.com", 2).await;
    let fields =
        |current| [("email", "a@example.com"), ("current", current), ("password", "a new long password")];
    for _ in 0..5 {
        browser.post("/console/you", &fields("wrong")).await.checked(422).shows("is wrong");
    }
    browser.post("/console/you", &fields(PASSWORD)).await.shows("was not looked at");
    app.clock.set(START + 15 * MINUTE_MS + 1_000);
    assert_eq!(browser.post("/console/you", &fields(PASSWORD)).await.status, 303);
    // The browser in which the password was changed is known with the new one.
    browser.post("/console/sign-out", &[]).await;
    assert_eq!(try_password(&mut browser, "a@example.com", "a new long password").await.status, 303);
    app.stop().await;
}

#[tokio::test]
async fn a_link_replaces_a_password_that_was_forgotten() {
    let app = TestApp::start().await;
    with_password(&app, "a@example.com").await;
    let user = users::named(&app.services, "a@example.com").await.unwrap();
    let mut thief = Browser::new(&app);
    assert_eq!(try_password(&mut thief, "a@example.com", PASSWORD).await.status, 303);
    let unused = link(&app, &user).await;
    Browser::new(&app).get(&unused).await.shows("Once you sign in with it, your password stops working");
    assert!(thief.is_signed_in().await, "a look ends nothing");
    let mut browser = Browser::new(&app);
    assert_eq!(browser.post(&unused, &[]).await.header("location"), "/console/you?flash=by_link");
    assert!(browser.is_signed_in().await && !thief.is_signed_in().await);
    assert_eq!(try_password(&mut thief, "a@example.com", PASSWORD).await.status, 403);
    let fields = |password| [("email", "a@example.com"), ("password", password)];
    assert_eq!(browser.post("/console/you", &fields("a new long passwort")).await.status, 303);
    // Typing errors may be corrected, but not forever.
    assert_eq!(browser.post("/console/you", &fields("a new long password")).await.status, 303);
    app.clock.set(START + 15 * MINUTE_MS);
    assert_eq!(browser.post("/console/you", &fields("another long password")).await.status, 422);
    try_password(&mut Browser::new(&app), "a@example.com", "a new long password").await.checked(303);
    app.stop().await;
}

#[tokio::test]
async fn a_session_ends_when_idle_and_in_any_case() {
    let app = TestApp::start_with(&[("console.session_idle", "10m"), ("console.session", "30m")]).await;
    with_password(&app, "a@example.com").await;
    let user = users::named(&app.services, "a@example.com").await.unwrap();
    sessions::sign_out_everywhere(&app.services, &user, None).await.unwrap();
    let [mut idle, mut busy] = [Browser::new(&app), Browser::new(&app)];
    for browser in [&mut idle, &mut busy] {
        assert_eq!(try_password(browser, "a@example.com", PASSWORD).await.status, 303);
    }
    for minute in (3..30).step_by(3) {
        app.clock.set(START + minute * MINUTE_MS);
        assert!(busy.is_signed_in().await, "after {minute} minutes");
    }
    assert!(!idle.is_signed_in().await);
    assert_eq!(sessions::list(&app.services, &user).await.unwrap().len(), 1);
    app.clock.set(START + 30 * MINUTE_MS - 1);
    assert!(busy.is_signed_in().await);
    app.clock.set(START + 30 * MINUTE_MS);
    assert!(!busy.is_signed_in().await);
    app.stop().await;
}

#[tokio::test]
async fn a_page_that_looks_by_itself_keeps_nobody_signed_in() {
    let app = TestApp::start_with(&[("console.session_idle", "10m")]).await;
    let browser = operator(&app).await;
    let user = &users::list(&app.services).await.unwrap()[0];
    app.clock.set(START + 9 * MINUTE_MS);
    let mut raw = app.raw().await;
    let cookie = browser.cookie_header();
    raw.send(format!(
        "GET /console/operator HTTP/1.1\r\nhost: 127.0.0.1:8080\r\naccept: text/event-stream\r\ncookie: {cookie}\r\n\r\n"
    ))
    .await;
    raw.until("data: <!doctype html>").await;
    let seen_at = sessions::list(&app.services, user).await.unwrap()[0].seen_at;
    assert_eq!(seen_at, START);
    app.services.signals.stop();
    app.stop().await;
}

#[tokio::test]
async fn every_sign_in_gets_a_session_of_its_own() {
    let app = TestApp::start().await;
    let mut browser = with_password(&app, "a@example.com").await;
    let by_link = browser.cookie_header();
    // A planted cookie does not sign in.
    let mut planted = Browser::new(&app)
        .with("cookie", "overnight_session_8080=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    assert_eq!(try_password(&mut planted, "a@example.com", PASSWORD).await.status, 303);
    assert!(!planted.cookie_header().contains("AAAAAAA"));
    assert_eq!(try_password(&mut browser, "a@example.com", PASSWORD).await.status, 303);
    let by_password = browser.cookie_header();
    assert_eq!(try_password(&mut browser, "a@example.com", PASSWORD).await.status, 303);
    let mut cookies = vec![by_link, planted.cookie_header(), by_password, browser.cookie_header()];
    cookies.sort();
    cookies.dedup();
    assert_eq!(cookies.len(), 4);
    app.stop().await;
}

#[tokio::test]
async fn sessions_end_when_their_browser_signs_in_again() {
    let app = TestApp::start().await;
    let mut browser = with_password(&app, "a@example.com").await;
    let other = users::create(&app.services, "b@example.com", Standing::Ordinary).await.unwrap();
    let elsewhere = &mut Browser::new(&app);
    try_password(elsewhere, "a@example.com", PASSWORD).await.checked(303);

    let mut by_link = browser.copy();
    try_password(&mut browser, "a@example.com", PASSWORD).await.checked(303);
    assert!(!by_link.is_signed_in().await && browser.is_signed_in().await);
    let mut by_password = browser.copy();
    browser.post(&link(&app, &other).await, &[]).await.checked(303);
    assert!(!by_password.is_signed_in().await && browser.is_signed_in().await, "as another user");
    assert!(elsewhere.is_signed_in().await, "another browser's session goes on");
    app.stop().await;
}

#[tokio::test]
async fn who_signs_out_is_out_and_everywhere_means_everywhere() {
    let app = TestApp::start().await;
    let mut second = with_password(&app, "a@example.com").await;
    let user = users::named(&app.services, "a@example.com").await.unwrap();
    let [mut first, mut third] = [Browser::new(&app), Browser::new(&app)];
    for browser in [&mut first, &mut third] {
        assert_eq!(try_password(browser, "a@example.com", PASSWORD).await.status, 303);
    }
    let mut kept = first.copy();
    assert!(super::browser::is_redirected_to_sign_in(&first.post("/console/sign-out", &[]).await));
    assert!(!first.cookie_header().contains("session"), "{}", first.cookie_header());
    assert!(!kept.is_signed_in().await, "the cookie opens nothing more");
    assert!(second.is_signed_in().await && third.is_signed_in().await);

    let unused = link(&app, &user).await;
    assert!(super::browser::is_redirected_to_sign_in(
        &second.post("/console/you/sign-out-everywhere", &[]).await
    ));
    assert!(!second.is_signed_in().await && !third.is_signed_in().await);
    assert_eq!(Browser::new(&app).post(&unused, &[]).await.status, 403, "nor does a link");
    app.stop().await;
}

#[tokio::test]
async fn another_password_wants_the_current_one_and_signs_others_out() {
    let app = TestApp::start().await;
    with_password(&app, "a@example.com").await;
    let [mut browser, mut other] = [Browser::new(&app), Browser::new(&app)];
    for browser in [&mut browser, &mut other] {
        assert_eq!(try_password(browser, "a@example.com", PASSWORD).await.status, 303);
    }
    let fields =
        |current| [("email", "a@example.com"), ("current", current), ("password", "a new long password")];
    assert_eq!(browser.post("/console/you", &fields("wrong")).await.status, 422);
    assert!(other.is_signed_in().await);
    assert_eq!(browser.post("/console/you", &fields(PASSWORD)).await.status, 303);
    assert!(browser.is_signed_in().await && !other.is_signed_in().await);
    assert_eq!(try_password(&mut other, "a@example.com", "a new long password").await.status, 303);
    app.stop().await;
}

#[tokio::test]
async fn nobody_takes_the_e_mail_address_of_somebody_who_is_yet_to_come() {
    let app = TestApp::start().await;
    let mut browser = with_password(&app, "a@example.com").await;
    let fields = [("email", "victim@example.com"), ("current", PASSWORD)];
    browser.post("/console/you", &fields).await.checked(422);
    assert!(users::named(&app.services, "victim@example.com").await.is_err());
    let mut operator = operator(&app).await;
    assert_eq!(operator.post("/console/you", &[("email", "chief@example.com")]).await.status, 303);
    assert!(users::named(&app.services, "CHIEF@example.com").await.unwrap().is_operator);
    app.stop().await;
}

#[tokio::test]
async fn a_redirect_to_sign_in_returns_to_the_wanted_page() {
    let app = TestApp::start().await;
    with_password(&app, "a@example.com").await;
    let mut browser = Browser::new(&app);
    let led = browser.get("/console/you?flash=changed").await;
    assert_eq!(led.header("location"), "/console/sign-in?next=%2Fconsole%2Fyou%3Fflash%3Dchanged");
    let fields = [("email", "a@example.com"), ("password", PASSWORD), ("next", "/console/you?flash=changed")];
    assert_eq!(
        browser.post("/console/sign-in", &fields).await.header("location"),
        "/console/you?flash=changed"
    );
    let fields = [("email", "a@example.com"), ("password", PASSWORD), ("next", "//evil.example.com")];
    assert_eq!(browser.post("/console/sign-in", &fields).await.header("location"), "/console");
    app.stop().await;
}
