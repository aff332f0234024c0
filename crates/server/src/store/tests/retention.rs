//! Requests whose retention is over are gone whole, and everything else stays.

use overnight_domain::ids::RequestId;
use overnight_domain::records::FailedAttempt;
use overnight_domain::scheduler::AccountKey;

use crate::store::batches::{self, NewBatch};
use crate::store::database::sql;
use crate::store::idempotency_keys::Guarded;
use crate::store::identity::accounts;
use crate::store::ledger;
use crate::store::queue::settle::{self, Settlement};
use crate::store::requests::{
    self, DeletionOutcome, Due, FOR_EVER, NewRequest, delete_ended, list_due, set_retention, skip_future,
};
use crate::store::tests::webhooks::{HOOK, cancel};
use crate::store::tests::{DAY_MS, Fixture, START, new_account};

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

    /// Takes a request in that holds credits and has a webhook, and completes it at `now`.
    async fn completed(&mut self, key: u8, now: i64) -> RequestId {
        let client = overnight_domain::records::ClientFields {
            webhook: Some(HOOK.to_owned()),
            ..overnight_domain::records::ClientFields::absent()
        };
        let request = NewRequest { hold: self.hold("20").await, client, ..self.request(key) };
        let id = request.id;
        requests::insert(&self.store, request).await.expect("an insert");
        self.release().await;
        let lease = self.lease().await.remove(0);
        assert!(self.settle(&lease, now).await);
        id
    }
}

on_both!(a_request_goes_whole_when_its_retention_is_over);
async fn a_request_goes_whole_when_its_retention_is_over(mut fixture: Fixture) {
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
    fixture.assert_sound().await;
}

on_both!(what_was_cancelled_goes_like_the_rest);
async fn what_was_cancelled_goes_like_the_rest(mut fixture: Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    cancel(&fixture, ids[0], START + 1).await;
    assert_eq!(fixture.delete(START).await, 0);
    assert_eq!(fixture.delete(START + 1).await, 1);
    assert_eq!([fixture.is_there(ids[0]).await, fixture.is_there(ids[1]).await], [false, true]);
    fixture.assert_sound().await;
}

on_both!(each_account_has_the_retention_that_is_its_own_or_that_of_the_settings);
async fn each_account_has_the_retention_that_is_its_own_or_that_of_the_settings(mut fixture: Fixture) {
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
    fixture.assert_sound().await;
}

on_both!(an_account_with_many_keeps_none_of_another_for_longer);
async fn an_account_with_many_keeps_none_of_another_for_longer(mut fixture: Fixture) {
    let keys: Vec<u8> = (0..=255).collect();
    fixture.insert(&keys).await;
    fixture.release().await;
    for lease in fixture.lease().await {
        assert!(fixture.settle(&lease, START + 2).await);
    }
    let many = fixture.account;
    fixture.account = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account").key;
    fixture.completed(1, START + 2).await;
    let due = list_due(&fixture.store, START + DAY_MS, Some(DAY_MS - 2)).await.expect("a read");
    assert_eq!(due.iter().map(|due| due.account).collect::<Vec<_>>(), [many, fixture.account]);
    let mut deleted = Vec::new();
    for due in due {
        deleted.push(delete_ended(&fixture.store, due).await.expect("a deletion"));
    }
    assert_eq!(deleted, [128, 1], "one chunk of each in turn");
    fixture.assert_sound().await;
}

