//! What accounts use is counted with every write, and what exceeds a quota is not taken in.

use overnight_domain::quotas::QuotaExceeded;

use crate::tests::prelude::*;
use crate::tests::webhooks::cancel;

impl Fixture {
    async fn usage(&self) -> (i64, i64) {
        let account = accounts::get(&self.store, self.account).await.expect("an account");
        (account.live_requests, account.stored_bytes)
    }

    async fn allow(&self, quota: Quota, limit: i64) {
        let id = accounts::get(&self.store, self.account).await.expect("an account").id;
        let changes = vec![(quota, Some(limit))];
        accounts::set_quotas(&self.store, id, changes, START).await.expect("a write").expect("the account");
    }

    async fn group(&mut self, ids: &[RequestId]) -> NewBatchOutcome {
        let members = batches::resolve(&self.store, self.account, ids).await.expect("a read");
        let metadata = Some(b"{}".to_vec());
        let (id, account) = (self.batch_id(), self.account);
        let batch = NewBatch { id, account, created_at: START, webhook: None, metadata, members };
        batches::insert(&self.store, batch).await.expect("a write")
    }

    async fn admit(&mut self, key: u8) -> Admission {
        let request = self.request(key);
        requests::insert(&self.store, request).await.expect("an insert")
    }
}

fn refused(admission: Admission) -> Option<Quota> {
    match admission {
        Admission::OverQuota(QuotaExceeded { quota, .. }) => Some(quota),
        _ => None,
    }
}

on_both!(what_an_account_uses_is_counted_with_every_write);
async fn what_an_account_uses_is_counted_with_every_write(fixture: &mut Fixture) {
    let request = fixture.request(1);
    let bytes = 512 + request.body.len() as i64 + 2;
    fixture.insert(&[1, 2, 3, 4]).await;
    assert_eq!(fixture.usage().await, (4, 4 * bytes));
    let client = ClientFields { metadata: None, webhook: Some("https://example.com".to_owned()) };
    let request = NewRequest { client, ..fixture.request(5) };
    let id = fixture.put(request).await;
    let mut stored = 5 * bytes - 2 + 1_024 + 2 * 19;
    assert_eq!(fixture.usage().await, (5, stored));

    cancel(fixture, id, START + 1).await;
    let leases = fixture.release_and_lease().await;
    assert!(fixture.settle(&leases[0], START + 2).await);
    stored += fixture.settlement(&leases[0], 0).body.len() as i64;
    let attempt = FailedAttempt::new(START, None, "broken".to_owned());
    let failed = Settlement::failed(leases[1].clone(), b"{}"[..].into(), attempt.clone(), START + 2);
    assert!(settle::settle(&fixture.store, failed).await.expect("a settle"));
    stored += 2 + 6;
    let release =
        ReleaseLease { lease: leases[2].clone(), retry_at: START, attempt: Some(attempt), suspect: false };
    assert!(leases::release_lease(&fixture.store, release).await.expect("a release"));
    stored += 6;
    // A late end moves nothing.
    assert!(!fixture.settle(&leases[0], START + 3).await);
    let with_batch = stored + 2 * bytes + batch_of_two(fixture).await;
    assert_eq!(fixture.usage().await, (4, with_batch));
}

/// Returns the bytes that the batch itself stores.
async fn batch_of_two(fixture: &mut Fixture) -> i64 {
    let ids = fixture.insert(&[6, 7]).await;
    let outcome = fixture.group(&ids).await;
    assert!(matches!(outcome, NewBatchOutcome::Created(_)), "{outcome:?}");
    512 + 2 + 2 * 16
}

on_both!(a_batch_that_its_account_may_not_store_groups_nothing);
async fn a_batch_that_its_account_may_not_store_groups_nothing(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    let (_, stored) = fixture.usage().await;
    fixture.allow(Quota::StoredBytes, stored + 512 + 2 + 2 * 16 - 1).await;
    let outcome = fixture.group(&ids).await;
    assert!(matches!(outcome, NewBatchOutcome::OverQuota(_)), "{outcome:?}");
    assert_eq!(fixture.usage().await, (2, stored));
    fixture.assert_sound().await;
    // Only what is stored counts: a batch adds no requests.
    fixture.allow(Quota::StoredBytes, stored + 512 + 2 + 2 * 16).await;
    fixture.allow(Quota::LiveRequests, 1).await;
    let outcome = fixture.group(&ids).await;
    assert!(matches!(outcome, NewBatchOutcome::Created(_)), "{outcome:?}");
}

