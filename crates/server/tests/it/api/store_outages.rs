//! Answers to callers and probes while PostgreSQL refuses the service, and its recovery. Only PostgreSQL has roles and rights, so this test
//! has its own database.

use std::time::Duration;

use overnight_testkit::postgres::Cluster;

use crate::support::TestApp;

const NAME: &str = "store_outages";

const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'store_outages'";

#[tokio::test]
async fn a_database_that_refuses_the_service_is_told_with_its_reason_until_it_takes_it_again() {
    let cluster = Cluster::shared();
    let execute = |statements: &[&str]| {
        for statement in statements {
            cluster.execute("postgres", statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    };
    cluster.database(NAME).expect("a database");
    execute(&["CREATE ROLE store_outages LOGIN", "ALTER DATABASE store_outages OWNER TO store_outages"]);
    let folder = cluster.socket_folder().display();
    let app =
        TestApp::start_on(format!("postgres://{NAME}@/{NAME}?host={folder}&port={}", cluster.port())).await;
    let (closed, open) = (
        "ALTER DATABASE store_outages ALLOW_CONNECTIONS false",
        "ALTER DATABASE store_outages ALLOW_CONNECTIONS true",
    );
    for (broken, mended, part) in [
        (&["ALTER ROLE store_outages NOLOGIN", END][..], &["ALTER ROLE store_outages LOGIN"][..], "password"),
        (&[closed, END], &[open], "accepts no connections"),
        (
            &["ALTER ROLE store_outages CONNECTION LIMIT 0", END],
            &["ALTER ROLE store_outages CONNECTION LIMIT -1"],
            "no connection left",
        ),
        (
            &[closed, END, "ALTER DATABASE store_outages RENAME TO store_elsewhere"],
            &["ALTER DATABASE store_elsewhere RENAME TO store_outages", open],
            "does not exist",
        ),
    ] {
        execute(broken);
        // The end of the sessions may be reported first.
        let told = async {
            loop {
                let answered = app.client().get("/v1/requests").await;
                assert_eq!(answered.header("retry-after"), "1");
                let refused = [answered, app.anonymous().get("/readyz").await];
                let errors = refused.map(|answered| answered.refused(503, "unavailable").to_string());
                if errors.iter().all(|error| error.contains(part)) {
                    break;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), told).await.unwrap_or_else(|_| panic!("{part}"));
        execute(mended);
        assert_eq!(app.client().get("/v1/requests").await.status, 200, "{part}");
        assert_eq!(app.anonymous().get("/readyz").await.status, 200, "{part}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_role_that_lost_its_rights_is_told_of_the_same_way() {
    let cluster = Cluster::shared();
    let url = cluster.database("store_rights").expect("a database");
    let execute = |statement: &str| cluster.execute("store_rights", statement).expect("a statement");
    execute("CREATE ROLE store_rights LOGIN");
    execute("ALTER DATABASE store_rights OWNER TO store_rights");
    drop(url);
    let folder = cluster.socket_folder().display();
    let url = format!("postgres://store_rights@/store_rights?host={folder}&port={}", cluster.port());
    let app = TestApp::start_on(url).await;
    execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM store_rights");
    for path in ["/v1/requests", "/readyz"] {
        let error = app.client().get(path).await.refused(503, "unavailable");
        assert!(error["message"].as_str().is_some_and(|it| it.contains("lacks a right")), "{path}: {error}");
    }
    execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO store_rights");
    for path in ["/readyz", "/v1/requests"] {
        assert_eq!(app.client().get(path).await.status, 200, "{path}");
    }
    app.stop().await;
}
