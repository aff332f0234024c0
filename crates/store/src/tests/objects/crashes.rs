//! A process that ends between the put of an object and the commit that names it, or right after that commit.

use std::future::Future;
use std::mem;

use crate::tests::objects::{World, large_body, large_result};
use crate::tests::prelude::*;
use crate::{CrashPoint, ManualWriter};

/// A service whose writer the test controls.
struct Life {
    writer: ManualWriter,
    store: Store,
    /// The previous one.
    closed: Store,
}

impl Life {
    async fn begin(world: &mut World) -> Self {
        world.fixture.store.close().await;
        let (store, writer) = Store::open_manual(&world.fixture.options, START).await.expect("a store");
        let closed = mem::replace(&mut world.fixture.store, store.clone());
        Self { writer, store, closed }
    }

    async fn run<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            if let Some(done) = work.as_mut().now_or_never() {
                return done;
            }
            match self.store.writes_waiting() {
                0 => tokio::task::yield_now().await,
                _ => assert!(self.writer.commit_next().await.expect("a group")),
            }
        }
    }

    /// Begins something, with all that it writes, until an object is there and a write waits; then ends the process with that write.
    async fn end_between<T>(
        mut self,
        world: &mut World,
        work: impl Future<Output = T> + Send + 'static,
        point: CrashPoint,
    ) where
        T: Send + std::fmt::Debug + 'static,
    {
        let work = tokio::spawn(work);
        while world.files().is_empty() || self.store.writes_waiting() == 0 {
            assert!(!work.is_finished(), "it is answered before it is committed");
            match self.store.writes_waiting() {
                0 => tokio::task::yield_now().await,
                _ => assert!(self.writer.commit_next().await.expect("a group")),
            }
        }
        self.writer.crash(point).await.expect("an end");
        work.await.expect("an end");
        world.fixture.store = self.closed;
        drop(self.store);
        world.fixture.store = open(&world.fixture.options).await;
    }
}

on_both!(an_object_that_was_surely_not_put_leaves_no_row);
async fn an_object_that_was_surely_not_put_leaves_no_row(world: &mut World) {
    let mut life = Life::begin(world).await;
    let (store, account) = (life.store.clone(), world.fixture.account);
    let put = {
        let store = store.clone();
        tokio::spawn(async move { store.stored(account, large_body(1), START).await })
    };
    while store.writes_waiting() == 0 {
        assert!(!put.is_finished(), "its row comes first");
        tokio::task::yield_now().await;
    }
    // Another call has found out meanwhile, and tries it again.
    let away = store.objects().store().expect("a folder").hold_away();
    let refused = life.run(put).await.expect("an end").expect_err("it is not called");
    assert!(matches!(refused, StoreError::ObjectStore(ObjectStoreError::NotCalled)), "{refused}");
    assert_eq!((world.waiting().await, world.files().len()), (0, 0));
    drop(away);
}

/// Ends the process at the commit of a create, and checks whether the stored data is there afterwards.
async fn crash_at_create(world: &mut World, point: CrashPoint, is_there: bool) {
    let request = world.large(1);
    let id = request.id;
    let life = Life::begin(world).await;
    let store = life.store.clone();
    life.end_between(world, async move { requests::insert(&store, request).await }, point).await;
    assert_eq!(world.files().len(), 1);
    let found = requests::find_record(world.store(), world.fixture.account, id).await.expect("a read");
    assert_eq!(found.map(|it| it.body), is_there.then(|| large_body(1)));
    world.sweep(START + DAY_MS - 1).await;
    assert_eq!(world.files().len(), 1, "it may be about to be used");
    world.sweep(START + DAY_MS).await;
    assert_eq!((world.files().len(), world.waiting().await), (usize::from(is_there), 0));
}

on_both!(a_process_that_ends_between_the_put_and_the_commit_of_a_create_leaves_nothing);
async fn a_process_that_ends_between_the_put_and_the_commit_of_a_create_leaves_nothing(world: &mut World) {
    crash_at_create(world, CrashPoint::BeforeCommit, false).await;
}

on_both!(a_process_that_ends_after_the_commit_of_a_create_leaves_all_of_it);
async fn a_process_that_ends_after_the_commit_of_a_create_leaves_all_of_it(world: &mut World) {
    crash_at_create(world, CrashPoint::AfterCommit, true).await;
}

/// At the commit of a result.
async fn crash_at_settle(world: &mut World, point: CrashPoint, is_there: bool) {
    let id = world.fixture.insert(&[1]).await[0];
    let mut life = Life::begin(world).await;
    life.run(world.fixture.release()).await;
    let lease = life.run(world.fixture.lease()).await.pop().expect("a lease");
    let settlement = Settlement { body: large_result(), ..world.fixture.settlement(&lease, START + 2) };
    let store = life.store.clone();
    life.end_between(world, async move { settle::settle(&store, settlement).await }, point).await;
    assert_eq!(world.files().len(), 1);
    assert_eq!(world.find(id).await.expect("a read").result, is_there.then(large_result));
    world.sweep(START + DAY_MS + 2).await;
    assert_eq!((world.files().len(), world.waiting().await), (usize::from(is_there), 0));
    nodes::reclaim_stale(world.store(), START, 0).await.expect("a look for the dead");
    world.complete().await;
    assert_eq!(world.find(id).await.expect("a read").result, Some(large_result()), "nothing is lost");
    assert_eq!((world.files().len(), world.waiting().await), (1, 0));
}

on_both!(a_process_that_ends_between_the_put_and_the_commit_of_a_result_runs_its_request_again);
async fn a_process_that_ends_between_the_put_and_the_commit_of_a_result_runs_its_request_again(
    world: &mut World,
) {
    crash_at_settle(world, CrashPoint::BeforeCommit, false).await;
}

on_both!(a_process_that_ends_after_the_commit_of_a_result_has_it);
async fn a_process_that_ends_after_the_commit_of_a_result_has_it(world: &mut World) {
    crash_at_settle(world, CrashPoint::AfterCommit, true).await;
}
