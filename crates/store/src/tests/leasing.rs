//! Leases: who holds a request, and what an old epoch may still do (nothing).

use overnight_domain::scheduler::{Candidate, DeadlineStep};

use crate::tests::prelude::*;

on_both!(a_release_takes_what_is_ready_and_says_when_to_come_again);
async fn a_release_takes_what_is_ready_and_says_when_to_come_again(fixture: &mut Fixture) {
    fixture.insert(&[3, 1, 2]).await;
    let mut later = fixture.request(4);
    later.ready_at = START + 50;
    fixture.put(later).await;
    let released = releases::release(&fixture.store, START, 2).await.expect("a release");
    assert_eq!(released.added[0].count, 2);
    assert_eq!(released.next_ready_at, Some(START));
    assert_eq!(queue::next_ready_at(&fixture.store).await.expect("a read"), Some(START));
    let released = releases::release(&fixture.store, START, 2).await.expect("a release");
    assert_eq!((released.added[0].count, released.next_ready_at), (1, Some(START + 50)));
    assert_eq!(queue::next_ready_at(&fixture.store).await.expect("a read"), Some(START + 50));
    let keys: Vec<_> = fixture.look().await.iter().map(|position| position.sort_key.as_bytes()[0]).collect();
    assert_eq!(keys, [1, 2, 3]);
}

#[tokio::test]
async fn a_look_goes_on_behind_its_cursor_up_to_the_end_of_its_segment() {
    let mut fixture = Fixture::on_sqlite().await;
    fixture.insert(&[1, 2, 2, 3]).await;
    fixture.release().await;
    let all = fixture.look().await;
    let look = |range| queue::look(&fixture.store, fixture.partition(), ReplicaKey(0), range, 2, START);
    let behind = |after| KeyRange { after: Some(after), until: None };
    let seen = |candidates: Vec<Candidate>| candidates.into_iter().map(|it| it.position).collect::<Vec<_>>();
    let (rest, reached_end) = look(behind(&all[1])).await.expect("a look");
    assert_eq!((seen(rest), reached_end), (all[2..].to_vec(), false));
    let (rest, reached_end) = look(behind(&all[3])).await.expect("a look");
    assert!(rest.is_empty() && reached_end);
    for (after, until, count) in [(None, 0, 1), (None, 1, 2), (Some(0), 1, 1), (Some(1), 1, 0)] {
        let range = KeyRange { after: after.map(|it: usize| &all[it]), until: Some(&all[until]) };
        let (inside, _) = look(range).await.expect("a look");
        assert_eq!(seen(inside), all[until + 1 - count..=until], "{range:?}");
    }
}

on_both!(the_queue_is_read_in_the_order_of_its_keys_and_not_of_arrival);
async fn the_queue_is_read_in_the_order_of_its_keys_and_not_of_arrival(fixture: &mut Fixture) {
    fixture.insert(&[9, 3, 7, 3, 1]).await;
    fixture.release().await;
    let seqs: Vec<_> = fixture.look().await.into_iter().map(|position| position.seq).collect();
    assert_eq!(seqs, [5, 2, 4, 3, 1]);
}

on_both!(a_request_is_leased_once_at_a_time);
async fn a_request_is_leased_once_at_a_time(fixture: &mut Fixture) {
    fixture.insert(&[1, 2]).await;
    fixture.release().await;
    let positions = fixture.look().await;
    let take = || leases::take(&fixture.store, fixture.partition(), positions.clone(), START);
    let (first, second) = tokio::join!(take(), take());
    let (first, second) = (first.expect("a lease"), second.expect("a lease"));
    assert_eq!(first.leases.len() + second.leases.len(), 2);
    assert_eq!(first.gone.len() + second.gone.len(), 2);
}

/// A multiple of a hundred a day later.
const BEGIN: i64 = START - START % 100 + 86_400_000;

