//! Sign-in through an OpenID provider.

mod addresses;
mod providers;
mod tabs;

use std::sync::Arc;

use overnight_app::accounts::{Account, members};
use overnight_app::users::invitations;
use overnight_app::{Services, accounts, users};
use overnight_base::clock::{Clock, ManualClock, SharedClock, SystemClock};
use overnight_config::OutgoingConfig;
use overnight_domain::roles::Role;
use overnight_outgoing::openid::OpenId;
use overnight_testkit::openid::{KeyKind, OpenIdProvider, Person, Trouble};

use super::browser::Browser;
use super::{PASSWORD, both_accounts, link as link_of, member, try_password, with_password};
use crate::support::{Answered, Client, TestApp};

const SECRET: &str = "2Tf7yK0vN4cQ";

struct World {
    app: TestApp,
    provider: OpenIdProvider,
    /// The clock of the provider's client.
    clock: Arc<ManualClock>,
}

fn person(subject: &str, email: &str) -> Person {
    let (subject, email) = (subject.to_owned(), Some(email.to_owned()));
    Person { subject, email, is_verified: Some(true), edov: None }
}

impl World {
    async fn new(sign_up: &str) -> Self {
        Self::with(SECRET, &[("console.oidc.sign_up", sign_up)]).await
    }

    async fn with(secret: &'static str, more: &[(&str, &str)]) -> Self {
        let provider = OpenIdProvider::start("overnight", secret).await.unwrap();
        let settings = [
            ("console.oidc.name", "Example"),
            ("console.oidc.issuer", provider.issuer()),
            ("console.oidc.client_id", "overnight"),
            ("console.oidc.client_secret_env", "OIDC_CLIENT_SECRET"),
        ];
        // The provider uses the machine's clock.
        let clock = ManualClock::at(SystemClock.now());
        let shown: SharedClock = Arc::clone(&clock) as SharedClock;
        let app = TestApp::start_changed(&[&settings, more].concat(), |services| {
            let config = services.config();
            let config = config.console.oidc.as_ref().unwrap();
            let openid = OpenId::with(config, &OutgoingConfig::default(), &shown, |name| {
                (name == "OIDC_CLIENT_SECRET").then(|| secret.into())
            });
            Services { openid: Some(Arc::new(openid)), ..services }
        })
        .await;
        Self { app, provider, clock }
    }

    /// Follows the link on the sign-in page and signs in at the provider; returns the path of the redirect back.
    async fn way_back(&self, browser: &mut Browser) -> String {
        self.way_back_from(browser, "/console/sign-in/oidc").await
    }

    /// The same from a link with a destination.
    async fn way_back_from(&self, browser: &mut Browser, link: &str) -> String {
        let led = browser.get(link).await.checked(303);
        let there = led.header("location").strip_prefix(self.provider.issuer()).unwrap().to_owned();
        let back = Client::new(self.provider.address(), None).get(&there).await.checked(302);
        let back = back.header("location").strip_prefix("http://127.0.0.1:8080");
        back.expect("where the console is reached").to_owned()
    }

    async fn sign_in(&self, browser: &mut Browser, who: &Person) -> Answered {
        self.provider.present(who.clone());
        let back = self.way_back(browser).await;
        browser.get(&back).await
    }

    /// Checks that the sign-in fails and the page has these words.
    async fn check_refused(&self, who: &Person, status: u16, words: &str) {
        let mut browser = Browser::new(&self.app);
        let refused = self.sign_in(&mut browser, who).await;
        assert_eq!(refused.status, status, "{}", refused.text());
        refused.shows(words);
        assert!(browser.cookie_header().is_empty() && !browser.is_signed_in().await);
    }
}

