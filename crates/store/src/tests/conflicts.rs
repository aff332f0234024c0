//! What another node writes in the same moment: a group is tried again, and what was read before that is looked at again.

use crate::queue::releases::RELEASE_ON_POSTGRES;
use crate::tests::grouping::{group, new_batch};
use crate::tests::prelude::*;

/// Inserts of requests tried since the trigger exists.
async fn tries(holder: &mut Connection) -> i64 {
    let row = holder.fetch_one(sql("SELECT last_value FROM tries")).await.expect("a read");
    row.get("last_value").expect("a number")
}

/// As soon as a write waits for a lock that `holder` has.
async fn until_one_waits(holder: &mut Connection) {
    let text = "SELECT count(*) AS count FROM pg_locks
        WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))";
    let waits = async {
        while holder.fetch_one(sql(text)).await.expect("a read").get::<i64>("count").expect("a number") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waits).await.expect("a write waits");
}

#[tokio::test]
async fn a_write_that_meets_another_nodes_is_tried_five_times_in_its_group_and_five_times_alone() {
    for (conflicts, outcome) in [(4, 5), (9, 10), (10, 10)] {
        let mut fixture = Fixture::on_postgres().await;
        let mut holder = fixture.store.connect().await.expect("a connection");
        let trigger = "CREATE SEQUENCE tries; CREATE TABLE conflicts (count bigint);
            CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('tries') <= (SELECT count FROM conflicts) THEN
                    RAISE 'a conflict' USING ERRCODE = 'serialization_failure';
                END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER conflict BEFORE INSERT ON requests EXECUTE FUNCTION conflict()";
        holder.execute_all(trigger).await.expect("a trigger");
        let count = sql("INSERT INTO conflicts VALUES (?)").bind(i64::from(conflicts));
        holder.execute(count).await.expect("a count");
        let request = fixture.request(1);
        let inserted = requests::insert(&fixture.store, request).await;
        assert_eq!(inserted.is_ok(), conflicts < 10, "{conflicts}: {inserted:?}");
        assert!(matches!(inserted, Ok(_) | Err(StoreError::Unavailable(_))), "{inserted:?}");
        assert_eq!(tries(&mut holder).await, outcome, "{conflicts}");
        assert_eq!(fixture.store.refusing(), None, "others are written");
        holder.close().await.expect("an end");
    }
}

#[tokio::test]
async fn a_store_whose_writes_wait_for_locks_in_vain_is_not_ready_and_still_tries() {
    let mut fixture = Fixture::on_postgres().await;
    let mut holder = fixture.store.connect().await.expect("a connection");
    let trigger = "CREATE SEQUENCE tries;
        CREATE FUNCTION lock_in_vain() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM nextval('tries');
            RAISE 'canceling statement due to lock timeout' USING ERRCODE = 'lock_not_available';
        END $$;
        CREATE TRIGGER lock_in_vain BEFORE INSERT ON requests EXECUTE FUNCTION lock_in_vain()";
    holder.execute_all(trigger).await.expect("a trigger");
    let all = [1, 2, 3, 4, 5].map(|key| fixture.request(key));
    let inserted = join_all(all.clone().map(|request| requests::insert(&fixture.store, request))).await;
    assert!(inserted.iter().all(|it| matches!(it, Err(StoreError::Unavailable(_)))), "{inserted:?}");
    // Two groups at most: each is tried five times, and two of its members once.
    assert!(tries(&mut holder).await <= 14);
    assert!(fixture.store.outage().await.is_some_and(|why| why.contains("others")));
    assert_eq!(fixture.store.refusing(), None, "more are tried");
    holder.execute_all("DROP TRIGGER lock_in_vain ON requests").await.expect("an end");
    fixture.put(all[0].clone()).await;
    assert_eq!(fixture.store.outage().await, None);
    holder.close().await.expect("an end");
}

#[tokio::test]
async fn a_batch_counts_what_another_node_leases_in_that_moment_as_in_progress() {
    let mut fixture = Fixture::on_postgres().await;
    let ids = fixture.insert(&[1, 2]).await;
    fixture.release().await;
    let batch = new_batch(&mut fixture, &ids).await;
    let mut other = fixture.store.connect().await.expect("a connection");
    let lease = "BEGIN; UPDATE queue SET phase = 1, node = (SELECT min(seq) FROM nodes), lease_epoch = 1,
        in_progress_at = 1750000000000 WHERE sort_key = '\\x01'";
    other.execute_all(lease).await.expect("a lease");
    let mut insert = pin!(batches::insert(&fixture.store, batch));
    assert!(insert.as_mut().now_or_never().is_none());
    until_one_waits(&mut other).await;
    other.execute_all("COMMIT").await.expect("an end");
    let outcome = insert.await.expect("a batch");
    let NewBatchOutcome::Created(record) = outcome else { panic!("{outcome:?}") };
    let expected = Counters { registered: 1, in_progress: 1, ..Counters::default() };
    assert_eq!(record.counters, expected);
    fixture.assert_sound().await;
    other.close().await.expect("an end");
}

#[tokio::test]
async fn a_cancel_of_a_batch_ends_what_another_node_releases_in_that_moment() {
    let mut fixture = Fixture::on_postgres().await;
    let ids = fixture.insert(&[1, 2]).await;
    let NewBatchOutcome::Created(record) = group(&mut fixture, &ids).await else { panic!("no batch") };
    let marked = batches::cancel(&fixture.store, fixture.account, record.id, START).await.expect("a mark");
    let CancelBatchOutcome::Marked { batch } = marked else { panic!("{marked:?}") };
    let mut other = fixture.store.connect().await.expect("a connection");
    other.execute_all("BEGIN").await.expect("a transaction");
    let release = RELEASE_ON_POSTGRES.bind(START).bind(1i64).bind(START);
    assert_eq!(other.fetch(release).await.expect("a release").len(), 1);
    let mut cancel = pin!(batches::cancel_chunk(&fixture.store, batch, None, START));
    assert!(cancel.as_mut().now_or_never().is_none());
    until_one_waits(&mut other).await;
    other.execute_all("COMMIT").await.expect("an end");
    assert_eq!(cancel.await.expect("a cancel").ended.len(), 2);
    for id in ids {
        assert_eq!(fixture.status(id).await, RequestStatus::Cancelled);
    }
    fixture.assert_sound().await;
    other.close().await.expect("an end");
}
