//! What an account asks for in transactions, in intake and in long reads leaves another its turn.

use std::sync::atomic::AtomicUsize;

use tokio::sync::Semaphore;

use crate::tests::prelude::*;

/// Polls every task that has been spawned at least once.
async fn let_all_begin() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

on_both!(an_account_waits_for_a_few_transactions_of_another_however_many_it_asks_for);
async fn an_account_waits_for_a_few_transactions_of_another_however_many_it_asks_for(fixture: &mut Fixture) {
    const GREEDY: u8 = 200;
    let other = fixture.other_account().await;
    let done = Arc::new(AtomicUsize::new(0));
    let rotate = |account, number: u8| {
        let (store, done) = (fixture.store.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            let secret = SigningSecret::new([number; 32]);
            webhook_secrets::rotate(&store, account, &secret, START, 0).await.expect("a rotation");
            done.fetch_add(1, Ordering::Relaxed)
        })
    };
    // While these last, everybody lines up.
    let gate = Arc::new(Semaphore::new(0));
    let first = [(); 2].map(|()| {
        let (store, gate, account) = (fixture.store.clone(), Arc::clone(&gate), fixture.account);
        let wait = async move |_: &mut Tx<'_>| {
            drop(gate.acquire().await);
            Ok(())
        };
        tokio::spawn(async move { store.transaction_of(account, wait).await })
    });
    let_all_begin().await;
    let greedy: Vec<_> = (0..GREEDY).map(|number| rotate(fixture.account, number)).collect();
    let_all_begin().await;
    let honest = rotate(other, 1);
    let_all_begin().await;
    assert_eq!(done.load(Ordering::Relaxed), 0);
    gate.add_permits(2);
    let before = honest.await.expect("a task");
    assert!(before <= 8, "{before} of the other account's {GREEDY} were done first");
    for outcome in join_all(greedy).await {
        outcome.expect("a task");
    }
    for outcome in join_all(first).await {
        outcome.expect("a task").expect("a transaction");
    }
}

on_both!(a_caller_that_leaves_keeps_its_turn_until_what_it_asked_for_is_done);
async fn a_caller_that_leaves_keeps_its_turn_until_what_it_asked_for_is_done(fixture: &mut Fixture) {
    const LEFT: u8 = 100;
    let rotate = |number: u8| {
        let (store, account) = (fixture.store.clone(), fixture.account);
        async move { webhook_secrets::rotate(&store, account, &SigningSecret::new([number; 32]), START, 0).await }
    };
    for number in 0..LEFT {
        // Polled once: it may be in line by then.
        let _ = rotate(number).now_or_never();
        assert!(fixture.store.writes_waiting() <= 2, "{} wait", fixture.store.writes_waiting());
    }
    rotate(LEFT).await.expect("a rotation");
}

on_both!(long_reads_have_half_of_the_readers_and_leave_the_others_to_short_ones);
async fn long_reads_have_half_of_the_readers_and_leave_the_others_to_short_ones(fixture: &mut Fixture) {
    fixture.options.readers = 8;
    fixture.restart().await;
    let other = fixture.other_account().await;
    let store = &fixture.store;
    let take = |account| {
        let turn = async move { store.long_readers(account).turn().await.expect("a turn") };
        turn.now_or_never()
    };
    let held: Vec<_> = [fixture.account; 4].into_iter().map_while(take).collect();
    assert_eq!(held.len(), 4, "one account may have them all while nobody else asks");
    assert!(take(other).is_none(), "it waits for one of these");
    drop(held);
    assert!(take(other).is_some());
}
