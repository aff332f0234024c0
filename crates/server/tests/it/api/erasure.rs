//! After a vacuum, no file of the data folder contains deleted data, byte by byte, and all other data remain.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use overnight_base::clock::ManualClock;
use overnight_domain::scheduler::Lease;
use overnight_runtime::workers;
use overnight_store::operations::audit;
use overnight_store::operations::vacuum::{VacuumError, vacuum};
use overnight_store::queue::settle::{self, Ending, Settlement};
use overnight_store::{Store, StoreError};
use serde_json::json;

use super::openai_files::upload;
use crate::support::{MODEL, START, TestApp, store_options};

const DAY_MS: i64 = 86_400_000;

/// Enough requests to rebalance the tables' trees when most are deleted.
const REQUESTS: usize = 320;

/// The marked texts of a request: its prompt, metadata, webhook and answer each contain `MARK-{number}-` and one of these.
const PARTS: [&str; 4] = ["prompt", "metadata", "webhook", "answer"];

fn mark(number: usize, part: &str) -> String {
    format!("MARK-{number:04}-{part}.")
}

/// A text with this mark at both ends and a few bytes to several pages between. One of the marks is within a page.
fn text(number: usize, part: &str) -> String {
    let length = [20, 150, 700, 1_500, 90, 3_000, 9_000, 400][number * 7 % 8] + number % 97;
    let mark = mark(number, part);
    format!("{mark}{}{mark}", "x".repeat(length))
}

/// Answered requests with marks, by number.
async fn answered(app: &TestApp) -> BTreeMap<usize, String> {
    let mut ids = BTreeMap::new();
    for number in 0..REQUESTS {
        let mut sent = TestApp::quick_start(&text(number, "prompt"));
        sent["metadata"] = json!({"note": mark(number, "metadata")});
        sent["webhook"] = json!(format!("https://example.com/{}", mark(number, "webhook")));
        let created = app.client().post("/v1/requests", &sent).await.checked(201);
        ids.insert(number, created.id());
    }
    let mut leases = app.lease_all().await;
    assert_eq!(leases.len(), REQUESTS);
    // In the order of creation.
    leases.sort_by_key(|lease| lease.key.position.seq);
    for (number, lease) in leases.into_iter().enumerate() {
        settle(app, lease, &text(number, "answer")).await;
    }
    ids
}

async fn settle(app: &TestApp, lease: Lease, content: &str) {
    let message = json!({"role": "assistant", "content": content});
    let body = json!({"object": "chat.completion", "choices": [{"index": 0, "message": message}]});
    let settlement = Settlement {
        lease,
        ending: Ending::Completed { prompt_tokens: 3, completion_tokens: 1 },
        body: body.to_string().into_bytes().into(),
        warnings: None,
        now: app.services.clock.now(),
        attempt: None,
        engine: None,
    };
    assert!(settle::settle(&app.services.store, settlement).await.expect("a settle"));
}

fn bytes_in(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => bytes.extend(bytes_in(&path)),
            false => bytes.extend(fs::read(&path).expect("a file")),
        }
    }
    bytes
}

/// The number of each `MARK-` in the files, by the text up to a full stop.
fn marks_in(folder: &Path) -> BTreeMap<String, usize> {
    let (bytes, mut marks) = (bytes_in(folder), BTreeMap::new());
    for at in memchr::memmem::find_iter(&bytes, b"MARK-") {
        let rest = &bytes[at..];
        let end = memchr::memchr(b'.', &rest[..rest.len().min(40)]).unwrap_or(rest.len().min(40));
        // If a page ends within a mark, the head of the next page follows.
        if rest[..end].iter().all(|byte| *byte == b'-' || byte.is_ascii_alphanumeric()) {
            *marks.entry(String::from_utf8_lossy(&rest[..end]).into_owned()).or_default() += 1;
        }
    }
    marks
}

/// Checks that all marks belong to live requests, and that every live request has its marks.
fn check(folder: &Path, live: &[usize], others: &[&str]) {
    let found: Vec<String> = marks_in(folder).into_keys().collect();
    let of = |number: &usize| PARTS.map(|part| mark(*number, part).trim_end_matches('.').to_owned());
    let mut expected: Vec<String> = live.iter().flat_map(of).collect();
    expected.extend(others.iter().map(|other| (*other).to_owned()));
    expected.sort();
    assert_eq!(found, expected);
}

/// A copy of a data folder while nothing is written: the state after a killed process.
fn crashed(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        // The log's index is rebuilt after a crash of the machine.
        if path.is_file() && !name.to_string_lossy().ends_with("-shm") {
            fs::copy(&path, copy.path().join(name)).expect("a copy");
        }
    }
    copy
}

