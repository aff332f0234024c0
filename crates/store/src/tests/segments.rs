//! The segments in which nodes sweep a queue that they share.

use crate::tests::prelude::*;

/// The next run of a replica's segment, by its keys.
async fn look(fixture: &Fixture, store: &Store, replica: u32, limit: u32) -> (Vec<u8>, bool) {
    look_at(fixture, store, replica, limit, START).await
}

async fn look_at(fixture: &Fixture, store: &Store, replica: u32, limit: u32, now: i64) -> (Vec<u8>, bool) {
    let (range, replica) = (KeyRange::default(), ReplicaKey(replica));
    let (run, reached_end) =
        queue::look(store, fixture.partition(), replica, range, limit, now).await.expect("a look");
    (run.iter().map(|it| it.position.sort_key.as_bytes()[0]).collect(), reached_end)
}

async fn lease(fixture: &Fixture, range: std::ops::RangeInclusive<u8>) {
    let mut positions = fixture.look().await;
    positions.retain(|it| range.contains(&it.sort_key.as_bytes()[0]));
    leases::take(&fixture.store, fixture.partition(), positions, START).await.expect("a lease");
}

fn keys(range: std::ops::RangeInclusive<u8>) -> Vec<u8> {
    range.collect()
}

#[tokio::test]
async fn nodes_sweep_segments_of_their_own_and_take_half_of_the_longest_rest() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    fixture.insert(&keys(1..=40)).await;
    fixture.release().await;
    assert_eq!(look(&fixture, &fixture.store, 1, 4).await, (keys(1..=4), false));
    assert_eq!(look(&fixture, &other, 1, 4).await, (keys(23..=26), false), "half of what lies ahead");
    let count = |now| deadlines::count(&fixture.store, fixture.partition(), 1, now);
    assert_eq!(count(START).await.expect("a count").1, 2, "segments that somebody sweeps");
    assert_eq!(count(START + 120_001).await.expect("a count").1, 0, "they are left");
    assert_eq!(look(&fixture, &fixture.store, 1, 9).await, (keys(5..=13), false), "each goes on in its own");
    assert_eq!(look(&fixture, &other, 1, 14).await, (keys(27..=40), false));
    assert_eq!(look(&fixture, &fixture.store, 2, 4).await, (keys(18..=21), false), "half again");
    assert_eq!(look(&fixture, &fixture.store, 1, 99).await, (keys(14..=17), true));
    assert_eq!(look(&fixture, &fixture.store, 1, 99).await, (keys(1..=17), true), "it wraps at its end");
}

#[tokio::test]
async fn an_empty_segment_joins_its_neighbour_and_an_end_is_told_only_where_nothing_waits() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    fixture.insert(&keys(1..=20)).await;
    fixture.release().await;
    look(&fixture, &fixture.store, 1, 2).await;
    assert_eq!(look(&fixture, &other, 1, 2).await.0, keys(12..=13));
    // The second half is all under way, so its node takes from the first, whole: it is short enough.
    lease(&fixture, 12..=20).await;
    assert_eq!(look(&fixture, &other, 1, 11).await.0, keys(3..=11), "the sweep goes on at its cursor");
    lease(&fixture, 3..=11).await;
    assert_eq!(look(&fixture, &fixture.store, 7, 11).await.0, keys(1..=2), "what lay before it waits still");
    lease(&fixture, 1..=2).await;
    assert_eq!(look(&fixture, &other, 1, 11).await, (Vec::new(), true));
    fixture.insert(&[15, 16]).await;
    fixture.release().await;
    assert_eq!(queue::waiting_partitions(&other, START).await.expect("a poll"), [fixture.partition()]);
    assert_eq!(look(&fixture, &other, 1, 9).await, (vec![15, 16], true));
}

/// Everything that a replica finds in a few scans, without taking any of it.
async fn swept(fixture: &Fixture, store: &Store, replica: u32, now: i64) -> Vec<u8> {
    let mut seen = Vec::new();
    for _ in 0..12 {
        seen.extend(look_at(fixture, store, replica, 4, now).await.0);
    }
    seen.sort_unstable();
    seen.dedup();
    seen
}

