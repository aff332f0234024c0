//! Uploads in parts, in the store.

use overnight_domain::ids::UploadId;
use overnight_domain::uploads::{PARTS_MAX, PartRecord, UPLOAD_LASTS_MS, UploadRecord, UploadStatus};

use crate::files::{Attached, Begun, Completed, Completion, NewPart, NewUpload};
use crate::tests::prelude::*;

fn next_id(fixture: &mut Fixture) -> u128 {
    fixture.batch_id().bits()
}

pub(super) async fn begin(fixture: &mut Fixture, bytes: i64) -> UploadId {
    let record = UploadRecord {
        id: UploadId::from_bits(next_id(fixture)),
        created_at: START,
        expires_at: START + UPLOAD_LASTS_MS,
        bytes,
        name: "rows.jsonl".to_owned(),
        status: UploadStatus::Pending,
        file: None,
    };
    let new = NewUpload { record, account: fixture.account, file_lasts_ms: None };
    match files::create(&fixture.store, new, None).await.expect("an upload") {
        Guarded::Done(Begun::Begun(record)) => record.id,
        other => panic!("the upload did not begin: {other:?}"),
    }
}

/// A file that has come, not yet anything; its row number.
async fn come(fixture: &mut Fixture, content: &'static str) -> (FileId, i64) {
    let id = FileId::from_bits(next_id(fixture));
    let (store, account) = (&fixture.store, fixture.account);
    let new = NewFile { id, account, created_at: START, lasts_until: START + 1_000 };
    let seq = files::begin(store, new).await.expect("a file").expect("room for it");
    files::append(store, (account, seq), 0, content.into(), (START, START + 1_000)).await.expect("a piece");
    (id, seq)
}

async fn attach(fixture: &mut Fixture, upload: UploadId, content: &'static str, now: i64) -> Attached {
    let (id, file) = come(fixture, content).await;
    let record = PartRecord { id: id.renamed(), created_at: START, upload };
    let part = NewPart { record, file, account: fixture.account, bytes: content.len() as i64 };
    let attached = files::attach(&fixture.store, part, None, now).await.expect("a part");
    let Guarded::Done(attached) = attached else { panic!("there is no key") };
    if !matches!(attached, Attached::Attached(_)) {
        files::discard(&fixture.store, fixture.account, file).await.expect("a discard");
    }
    attached
}

async fn assert_attached(fixture: &mut Fixture, upload: UploadId, content: &'static str) {
    let attached = attach(fixture, upload, content, START).await;
    assert!(matches!(attached, Attached::Attached(_)), "{attached:?}");
}

async fn assert_ended(fixture: &mut Fixture, upload: UploadId, now: i64, status: UploadStatus) {
    assert_eq!(attach(fixture, upload, "x", now).await, Attached::Ended(status));
    assert_eq!(complete(fixture, upload, 9, now).await.1, Completed::Ended(status));
}

async fn purge(fixture: &Fixture, now: i64) {
    while files::delete_expired(&fixture.store, now).await.expect("a purge") > 0 {}
    while files::delete_pieces(&fixture.store).await.expect("a purge") {}
}

/// Completes an upload by a file of its content; what the file is, and what became of the upload.
async fn complete(fixture: &mut Fixture, upload: UploadId, digest: u8, now: i64) -> (FileId, Completed) {
    let (id, seq) = come(fixture, "abc\n").await;
    let file = FinishedFile {
        id,
        seq,
        account: fixture.account,
        created_at: START,
        expires_at: None,
        bytes: 4,
        name: "rows.jsonl".to_owned(),
        endpoint: None,
        lines: 0,
        hold: Credits::ZERO,
        fault_count: 0,
        faults: None,
    };
    let completion = Completion { id: upload, file, digest: [digest; 32] };
    match files::complete(&fixture.store, completion, None, now).await.expect("an end") {
        Guarded::Done(completed) => (id, completed),
        Guarded::Recalled(_) => panic!("there is no key"),
    }
}