/// Vacuums the database of a folder without a service.
async fn vacuum_folder(folder: &Path) {
    vacuum(&store_options(folder)).await.expect("a vacuum");
}

#[tokio::test]
async fn deleted_data_is_in_no_file_after_a_vacuum_and_other_data_is() {
    let app = TestApp::start_with(&[("retention", "30d")]).await;
    if app.services.store.is_shared() {
        return app.stop().await;
    }
    let folder = app.folder.path();
    let ids = answered(&app).await;
    let lines = |name: &str| {
        let body =
            json!({"model": MODEL, "messages": [{"role": "user", "content": format!("MARK-{name}.")}]});
        let line = json!({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body});
        format!("{line}\n").repeat(900)
    };
    let gone = upload(&app, &lines("file-gone")).await;
    upload(&app, &lines("file-kept")).await;
    let others = ["MARK-file-kept"];
    let all: Vec<usize> = ids.keys().copied().collect();
    check(folder, &all, &["MARK-file-gone", "MARK-file-kept"]);

    // Deleted by calls: five of six, in a shuffled order.
    let (called, live): (Vec<usize>, Vec<usize>) = all.iter().partition(|number| *number % 6 != 0);
    for place in 0..called.len() {
        let number = called[place * 11 % called.len()];
        let path = format!("/v1/requests/{}", ids[&number]);
        assert_eq!(app.client().delete(&path).await.status, 200);
    }
    let path = format!("/openai/v1/files/{gone}");
    assert_eq!(app.client().delete(&path).await.status, 200);
    workers::files(&app.services, app.services.clock.now()).await.expect("a run");
    let left = crashed(folder);
    assert!(marks_in(left.path()).len() > live.len() * PARTS.len() + others.len(), "the log has them still");
    vacuum_folder(left.path()).await;
    check(left.path(), &live, &others);

    // Deleted by retention.
    app.clock.set(START + 31 * DAY_MS);
    workers::retention(&app.services, app.services.clock.now()).await.expect("a run");
    app.services.store.close().await;
    vacuum_folder(folder).await;
    check(folder, &[], &others);
}

#[tokio::test]
async fn deleted_data_leaves_the_log_at_the_next_run_of_its_worker() {
    let app = TestApp::start().await;
    let store = &app.services.store;
    if store.is_shared() {
        workers::log_truncation(&app.services).await.expect("a run");
        return app.stop().await;
    }
    for id in answered(&app).await.values() {
        assert_eq!(app.client().delete(&format!("/v1/requests/{id}")).await.status, 200);
    }
    let log = app.folder.path().join("overnight.db-wal");
    let holds_marks = || {
        let bytes = fs::read(&log).expect("the log");
        memchr::memmem::find(&bytes, b"MARK-").is_some()
    };
    assert!(holds_marks());
    app.check_counted("overnight_store_log_age_seconds ").await;
    workers::log_truncation(&app.services).await.expect("a run");
    assert!(!holds_marks());
    assert_eq!(store.log_age_ms(app.services.clock.now()), Some(0));
    app.stop().await;
}

#[tokio::test]
async fn a_vacuum_gives_free_pages_back_and_is_refused_while_the_folder_is_served() {
    let app = TestApp::start().await;
    let options = store_options(app.folder.path());
    if app.services.store.is_shared() {
        let refused = vacuum(&options).await.expect_err("a refusal");
        assert!(matches!(refused, VacuumError::OnServer), "{refused}");
        return app.stop().await;
    }
    let ids = answered(&app).await;
    let refused = vacuum(&options).await.expect_err("a refusal");
    assert!(matches!(refused, VacuumError::Store(StoreError::Locked { .. })), "{refused}");
    for (_, id) in ids.iter().filter(|(number, _)| **number >= 9) {
        assert_eq!(app.client().delete(&format!("/v1/requests/{id}")).await.status, 200);
    }
    app.services.store.close().await;
    // Remains of releases that overwrote nothing.
    let database = rusqlite::Connection::open(app.folder.path().join("overnight.db")).expect("a database");
    database.execute_batch("PRAGMA secure_delete = off; CREATE TABLE old (text TEXT); INSERT INTO old VALUES ('MARK-9999-prompt.'); DROP TABLE old").expect("a deletion");
    drop(database);
    assert!(marks_in(app.folder.path()).contains_key("MARK-9999-prompt"));
    let vacuumed = vacuum(&options).await.expect("a vacuum");
    assert!(vacuumed.bytes < vacuumed.bytes_before / 2, "{vacuumed:?}");
    check(app.folder.path(), &(0..9).collect::<Vec<_>>(), &[]);
    let store = Store::open(&options, ManualClock::at(START)).await.expect("a store");
    let checks = audit::run(&store).await.expect("an audit");
    assert!(checks.iter().all(|check| check.breaches == 0), "{checks:?}");
    store.close().await;
}
