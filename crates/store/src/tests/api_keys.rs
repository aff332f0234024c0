//! Keys, and when they were used.

use crate::identity::api_keys::{ENDED_LISTED_MAX, USABLE_MAX};
use crate::tests::audit_log::new_key;
use crate::tests::prelude::*;

on_both!(the_latest_use_of_a_key_is_kept);
async fn the_latest_use_of_a_key_is_kept(fixture: &mut Fixture) {
    for number in 1..=3u8 {
        let key = NewApiKey { sha256: [number; 32], ..key(number.into(), None) };
        api_keys::insert(&fixture.store, fixture.account, &key).await.expect("a key");
    }
    let note = async |uses: &[(i64, i64)]| {
        api_keys::note_uses(&fixture.store, uses.to_vec()).await.expect("a note");
        let listed = api_keys::list(&fixture.store, fixture.account, START).await.expect("keys");
        listed.keys.into_iter().map(|key| key.last_used_at).collect::<Vec<_>>()
    };
    assert_eq!(note(&[]).await, [None, None, None]);
    assert_eq!(note(&[(3, 5), (1, 9), (8, 9)]).await, [Some(9), None, Some(5)]);
    assert_eq!(note(&[(1, 8), (3, 6)]).await, [Some(9), None, Some(6)]);
    let holder = api_keys::find_holder(&fixture.store, &[3; 32]).await.expect("a read").expect("a holder");
    assert_eq!((holder.key, holder.last_used_at), (3, Some(6)));
    let many: Vec<_> = (1..=300).map(|id| (id, 10)).collect();
    assert_eq!(note(&many).await, [Some(10); 3]);
}

on_both!(a_key_keeps_its_scope);
async fn a_key_keeps_its_scope(fixture: &mut Fixture) {
    for (number, scope) in (1u8..).zip(KeyScope::ALL) {
        let new = NewApiKey { scope, sha256: [number; 32], ..key(number.into(), None) };
        assert!(api_keys::insert(&fixture.store, fixture.account, &new).await.expect("a key"));
        let holder = api_keys::find_holder(&fixture.store, &new.sha256).await.expect("a read");
        assert_eq!(holder.expect("a holder").scope, scope);
    }
    let listed = api_keys::list(&fixture.store, fixture.account, START).await.expect("keys").keys;
    let mut scopes: Vec<KeyScope> = listed.iter().map(|key| key.scope).collect();
    scopes.dedup();
    assert_eq!(scopes.len(), KeyScope::ALL.len(), "{scopes:?}");
}

fn key(number: u32, expires_at: Option<i64>) -> NewApiKey {
    NewApiKey { expires_at, ..new_key(number, START) }
}

on_both!(an_account_has_so_many_keys_that_work_and_those_that_do_not_leave_room);
async fn an_account_has_so_many_keys_that_work_and_those_that_do_not_leave_room(fixture: &mut Fixture) {
    let insert = async |account, key: NewApiKey| {
        api_keys::insert(&fixture.store, account, &key).await.expect("an answer")
    };
    // What has expired takes no room, and nor does what is revoked.
    assert!(insert(fixture.account, key(5_000, Some(START))).await);
    let made = (0..USABLE_MAX)
        .map(|number| insert(fixture.account, key(number, Some(START + 1 + i64::from(number)))));
    assert!(join_all(made).await.iter().all(|is_made| *is_made));
    assert!(!insert(fixture.account, key(5_001, None)).await);
    let other = fixture.other_account().await;
    assert!(insert(other, key(5_002, None)).await, "each account has its own");
    api_keys::revoke(&fixture.store, None, KeyId::from_bits(7), START).await.expect("a revocation");
    let both = [5_003, 5_004].map(|number| insert(fixture.account, key(number, None)));
    let made = join_all(both).await;
    assert_eq!(made.iter().filter(|is_made| **is_made).count(), 1, "there was room for one");
    let later = NewApiKey { created_at: START + 1, ..key(5_005, None) };
    assert!(insert(fixture.account, later).await, "one has expired meanwhile");
}

on_both!(every_key_that_works_is_listed_and_of_the_others_the_newest);
async fn every_key_that_works_is_listed_and_of_the_others_the_newest(fixture: &mut Fixture) {
    let insert = async |key: NewApiKey| {
        assert!(api_keys::insert(&fixture.store, fixture.account, &key).await.expect("an answer"));
    };
    let list = async || api_keys::list(&fixture.store, fixture.account, START).await.expect("keys");
    insert(key(0, None)).await;
    insert(key(1, None)).await;
    api_keys::revoke(&fixture.store, None, KeyId::from_bits(1), START).await.expect("a revocation");
    for number in 2..=ENDED_LISTED_MAX {
        insert(key(number, Some(START))).await;
    }
    insert(key(9_000, Some(START + 1))).await;
    let listed = list().await;
    assert_eq!((listed.keys.len(), listed.is_cut), (ENDED_LISTED_MAX as usize + 2, false));
    insert(key(9_001, Some(START))).await;
    let listed = list().await;
    assert!(listed.is_cut);
    let ids: Vec<_> = listed.keys.iter().map(|key| key.id).collect();
    let expected = [0].into_iter().chain(2..=ENDED_LISTED_MAX).chain([9_000, 9_001]);
    assert_eq!(ids, expected.map(|number| KeyId::from_bits(number.into())).collect::<Vec<_>>());
    let is_own =
        async |account| api_keys::is_own(&fixture.store, account, KeyId::from_bits(1)).await.expect("a read");
    let other = fixture.other_account().await;
    assert_eq!((is_own(fixture.account).await, is_own(other).await), (true, false), "listed or not");
}
