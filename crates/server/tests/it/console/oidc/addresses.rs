//! Verified e-mail addresses: the provider says so, or the operator's settings if the provider says nothing.

use overnight_app::users::User;
use serde_json::json;

use super::*;
use crate::support::Log;

const EDOV: (&str, &str) = ("console.oidc.trust_xms_edov", "true");
const DOMAINS: (&str, &str) = ("console.oidc.verified_domains", "[\"Example.com\"]");

/// A person as Entra describes one: without `email_verified`.
fn of_entra(subject: &str, email: &str) -> Person {
    Person { is_verified: None, ..person(subject, email) }
}

async fn linked(world: &World) -> Vec<User> {
    let users = users::list(&world.app.services).await.unwrap();
    users.into_iter().filter(|user| user.issuer.is_some()).collect()
}

#[tokio::test]
async fn entra_verifies_an_address_by_xms_edov_where_the_operator_trusts_it() {
    let world = World::with(SECRET, &[EDOV, ("console.oidc.sign_up", "true")]).await;
    let who = |subject: &str, edov| Person { edov, ..of_entra(subject, &format!("{subject}@example.com")) };
    for edov in [None, Some(json!(false)), Some(json!("0")), Some(json!(0)), Some(json!("yes"))] {
        world.check_refused(&who("s0", edov), 403, "is not verified").await;
    }
    for (number, edov) in [json!(true), json!(1), json!("1"), json!("true")].into_iter().enumerate() {
        let who = who(&format!("s{}", number + 1), Some(edov.clone()));
        assert_eq!(world.sign_in(&mut Browser::new(&world.app), &who).await.status, 303, "{edov}");
    }
    assert_eq!(linked(&world).await.len(), 4);
    world.app.stop().await;
}

#[tokio::test]
async fn the_claim_means_nothing_where_the_operator_does_not_trust_it() {
    let world = World::with(SECRET, &[("console.oidc.sign_up", "true")]).await;
    let who = Person { edov: Some(json!(true)), ..of_entra("s1", "a@example.com") };
    world.check_refused(&who, 403, "is not verified").await;
    assert!(users::list(&world.app.services).await.unwrap().is_empty());
    world.app.stop().await;
}

#[tokio::test]
async fn the_addresses_of_a_domain_are_verified_where_the_operator_says_so_and_no_others() {
    let world = World::with(SECRET, &[DOMAINS]).await;
    let [account, _] = both_accounts(&world.app).await;
    let emails = ["a@example.com", "b@sub.example.com", "c@example.com.evil.org", "d@notexample.com"];
    for email in emails {
        member(&world.app, &account, email, Role::Owner).await;
    }
    for (number, email) in emails.iter().enumerate().skip(1) {
        world.check_refused(&of_entra(&format!("s{number}"), email), 403, "is not verified").await;
    }
    assert_eq!(linked(&world).await, []);
    // No setting overrides a provider's denial.
    let denied = Person { is_verified: Some(false), ..of_entra("s9", emails[0]) };
    world.check_refused(&denied, 403, "is not verified").await;
    let denied = Person { edov: Some(json!(false)), ..of_entra("s9", emails[0]) };
    world.check_refused(&denied, 403, "is not verified").await;

    let mut browser = Browser::new(&world.app);
    assert_eq!(world.sign_in(&mut browser, &of_entra("s0", "A@EXAMPLE.com")).await.status, 303);
    let linked = linked(&world).await;
    assert_eq!(linked.iter().map(|user| user.email.as_deref()).collect::<Vec<_>>(), [Some("a@example.com")]);
    world.app.stop().await;
}

#[tokio::test]
async fn a_letter_that_only_looks_like_another_takes_nobodys_account() {
    let world = World::new("true").await;
    let [account, _] = both_accounts(&world.app).await;
    member(&world.app, &account, "kim@example.com", Role::Owner).await;
    // The lower case of the kelvin sign is k.
    let mut browser = Browser::new(&world.app);
    assert_eq!(world.sign_in(&mut browser, &person("s1", "\u{212a}im@example.com")).await.status, 303);
    let owner = users::named(&world.app.services, "kim@example.com").await.unwrap();
    assert_eq!(owner.issuer, None, "somebody else signed up");
    assert!(accounts_of(&world.app, "\u{212a}im@example.com").await.iter().all(|own| own.id != account.id));
    world.app.stop().await;
}

#[tokio::test]
async fn whom_an_operator_linked_by_hand_signs_in_whatever_the_address_and_the_log_says_by_what() {
    let log = Log::keep();
    let world = World::new("false").await;
    let services = &world.app.services;
    with_password(&world.app, "a@example.com").await;
    let who = Person { email: None, ..of_entra("AAAA-b_c", "") };
    world.check_refused(&who, 403, "is not verified").await;
    let [line] = &log.lines_with("not known")[..] else { panic!("{:?}", log.lines_with("OpenID")) };
    assert!(line.contains("subject=AAAA-b_c") && line.contains(world.provider.issuer()), "{line}");

    let user = users::named(services, "a@example.com").await.unwrap();
    users::link_subject(services, &user, world.provider.issuer(), "AAAA-b_c", false).await.unwrap();
    let mut browser = Browser::new(&world.app);
    assert_eq!(try_password(&mut browser, "a@example.com", PASSWORD).await.status, 403);
    assert_eq!(world.sign_in(&mut browser, &who).await.status, 303);
    assert!(browser.get("/console/you").await.text().contains("a@example.com"));
    world.app.stop().await;
}

#[tokio::test]
async fn a_subject_is_one_users_and_is_replaced_only_on_purpose() {
    let world = World::new("false").await;
    let services = &world.app.services;
    let [account, _] = both_accounts(&world.app).await;
    member(&world.app, &account, "a@example.com", Role::Owner).await;
    member(&world.app, &account, "b@example.com", Role::Viewer).await;
    let issuer = world.provider.issuer();
    let [one, other] = [
        users::named(services, "a@example.com").await.unwrap(),
        users::named(services, "b@example.com").await.unwrap(),
    ];
    let link = async |user: &User, issuer: &str, subject: &str, replaces| {
        users::link_subject(services, user, issuer, subject, replaces)
            .await
            .map_err(|error| error.to_string())
    };
    link(&one, issuer, "s1", false).await.unwrap();
    let mut browser = Browser::new(&world.app);
    let who = Person { email: None, ..of_entra("s1", "") };
    assert_eq!(world.sign_in(&mut browser, &who).await.status, 303);
    link(&one, issuer, "s1", false).await.unwrap();
    assert!(browser.is_signed_in().await, "to say it twice changes nothing");

    for replaces in [false, true] {
        let refused = link(&other, issuer, "s1", replaces).await.unwrap_err();
        assert!(refused.contains(&one.id.to_string()), "{refused}");
    }
    assert!(link(&one, issuer, "s2", false).await.unwrap_err().contains("to be replaced"));
    link(&one, issuer, "s2", true).await.unwrap();
    assert!(!browser.is_signed_in().await, "who came by the other subject is out");
    world.check_refused(&who, 403, "is not verified").await;

    for wrong in ["", "a\nb", &*"s".repeat(256)] {
        assert!(link(&other, issuer, wrong, false).await.unwrap_err().contains("subject"), "{wrong}");
    }
    assert!(link(&other, "example", "s3", false).await.unwrap_err().contains("issuer"));
    world.app.stop().await;
}
