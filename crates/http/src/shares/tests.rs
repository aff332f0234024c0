use futures_util::FutureExt;
use overnight_config::{Config, Sources};

use super::*;

const MEBIBYTE: usize = 1 << 20;
const ONE: Client = Client::Account(AccountKey(1));
const OTHER: Client = Client::Account(AccountKey(2));

fn shares() -> Shares {
    Shares::new(ConnectionLimits {
        max: 9,
        per_address: 9,
        calls_per_account: 2,
        followers_per_account: 1,
        waiting_per_account: 3,
        response_buffer_bytes: 16 * MEBIBYTE,
        request_buffer_bytes: 16 * MEBIBYTE,
        ..Config::load(&Sources::default()).expect("the defaults").connections
    })
}

#[test]
fn the_calls_of_one_account_leave_those_of_another() {
    let shares = shares();
    let calls = [shares.begin_call(ONE), shares.begin_call(ONE)];
    assert!(calls.iter().all(Option::is_some) && shares.begin_call(ONE).is_none());
    assert!(shares.begin_call(OTHER).is_some());
    drop(calls);
    assert!(shares.begin_call(ONE).is_some());
    assert!(lock(&shares.held).is_empty());
}

#[test]
fn a_call_that_waits_leaves_its_place_to_an_ordinary_one() {
    let shares = shares();
    let begin = |client| {
        let call = shares.begin_call(client).expect("a call");
        shares.begin_waiting(&call).map(|_| call)
    };
    let waiting: Vec<_> = (0..3).map(|_| begin(ONE)).collect();
    assert!(waiting.iter().all(Option::is_some) && begin(ONE).is_none() && begin(OTHER).is_some());
    let ordinary = [shares.begin_call(ONE), shares.begin_call(ONE)];
    assert!(ordinary.iter().all(Option::is_some) && shares.begin_call(ONE).is_none());
    drop((waiting, ordinary));
    assert!(begin(ONE).is_some() && lock(&shares.held).is_empty());
}

#[test]
fn those_who_follow_have_a_share_apart_from_calls() {
    let shares = shares();
    let calls = [shares.begin_call(ONE), shares.begin_call(ONE)].map(|call| call.expect("a call"));
    assert!(shares.begin_following(&calls[0]).is_some() && shares.begin_following(&calls[1]).is_none());
    let other = shares.begin_call(OTHER).expect("a call");
    assert!(shares.begin_following(&other).is_some() && shares.begin_waiting(&calls[1]).is_some());
    let ordinary = [shares.begin_call(ONE), shares.begin_call(ONE)];
    assert!(ordinary.iter().all(Option::is_some) && calls[0].is_of_account());
    drop((calls, ordinary));
    let call = shares.begin_call(ONE).expect("a call");
    assert!(shares.begin_following(&call).is_some());
}

#[test]
fn an_account_holds_a_quarter_of_the_memory_at_most() {
    let shares = shares();
    let mut first = shares.try_memory(Buffer::Responses, ONE, 3 * MEBIBYTE).expect("memory");
    assert!(shares.try_memory(Buffer::Responses, ONE, 2 * MEBIBYTE).is_none());
    assert!(shares.try_memory(Buffer::Responses, OTHER, 2 * MEBIBYTE).is_some());
    first.correct(MEBIBYTE);
    let second = shares.try_memory(Buffer::Responses, ONE, 2 * MEBIBYTE).expect("memory");
    // At most the share, however much is requested.
    first.correct(99 * MEBIBYTE);
    assert!(
        shares.try_memory(Buffer::Responses, ONE, 1).is_none()
            && shares.try_memory(Buffer::Responses, OTHER, 4 * MEBIBYTE).is_some()
    );
    drop((first, second));
    assert!(shares.try_memory(Buffer::Responses, ONE, 99 * MEBIBYTE).is_some());
}

#[tokio::test]
async fn all_accounts_hold_no_more_than_the_memory_and_are_served_in_order() {
    let shares = shares();
    let of = |account| shares.memory(Buffer::Responses, Client::Account(AccountKey(account)), 4 * MEBIBYTE);
    let mut held = Vec::new();
    for account in 0..4 {
        held.push(of(account).await.expect("memory"));
    }
    let (mut fifth, mut sixth) = (Box::pin(of(5)), Box::pin(of(6)));
    assert!(fifth.as_mut().now_or_never().is_none() && sixth.as_mut().now_or_never().is_none());
    held.pop();
    assert!(sixth.as_mut().now_or_never().is_none() && fifth.as_mut().now_or_never().is_some());
}