on_both!(requests_that_ended_while_the_clock_was_ahead_keep_no_others);
async fn requests_that_ended_while_the_clock_was_ahead_keep_no_others(mut fixture: Fixture) {
    let keys: Vec<u8> = (0..200).collect();
    fixture.insert(&keys).await;
    fixture.release().await;
    for lease in fixture.lease().await {
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
    fixture.assert_sound().await;
}

on_both!(a_batch_keeps_its_counts_and_an_account_gets_its_bytes_back);
async fn a_batch_keeps_its_counts_and_an_account_gets_its_bytes_back(mut fixture: Fixture) {
    let before = fixture.stored_bytes().await;
    let ids = fixture.insert(&[1, 2]).await;
    let members = batches::resolve(&fixture.store, fixture.account, &ids).await.expect("a read");
    let id = fixture.batch_id();
    let account = fixture.account;
    let batch = NewBatch { id, account, created_at: START, webhook: None, metadata: None, members };
    batches::insert(&fixture.store, batch).await.expect("a batch");
    fixture.release().await;
    let leases = fixture.lease().await;
    assert!(fixture.settle(&leases[0], START + 2).await);
    let attempt = FailedAttempt::new(START, Some(500), "no".to_owned());
    let failed = Settlement::failed(leases[1].clone(), b"{}"[..].into(), attempt, START + 3);
    assert!(settle::settle(&fixture.store, failed).await.expect("a settle"));
    assert_eq!(fixture.delete(START + 2).await, 1);
    fixture.assert_sound().await;
    assert_eq!(fixture.delete(START + 3).await, 1);
    fixture.assert_sound().await;
    let (seq, record) = batches::find(&fixture.store, account, id).await.expect("a read").expect("the batch");
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
async fn no_row_number_is_given_out_twice_though_everything_was_deleted(mut fixture: Fixture) {
    fixture.completed(1, START + 10).await;
    fixture.completed(2, START + 20).await;
    let before = newest(&fixture).await;
    assert_eq!(fixture.delete(START + DAY_MS).await, 2);
    fixture.restart().await;
    fixture.completed(3, START + 30).await;
    let after = newest(&fixture).await;
    assert!(before.iter().zip(after).all(|(before, after)| after > *before), "{before:?} and {after:?}");
    fixture.assert_sound().await;
}

on_both!(deletions_are_bounded_and_go_on_until_nothing_is_left);
async fn deletions_are_bounded_and_go_on_until_nothing_is_left(mut fixture: Fixture) {
    let keys: Vec<u8> = (0..200).collect();
    fixture.insert(&keys).await;
    fixture.release().await;
    for lease in fixture.lease().await {
        assert!(fixture.settle(&lease, START + 2).await);
    }
    assert_eq!(
        [fixture.delete(START + 2).await, fixture.delete(START + 2).await, fixture.delete(START + 2).await],
        [128, 72, 0]
    );
    fixture.assert_sound().await;
}

async fn delete_own(fixture: &Fixture, account: AccountKey, id: RequestId) -> DeletionOutcome {
    requests::delete_request(&fixture.store, account, id).await.expect("a deletion")
}

on_both!(what_has_not_ended_is_not_deleted_nor_what_is_of_another_account);
async fn what_has_not_ended_is_not_deleted_nor_what_is_of_another_account(mut fixture: Fixture) {
    let (id, account) = (fixture.insert(&[1]).await[0], fixture.account);
    assert_eq!(delete_own(&fixture, account, id).await, DeletionOutcome::NotEnded, "it gathers");
    fixture.release().await;
    assert_eq!(delete_own(&fixture, account, id).await, DeletionOutcome::NotEnded, "it waits");
    let leases = fixture.lease().await;
    assert_eq!(delete_own(&fixture, account, id).await, DeletionOutcome::NotEnded, "it runs");
    assert!(fixture.settle(&leases[0], START + 2).await);
    assert_eq!(delete_own(&fixture, AccountKey(account.0 + 1), id).await, DeletionOutcome::Unknown);
    assert!(fixture.is_there(id).await);
}

on_both!(an_account_deletes_what_has_ended_and_its_batch_keeps_its_counts);
async fn an_account_deletes_what_has_ended_and_its_batch_keeps_its_counts(mut fixture: Fixture) {
    let before = fixture.stored_bytes().await;
    let ids = fixture.insert(&[1, 2, 3]).await;
    let members = batches::resolve(&fixture.store, fixture.account, &ids).await.expect("a read");
    let (id, account) = (fixture.batch_id(), fixture.account);
    let batch = NewBatch { id, account, created_at: START, webhook: None, metadata: None, members };
    batches::insert(&fixture.store, batch).await.expect("a batch");
    fixture.release().await;
    let leases = fixture.lease().await;
    assert!(fixture.settle(&leases[0], START + 2).await);
    let attempt = FailedAttempt::new(START, Some(500), "no".to_owned());
    let failed = Settlement::failed(leases[1].clone(), b"{}"[..].into(), attempt, START + 3);
    assert!(settle::settle(&fixture.store, failed).await.expect("a settle"));
    cancel(&fixture, ids[2], START + 4).await;
    for id in ids {
        assert_eq!(delete_own(&fixture, account, id).await, DeletionOutcome::Deleted);
        assert_eq!(delete_own(&fixture, account, id).await, DeletionOutcome::Unknown);
        fixture.assert_sound().await;
    }
    let (_, record) = batches::find(&fixture.store, account, id).await.expect("a read").expect("the batch");
    let counters = record.counters;
    assert_eq!((counters.completed, counters.failed, counters.cancelled), (1, 1, 1));
    assert_eq!(fixture.stored_bytes().await, before + 512 + 3 * 16, "the batch itself stays");
}
