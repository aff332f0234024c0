//! Requests whose retention is over are gone whole, and everything else stays.

use crate::requests::{DeletionOutcome, Due, FOR_EVER, list_due, set_retention, skip_future};
use crate::tests::grouping::grouped;
use crate::tests::prelude::*;
use crate::tests::webhooks::{HOOK, cancel};

impl Fixture {
    async fn delete(&self, before: i64) -> usize {
        delete_ended(&self.store, Due::all(self.account, before)).await.expect("a deletion")
    }

    async fn is_there(&self, id: RequestId) -> bool {
        requests::find_record(&self.store, self.account, id).await.expect("a read").is_some()
    }

    async fn stored_bytes(&self) -> i64 {
        accounts::get(&self.store, self.account).await.expect("an account").stored_bytes
    }

    /// A request with a hold and a webhook, completed at `now`.
    async fn completed(&mut self, key: u8, now: i64) -> RequestId {
        let client = ClientFields { webhook: Some(HOOK.to_owned()), ..ClientFields::absent() };
        let request = NewRequest { hold: self.hold("20").await, client, ..self.request(key) };
        let id = self.put(request).await;
        let lease = self.release_and_lease().await.remove(0);
        assert!(self.settle(&lease, now).await);
        id
    }
}

on_both!(a_request_goes_whole_when_its_retention_is_over);
async fn a_request_goes_whole_when_its_retention_is_over(fixture: &mut Fixture) {
    let old = fixture.completed(1, START + 10).await;
    let younger = fixture.completed(2, START + 20).await;
    let live = fixture.insert(&[3]).await[0];
    assert_eq!([fixture.delete(START + 9).await, fixture.delete(START + 10).await], [0, 1]);
    assert_eq!(
        [fixture.is_there(old).await, fixture.is_there(younger).await, fixture.is_there(live).await],
        [false, true, true]
    );
    fixture.assert_sound().await;
    let later = [fixture.delete(START + DAY_MS - 1).await, fixture.delete(START + DAY_MS - 1).await];
    assert_eq!((later, fixture.is_there(live).await), ([1, 0], true), "what lives stays however old it is");
    let charges =
        ledger::list(&fixture.store, fixture.account, None, None, 9).await.expect("the ledger").rows;
    assert_eq!(charges.iter().filter(|entry| entry.request.is_some()).count(), 2, "charges stay");
    assert!(fixture.events().await.is_empty(), "the events name what is gone");
}

on_both!(what_was_cancelled_goes_like_the_rest);
async fn what_was_cancelled_goes_like_the_rest(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    cancel(fixture, ids[0], START + 1).await;
    assert_eq!(fixture.delete(START).await, 0);
    assert_eq!(fixture.delete(START + 1).await, 1);
    assert_eq!([fixture.is_there(ids[0]).await, fixture.is_there(ids[1]).await], [false, true]);
}

on_both!(each_account_has_the_retention_that_is_its_own_or_that_of_the_settings);
async fn each_account_has_the_retention_that_is_its_own_or_that_of_the_settings(fixture: &mut Fixture) {
    let (first, now) = (fixture.account, START + 10 * DAY_MS);
    let mut accounts = vec![first];
    for number in 8..11 {
        accounts.push(accounts::insert(&fixture.store, &new_account(number)).await.expect("an account").key);
    }
    for account in &accounts {
        fixture.account = *account;
        fixture.completed(1, START + 5).await;
    }
    fixture.account = first;
    for (account, retention) in [(accounts[1], DAY_MS), (accounts[2], 20 * DAY_MS), (accounts[3], FOR_EVER)] {
        let set = set_retention(&fixture.store, account, Some(retention), START, None).await;
        assert_eq!(set.expect("a change"), Guarded::Done(()));
        let set = accounts::get(&fixture.store, account).await.expect("the account");
        assert_eq!(set.retention_ms, Some(retention));
    }
    let due = async |default| {
        let due = list_due(&fixture.store, now, default).await.expect("a read");
        due.into_iter().map(|due| (due.account, due.before)).collect::<Vec<_>>()
    };
    let (own, settings) = ((accounts[1], now - DAY_MS), (first, now - 7 * DAY_MS));
    assert_eq!(due(None).await, [own], "without a setting the others keep theirs");
    assert_eq!(due(Some(7 * DAY_MS)).await, [settings, own]);
    assert_eq!(due(Some(12 * DAY_MS)).await, [own]);
    let before = now - DAY_MS;
    let due = Due::all(accounts[1], before);
    assert_eq!(
        [delete_ended(&fixture.store, due).await.expect("a deletion"), fixture.delete(START).await],
        [1, 0]
    );
    assert_eq!(list_due(&fixture.store, now, None).await.expect("a read"), []);
}

