//! What is done once for all calls with the same key.

use crate::tests::grouping;
use crate::tests::prelude::*;

fn write_request(request: &RequestSummary, out: &mut Vec<u8>) {
    out.extend_from_slice(request.id.to_string().as_bytes());
}

pub(super) fn write_batch(batch: &BatchRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{} of {}", batch.id, batch.counters.total()).as_bytes());
}

pub(super) const fn key(hash: u8, digest: u8) -> IdempotencyKey {
    IdempotencyKey { hash: [hash; 32], digest: [digest; 32] }
}

const fn guard(hash: u8, digest: u8) -> Option<Guard<RequestSummary>> {
    Some(Guard { key: key(hash, digest), write: write_request })
}

const TAKEN: Guarded<Admission> = Guarded::Done(Admission::Taken);
const OTHER_CONTENT: Guarded<Admission> = Guarded::Recalled(Recalled::OtherContent);

/// The answer to repeats of this request's creation.
fn repeat<T>(request: &NewRequest) -> Guarded<T> {
    Guarded::Recalled(Recalled::Response(Bytes::from(request.id.to_string())))
}

async fn count(fixture: &Fixture) -> usize {
    fixture.release().await;
    fixture.look().await.len()
}

on_both!(a_request_is_stored_once_for_all_calls_with_its_key);
async fn a_request_is_stored_once_for_all_calls_with_its_key(fixture: &mut Fixture) {
    let (first, again, other) = (fixture.request(1), fixture.request(2), fixture.request(3));
    let insert = |request: &NewRequest, guard| requests::insert_once(&fixture.store, request.clone(), guard);
    assert_eq!(
        idempotency_keys::find(&fixture.store, fixture.account, &key(7, 1)).await.expect("a read"),
        None
    );
    assert_eq!(insert(&first, guard(7, 1)).await.expect("an insert"), TAKEN);
    assert_eq!(insert(&again, guard(7, 1)).await.expect("a repeat"), repeat(&first));
    assert_eq!(insert(&other, guard(7, 2)).await.expect("a repeat"), OTHER_CONTENT);
    assert_eq!(insert(&other, guard(8, 2)).await.expect("an insert"), TAKEN, "another key");
    for (digest, expected) in
        [(1, Recalled::Response(Bytes::from(first.id.to_string()))), (2, Recalled::OtherContent)]
    {
        let found = idempotency_keys::find(&fixture.store, fixture.account, &key(7, digest)).await;
        assert_eq!(found.expect("a read"), Some(expected));
    }
    assert_eq!(count(fixture).await, 2);
    fixture.restart().await;
    let repeated = requests::insert_once(&fixture.store, again, guard(7, 1)).await;
    assert_eq!(repeated.expect("a repeat"), repeat(&first), "after a restart");
}

on_both!(calls_with_one_key_that_come_together_are_done_once);
async fn calls_with_one_key_that_come_together_are_done_once(fixture: &mut Fixture) {
    let all: Vec<NewRequest> = (0..60).map(|place| fixture.request(place)).collect();
    // Of each key three times the same content and once another.
    let inserts = all.iter().zip(0u8..).map(|(request, place)| {
        let digest = u8::from(place % 4 == 3);
        requests::insert_once(&fixture.store, request.clone(), guard(place / 4, digest))
    });
    let outcomes: Vec<_> = join_all(inserts).await.into_iter().collect::<Result<_, _>>().expect("inserts");
    for (requests, outcomes) in all.chunks(4).zip(outcomes.chunks(4)) {
        let taken = outcomes.iter().position(|outcome| *outcome == TAKEN).expect("one is taken");
        for (place, outcome) in outcomes.iter().enumerate().filter(|(place, _)| *place != taken) {
            let is_same = (place == 3) == (taken == 3);
            let expected = if is_same { repeat(&requests[taken]) } else { OTHER_CONTENT };
            assert_eq!(*outcome, expected);
        }
    }
    assert_eq!(count(fixture).await, 15);
}

on_both!(repeats_that_come_beside_another_content_are_told_from_it);
async fn repeats_that_come_beside_another_content_are_told_from_it(fixture: &mut Fixture) {
    let all: Vec<NewRequest> = (0..5).map(|place| fixture.request(place)).collect();
    let insert =
        |place: usize, digest| requests::insert_once(&fixture.store, all[place].clone(), guard(7, digest));
    assert_eq!(insert(0, 1).await.expect("an insert"), TAKEN);
    let outcomes = join_all([insert(1, 2), insert(2, 1), insert(3, 3), insert(4, 1)]).await;
    let outcomes: Vec<_> = outcomes.into_iter().collect::<Result<_, _>>().expect("repeats");
    assert_eq!(outcomes, [OTHER_CONTENT, repeat(&all[0]), OTHER_CONTENT, repeat(&all[0])]);
    assert_eq!(count(fixture).await, 1);
}

