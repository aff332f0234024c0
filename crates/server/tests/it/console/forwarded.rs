//! The client's address in headers of proxies.

use super::browser::Browser;
use super::try_password;
use crate::support::TestApp;

/// The number of free tries from one network.
const FREE: usize = 40;

/// The status of a wrong sign-in with these forwarded addresses.
async fn status(app: &TestApp, number: &mut u32, forwarded: &str) -> u16 {
    *number += 1;
    let mut browser = Browser::new(app).with("x-forwarded-for", forwarded);
    try_password(&mut browser, &format!("{number}@example.com"), "wrong").await.status
}

#[tokio::test]
async fn a_proxy_that_is_believed_says_where_a_guesser_is() {
    let app = TestApp::start_with(&[("console.trusted_proxies", r#"["127.0.0.0/8", "10.0.0.0/8"]"#)]).await;
    let mut number = 0;
    for _ in 0..FREE {
        assert_eq!(status(&app, &mut number, "192.0.2.9").await, 403);
    }
    for forwarded in [
        "192.0.2.9",
        "192.0.2.9:4711",
        "::ffff:192.0.2.9",
        // The guesser wrote the addresses before it.
        "203.0.113.1, 192.0.2.9",
        "nonsense, 192.0.2.9",
        // A second trusted proxy.
        "203.0.113.1, 192.0.2.9, 10.1.2.3",
    ] {
        assert_eq!(status(&app, &mut number, forwarded).await, 429, "{forwarded}");
    }
    for forwarded in ["192.0.2.10", "192.0.2.9, 192.0.2.11", "192.0.2.9, unknown", ""] {
        assert_eq!(status(&app, &mut number, forwarded).await, 403, "{forwarded}");
    }
    app.stop().await;
}

#[tokio::test]
async fn anybody_else_is_not_believed() {
    let app = TestApp::start_with(&[("console.trusted_proxies", "[]")]).await;
    let mut number = 0;
    let mut statuses = Vec::new();
    for place in 0..FREE + 1 {
        statuses.push(status(&app, &mut number, &format!("192.0.2.{place}")).await);
    }
    let waits = statuses.pop();
    assert_eq!((waits, statuses), (Some(429), vec![403; FREE]));
    app.stop().await;
}
