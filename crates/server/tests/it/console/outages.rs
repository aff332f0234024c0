//! Answers while the database is unavailable. Only PostgreSQL can be, so this test has its own.

use std::time::Duration;

use overnight_domain::roles::Role;
use overnight_testkit::postgres::{Cluster, FaultProxy};

use super::member;
use crate::support::{Log, TestApp};

#[tokio::test]
async fn callers_are_told_that_the_store_is_away_and_the_log_alone_says_why() {
    let log = Log::keep();
    Cluster::shared().database("outages").expect("a database");
    let proxy = FaultProxy::start(Cluster::shared()).expect("a proxy");
    let app = TestApp::start_on(proxy.url("outages")).await;
    let account = app.own().await;
    let mut browser = member(&app, &account, "a@example.com", Role::Viewer).await;
    proxy.refuse(true).expect("a closed port");
    proxy.cut_all();

    let answered = app.client().get("/v1/models").await;
    let error = answered.refused(503, "unavailable");
    let expected = "the store is not available at the moment: the database does not answer; try again";
    assert_eq!(error["message"], expected);
    assert_eq!(answered.header("retry-after"), "1");
    let page = browser.get("/console/you").await.checked(503);
    page.shows("The store is not available at the moment: the database does not answer; try again.");
    let lines = log.lines_with("was refused: store unavailable");
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("the database failed: ")), "{lines:?}");
    assert!(lines[0].contains(answered.header("x-request-id")), "{lines:?}");
    page.lacks("the database failed");

    proxy.refuse(false).expect("an open port");
    let back = async {
        while app.client().get("/v1/models").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.expect("the store is there again");
    app.stop().await;
}
