//! Several processes on one PostgreSQL.

use overnight_testkit::postgres::{FaultProxy, Pooler};

use crate::nodes::hints;
use crate::nodes::replicas::{self, Claim, Claimed};
use crate::queue::settle::settle;
use crate::tests::grouping;
use crate::tests::prelude::*;

#[tokio::test]
async fn two_nodes_never_hold_one_request() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    fixture.insert(&(0..64).collect::<Vec<_>>()).await;
    fixture.release().await;
    let positions = fixture.look().await;
    let take = |store| leases::take(store, fixture.partition(), positions.clone(), START);
    let (mine, its) = tokio::join!(take(&fixture.store), take(&other));
    let (mine, its) = (mine.expect("a lease"), its.expect("a lease"));
    assert_eq!(mine.leases.len() + its.leases.len(), 64);
    assert_eq!(mine.gone.len() + its.gone.len(), 64);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_node_that_slept_through_its_lease_finds_its_writes_refused() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    let (id, slept) = fixture.leased_one(1).await;
    assert_eq!(nodes::reclaim_stale(&other, START, 60_000).await.expect("a look"), 0);
    assert_eq!(nodes::reclaim_stale(&other, START, 0).await.expect("a look"), 1);
    assert!(!fixture.settle(&slept, START + 2).await);
    let positions = fixture.look().await;
    let lease =
        leases::take(&other, fixture.partition(), positions, START).await.expect("a lease").leases.remove(0);
    assert!(!fixture.settle(&slept, START + 3).await);
    nodes::heartbeat(&fixture.store, START).await.expect("the sleeper wakes");
    assert!(!fixture.settle(&slept, START + 4).await);
    assert!(settle(&other, fixture.settlement(&lease, START + 5)).await.expect("a settle"));
    assert_eq!(fixture.status(id).await, RequestStatus::Completed);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_heartbeat_waits_for_no_write() {
    let mut fixture = Fixture::on_postgres().await;
    let mut holder = fixture.store.connect().await.expect("a connection");
    holder.execute_all("BEGIN; SELECT 1 FROM accounts FOR UPDATE").await.expect("the lock of every account");
    let request = fixture.request(1);
    let mut create = pin!(requests::insert(&fixture.store, request));
    assert!(create.as_mut().now_or_never().is_none());
    while fixture.store.writes_waiting() > 0 {
        tokio::task::yield_now().await;
    }
    let beat = nodes::heartbeat(&fixture.store, START);
    tokio::time::timeout(Duration::from_secs(20), beat).await.expect("beside the writer").expect("a beat");
    assert!(create.as_mut().now_or_never().is_none(), "it waits for the lock");
    holder.execute_all("COMMIT").await.expect("an end");
    create.await.expect("an insert");
    holder.close().await.expect("an end");
}

#[tokio::test]
async fn replicas_are_driven_by_one_node_each_and_shared_out_evenly() {
    let (fixture, other, _folder) = Fixture::with_node().await;
    let claim = async |store, giving_up: &[&str]| {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let giving_up = giving_up.iter().map(|name| (*name).to_owned()).collect();
        replicas::claim(store, Claim { names, giving_up, left: Vec::new(), now: START })
            .await
            .expect("a claim")
    };
    let held = |names: &[&str], share| Claimed { held: names.iter().map(|it| (*it).into()).collect(), share };
    assert_eq!(claim(&fixture.store, &[]).await, held(&["a", "b", "c"], 3));
    assert_eq!(claim(&other, &[]).await, held(&[], 2), "the first is to give one up");
    assert_eq!(claim(&fixture.store, &["c"]).await, held(&["a", "b"], 2));
    assert_eq!(claim(&other, &[]).await, held(&["c"], 2));
    nodes::leave(&fixture.store).await.expect("a farewell");
    assert_eq!(claim(&other, &[]).await, held(&["a", "b", "c"], 3));
    assert_eq!(claim(&fixture.store, &[]).await, held(&[], 0), "the dead claim nothing");
    nodes::heartbeat(&fixture.store, START).await.expect("a heartbeat");
    assert_eq!(claim(&fixture.store, &[]).await, held(&[], 2));
    assert_eq!(claim(&other, &["c"]).await, held(&["a", "b"], 2));
    assert_eq!(claim(&fixture.store, &[]).await, held(&["c"], 2));
}

