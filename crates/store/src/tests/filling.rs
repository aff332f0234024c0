//! Batches of files: each line becomes one request, whoever fills and whatever comes between.

use crate::batches::{InputBatch, NewInputBatch, NewInputBatchOutcome};
use crate::tests::prelude::*;

const LASTS_MS: i64 = 1_000;

/// A file of these pieces, by row number.
pub(super) async fn file(fixture: &mut Fixture, pieces: &[&'static str]) -> (i64, FileRecord) {
    let id = FileId::from_bits(fixture.batch_id().bits());
    let (store, account) = (&fixture.store, fixture.account);
    let new = NewFile { id, account, created_at: START, lasts_until: START + LASTS_MS };
    let seq = files::begin(store, new).await.expect("a file").expect("room for it");
    let times = (START, START + LASTS_MS);
    for (place, piece) in (0..).zip(pieces) {
        let appended = files::append(store, (account, seq), place, (*piece).into(), times).await;
        assert_eq!(appended.expect("a piece"), Appended::Stored);
    }
    let finished = FinishedFile {
        id,
        seq,
        account,
        created_at: START,
        expires_at: None,
        bytes: pieces.concat().len() as i64,
        name: "rows.jsonl".to_owned(),
        endpoint: Some(BatchEndpoint::ChatCompletions),
        lines: pieces.concat().lines().count() as i64,
        hold: Credits::ZERO,
        fault_count: 0,
        faults: None,
    };
    match files::finish(store, finished, None, START).await.expect("an end") {
        Guarded::Done(Some(record)) => (seq, record),
        other => panic!("the file is not whole: {other:?}"),
    }
}

async fn make(fixture: &mut Fixture, file: &(i64, FileRecord)) -> NewInputBatchOutcome {
    let new = new_batch(fixture, file);
    make_of(fixture, new).await
}

async fn make_of(fixture: &Fixture, new: NewInputBatch) -> NewInputBatchOutcome {
    batches::insert_of_file(&fixture.store, new, None).await.expect("a batch").into_done().expect("no key")
}

fn new_batch(fixture: &mut Fixture, (seq, file): &(i64, FileRecord)) -> NewInputBatch {
    let batch = NewBatch {
        id: fixture.batch_id(),
        account: fixture.account,
        created_at: START,
        webhook: None,
        metadata: None,
        members: Vec::new(),
    };
    NewInputBatch {
        batch,
        file: *seq,
        file_id: file.id,
        endpoint: BatchEndpoint::ChatCompletions,
        lines: file.lines,
        hold: Credits::ZERO,
        api_key: None,
        fault_count: 0,
        faults: None,
    }
}

pub(super) async fn made(fixture: &mut Fixture, pieces: &[&'static str]) -> InputBatch {
    let file = file(fixture, pieces).await;
    match make(fixture, &file).await {
        NewInputBatchOutcome::Created(batch) => *batch,
        other => panic!("the batch was not made: {other:?}"),
    }
}

pub(super) async fn claim(fixture: &Fixture, now: i64, stale_at: i64) -> Option<Filling> {
    batches::claim_filling(&fixture.store, fixture.account, now, stale_at).await.expect("a claim")
}

/// The next lines of a piece, of which `false` makes no request.
pub(super) fn step(fixture: &mut Fixture, filling: Filling, lines: &[bool], ends_piece: bool) -> FillStep {
    let account = fixture.account;
    let mut requests = Vec::new();
    for (key, makes_one) in (1..).zip(lines) {
        let mut request = fixture.request(key);
        request.batch = Some(filling.batch);
        requests.push(makes_one.then_some(FillLine { request, failure: None }));
    }
    FillStep { filling, account, lines: requests, ends_piece, now: START }
}

pub(super) async fn fill(store: &Store, step: FillStep) -> Filled {
    batches::fill(store, step).await.expect("a step")
}

async fn read(fixture: &Fixture, batch: &InputBatch) -> InputBatch {
    let found = batches::find_with_input(&fixture.store, fixture.account, batch.record.id).await;
    found.expect("a read").expect("the batch").1
}

on_both!(a_batch_is_made_where_its_lines_can_be_paid_or_have_failed_already);
async fn a_batch_is_made_where_its_lines_can_be_paid_or_have_failed_already(fixture: &mut Fixture) {
    let file = file(fixture, &["a\nb\n"]).await;
    let credits = |text: &str| text.parse::<Credits>().expect("credits");
    let refused = |required, available| NewInputBatchOutcome::InsufficientCredits { required, available };
    let costing = |fixture: &mut Fixture, hold| NewInputBatch { hold, ..new_batch(fixture, &file) };
    let hold = credits("100.000000001");
    let dear = costing(fixture, hold);
    assert_eq!(make_of(fixture, dear).await, refused(hold, credits("100")));
    let all = costing(fixture, credits("100"));
    assert!(matches!(make_of(fixture, all).await, NewInputBatchOutcome::Created(_)), "nothing is held yet");
    let (account, source) = (fixture.account, "re_1".to_owned());
    let refund = NewEntry { account, kind: EntryKind::Refund, amount: credits("-101"), source, now: START };
    ledger::post(&fixture.store, &refund).await.expect("a posting");
    let one = costing(fixture, credits("0.000000001"));
    assert!(matches!(make_of(fixture, one).await, NewInputBatchOutcome::InsufficientCredits { .. }));
    let free = costing(fixture, Credits::ZERO);
    assert!(matches!(make_of(fixture, free).await, NewInputBatchOutcome::Created(_)), "who owes may do it");
    let faults = Some(b"{}".to_vec().into());
    let failed = NewInputBatch { fault_count: 1, faults, ..costing(fixture, hold) };
    let NewInputBatchOutcome::Created(failed) = make_of(fixture, failed).await else {
        panic!("what costs nothing any more is refused")
    };
    let counters = failed.record.counters;
    assert_eq!((counters.total(), failed.record.state.cancelled_at()), (0, Some(START)));
}

on_both!(a_step_that_was_done_is_done_no_second_time);
async fn a_step_that_was_done_is_done_no_second_time(fixture: &mut Fixture) {
    let batch = made(fixture, &["a\nb\n", "c\n"]).await;
    assert_eq!(batch.record.counters.registered, 3);
    let filling = claim(fixture, START, START).await.expect("a batch to fill");
    let first = step(fixture, filling, &[true, true], true);
    let same = step(fixture, filling, &[true, true], true);
    assert_eq!(fill(&fixture.store, first).await, Filled::Some(2));
    fixture.assert_sound().await;
    assert_eq!(fill(&fixture.store, same).await, Filled::Over);
    let second = claim(fixture, START, START).await.expect("the rest");
    assert_eq!((second.next_piece, second.next_line), (1, 0));
    let last = step(fixture, second, &[true], true);
    assert_eq!(fill(&fixture.store, last).await, Filled::Last);
    assert_eq!(claim(fixture, START, START).await, None);
    let input = read(fixture, &batch).await.input.expect("an input");
    assert_eq!((input.filled, input.is_filling), (3, false));
}

on_both!(of_two_steps_at_once_one_is_done);
async fn of_two_steps_at_once_one_is_done(fixture: &mut Fixture) {
    made(fixture, &["a\nb\n"]).await;
    let filling = claim(fixture, START, START).await.expect("a batch to fill");
    let steps = [(); 2].map(|()| step(fixture, filling, &[true, true], true));
    let outcomes = join_all(steps.map(|step| fill(&fixture.store, step))).await;
    assert!(outcomes.contains(&Filled::Last) && outcomes.contains(&Filled::Over), "{outcomes:?}");
}

on_both!(a_batch_is_filled_by_one_process_until_that_is_heard_of_no_more);
async fn a_batch_is_filled_by_one_process_until_that_is_heard_of_no_more(fixture: &mut Fixture) {
    made(fixture, &["a\n"]).await;
    let filling = claim(fixture, START, START - 15).await.expect("nobody has it");
    assert_eq!(claim(fixture, START + 10, START - 5).await, None);
    assert!(claim(fixture, START + 15, START).await.is_some(), "it was left");
    batches::release_filling(&fixture.store, fixture.account, filling.batch).await.expect("a release");
    assert!(claim(fixture, START + 16, START).await.is_some(), "it was released");
}

on_both!(lines_that_make_no_request_any_more_are_counted_no_more);
async fn lines_that_make_no_request_any_more_are_counted_no_more(fixture: &mut Fixture) {
    let batch = made(fixture, &["a\nb\nc\n"]).await;
    let filling = claim(fixture, START, START).await.expect("a batch to fill");
    let none = step(fixture, filling, &[false, false, false], true);
    assert_eq!(fill(&fixture.store, none).await, Filled::Empty);
    let some = step(fixture, filling, &[false, true], false);
    assert_eq!(fill(&fixture.store, some).await, Filled::Some(2));
    fixture.assert_sound().await;
    let rest = claim(fixture, START, START).await.expect("the rest");
    assert_eq!((rest.next_piece, rest.next_line), (0, 2));
    let last = step(fixture, rest, &[false], true);
    assert_eq!(fill(&fixture.store, last).await, Filled::Last);
    assert_eq!(read(fixture, &batch).await.record.counters.total(), 1);
}

on_both!(a_batch_that_is_cancelled_is_filled_no_further);
async fn a_batch_that_is_cancelled_is_filled_no_further(fixture: &mut Fixture) {
    let batch = made(fixture, &["a\nb\n", "c\n"]).await;
    let filling = claim(fixture, START, START).await.expect("a batch to fill");
    let first = step(fixture, filling, &[true, true], true);
    fill(&fixture.store, first).await;
    let marked = batches::cancel(&fixture.store, fixture.account, batch.record.id, START).await;
    assert!(matches!(marked, Ok(CancelBatchOutcome::Marked { .. })), "{marked:?}");
    fixture.assert_sound().await;
    let late = Filling { next_piece: 1, ..filling };
    let late = step(fixture, late, &[true], true);
    assert_eq!(fill(&fixture.store, late).await, Filled::Over);
    let counters = read(fixture, &batch).await.record.counters;
    assert_eq!((counters.registered, counters.cancelled), (2, 1), "a line that was no request is cancelled");
    let Ok(CancelBatchOutcome::Marked { batch: row }) = marked else { return };
    batches::cancel_chunk(&fixture.store, row, None, START).await.expect("a chunk");
    let so_far = batches::ended_so_far(&fixture.store, row).await.expect("a read");
    assert_eq!((so_far.ended, so_far.is_over), (3, true));
    let mut page =
        batches::page_ended(&fixture.store, fixture.account, row, 0, so_far).await.expect("a page");
    let rest = batches::page_ended(&fixture.store, fixture.account, row, page.next, so_far).await;
    page.rows.extend(rest.expect("a page").rows);
    assert_eq!(page.rows.len(), 2, "it has a place, and no record");
}

on_both!(a_batch_of_a_closed_account_is_filled_no_further);
async fn a_batch_of_a_closed_account_is_filled_no_further(fixture: &mut Fixture) {
    made(fixture, &["a\nb\n"]).await;
    let filling = claim(fixture, START, START).await.expect("a batch to fill");
    closing::close(&fixture.store, fixture.account, START, None).await.expect("an end");
    let late = step(fixture, filling, &[true, true], true);
    assert_eq!(fill(&fixture.store, late).await, Filled::Over);
}

on_both!(the_pieces_of_a_deleted_file_stay_while_a_batch_is_filled_from_them);
async fn the_pieces_of_a_deleted_file_stay_while_a_batch_is_filled_from_them(fixture: &mut Fixture) {
    let (seq, record) = file(fixture, &["a\n", "b\n"]).await;
    let batch = make(fixture, &(seq, record.clone())).await;
    assert!(matches!(batch, NewInputBatchOutcome::Created(_)));
    assert!(files::delete(&fixture.store, fixture.account, record.id).await.expect("a deletion"));
    assert!(!files::delete(&fixture.store, fixture.account, record.id).await.expect("a deletion"));
    assert_eq!(make(fixture, &(seq, record)).await, NewInputBatchOutcome::NoFile);
    assert!(!files::delete_pieces(&fixture.store).await.expect("a purge"));
    let filling = claim(fixture, START, START).await.expect("a batch to fill");
    assert!(files::next_piece(&fixture.store, filling.file, 1).await.expect("a read").is_some());
    for place in 0..2 {
        let next = step(fixture, Filling { next_piece: place, ..filling }, &[true], true);
        fill(&fixture.store, next).await;
    }
    assert!(files::delete_pieces(&fixture.store).await.expect("a purge"));
    assert!(!files::delete_pieces(&fixture.store).await.expect("a purge"));
    assert_eq!(files::next_piece(&fixture.store, seq, 0).await.expect("a read"), None);
}

on_both!(an_upload_that_stopped_coming_is_given_up_and_takes_no_more);
async fn an_upload_that_stopped_coming_is_given_up_and_takes_no_more(fixture: &mut Fixture) {
    let id = FileId::from_bits(fixture.batch_id().bits());
    let (store, account) = (&fixture.store, fixture.account);
    let new = NewFile { id, account, created_at: START, lasts_until: START + LASTS_MS };
    let seq = files::begin(store, new).await.expect("a file").expect("room for it");
    assert_eq!(files::delete_expired(store, START + LASTS_MS - 1).await.expect("a look"), 0);
    assert_eq!(files::delete_expired(store, START + LASTS_MS).await.expect("a look"), 1);
    let times = (START, START + LASTS_MS);
    let late = files::append(store, (account, seq), 0, "a\n".into(), times).await.expect("a piece");
    assert_eq!(late, Appended::Gone);
    files::discard(store, account, seq).await.expect("a discard");
    assert_eq!(files::find(store, account, id).await.expect("a read"), None);
}
