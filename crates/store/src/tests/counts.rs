//! How much lives, and whose it is.

use crate::queue::counts::{Gathering, Live};
use crate::tests::prelude::*;

async fn insert(fixture: &Fixture, requests: impl IntoIterator<Item = NewRequest>) {
    for request in requests {
        fixture.put(request).await;
    }
}

async fn count(fixture: &Fixture, account: AccountKey) -> Live {
    counts::of_account(&fixture.store, account).await.expect("a count")
}

async fn waiting(fixture: &Fixture, model: ModelKey) -> i64 {
    counts::waiting(&fixture.store, model).await.expect("a count")
}

on_both!(what_lives_is_counted_by_account_and_what_waits_by_model);
async fn what_lives_is_counted_by_account_and_what_waits_by_model(fixture: &mut Fixture) {
    let other = fixture.other_account().await;
    let large = models::ensure(&fixture.store, &["large"]).await.expect("a model")[0];
    let [first, second, third, theirs, gathers] = [1, 2, 3, 4, 5].map(|key| fixture.request(key));
    assert_eq!(count(fixture, fixture.account).await, Live::default());
    let cancelled = first.id;
    let second = NewRequest { expires_at: START + DAY_MS - 5, ..second };
    let third = NewRequest { model: large, expires_at: START + DAY_MS - 7, ..third };
    let theirs = NewRequest { account: other, ..theirs };
    insert(fixture, [first, second, third, theirs]).await;
    fixture.release().await;
    insert(fixture, [NewRequest { expires_at: START + DAY_MS + 9, ..gathers }]).await;
    let expected = Live { waiting: 4, in_progress: 0, oldest_deadline: Some(START + DAY_MS - 7) };
    assert_eq!(count(fixture, fixture.account).await, expected);
    let Gathering { count: gathering, next_deadline } =
        counts::gathering(&fixture.store).await.expect("a count");
    assert_eq!((gathering, next_deadline), (1, Some(START + DAY_MS + 9)));

    let leases = fixture.lease().await;
    assert_eq!(count(fixture, fixture.account).await, Live { waiting: 2, in_progress: 2, ..expected });
    assert_eq!((waiting(fixture, fixture.model).await, waiting(fixture, large).await), (1, 1));
    assert!(fixture.settle(&leases[1], START + 2).await);
    requests::cancel(&fixture.store, fixture.account, cancelled, START + 2).await.expect("a cancel");
    assert_eq!(count(fixture, fixture.account).await, Live { waiting: 2, in_progress: 0, ..expected });
    let theirs = Live { waiting: 1, in_progress: 0, oldest_deadline: Some(START + DAY_MS) };
    assert_eq!(count(fixture, other).await, theirs);
}