#[tokio::test]
async fn a_replica_that_one_node_alone_knows_is_that_nodes() {
    let (fixture, other, _folder) = Fixture::with_node().await;
    let claim = async |store, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        replicas::claim(store, Claim { names, giving_up: Vec::new(), left: Vec::new(), now: START })
            .await
            .expect("a claim")
            .held
    };
    assert_eq!(claim(&fixture.store, &["a", "b"]).await, ["a", "b"]);
    assert_eq!(claim(&other, &["c", "d"]).await, ["c", "d"]);
    assert_eq!(claim(&fixture.store, &["a", "b"]).await, ["a", "b"]);
}

#[tokio::test]
async fn a_replica_that_a_node_knows_no_more_is_free_for_others() {
    let (fixture, other, _folder) = Fixture::with_node().await;
    let claim = async |store, names: &[&str], left: &[&str]| {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let claim = Claim { names: texts(names), giving_up: Vec::new(), left: texts(left), now: START };
        replicas::claim(store, claim).await.expect("a claim")
    };
    let held = |names: &[&str], share| Claimed { held: names.iter().map(|it| (*it).into()).collect(), share };
    assert_eq!(claim(&fixture.store, &["a", "b"], &[]).await, held(&["a", "b"], 2));
    assert_eq!(claim(&other, &["a"], &[]).await, held(&[], 1), "both could drive it, and the first does");
    assert_eq!(claim(&fixture.store, &["b"], &["a"]).await, held(&["b"], 1));
    assert_eq!(claim(&other, &["a"], &[]).await, held(&["a"], 1), "the other is the only one that could");
    assert_eq!(claim(&fixture.store, &["a", "b"], &[]).await, held(&["b"], 2), "it comes back, and is taken");
}

#[tokio::test]
async fn a_node_learns_which_of_its_leases_others_ended() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    let (ids, held) = fixture.leased(&[1, 2, 3]).await;
    let lost = async || leases::list_lost(&fixture.store, &held).await.expect("a look");
    assert!(lost().await.is_empty());
    requests::cancel(&other, fixture.account, ids[1], START).await.expect("a cancel");
    assert_eq!(lost().await, held[1..2]);
    nodes::reclaim_stale(&other, START, 0).await.expect("a look for the dead");
    assert_eq!(lost().await.len(), 3);
}

#[tokio::test]
async fn a_removed_node_leases_nothing_before_its_next_heartbeat() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    fixture.insert(&[1]).await;
    fixture.release().await;
    nodes::reclaim_stale(&other, START, 0).await.expect("a look for the dead");
    assert!(fixture.lease().await.is_empty());
    nodes::heartbeat(&fixture.store, START).await.expect("a heartbeat");
    assert_eq!(fixture.lease().await.len(), 1);
    fixture.assert_sound().await;
}

