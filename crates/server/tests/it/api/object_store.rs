//! Answers about large bodies, which are stored outside the database.

use std::fs;

use overnight_runtime::workers;

use crate::support::{Log, START, TestApp};

const DAY_MS: i64 = 86_400_000;

#[tokio::test]
async fn while_the_object_store_is_away_large_bodies_are_told_to_come_later_and_small_ones_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (objects, elsewhere) = (folder.path().join("objects"), folder.path().join("elsewhere"));
    let url = format!("file://{}", objects.display());
    let app = TestApp::start_with(&[("object_store.url", &url), ("object_store.min_bytes", "64 KiB")]).await;
    let client = app.client();
    let long = "word ".repeat(20_000);
    let before = app.create(&long).await;
    fs::rename(&objects, &elsewhere).expect("a move");
    fs::write(&objects, "no folder").expect("a file in its place");

    let refused = client.post("/v1/requests", &TestApp::quick_start(&long)).await;
    let error = refused.refused(503, "unavailable");
    assert!(!error.to_string().contains("objects"), "where it is is for the operator: {error}");
    assert_eq!(refused.header("retry-after"), "1");
    let unread = client.get(&format!("/v1/requests/{before}")).await;
    unread.refused(503, "unavailable");
    assert_eq!(unread.header("retry-after"), "1");
    let status = client.get(&format!("/v1/requests/{before}/status")).await;
    assert_eq!((status.status, &status.json()["id"]), (200, &before.clone().into()));
    let small = app.create("small").await;
    assert_eq!(client.get(&format!("/v1/requests/{small}")).await.status, 200);

    fs::remove_file(&objects).expect("the file goes");
    fs::rename(&elsewhere, &objects).expect("a move");
    let read = client.get(&format!("/v1/requests/{before}")).await.json();
    assert!(read[0]["request_body"]["messages"][0]["content"].as_str().is_some_and(|it| it == long));
    app.stranger().get(&format!("/v1/requests/{before}")).await.refused(404, "not_found");
    app.complete_all().await;
    assert_eq!(client.delete(&format!("/v1/requests/{before}")).await.status, 200);
    let left = || {
        fs::read_dir(&objects)
            .expect("a folder")
            .filter_map(|it| fs::read_dir(it.expect("it").path()).ok())
            .flatten()
            .count()
    };
    assert_eq!(left(), 1);
    workers::objects(&app.services, START).await.expect("a sweep");
    workers::objects(&app.services, START + 8 * DAY_MS).await.expect("a sweep");
    assert_eq!(left(), 0);
    app.stop().await;
}

/// Single-threaded, because the log is recorded for one thread.
#[tokio::test]
async fn the_log_says_once_that_large_bodies_go_into_the_database_until_the_account_may_put_again() {
    let log = Log::keep();
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("file://{}", folder.path().join("objects").display());
    // The quota is two bodies.
    let frame = TestApp::quick_start("")["request_body"].to_string().len();
    let long = "x".repeat((512 << 10) - frame);
    let settings =
        [("object_store.url", &*url), ("object_store.min_bytes", "64 KiB"), ("quotas.stored_bytes", "1 MiB")];
    let app = TestApp::start_with(&settings).await;
    let (mut now, mut warned) = (START, Vec::new());
    for round in 0..9 {
        if round == 5 {
            workers::objects(&app.services, now).await.expect("a sweep");
            now += 8 * DAY_MS;
            workers::objects(&app.services, now).await.expect("a sweep");
        }
        // The next check is due.
        now += 60_000;
        app.clock.set(now);
        let id = app.create(&long).await;
        app.complete_all().await;
        assert_eq!(app.client().delete(&format!("/v1/requests/{id}")).await.status, 200);
        warned.push(log.lines_with("large bodies of an account are stored in the database").len());
    }
    // Two bodies that wait for deletion do not exceed the quota, three do; before the sixth round all are deleted.
    assert_eq!(warned, [0, 0, 0, 1, 1, 1, 1, 1, 2]);
    app.stop().await;
}
