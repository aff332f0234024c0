//! Filters and order of List Batches.

use serde_json::{Value, json};

use crate::support::{START, TestApp};

async fn batch(app: &TestApp, content: &str) -> String {
    let ids = [app.create(content).await];
    app.client().post("/v1/batches", &json!({"requests_ids": ids})).await.id()
}

#[tokio::test]
async fn batches_are_listed_by_status_time_and_place_in_either_order() {
    let app = TestApp::start().await;
    let mut ids = Vec::new();
    for second in 0..4 {
        app.clock.set(START + second * 1_000);
        ids.push(batch(&app, &second.to_string()).await);
    }
    assert_eq!(app.client().post(&format!("/v1/batches/{}/cancel", ids[1]), &json!({})).await.status, 200);
    let start = START / 1_000;
    for (query, expected) in [
        (String::new(), vec![0, 1, 2, 3]),
        ("?order=desc".to_owned(), vec![3, 2, 1, 0]),
        ("?limit=2".to_owned(), vec![0, 1]),
        ("?order=desc&limit=1".to_owned(), vec![3]),
        ("?status=cancelled".to_owned(), vec![1]),
        ("?status=registered&limit=2".to_owned(), vec![0, 2]),
        ("?status=completed".to_owned(), vec![]),
        (format!("?created_after={start}&created_before={}", start + 3), vec![1, 2]),
        (format!("?after={}", ids[1]), vec![2, 3]),
        (format!("?after={}&order=desc", ids[1]), vec![0]),
        ("?is_no_filter=1&limit=1".to_owned(), vec![0]),
    ] {
        let listed = app.client().get(&format!("/v1/batches{query}")).await.ids();
        let expected = expected.iter().map(|&place: &usize| ids[place].clone()).collect::<Vec<_>>();
        assert_eq!(listed, expected, "{query}");
    }
    let exxa = app.client().get("/exxa/v1/batches?status=in_progress").await;
    assert_eq!((exxa.status, exxa.text()), (200, ""));
    app.stop().await;
}

#[tokio::test]
async fn a_list_without_the_ids_of_requests_is_otherwise_the_same() {
    let app = TestApp::start().await;
    for content in ["a", "b"] {
        batch(&app, content).await;
    }
    let read = |text: &str| serde_json::from_str::<Value>(&format!("[{}]", text.trim().replace('\n', ",")));
    for path in ["/v1/batches", "/exxa/v1/batches"] {
        let with = app.client().get(&format!("{path}?requests_ids=true")).await;
        assert_eq!(with.text(), app.client().get(path).await.text());
        let mut whole = read(with.text()).expect("JSON lines");
        for batch in whole.as_array_mut().expect("batches") {
            assert!(batch.as_object_mut().expect("a batch").remove("requests_ids").is_some());
        }
        let without = app.client().get(&format!("{path}?requests_ids=false")).await;
        assert_eq!(read(without.text()).expect("JSON lines"), whole);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_filter_that_says_nothing_is_refused() {
    let app = TestApp::start().await;
    batch(&app, "a").await;
    for query in [
        "status=in_progress",
        "limit=0",
        "limit=9223372036854775808",
        "created_after=now",
        "order=up",
        "requests_ids=no",
        "limit=1&limit=2",
    ] {
        app.client().get(&format!("/v1/batches?{query}")).await.refused(422, "invalid_input");
    }
    let theirs = app.stranger().get("/v1/batches").await.ids();
    assert_eq!(theirs.len(), 0);
    let mine = app.client().get("/v1/batches").await.ids();
    app.stranger().get(&format!("/v1/batches?after={}", mine[0])).await.refused(404, "not_found");
    app.client().get("/v1/batches?after=batch_1").await.refused(404, "not_found");
    app.stop().await;
}
