//! How much lives, and whose it is.

use super::{DAY_MS, Fixture, START, new_account};
use crate::store::requests::NewRequest;
use crate::store::standings::{self, Live};
use crate::store::{accounts, models, requests};

on_both!(what_lives_is_counted_by_account_and_what_waits_by_model);
async fn what_lives_is_counted_by_account_and_what_waits_by_model(mut fixture: Fixture) {
    let other = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account").key;
    let large = models::ensure(&fixture.store, &["large"]).await.expect("a model")[0];
    let [first, second, third, theirs, gathers] = [1, 2, 3, 4, 5].map(|key| fixture.request(key));
    let insert = async |request| requests::insert(&fixture.store, request).await.expect("an insert");
    let count = async |account| standings::count(&fixture.store, account).await.expect("a count");
    assert_eq!(count(fixture.account).await, Live::default());
    insert(first.clone()).await;
    insert(NewRequest { expires_at: START + DAY_MS - 5, ..second }).await;
    insert(NewRequest { model: large, expires_at: START + DAY_MS - 7, ..third }).await;
    insert(NewRequest { account: other, ..theirs }).await;
    fixture.release().await;
    insert(NewRequest { expires_at: START + DAY_MS + 9, ..gathers }).await;
    let expected = Live { waiting: 4, in_progress: 0, oldest_deadline: Some(START + DAY_MS - 7) };
    assert_eq!(count(fixture.account).await, expected);

    let leases = fixture.lease().await;
    assert_eq!(count(fixture.account).await, Live { waiting: 2, in_progress: 2, ..expected });
    let waiting = async |model| standings::count_waiting(&fixture.store, model).await.expect("a count");
    assert_eq!((waiting(fixture.model).await, waiting(large).await), (1, 1));
    assert!(fixture.settle(&leases[0], START + 2).await);
    requests::cancel(&fixture.store, fixture.account, first.id, START + 2).await.expect("a late cancel");
    assert_eq!(count(fixture.account).await, Live { waiting: 2, in_progress: 1, ..expected });
    let theirs = Live { waiting: 1, in_progress: 0, oldest_deadline: Some(START + DAY_MS) };
    assert_eq!(count(other).await, theirs);
}