on_both!(what_waits_is_counted_by_deadline);
async fn what_waits_is_counted_by_deadline(fixture: &mut Fixture) {
    let requests: Vec<_> = [(1, 99), (2, 100), (3, 199), (4, 450)]
        .map(|(key, ms)| NewRequest { expires_at: BEGIN + ms, cost: i64::from(key), ..fixture.request(key) })
        .into();
    fixture.insert_all(requests).await;
    fixture.release().await;
    let first = fixture.look().await.remove(0);
    let leased =
        leases::take(&fixture.store, fixture.partition(), vec![first], START).await.expect("a lease");
    let count = || deadlines::count(&fixture.store, fixture.partition(), 100, START);
    let step = |from: i64, count, cost| DeadlineStep { from: BEGIN + from, count, cost };
    let (steps, segments) = count().await.expect("a count");
    assert_eq!((steps, segments), (vec![step(100, 2, 5), step(400, 1, 4)], 0));
    let lease = leased.leases[0].clone();
    let back = |retry_at| ReleaseLease { lease: lease.clone(), retry_at, attempt: None, suspect: false };
    leases::release_lease(&fixture.store, back(START + 1)).await.expect("a release");
    assert_eq!(count().await.expect("a count").0.len(), 2, "what waits for its retry is not due to be swept");
    let (steps, _) =
        deadlines::count(&fixture.store, fixture.partition(), 100, START + 1).await.expect("a count");
    assert_eq!(steps[0], step(0, 1, 1));
    let (steps, _) =
        deadlines::count(&fixture.store, fixture.partition(), 100, BEGIN + 199).await.expect("a count");
    assert_eq!(steps, [step(400, 1, 4)], "what is overdue is the expirer's");
}

fn attempt() -> Option<FailedAttempt> {
    Some(FailedAttempt::new(START, Some(500), "no room".to_owned()))
}

