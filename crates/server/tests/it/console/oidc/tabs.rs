//! Concurrent sign-ins in one browser.

use super::*;
use crate::support::Log;

#[tokio::test]
async fn two_tabs_may_both_finish() {
    let world = World::new("true").await;
    world.provider.present(person("s1", "a@example.com"));
    let mut browser = Browser::new(&world.app);
    let [one, other] = [world.way_back(&mut browser).await, world.way_back(&mut browser).await];
    assert_eq!(browser.get(&one).await.status, 303);
    assert_eq!(browser.get(&one).await.status, 403, "each is finished once");
    assert_eq!(browser.get(&other).await.status, 303);
    assert!(browser.is_signed_in().await && !browser.cookie_header().contains("sign_in"));
    world.app.stop().await;
}

#[tokio::test]
async fn each_tab_gets_to_its_page_and_a_planted_link_breaks_none() {
    let world = World::new("true").await;
    world.provider.present(person("s1", "a@example.com"));
    let mut browser = Browser::new(&world.app);
    let mut ways = Vec::new();
    for page in ["/console/you", "/console/operator"] {
        let back = world.way_back_from(&mut browser, &format!("/console/sign-in/oidc?next={page}")).await;
        ways.push((back, page));
    }
    assert_eq!(browser.get("/console/sign-in/oidc/callback?code=a&state=b").await.status, 403);
    for (back, page) in ways.iter().rev() {
        assert_eq!(browser.get(back).await.header("location"), *page);
    }
    world.app.stop().await;
}

#[tokio::test]
async fn of_many_tabs_the_newest_may_finish() {
    let world = World::new("true").await;
    world.provider.present(person("s1", "a@example.com"));
    let mut browser = Browser::new(&world.app);
    let mut ways = Vec::new();
    for _ in 0..6 {
        ways.push(world.way_back(&mut browser).await);
    }
    assert!(browser.cookie_header().len() < 300, "{}", browser.cookie_header());
    for (number, back) in ways.iter().enumerate() {
        assert_eq!(browser.get(back).await.status, if number < 2 { 403 } else { 303 }, "{number}");
    }
    world.app.stop().await;
}

#[tokio::test]
async fn what_the_provider_says_to_who_began_is_logged_and_a_planted_error_is_not() {
    let log = Log::keep();
    let world = World::new("true").await;
    world.provider.trouble(Some(Trouble::Denied));
    world.check_refused(&person("s1", "a@example.com"), 403, "access_denied").await;
    let planted = "/console/sign-in/oidc/callback?error=call+0900&state=x";
    assert_eq!(Browser::new(&world.app).get(planted).await.status, 403);
    assert_eq!(log.lines_with("access_denied").len(), 1);
    // A time in the log may contain the digits without the words.
    assert_eq!(log.lines_with("call 0900").len() + log.lines_with("call+0900").len(), 0);
    world.app.stop().await;
}
