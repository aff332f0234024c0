//! What an account asks for in transactions and in intake leaves another its turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use overnight_domain::webhooks::signature::SigningSecret;

use crate::store::identity::accounts;
use crate::store::outbox::webhook_secrets;
use crate::store::tests::{Fixture, START, new_account};

on_both!(an_account_waits_for_a_few_transactions_of_another_however_many_it_asks_for);
async fn an_account_waits_for_a_few_transactions_of_another_however_many_it_asks_for(fixture: Fixture) {
    const GREEDY: usize = 200;
    let other = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account").key;
    let done = Arc::new(AtomicUsize::new(0));
    let rotate = |account, number: usize| {
        let (store, done) = (fixture.store.clone(), Arc::clone(&done));
        async move {
            let secret = SigningSecret::new([u8::try_from(number % 251).expect("a byte"); 32]);
            webhook_secrets::rotate(&store, account, &secret, START, 0).await.expect("a rotation");
            done.fetch_add(1, Ordering::Relaxed)
        }
    };
    let greedy = join_all((0..GREEDY).map(|number| rotate(fixture.account, number)));
    // It asks last, and is done before most of the others: how many were done before it asked is chance.
    let (_, before) = join(greedy, rotate(other, 1)).await;
    assert!(before < GREEDY / 2, "{before} of the other account's {GREEDY} were done first");
}

on_both!(a_caller_that_leaves_keeps_its_turn_until_what_it_asked_for_is_done);
async fn a_caller_that_leaves_keeps_its_turn_until_what_it_asked_for_is_done(fixture: Fixture) {
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