#[tokio::test]
async fn two_nodes_with_one_key_do_it_once() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    for round in 0..20 {
        let pair = [fixture.request(1), fixture.request(2)];
        let [first, second] = pair.clone();
        let (first, second) = tokio::join!(
            requests::insert_once(&fixture.store, first, guard(round, 1)),
            requests::insert_once(&other, second, guard(round, 1)),
        );
        let expected = match (first.expect("an insert"), second.expect("an insert")) {
            (TAKEN, answer) => (answer, repeat(&pair[0])),
            (answer, _) => (answer, repeat(&pair[1])),
        };
        assert_eq!(expected.0, expected.1);
    }
    assert_eq!(count(&fixture).await, 20);
    fixture.assert_sound().await;
}

on_both!(what_was_refused_leaves_its_key_free);
async fn what_was_refused_leaves_its_key_free(fixture: &mut Fixture) {
    let dear = NewRequest { hold: fixture.hold("1000").await, ..fixture.request(1) };
    let (twin, cheap) = (NewRequest { id: fixture.request(2).id, ..dear.clone() }, fixture.request(3));
    let insert = |request: &NewRequest| requests::insert_once(&fixture.store, request.clone(), guard(7, 1));
    for outcome in join_all([insert(&dear), insert(&twin)]).await {
        let outcome = outcome.expect("a refusal");
        assert!(matches!(outcome, Guarded::Done(Admission::InsufficientCredits { .. })), "{outcome:?}");
    }
    assert_eq!(insert(&cheap).await.expect("an insert"), TAKEN);
    assert_eq!(insert(&dear).await.expect("a repeat"), repeat(&cheap));
}

on_both!(a_key_belongs_to_its_account);
async fn a_key_belongs_to_its_account(fixture: &mut Fixture) {
    let account = fixture.other_account().await;
    let (mine, theirs) = (fixture.request(1), NewRequest { account, ..fixture.request(2) });
    for request in [mine, theirs] {
        let inserted = requests::insert_once(&fixture.store, request, guard(7, 1)).await;
        assert_eq!(inserted.expect("an insert"), TAKEN);
    }
}

on_both!(a_batch_is_made_once_for_all_calls_with_its_key);
async fn a_batch_is_made_once_for_all_calls_with_its_key(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    let batch = grouping::new_batch(fixture, &ids).await;
    let guard = Some(Guard { key: key(7, 1), write: write_batch });
    let insert = |batch| batches::insert_once(&fixture.store, batch, guard, || START);
    let outcomes = join_all([insert(batch.clone()), insert(batch.clone())]).await;
    let outcomes: Result<Vec<_>, StoreError> = outcomes.into_iter().collect();
    let repeat = Recalled::Response(Bytes::from(format!("{} of 2", batch.id)));
    let is_repeat = |outcome: &Guarded<_>| *outcome == Guarded::Recalled(repeat.clone());
    assert_eq!(outcomes.expect("a batch").iter().filter(|outcome| is_repeat(outcome)).count(), 1);
    assert!(is_repeat(&insert(batch).await.expect("a repeat")));
}

on_both!(old_keys_are_deleted_and_younger_ones_kept);
async fn old_keys_are_deleted_and_younger_ones_kept(fixture: &mut Fixture) {
    for place in 0..3u8 {
        let request = NewRequest { created_at: START + i64::from(place), ..fixture.request(place) };
        requests::insert_once(&fixture.store, request, guard(place, 1)).await.expect("an insert");
    }
    let answer_bytes = fixture.request(1).id.to_string().len() as i64;
    let stored =
        async || accounts::get(&fixture.store, fixture.account).await.expect("an account").stored_bytes;
    let before = stored().await;
    assert_eq!(delete_old_keys(&fixture.store, START + 2).await.expect("a deletion"), 2);
    assert_eq!(stored().await, before - 2 * (256 + answer_bytes));
    fixture.assert_sound().await;
    assert_eq!(delete_old_keys(&fixture.store, START + 2).await.expect("a deletion"), 0);
    let found = async |hash| {
        let found = idempotency_keys::find(&fixture.store, fixture.account, &key(hash, 1)).await;
        found.expect("a read").is_some()
    };
    assert_eq!((found(0).await, found(1).await, found(2).await), (false, false, true));
}