/// Requests are grouped, released, leased, settled and cancelled by two nodes at once: each batch's counters are right
/// at the end, whoever came first where.
#[tokio::test]
async fn counters_are_right_whoever_writes_at_the_same_time() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    for _ in 0..20 {
        let ids = fixture.insert(&(0..24).collect::<Vec<_>>()).await;
        let batch = grouping::new_batch(&mut fixture, &ids).await;
        let stores = [&fixture.store, &other];
        let work = async |store| {
            let released = releases::release(store, START, 1_000).await;
            let positions = fixture.look().await;
            let leased = leases::take(store, fixture.partition(), positions, START + 1).await?;
            let ends = leased.leases.iter().map(|lease| settle(store, fixture.settlement(lease, START + 2)));
            join_all(ends).await.into_iter().collect::<Result<Vec<_>, _>>()?;
            released.map(drop)
        };
        let cancels = ids
            .iter()
            .step_by(3)
            .enumerate()
            .map(|(place, id)| requests::cancel(stores[place % 2], fixture.account, *id, START + 3));
        let (first, second, created, cancelled) = tokio::join!(
            work(&fixture.store),
            work(&other),
            batches::insert(&other, batch),
            join_all(cancels)
        );
        first.and(second).expect("the work of both");
        created.expect("a batch");
        assert!(cancelled.iter().all(Result::is_ok), "{cancelled:?}");
        fixture.assert_sound().await;
    }
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_done_once() {
    let proxy = FaultProxy::start(Cluster::shared()).expect("a proxy");
    let mut fixture = Fixture::through(&proxy).await;
    let mut ids = Vec::new();
    for round in 0..6 {
        if round % 2 == 0 {
            proxy.drop_commit_answers(1);
        } else {
            proxy.cut_before_commit(1);
        }
        ids.extend(fixture.insert(&[round]).await);
    }
    let dropped = proxy.dropped();
    assert_eq!((dropped.answers, dropped.commits), (3, 3));
    for id in ids {
        assert_eq!(fixture.status(id).await, RequestStatus::Registered);
    }
    fixture.release().await;
    assert_eq!(fixture.look().await.len(), 6);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_database_that_goes_away_and_comes_back_is_used_again() {
    let proxy = FaultProxy::start(Cluster::shared()).expect("a proxy");
    let mut fixture = Fixture::through(&proxy).await;
    fixture.insert(&[1]).await;
    let request = fixture.request(2);
    proxy.refuse(true).expect("a closed port");
    proxy.cut_all();
    let refused = requests::insert(&fixture.store, request).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(fixture.store.refusing().is_some());
    proxy.refuse(false).expect("an open port");
    let request = fixture.request(3);
    let taken = async {
        while requests::insert(&fixture.store, request.clone()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), taken).await.expect("the store takes writes again");
    fixture.release().await;
    assert_eq!(fixture.look().await.len(), 2);
    fixture.assert_sound().await;
}

/// Few servers are lent to many connections: what one keeps between its transactions, another would find.
#[tokio::test]
async fn a_pooler_may_lend_a_server_for_one_transaction_at_a_time() {
    let Some(pooler) = Pooler::start(Cluster::shared(), 2).expect("a pooler") else {
        eprintln!("skipped: PgBouncer is not installed");
        return;
    };
    let mut fixture = Fixture::pooled(&pooler).await;
    let unannounced = fixture.options.server_url.as_deref().and_then(|url| url.split('?').next());
    let unannounced = StoreOptions { server_url: unannounced.map(str::to_owned), ..fixture.options.clone() };
    let open = || Store::open_beside(&unannounced);
    let outcomes = [open().await, open().await, open().await];
    assert!(outcomes.iter().any(|it| matches!(it, Err(StoreError::Pooled))), "statements were not lost");
    let (other, _folder) = fixture.node().await;
    let ids = fixture.insert(&(0..32).collect::<Vec<_>>()).await;
    fixture.release().await;
    let positions = fixture.look().await;
    let take = |store| leases::take(store, fixture.partition(), positions.clone(), START);
    let (mine, its) = tokio::join!(take(&fixture.store), take(&other));
    let leases = [mine.expect("a lease").leases, its.expect("a lease").leases];
    let ends = leases.iter().zip([&fixture.store, &other]).flat_map(|(leases, store)| {
        leases.iter().map(|lease| settle(store, fixture.settlement(lease, START + 2))).collect::<Vec<_>>()
    });
    assert!(join_all(ends).await.into_iter().all(|settled| settled.expect("a settle")));
    let statuses = join_all(ids.iter().map(|id| fixture.status(*id))).await;
    assert!(statuses.iter().all(|status| *status == RequestStatus::Completed), "{statuses:?}");
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_hint_reaches_the_other_nodes() {
    let (fixture, other, _folder) = Fixture::with_node().await;
    let mut heard = hints::listen(&other).await.expect("an ear").expect("hints on a PostgreSQL");
    hints::give(&fixture.store).await.expect("a hint");
    tokio::time::timeout(Duration::from_secs(20), heard.next()).await.expect("soon").expect("a hint");
    let alone = Fixture::on_sqlite().await;
    assert!(hints::listen(&alone.store).await.expect("no ear").is_none());
}