fn file_of(completed: &Completed) -> Option<&FileRecord> {
    match completed {
        Completed::Completed(record) | Completed::Before(record) => record.file.as_ref(),
        Completed::Ended(_) | Completed::Gone => None,
    }
}

on_both!(an_upload_is_completed_once_and_the_same_completion_gets_the_same_file);
async fn an_upload_is_completed_once_and_the_same_completion_gets_the_same_file(fixture: &mut Fixture) {
    let upload = begin(fixture, 4).await;
    assert_attached(fixture, upload, "abc\n").await;
    fixture.assert_sound().await;
    let (first, completed) = complete(fixture, upload, 1, START).await;
    assert!(matches!(completed, Completed::Completed(_)), "{completed:?}");
    assert_eq!(file_of(&completed).map(|file| file.id), Some(first));
    fixture.assert_sound().await;
    let (_, again) = complete(fixture, upload, 1, START).await;
    assert!(matches!(again, Completed::Before(_)), "{again:?}");
    assert_eq!(file_of(&again).map(|file| file.id), Some(first));
    assert_ended(fixture, upload, START, UploadStatus::Completed).await;
    purge(fixture, START + 1_000).await;
    assert!(files::find(&fixture.store, fixture.account, first).await.expect("a read").is_some());
}

on_both!(a_cancel_drops_the_parts_and_ends_the_upload);
async fn a_cancel_drops_the_parts_and_ends_the_upload(fixture: &mut Fixture) {
    let upload = begin(fixture, 8).await;
    assert_attached(fixture, upload, "abcd").await;
    for _ in 0..2 {
        let cancelled =
            files::cancel(&fixture.store, fixture.account, upload, START).await.expect("a cancel");
        assert_eq!(cancelled.map(|record| record.status), Some(UploadStatus::Cancelled));
        fixture.assert_sound().await;
    }
    assert_ended(fixture, upload, START, UploadStatus::Cancelled).await;
}

on_both!(an_expiry_drops_the_parts_and_ends_the_upload_which_is_forgotten_later);
async fn an_expiry_drops_the_parts_and_ends_the_upload_which_is_forgotten_later(fixture: &mut Fixture) {
    let upload = begin(fixture, 8).await;
    assert_attached(fixture, upload, "abcd").await;
    let (store, account) = (fixture.store.clone(), fixture.account);
    let late = START + UPLOAD_LASTS_MS;
    assert_eq!(files::delete_expired(&store, late - 1).await.expect("a look"), 0, "parts last");
    assert_eq!(files::delete_expired(&store, late).await.expect("a look"), 1);
    assert_ended(fixture, upload, late, UploadStatus::Expired).await;
    let found =
        files::find_upload(&store, account, upload, late).await.expect("a read").expect("it is there");
    assert_eq!(files::list_parts(&store, found.seq).await.expect("a read"), []);
    assert_eq!(files::forget_old(&store, START - 1).await.expect("a purge"), 0);
    assert_eq!(files::forget_old(&store, START).await.expect("a purge"), 1);
    assert_eq!(attach(fixture, upload, "x", START).await, Attached::Gone);
}

on_both!(an_upload_has_a_bounded_number_of_parts_and_of_bytes);
async fn an_upload_has_a_bounded_number_of_parts_and_of_bytes(fixture: &mut Fixture) {
    let long = begin(fixture, 4).await;
    for _ in 0..3 {
        assert_attached(fixture, long, "abcd").await;
    }
    assert_eq!(attach(fixture, long, "a", START).await, Attached::TooLong(12));
    let many = begin(fixture, 1 << 20).await;
    for _ in 0..PARTS_MAX {
        assert_attached(fixture, many, "a").await;
    }
    assert_eq!(attach(fixture, many, "a", START).await, Attached::TooMany);
    let account = fixture.account;
    files::cancel(&fixture.store, account, many, START).await.expect("a cancel").expect("it is there");
}