#[tokio::test]
async fn a_known_address_signs_in_and_is_known_by_its_subject_from_then_on() {
    let world = World::new("false").await;
    let app = &world.app;
    let account = app.own().await;
    member(app, &account, "a@example.com", Role::Viewer).await;
    let mut browser = Browser::new(app);
    let page = browser.get("/console/sign-in?next=/console/you").await;
    let link = "<a href=\"/console/sign-in/oidc?next=%2Fconsole%2Fyou\">Sign in with Example</a>";
    page.shows(link);

    let led = Browser::new(app).get("/console/sign-in/oidc?next=%2Fconsole%2Fyou%3Fa%3Db").await;
    let cookie = led.header("set-cookie").to_owned();
    assert!(cookie.starts_with("overnight_sign_in_8080="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
    assert!(led.header("location").contains("code_challenge_method=S256"), "{led:?}");

    let signed_in = world.sign_in(&mut browser, &person("s1", "A@Example.com")).await;
    assert_eq!((signed_in.status, signed_in.header("location")), (303, "/console"));
    assert!(browser.is_signed_in().await && !browser.cookie_header().contains("sign_in"));
    let user = users::named(&app.services, "a@example.com").await.unwrap();
    assert_eq!(user.issuer.as_deref(), Some(world.provider.issuer()));

    let mut again = Browser::new(app);
    world.sign_in(&mut again, &person("s1", "renamed@example.com")).await;
    assert!(again.get("/console/you").await.text().contains("a@example.com"), "the subject says who it is");
    assert_ne!(again.cookie_header(), browser.cookie_header(), "each sign-in has a session of its own");
    world.check_refused(&person("s2", "a@example.com"), 403, "signs in by another name").await;
    assert_eq!(world.provider.discovery_count(), 1, "what the provider said is kept");
    world.app.stop().await;
}

#[tokio::test]
async fn sessions_end_when_their_browser_signs_in_through_the_provider() {
    let world = World::new("true").await;
    let mut browser = with_password(&world.app, "a@example.com").await;
    let mut earlier = browser.copy();
    world.sign_in(&mut browser, &person("s1", "b@example.com")).await.checked(303);
    assert!(!earlier.is_signed_in().await && browser.is_signed_in().await);
    world.app.stop().await;
}

#[tokio::test]
async fn whoever_wanted_a_page_gets_there() {
    let world = World::new("true").await;
    world.provider.present(person("s1", "a@example.com"));
    let mut browser = Browser::new(&world.app);
    for (next, expected) in [("/console/you?a=b", "/console/you?a=b"), ("//evil.example.com", "/console")] {
        let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let back = world.way_back_from(&mut browser, &format!("/console/sign-in/oidc?next={next}")).await;
        assert_eq!(browser.get(&back).await.header("location"), expected);
    }
    world.app.stop().await;
}

#[tokio::test]
async fn only_the_browser_that_began_is_signed_in_and_only_once() {
    let world = World::new("true").await;
    world.provider.present(person("s1", "a@example.com"));
    let refused = "not begun in this browser";

    let mut began = Browser::new(&world.app);
    let back = world.way_back(&mut began).await;
    let mut other = Browser::new(&world.app);
    other.get(&back).await.checked(403).shows(refused);
    let mut also_began = Browser::new(&world.app);
    world.way_back(&mut also_began).await;
    assert_eq!(also_began.get(&back).await.status, 403, "another sign-in's state");
    assert_eq!(also_began.get(&back.replace("state=", "state=x")).await.status, 403);

    let mut copied = began.copy();
    assert_eq!(began.get(&back).await.status, 303);
    assert!(began.is_signed_in().await);
    assert_eq!(began.get(&back).await.status, 403, "the cookie is forgotten");
    assert_eq!(copied.get(&back).await.status, 403, "and the code is used up");
    assert!(!copied.is_signed_in().await && !other.is_signed_in().await && !also_began.is_signed_in().await);
    world.app.stop().await;
}

#[tokio::test]
async fn what_is_not_the_providers_word_for_this_sign_in_is_not_believed() {
    let world = World::new("true").await;
    let who = person("s1", "a@example.com");
    for trouble in [
        Trouble::WrongNonce,
        Trouble::WrongAudience,
        Trouble::WrongIssuer,
        Trouble::Expired,
        Trouble::IssuedLater,
        Trouble::ValidLater,
        Trouble::IssuedToAnother,
        Trouble::ForeignSignature,
        Trouble::Unsigned,
        Trouble::SignedWithSecret,
        Trouble::WrongUserInfo,
        Trouble::WrongReturn,
    ] {
        world.provider.trouble(Some(trouble));
        world.check_refused(&who, 403, "That did not work").await;
        assert!(users::list(&world.app.services).await.unwrap().is_empty(), "{trouble:?}");
    }
    world.provider.trouble(None);
    world.check_refused(&person("s\u{202e}1", "a@example.com"), 403, "That did not work").await;
    assert_eq!(world.sign_in(&mut Browser::new(&world.app), &who).await.status, 303);
    world.app.stop().await;
}

#[tokio::test]
async fn a_refusal_of_the_provider_is_shown_as_text_and_to_who_began_alone() {
    let world = World::new("true").await;
    world.provider.trouble(Some(Trouble::Denied));
    let words = "Example says: access_denied: The person &#60;b&#62;did not&#60;/b&#62; want it.";
    world.check_refused(&person("s1", "a@example.com"), 403, words).await;
    let planted = "/console/sign-in/oidc/callback?error=call+0900&state=x";
    let answered = Browser::new(&world.app).get(planted).await;
    assert!(answered.status == 403 && !answered.text().contains("0900"), "{}", answered.text());
    world.app.stop().await;
}

#[tokio::test]
async fn nobody_comes_in_uninvited_or_by_an_address_that_is_not_verified() {
    let world = World::new("false").await;
    let [account, _] = both_accounts(&world.app).await;
    member(&world.app, &account, "a@example.com", Role::Owner).await;
    world.check_refused(&person("s1", "b@example.com"), 403, "Nobody invited you").await;
    let unverified = Person { is_verified: Some(false), ..person("s1", "a@example.com") };
    world.check_refused(&unverified, 403, "is not verified").await;
    world.check_refused(&Person { email: None, ..unverified }, 403, "is not verified").await;
    let users = users::list(&world.app.services).await.unwrap();
    assert!(users.len() == 1 && users[0].issuer.is_none(), "{users:?}");
    world.app.stop().await;
}

#[tokio::test]
async fn who_signs_up_owns_an_account_without_credits() {
    let world = World::new("true").await;
    let services = &world.app.services;
    let unverified = Person { is_verified: Some(false), ..person("s1", "a@example.com") };
    world.check_refused(&unverified, 403, "is not verified").await;
    for _ in 0..2 {
        let mut browser = Browser::new(&world.app);
        assert_eq!(world.sign_in(&mut browser, &person("s1", "A@example.com")).await.status, 303);
        let account = &accounts::list(services).await.unwrap()[2];
        assert_eq!((account.name.as_str(), account.available().to_string().as_str()), ("a@example.com", "0"));
        assert!(account.payments_activated_at.is_none());
        let members = members::list(services, account).await.unwrap();
        let [member] = members.as_slice() else { panic!("{members:?}") };
        assert_eq!((member.role, member.user.is_operator), (Role::Owner, false));
        assert_eq!(browser.get(&format!("/console/{}/keys", account.id)).await.status, 200);
        assert_eq!(browser.get("/console/operator").await.status, 404);
    }
    assert_eq!(accounts::list(services).await.unwrap().len(), 3, "the second time signs in");
    world.app.stop().await;
}

/// The path of an invitation to an account.
async fn invited(app: &TestApp, account: &Account, email: &str) -> String {
    let link = invitations::invite(&app.services, account, email, Role::Developer).await.unwrap();
    link.url.strip_prefix("http://127.0.0.1:8080").unwrap().to_owned()
}

async fn accounts_of(app: &TestApp, email: &str) -> Vec<Account> {
    let user = users::named(&app.services, email).await.unwrap();
    let accounts = members::accounts_of(&app.services, &user).await.unwrap();
    accounts.into_iter().map(|(account, _)| account).collect()
}

#[tokio::test]
async fn whoever_took_an_address_before_its_owner_came_is_out_and_leaves_the_owner_nothing() {
    let world = World::new("false").await;
    let app = &world.app;
    let [account, takers] = both_accounts(app).await;
    let mut taker = Browser::new(app);
    taker.post(&invited(app, &account, "a@example.com").await, &[("password", PASSWORD)]).await.checked(303);
    let link = invited(app, &takers, "taker@example.com").await;
    assert_eq!(taker.post(&link, &[]).await.status, 422, "nobody invited a@example.com there");
    let unused = link_of(app, &users::named(&app.services, "a@example.com").await.unwrap()).await;

    let mut owner = Browser::new(app);
    assert_eq!(world.sign_in(&mut owner, &person("s1", "a@example.com")).await.status, 303);
    assert!(owner.is_signed_in().await && !taker.is_signed_in().await);
    assert_eq!(try_password(&mut taker, "a@example.com", PASSWORD).await.status, 403);
    assert_eq!(taker.post(&unused, &[]).await.status, 403);
    assert_eq!(accounts_of(app, "a@example.com").await, [account], "which invited the address");
    world.app.stop().await;
}

#[tokio::test]
async fn whom_a_provider_knows_joins_by_any_invitation() {
    let world = World::new("true").await;
    let app = &world.app;
    let account = app.own().await;
    let mut browser = Browser::new(app);
    assert_eq!(world.sign_in(&mut browser, &person("s1", "a@example.com")).await.status, 303);
    browser.post(&invited(app, &account, "alias@example.com").await, &[]).await.checked(303);
    assert!(accounts_of(app, "a@example.com").await.contains(&account));
    world.app.stop().await;
}

#[tokio::test]
async fn an_address_that_stands_in_no_token_is_asked_for_and_another_key_is_learned() {
    let world = World::new("true").await;
    world.provider.trouble(Some(Trouble::ThinTokens));
    let mut browser = Browser::new(&world.app);
    assert_eq!(world.sign_in(&mut browser, &person("s1", "a@example.com")).await.status, 303);
    world.provider.change_key(KeyKind::Es256, "second").unwrap();
    assert_eq!(world.sign_in(&mut browser, &person("s1", "a@example.com")).await.status, 303);
    assert_eq!(world.provider.discovery_count(), 2);
    world.app.stop().await;
}

#[tokio::test]
async fn a_provider_that_is_away_breaks_nothing_else() {
    let World { app, provider, .. } = World::new("false").await;
    with_password(&app, "a@example.com").await;
    drop(provider);
    let mut browser = Browser::new(&app);
    browser.get("/console/sign-in/oidc").await.checked(503).shows("Example does not answer: try again later");
    assert_eq!(try_password(&mut browser, "a@example.com", PASSWORD).await.status, 303);
    app.stop().await;
}

#[tokio::test]
async fn without_a_provider_there_is_no_such_page() {
    let app = TestApp::start().await;
    for path in ["/console/sign-in/oidc", "/console/sign-in/oidc/callback?code=a&state=b"] {
        assert_eq!(Browser::new(&app).get(path).await.status, 404, "{path}");
    }
    assert!(!Browser::new(&app).get("/console/sign-in").await.text().contains("Sign in with"));
    app.stop().await;
}

#[tokio::test]
async fn a_secret_that_is_missing_is_told_by_its_variable() {
    let world = World::new("false").await;
    let config = world.app.services.config();
    let config = config.console.oidc.as_ref().unwrap();
    let with = |secret: Option<&'static str>| {
        OpenId::with(config, &OutgoingConfig::default(), &world.app.services.clock, move |_| {
            secret.map(Into::into)
        })
    };
    let sentence = with(None).check().unwrap_err().to_string();
    assert!(sentence.contains("OIDC_CLIENT_SECRET") && sentence.ends_with("is not set"), "{sentence}");
    with(Some("s")).check().unwrap();
    assert!(with(None).discover().await.is_err());
    with(Some("s")).discover().await.unwrap();
    world.app.stop().await;
}