on_both!(attempts_that_count_are_read_with_their_request);
async fn attempts_that_count_are_read_with_their_request(fixture: &mut Fixture) {
    let id = fixture.insert(&[1]).await[0];
    fixture.release().await;
    let mut old = None;
    for (at, counts) in [(START, true), (START + 1, false), (START + 2, true)] {
        let lease = fixture.lease().await.remove(0);
        let attempt = counts.then(|| FailedAttempt::new(at, Some(502), format!("{at}")));
        old = Some(ReleaseLease { lease, retry_at: START, attempt, suspect: false });
        let back = old.clone().expect("a lease");
        assert!(leases::release_lease(&fixture.store, back).await.expect("a release"));
    }
    let fenced = old.expect("a lease");
    assert!(!leases::release_lease(&fixture.store, fenced).await.expect("a release"), "it records nothing");
    let lease = fixture.lease().await.remove(0);
    let last = FailedAttempt::new(START + 3, None, "the connection broke".to_owned());
    let settlement = Settlement::failed(lease, "{}".into(), last.clone(), START + 4);
    assert!(settle::settle(&fixture.store, settlement.clone()).await.expect("a settle"));
    assert!(!settle::settle(&fixture.store, settlement).await.expect("a settle"), "it records nothing");
    let record = requests::find_record(&fixture.store, fixture.account, id).await.expect("a read");
    let attempts = record.expect("the request").attempts;
    assert_eq!(attempts.iter().map(|it| it.at - START).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(
        (attempts[1].status, &*attempts[1].message, &attempts[2]),
        (Some(502), &*format!("{}", START + 2), &last)
    );
    let other = AccountKey(fixture.account.0 + 1);
    let foreign = queue::attempts::list_attempts(&fixture.store, other, id).await.expect("a read");
    assert!(foreign.is_empty());
}

on_both!(a_settle_under_an_old_epoch_touches_nothing);
async fn a_settle_under_an_old_epoch_touches_nothing(fixture: &mut Fixture) {
    let (id, old) = fixture.leased_one(1).await;
    let back = ReleaseLease { lease: old.clone(), retry_at: START, attempt: attempt(), suspect: true };
    assert!(leases::release_lease(&fixture.store, back.clone()).await.expect("a release"));
    assert!(!leases::release_lease(&fixture.store, back).await.expect("a second release"));
    let (candidates, _) =
        queue::look(&fixture.store, fixture.partition(), ReplicaKey(0), KeyRange::default(), 9, START)
            .await
            .expect("a look");
    assert_eq!((candidates[0].attempts, candidates[0].suspect), (1, true));
    let new = fixture.lease().await.remove(0);
    assert!(new.epoch > old.epoch);
    assert!(!fixture.settle(&old, START + 2).await);
    assert_eq!(fixture.status(id).await, RequestStatus::InProgress);
    assert!(fixture.settle(&new, START + 3).await);
    assert!(!fixture.settle(&new, START + 4).await);
}

on_both!(old_and_new_epoch_in_one_group_settle_once);
async fn old_and_new_epoch_in_one_group_settle_once(fixture: &mut Fixture) {
    let old = fixture.leased(&[1]).await.1.remove(0);
    let back = ReleaseLease { lease: old.clone(), retry_at: START, attempt: None, suspect: false };
    assert!(leases::release_lease(&fixture.store, back).await.expect("a release"));
    let new = fixture.lease().await.remove(0);
    let (fenced, valid) = tokio::join!(fixture.settle(&old, START + 2), fixture.settle(&new, START + 2));
    assert_eq!((fenced, valid), (false, true));
}

on_both!(a_request_that_backs_off_is_not_seen_before_its_time);
async fn a_request_that_backs_off_is_not_seen_before_its_time(fixture: &mut Fixture) {
    let lease = fixture.leased(&[1]).await.1.remove(0);
    let back = ReleaseLease { lease: lease.clone(), retry_at: START + 9, attempt: None, suspect: false };
    assert!(leases::release_lease(&fixture.store, back).await.expect("a release"));
    assert!(fixture.look().await.is_empty());
    let (later, _) =
        queue::look(&fixture.store, fixture.partition(), ReplicaKey(0), KeyRange::default(), 9, START + 9)
            .await
            .expect("a look");
    assert_eq!(later.len(), 1);
}

on_both!(every_lease_found_at_start_is_reclaimed);
async fn every_lease_found_at_start_is_reclaimed(fixture: &mut Fixture) {
    let (id, before) = fixture.leased_one(1).await;
    fixture.restart().await;
    assert_eq!(fixture.status(id).await, RequestStatus::InProgress);
    let (backlogs, delayed) = queue::backlogs(&fixture.store, START).await.expect("backlogs");
    assert_eq!((backlogs[0].count, delayed.len()), (1, 0));
    let after = fixture.lease().await.remove(0);
    assert!(!fixture.settle(&before, START + 2).await);
    assert!(fixture.settle(&after, START + 2).await);
}

on_both!(a_living_process_keeps_its_leases);
async fn a_living_process_keeps_its_leases(fixture: &mut Fixture) {
    let lease = fixture.leased(&[1]).await.1.remove(0);
    nodes::heartbeat(&fixture.store, START + 100).await.expect("a heartbeat");
    assert_eq!(nodes::reclaim_stale(&fixture.store, START + 100, 10_000).await.expect("a sweep"), 0);
    assert!(fixture.settle(&lease, START + 2).await);
}

on_both!(each_request_of_a_group_keeps_its_own_body_result_and_warnings);
async fn each_request_of_a_group_keeps_its_own_body_result_and_warnings(fixture: &mut Fixture) {
    let new = [1, 2, 3, 4].map(|number| {
        let body = format!(r#"{{"number":{number}}}"#);
        NewRequest { body: body.into_bytes().into(), ..fixture.request(number) }
    });
    fixture.insert_all(new.to_vec()).await;
    let leases = fixture.release_and_lease().await;
    let settled = |place: usize| {
        let lease = &leases[place];
        let body = format!(r#"{{"result":{}}}"#, lease.key.position.seq).into();
        // The first has none.
        let warnings = (place > 0).then(|| format!("[{}]", lease.key.position.seq).into());
        Settlement { body, warnings, ..fixture.settlement(lease, START + 2) }
    };
    let lost = Settlement { lease: Lease { epoch: leases[1].epoch + 1, ..leases[1].clone() }, ..settled(1) };
    let group = [settled(0), lost, settled(2), settled(3)];
    let is_settled = settle::settle_all(&fixture.store, group.into()).await.expect("a settle");
    assert_eq!(is_settled, [true, false, true, true]);
    for (place, request) in new.iter().enumerate() {
        let seq = requests::find_seq(&fixture.store, fixture.account, request.id).await.expect("a read");
        let record =
            requests::find_record(&fixture.store, fixture.account, request.id).await.expect("a read");
        let record = record.expect("the request");
        assert_eq!(record.body, request.body);
        let is_lost = seq == Some(leases[1].key.position.seq);
        let result = seq.filter(|_| !is_lost).map(|seq| format!(r#"{{"result":{seq}}}"#).into());
        assert_eq!(record.result, result, "request {place}");
        let is_warned = seq != Some(leases[0].key.position.seq);
        let warnings = seq.filter(|_| !is_lost && is_warned).map(|seq| format!("[{seq}]").into());
        assert_eq!(record.warnings, warnings, "request {place}");
    }
}