on_both!(an_account_with_many_keeps_none_of_another_for_longer);
async fn an_account_with_many_keeps_none_of_another_for_longer(fixture: &mut Fixture) {
    let keys: Vec<u8> = (0..=255).collect();
    fixture.insert(&keys).await;
    for lease in fixture.release_and_lease().await {
        assert!(fixture.settle(&lease, START + 2).await);
    }
    let many = fixture.account;
    fixture.account = fixture.other_account().await;
    fixture.completed(1, START + 2).await;
    let due = list_due(&fixture.store, START + DAY_MS, Some(DAY_MS - 2)).await.expect("a read");
    assert_eq!(due.iter().map(|due| due.account).collect::<Vec<_>>(), [many, fixture.account]);
    let mut deleted = Vec::new();
    for due in due {
        deleted.push(delete_ended(&fixture.store, due).await.expect("a deletion"));
    }
    assert_eq!(deleted, [128, 1], "one chunk of each in turn");
}

on_both!(requests_that_ended_while_the_clock_was_ahead_keep_no_others);
async fn requests_that_ended_while_the_clock_was_ahead_keep_no_others(fixture: &mut Fixture) {
    let keys: Vec<u8> = (0..200).collect();
    fixture.insert(&keys).await;
    for lease in fixture.release_and_lease().await {
        assert!(fixture.settle(&lease, START + 400 * DAY_MS).await);
    }
    let old = fixture.completed(200, START + 5).await;
    let now = START + 2 * DAY_MS;
    let due = list_due(&fixture.store, now, Some(DAY_MS)).await.expect("a read");
    assert_eq!(due, [Due::all(fixture.account, now - DAY_MS)]);
    assert_eq!(list_due(&fixture.store, now, None).await.expect("a read"), [], "kept for ever");
    assert_eq!(delete_ended(&fixture.store, due[0]).await.expect("a deletion"), 0);
    let ended = skip_future(&fixture.store, due[0], START + 400 * DAY_MS).await.expect("a read");
    assert_eq!(ended, None, "none of the first ended later than this");
    let rest = skip_future(&fixture.store, due[0], now).await.expect("a read").expect("more requests");
    assert_eq!(delete_ended(&fixture.store, rest).await.expect("a deletion"), 1);
    assert_eq!(skip_future(&fixture.store, rest, now).await.expect("a read"), None);
    assert!(!fixture.is_there(old).await);
}

on_both!(a_batch_keeps_its_counts_and_an_account_gets_its_bytes_back);
async fn a_batch_keeps_its_counts_and_an_account_gets_its_bytes_back(fixture: &mut Fixture) {
    let before = fixture.stored_bytes().await;
    let ids = fixture.insert(&[1, 2]).await;
    let batch = grouped(fixture, &ids).await.1.id;
    let leases = fixture.release_and_lease().await;
    assert!(fixture.settle(&leases[0], START + 2).await);
    let attempt = FailedAttempt::new(START, Some(500), "no".to_owned());
    let failed = Settlement::failed(leases[1].clone(), b"{}"[..].into(), attempt, START + 3);
    assert!(settle::settle(&fixture.store, failed).await.expect("a settle"));
    assert_eq!(fixture.delete(START + 2).await, 1);
    fixture.assert_sound().await;
    assert_eq!(fixture.delete(START + 3).await, 1);
    fixture.assert_sound().await;
    let (seq, record) = fixture.batch(batch).await;
    assert_eq!((record.counters.completed, record.counters.failed), (1, 1));
    assert_eq!(batches::list_members(&fixture.store, seq).await.expect("a read"), ids);
    assert_eq!(fixture.stored_bytes().await, before + 512 + 2 * 16, "the batch itself stays");
}

