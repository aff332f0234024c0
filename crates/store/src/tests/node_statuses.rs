//! What is told of nodes and of what is leased to them.

use crate::nodes::statuses;
use crate::tests::prelude::*;

on_both!(a_node_is_told_with_its_leases_and_the_time_since_its_last_heartbeat, no audit);
async fn a_node_is_told_with_its_leases_and_the_time_since_its_last_heartbeat(fixture: &mut Fixture) {
    fixture.insert(&[1, 2, 3]).await;
    fixture.release().await;
    let nodes = statuses::list(&fixture.store, START).await.expect("the nodes");
    assert_eq!(nodes.iter().map(|node| (node.schedules, node.leased)).collect::<Vec<_>>(), [(true, 0)]);
    fixture.lease().await;
    nodes::heartbeat(&fixture.store, START).await.expect("a heartbeat");
    let nodes = statuses::list(&fixture.store, START + 7_000).await.expect("the nodes");
    assert_eq!(nodes[0].leased, 3);
    // On PostgreSQL it is the clock of the database that counts.
    match fixture.store.is_shared() {
        true => assert!((0..60_000).contains(&nodes[0].silent_ms), "{nodes:?}"),
        false => assert_eq!(nodes[0].silent_ms, 7_000),
    }
    assert_eq!(statuses::count_orphaned(&fixture.store).await.expect("a count"), 0);
    fixture
        .store
        .transaction(async |tx| tx.execute(sql("DELETE FROM nodes")).await)
        .await
        .expect("a deletion");
    assert_eq!(statuses::count_orphaned(&fixture.store).await.expect("a count"), 3);
    assert!(statuses::list(&fixture.store, START).await.expect("the nodes").is_empty());
}
