//! Where a request stands in the order, as operators are told.

use crate::queue::place::QueuePlace;
use crate::tests::prelude::*;

on_both!(a_place_tells_what_comes_before_and_what_neighbours_share);
async fn a_place_tells_what_comes_before_and_what_neighbours_share(fixture: &mut Fixture) {
    let keys: [&[u8]; 5] = [b"aabb", b"aabbcc", b"aaddee", b"aaddff", b"zz"];
    let mut inserted = Vec::new();
    for key in keys {
        let mut request = fixture.request(1);
        request.sort_key = SortKey::from_bytes(key);
        inserted.push(request);
    }
    let last = inserted[4].id;
    fixture.insert_all(inserted).await;
    fixture.release().await;
    let all = fixture.look().await;
    let find = async |place: usize| {
        place::find(&fixture.store, fixture.partition(), &all[place]).await.expect("a read")
    };
    let third = QueuePlace {
        is_suspect: false,
        failed_attempts: 0,
        waiting: 4,
        waiting_before: 2,
        waiting_since_leased: None,
        cuts: 3,
        shared_with_previous: 1,
        shared_with_next: 2,
    };
    assert_eq!(find(2).await, Some(third));
    leases::take(&fixture.store, fixture.partition(), vec![all[0].clone()], START).await.expect("a lease");
    let swept = QueuePlace { waiting: 3, waiting_before: 1, waiting_since_leased: Some(1), ..third };
    assert_eq!(find(2).await, Some(swept));
    let end = QueuePlace {
        waiting_before: 3,
        waiting_since_leased: Some(3),
        cuts: 1,
        shared_with_previous: 0,
        shared_with_next: 0,
        ..swept
    };
    assert_eq!(find(4).await, Some(end));
    let owner = async |id| requests::find_owner(&fixture.store, id).await.expect("a read");
    assert_eq!(owner(last).await, Some(fixture.account));
    let lease = fixture.lease().await.pop().expect("the last");
    fixture.settle(&lease, START + 2).await;
    assert_eq!(find(4).await, None, "it has ended");
    let nobody = RequestId::from_bits(7);
    assert_eq!(owner(nobody).await, None::<AccountKey>);
}
