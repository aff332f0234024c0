//! Differences between providers: signatures, transmission of the client's secret, metadata, and outages.

use overnight_testkit::openid::{Habits, SecretGoes};

use super::*;

const MANY_CHARACTERS: &str = " p:ä%2B+&=/\"~\u{1f511} ";

fn who() -> Person {
    person("s1", "a@example.com")
}

impl World {
    /// Signs in again; returns the status of the last page.
    async fn signs_in(&self) -> u16 {
        self.sign_in(&mut Browser::new(&self.app), &who()).await.status
    }
}

#[tokio::test]
async fn a_provider_that_promises_to_name_itself_has_to() {
    let world = World::new("true").await;
    world.provider.trouble(Some(Trouble::WrongReturn));
    world.check_refused(&who(), 403, "That did not work").await;
    world.provider.behave(Habits { names_itself: true, ..Habits::default() });
    // The provider's metadata are fetched again.
    world.clock.set(SystemClock.now() + 3_600_000);
    for trouble in [Trouble::WrongReturn, Trouble::NamelessReturn] {
        world.provider.trouble(Some(trouble));
        world.check_refused(&who(), 403, "That did not work").await;
    }
    world.clock.set(SystemClock.now());
    world.app.stop().await;

    let world = World::new("true").await;
    world.provider.behave(Habits { names_itself: true, ..Habits::default() });
    assert_eq!(world.signs_in().await, 303);
    world.provider.trouble(Some(Trouble::Denied));
    world.check_refused(&who(), 403, "access_denied").await;
    // An error without a name is not shown either.
    let mut browser = Browser::new(&world.app);
    let back = world.way_back(&mut browser).await;
    let (path, query) = back.split_once('?').unwrap();
    let named = |field: &&str| !field.starts_with("iss=");
    let nameless = format!("{path}?{}", query.split('&').filter(named).collect::<Vec<_>>().join("&"));
    assert_ne!(nameless, back);
    let answered = browser.get(&nameless).await;
    assert!(answered.status == 403 && !answered.text().contains("access_denied"), "{}", answered.text());
    world.app.stop().await;
}

#[tokio::test]
async fn a_key_that_was_replaced_is_asked_for_at_once_under_any_name_and_no_more_than_once_in_a_while() {
    let world = World::new("true").await;
    assert_eq!(world.signs_in().await, 303);
    assert_eq!(world.provider.discovery_count(), 1);
    world.provider.change_key(KeyKind::Es256, "first").unwrap();
    assert_eq!(world.signs_in().await, 303, "the same name, another key");
    assert_eq!(world.provider.discovery_count(), 2);

    world.provider.trouble(Some(Trouble::ForeignSignature));
    for _ in 0..5 {
        world.check_refused(&who(), 403, "That did not work").await;
    }
    assert_eq!(world.provider.discovery_count(), 2, "whoever brings forgeries has it asked no more often");
    world.provider.trouble(None);
    world.clock.set(SystemClock.now() + 10_000);
    world.provider.change_key(KeyKind::Es256, "first").unwrap();
    assert_eq!(world.signs_in().await, 303);
    assert_eq!(world.provider.discovery_count(), 3);
    world.app.stop().await;
}

#[tokio::test]
async fn sign_ins_that_meet_a_new_key_together_ask_for_it_once() {
    let world = World::new("true").await;
    assert_eq!(world.signs_in().await, 303);
    world.provider.change_key(KeyKind::Es256, "first").unwrap();
    let (one, two, three) = tokio::join!(world.signs_in(), world.signs_in(), world.signs_in());
    assert_eq!((one, two, three), (303, 303, 303));
    assert_eq!(world.provider.discovery_count(), 2);
    world.app.stop().await;
}

#[tokio::test]
async fn signed_user_info_is_believed_by_the_keys_of_now() {
    let world = World::new("true").await;
    world.provider.behave(Habits { signs_user_info: true, ..Habits::default() });
    world.provider.trouble(Some(Trouble::ThinTokens));
    assert_eq!(world.signs_in().await, 303);
    // The ID token and user info are signed with a new key.
    world.provider.change_key(KeyKind::Es256, "first").unwrap();
    assert_eq!(world.signs_in().await, 303);
    assert_eq!(world.provider.discovery_count(), 2);
    for trouble in [Trouble::ForeignUserInfo, Trouble::UserInfoOfOthers, Trouble::WrongUserInfo] {
        world.provider.trouble(Some(trouble));
        world.check_refused(&who(), 403, "That did not work").await;
    }
    assert_eq!(world.provider.discovery_count(), 2);
    world.app.stop().await;
}

#[tokio::test]
async fn ed25519_is_believed_by_both_of_its_names() {
    for kind in [KeyKind::EdDsa, KeyKind::Ed25519] {
        let world = World::new("true").await;
        world.provider.change_key(kind, "first").unwrap();
        world.provider.behave(Habits { signs_user_info: true, ..Habits::default() });
        assert_eq!(world.signs_in().await, 303, "{kind:?}");
        world.provider.trouble(Some(Trouble::ThinTokens));
        assert_eq!(world.signs_in().await, 303, "{kind:?}");
        world.provider.trouble(Some(Trouble::ForeignSignature));
        world.check_refused(&who(), 403, "That did not work").await;
        world.app.stop().await;
    }
}

#[tokio::test]
async fn a_provider_that_answers_that_it_cannot_is_away() {
    for status in [500, 502, 503, 429] {
        let world = World::new("true").await;
        let only = Habits { answers_only: Some(status), ..Habits::default() };
        world.provider.behave(only.clone());
        let away = "Example does not answer: try again later";
        Browser::new(&world.app).get("/console/sign-in/oidc").await.checked(503).shows(away);

        world.provider.behave(Habits::default());
        world.provider.present(who());
        let mut browser = Browser::new(&world.app);
        let back = world.way_back(&mut browser).await;
        world.provider.behave(only);
        browser.get(&back).await.checked(503).shows(away);
        world.app.stop().await;
    }
}

#[tokio::test]
async fn a_clients_secret_may_have_any_characters_wherever_the_provider_wants_it() {
    for secret in [SECRET, MANY_CHARACTERS] {
        for secret_goes in [SecretGoes::InTheHead, SecretGoes::InTheBody, SecretGoes::InTheBodyOrUnescaped] {
            let world = World::with(secret, &[("console.oidc.sign_up", "true")]).await;
            world.provider.behave(Habits { secret_goes, ..Habits::default() });
            assert_eq!(world.signs_in().await, 303, "{secret:?} {secret_goes:?}");
            world.app.stop().await;
        }
    }
}