on_both!(what_exceeds_a_quota_is_not_taken_in_and_goes_on_when_there_is_room);
async fn what_exceeds_a_quota_is_not_taken_in_and_goes_on_when_there_is_room(fixture: &mut Fixture) {
    fixture.allow(Quota::LiveRequests, 2).await;
    let ids = fixture.insert(&[1, 2]).await;
    let over = fixture.admit(3).await;
    assert_eq!(refused(over), Some(Quota::LiveRequests));
    let (live, stored) = fixture.usage().await;
    assert_eq!(live, 2, "nothing was stored");
    cancel(fixture, ids[0], START + 1).await;
    assert_eq!(fixture.admit(3).await, Admission::Taken);
    // Cancelled requests are stored like others.
    fixture.allow(Quota::LiveRequests, Quotas::UNLIMITED).await;
    fixture.allow(Quota::StoredBytes, 2 * stored).await;
    assert_eq!(fixture.admit(4).await, Admission::Taken);
    assert_eq!(refused(fixture.admit(5).await), Some(Quota::StoredBytes));
}

on_both!(of_a_group_of_creates_those_within_the_quota_are_taken_in_order_of_arrival);
async fn of_a_group_of_creates_those_within_the_quota_are_taken_in_order_of_arrival(fixture: &mut Fixture) {
    fixture.allow(Quota::LiveRequests, 10).await;
    let requests: Vec<NewRequest> = (0..30).map(|key| fixture.request(key)).collect();
    let inserts = requests.into_iter().map(|request| requests::insert(&fixture.store, request));
    let admissions = join_all(inserts).await;
    let taken: Vec<bool> =
        admissions.into_iter().map(|it| it.expect("an insert") == Admission::Taken).collect();
    assert_eq!(taken, (0..30).map(|place| place < 10).collect::<Vec<_>>());
}

on_both!(tokens_of_a_day_count_until_it_is_over);
async fn tokens_of_a_day_count_until_it_is_over(fixture: &mut Fixture) {
    fixture.allow(Quota::TokensPerDay, 7).await;
    let leases = fixture.leased(&[1, 2]).await.1;
    assert!(fixture.settle(&leases[0], START + 2).await);
    let Admission::OverQuota(exceeded) = fixture.admit(3).await else { panic!("7 of 7 tokens are used") };
    assert_eq!((exceeded.quota, exceeded.limit), (Quota::TokensPerDay, 7));
    assert_eq!(exceeded.retry_after_ms, DAY_MS - START.rem_euclid(DAY_MS));
    assert!(fixture.settle(&leases[1], START + 3).await, "what was accepted before runs");
    let tomorrow = NewRequest { created_at: START + DAY_MS, ..fixture.request(4) };
    assert_eq!(requests::insert(&fixture.store, tomorrow).await.expect("an insert"), Admission::Taken);
}

#[tokio::test]
async fn an_account_without_quotas_of_its_own_has_those_of_the_settings() {
    let quotas = Quotas::default().with(Quota::LiveRequests, Some(1));
    let mut fixture = Fixture::on_sqlite_with(|options| StoreOptions { quotas, ..options }).await;
    assert_eq!(fixture.admit(1).await, Admission::Taken);
    assert_eq!(refused(fixture.admit(2).await), Some(Quota::LiveRequests));
    fixture.allow(Quota::LiveRequests, Quotas::UNLIMITED).await;
    assert_eq!(fixture.admit(2).await, Admission::Taken);
}

on_both!(what_is_set_for_accounts_without_quotas_of_their_own_counts_from_then_on);
async fn what_is_set_for_accounts_without_quotas_of_their_own_counts_from_then_on(fixture: &mut Fixture) {
    assert_eq!(refused(fixture.admit(1).await), None);
    let quotas = Quotas::default().with(Quota::LiveRequests, Some(1));
    fixture.store.set_limits(&StoreOptions { quotas, ..fixture.options.clone() });
    assert_eq!(refused(fixture.admit(2).await), Some(Quota::LiveRequests));
}
