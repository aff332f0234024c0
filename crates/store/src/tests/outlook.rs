//! What forecasts read of the queue.

use overnight_domain::forecast::{AccountQueue, Mark};
use overnight_domain::scheduler::SweptSegment;

use crate::queue::outlook;
use crate::requests::LiveRequest;
use crate::tests::grouping;
use crate::tests::prelude::*;

on_both!(marks_tell_the_order_of_what_waits_and_its_cost);
async fn marks_tell_the_order_of_what_waits_and_its_cost(fixture: &mut Fixture) {
    fixture.insert(&[1, 2, 3, 4, 5, 6, 7]).await;
    fixture.release().await;
    let all = fixture.look().await;
    let first = vec![all[0].clone()];
    leases::take(&fixture.store, fixture.partition(), first, START).await.expect("a lease");
    let other = AccountKey(fixture.account.0 + 1);
    let queue =
        AccountQueue { account: fixture.account, waiting: 6, waiting_cost: 60, leased: 1, leased_cost: 10 };
    let counted = counts::of_model(&fixture.store, fixture.partition().model).await.expect("a count");
    assert_eq!(counted.iter().map(|it| it.queue).collect::<Vec<_>>(), [queue]);
    let places =
        |marks: &[Mark]| -> Vec<_> { marks.iter().map(|mark| (mark.last.clone(), mark.cost)).collect() };
    for (step, rows) in [(1, 100), (1, 4), (1, 6), (2, 2), (2, 4), (2, 100)] {
        let marks =
            outlook::read_marks(&fixture.store, fixture.partition(), step, rows).await.expect("marks");
        let expected = all[1..].chunks(usize::try_from(step).expect("a step"));
        let expected: Vec<_> =
            expected.filter_map(|rows| Some((rows.last()?.clone(), 10.0 * step as f64))).collect();
        assert_eq!(places(&marks), expected, "{step} {rows}");
    }
    let nobody = QueuePartition { account: other, ..fixture.partition() };
    assert_eq!(outlook::marks(&fixture.store, nobody, 0).await.expect("marks"), (vec![], vec![]));
}

on_both!(there_are_so_many_marks_at_most_however_long_the_queue_is);
async fn there_are_so_many_marks_at_most_however_long_the_queue_is(fixture: &mut Fixture) {
    let new: Vec<_> = (0..2_500u32).map(|key| fixture.request(key.to_le_bytes()[0])).collect();
    fixture.insert_all(new).await;
    for _ in 0..3 {
        fixture.release().await;
    }
    let marks = outlook::read_marks(&fixture.store, fixture.partition(), 1, 500).await.expect("marks");
    assert!((1_024..=2_048).contains(&marks.len()), "{}", marks.len());
    let costs: f64 = marks.iter().map(|mark| mark.cost).sum();
    assert_eq!(costs, 25_000.0, "each request is in one");
    assert!(marks.windows(2).all(|pair| pair[0].last < pair[1].last));
}

#[tokio::test]
async fn where_nodes_share_the_queue_the_store_knows_how_far_each_sweep_has_come() {
    let mut fixture = Fixture::on_postgres().await;
    fixture.insert(&[1, 2, 3, 4]).await;
    fixture.release().await;
    let all = fixture.look().await;
    let swept = || outlook::marks(&fixture.store, fixture.partition(), 4);
    assert_eq!(swept().await.expect("marks").1, []);
    let range = KeyRange::default();
    queue::look(&fixture.store, fixture.partition(), ReplicaKey(0), range, 2, START).await.expect("a look");
    let segment = SweptSegment { from: None, cursor: Some(all[1].clone()) };
    assert_eq!(swept().await.expect("marks").1, [segment]);
    fixture.assert_sound().await;
}

on_both!(some_requests_stand_for_a_batch);
async fn some_requests_stand_for_a_batch(fixture: &mut Fixture) {
    let keys: Vec<u8> = (0..100).collect();
    let ids = fixture.insert(&keys).await;
    fixture.release().await;
    let all = fixture.look().await;
    grouping::group(fixture, &ids).await;
    let (batch, _) = {
        let page = batches::page(&fixture.store, fixture.account, Direction::OldestFirst, None)
            .await
            .expect("a page");
        page.rows.into_iter().next().expect("the batch")
    };
    leases::take(&fixture.store, fixture.partition(), all[..4].to_vec(), START).await.expect("a lease");
    let sampled = requests::sample_live(&fixture.store, fixture.account, batch).await.expect("a sample");
    let model = fixture.partition().model;
    let sample = |place: usize| LiveRequest {
        model,
        position: all[place].clone(),
        deadline: START + DAY_MS,
        is_leased: place < 4,
        retry_at: 0,
    };
    let expected: Vec<_> = [0].into_iter().chain((3..100).step_by(4)).map(sample).collect();
    assert_eq!(sampled, expected);
    let find = async |id| requests::find_live(&fixture.store, fixture.account, id).await.expect("a read");
    assert_eq!((find(ids[3]).await, find(ids[4]).await), (Some(sample(3)), Some(sample(4))));
    let lease = fixture.lease().await.swap_remove(0);
    fixture.settle(&lease, START + 2).await;
    assert_eq!(find(ids[4]).await, None, "it has ended");
}
