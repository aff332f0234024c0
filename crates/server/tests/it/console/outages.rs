//! What callers are told while the database is away. Only a PostgreSQL goes away, so this test has one of its own.

use std::time::Duration;

use overnight_domain::roles::Role;
use overnight_testkit::postgres::{Cluster, FaultProxy};

use super::{both_accounts, member};
use crate::support::{Log, TestApp};

#[tokio::test]
async fn callers_are_told_that_the_store_is_away_and_the_log_alone_says_why() {
    let log = Log::keep();
    Cluster::shared().database("outages").expect("a database");
    let proxy = FaultProxy::start(Cluster::shared()).expect("a proxy");
    let app = TestApp::start_on(proxy.url("outages")).await;
    let [account, _] = both_accounts(&app).await;
    let mut browser = member(&app, &account, "a@example.com", Role::Viewer).await;
    proxy.refuse(true).expect("a closed port");
    proxy.cut_all();

    let answered = app.client().get("/v1/models").await;
    let error = answered.refused(503, "unavailable");
    assert_eq!(
        error["message"],
        "the store is not available at the moment: the database does not answer; try again"
    );
    assert_eq!(answered.header("retry-after"), "1");
    let page = browser.get("/console/you").await;
    assert_eq!(page.status, 503);
    assert!(
        page.text()
            .contains("The store is not available at the moment: the database does not answer; try again."),
        "{}",
        page.text()
    );
    let lines = log.lines_with("was refused: store unavailable");
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("the database failed: ")), "{lines:?}");
    assert!(lines[0].contains(answered.header("x-request-id")), "{lines:?}");
    assert!(!page.text().contains("the database failed"), "{}", page.text());

    proxy.refuse(false).expect("an open port");
    let back = async {
        while app.client().get("/v1/models").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.expect("the store is there again");
    app.stop().await;
}