#[tokio::test]
async fn what_is_left_is_swept_by_its_neighbours_though_they_have_work_of_their_own() {
    const LATER: i64 = START + 200_000;
    for left in [1, 2] {
        let mut fixture = Fixture::on_postgres().await;
        fixture.insert(&keys(1..=24)).await;
        fixture.release().await;
        // Replica 1 has the first half, replica 2 the second; one of them asks no more, and the other is never done.
        look(&fixture, &fixture.store, 1, 2).await;
        look(&fixture, &fixture.store, 2, 2).await;
        let other = 3 - left;
        assert!(swept(&fixture, &fixture.store, other, START).await.len() < 24, "it may only be busy");
        assert_eq!(swept(&fixture, &fixture.store, other, LATER).await, keys(1..=24), "{left} has left");
    }
}

#[tokio::test]
async fn what_a_node_leaves_behind_is_taken_whole() {
    let mut fixture = Fixture::on_postgres().await;
    fixture.insert(&keys(1..=24)).await;
    fixture.release().await;
    look(&fixture, &fixture.store, 1, 2).await;
    let (other, _folder) = fixture.node().await;
    nodes::leave(&fixture.store).await.expect("a farewell");
    assert_eq!(look(&fixture, &other, 1, 4).await.0, keys(3..=6), "no part of it is left to nobody");
    assert_eq!(swept(&fixture, &other, 1, START).await, keys(1..=24));
}

#[tokio::test]
async fn a_replica_gives_up_what_it_has_worked_off_and_goes_on_in_what_it_took_instead() {
    let mut fixture = Fixture::on_postgres().await;
    fixture.insert(&keys(1..=40)).await;
    fixture.release().await;
    look(&fixture, &fixture.store, 1, 4).await;
    assert_eq!(look(&fixture, &fixture.store, 2, 4).await.0, keys(23..=26));
    lease(&fixture, 1..=22).await;
    // The first is all under way, so its replica takes half of what lies ahead of the other.
    assert_eq!(look(&fixture, &fixture.store, 1, 4).await.0, keys(34..=37));
    let begins = async || {
        let swept = segments::swept(&fixture.store, fixture.partition()).await.expect("the segments");
        let begin = |from: Option<Position>| from.map(|it| it.sort_key.as_bytes()[0]);
        swept.into_iter().map(|it| begin(it.from)).collect::<Vec<_>>()
    };
    assert_eq!(begins().await, [None, Some(22), Some(33)], "the first one stays, whoever sweeps");
    assert_eq!(look(&fixture, &fixture.store, 1, 9).await.0, keys(38..=40), "it goes on in its own");
    assert_eq!(look(&fixture, &fixture.store, 2, 9).await.0, keys(27..=33));
    // What is worked off becomes part of the one before, whoever takes from another.
    lease(&fixture, 23..=33).await;
    assert_eq!(look(&fixture, &fixture.store, 3, 4).await.0, keys(37..=40));
    assert_eq!(begins().await, [None, Some(33), Some(36)]);
    lease(&fixture, 34..=40).await;
    assert_eq!(look(&fixture, &fixture.store, 3, 4).await, (Vec::new(), true));
    assert_eq!(begins().await, [None, Some(33), Some(36)], "where nothing waits there is nothing to take");
}

#[tokio::test]
async fn a_sweep_goes_on_from_its_end_into_a_segment_that_is_left() {
    let mut fixture = Fixture::on_postgres().await;
    fixture.insert(&keys(1..=24)).await;
    fixture.release().await;
    look(&fixture, &fixture.store, 1, 2).await;
    assert_eq!(look(&fixture, &fixture.store, 2, 2).await.0, keys(14..=15));
    assert_eq!(look(&fixture, &fixture.store, 1, 99).await.0, keys(3..=13));
    assert_eq!(look_at(&fixture, &fixture.store, 1, 4, START + 200_000).await.0, keys(14..=17));
}