/// The row numbers of the newest request, result and event.
async fn newest(fixture: &Fixture) -> [i64; 3] {
    const NEWEST: &str =
        "SELECT (SELECT max(seq) FROM requests) AS request, (SELECT max(seq) FROM results) AS result,
        (SELECT max(seq) FROM events) AS event";
    let mut connection = fixture.store.connect().await.expect("a connection");
    let row = connection.fetch_one(sql(NEWEST)).await.expect("a row");
    connection.close().await.expect("an end");
    ["request", "result", "event"].map(|name| row.get(name).expect("a number"))
}

on_both!(no_row_number_is_given_out_twice_though_everything_was_deleted);
async fn no_row_number_is_given_out_twice_though_everything_was_deleted(fixture: &mut Fixture) {
    fixture.completed(1, START + 10).await;
    fixture.completed(2, START + 20).await;
    let before = newest(fixture).await;
    assert_eq!(fixture.delete(START + DAY_MS).await, 2);
    fixture.restart().await;
    fixture.completed(3, START + 30).await;
    let after = newest(fixture).await;
    assert!(before.iter().zip(after).all(|(before, after)| after > *before), "{before:?} and {after:?}");
}

on_both!(deletions_are_bounded_and_go_on_until_nothing_is_left);
async fn deletions_are_bounded_and_go_on_until_nothing_is_left(fixture: &mut Fixture) {
    let keys: Vec<u8> = (0..200).collect();
    fixture.insert(&keys).await;
    for lease in fixture.release_and_lease().await {
        assert!(fixture.settle(&lease, START + 2).await);
    }
    assert_eq!(
        [fixture.delete(START + 2).await, fixture.delete(START + 2).await, fixture.delete(START + 2).await],
        [128, 72, 0]
    );
}

async fn delete_own(fixture: &Fixture, account: AccountKey, id: RequestId) -> DeletionOutcome {
    requests::delete_request(&fixture.store, account, id).await.expect("a deletion")
}

on_both!(what_has_not_ended_is_not_deleted_nor_what_is_of_another_account);
async fn what_has_not_ended_is_not_deleted_nor_what_is_of_another_account(fixture: &mut Fixture) {
    let (id, account) = (fixture.insert(&[1]).await[0], fixture.account);
    assert_eq!(delete_own(fixture, account, id).await, DeletionOutcome::NotEnded, "it gathers");
    fixture.release().await;
    assert_eq!(delete_own(fixture, account, id).await, DeletionOutcome::NotEnded, "it waits");
    let leases = fixture.lease().await;
    assert_eq!(delete_own(fixture, account, id).await, DeletionOutcome::NotEnded, "it runs");
    assert!(fixture.settle(&leases[0], START + 2).await);
    assert_eq!(delete_own(fixture, AccountKey(account.0 + 1), id).await, DeletionOutcome::Unknown);
    assert!(fixture.is_there(id).await);
}

on_both!(an_account_deletes_what_has_ended_and_its_batch_keeps_its_counts);
async fn an_account_deletes_what_has_ended_and_its_batch_keeps_its_counts(fixture: &mut Fixture) {
    let before = fixture.stored_bytes().await;
    let ids = fixture.insert(&[1, 2, 3]).await;
    let batch = grouped(fixture, &ids).await.1.id;
    let leases = fixture.release_and_lease().await;
    assert!(fixture.settle(&leases[0], START + 2).await);
    let attempt = FailedAttempt::new(START, Some(500), "no".to_owned());
    let failed = Settlement::failed(leases[1].clone(), b"{}"[..].into(), attempt, START + 3);
    assert!(settle::settle(&fixture.store, failed).await.expect("a settle"));
    cancel(fixture, ids[2], START + 4).await;
    for id in ids {
        assert_eq!(delete_own(fixture, fixture.account, id).await, DeletionOutcome::Deleted);
        assert_eq!(delete_own(fixture, fixture.account, id).await, DeletionOutcome::Unknown);
        fixture.assert_sound().await;
    }
    let (_, record) = fixture.batch(batch).await;
    let counters = record.counters;
    assert_eq!((counters.completed, counters.failed, counters.cancelled), (1, 1, 1));
    assert_eq!(fixture.stored_bytes().await, before + 512 + 3 * 16, "the batch itself stays");
}
