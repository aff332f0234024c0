//! What bounds the audit log, and what is never refused.

use crate::audit_log::bounds::Kind;
use crate::audit_log::{
    CHANGES_A_DAY_MAX, CHANGES_OF_ONE_A_DAY_MAX, Change, REPLACEMENTS_A_DAY_MAX, SIGN_INS_A_DAY_MAX,
};
use crate::tests::audit_log::{as_user, list, make_user, new_key, of};
use crate::tests::prelude::*;
use crate::tests::users::{invite, new_link, session};

async fn change(
    store: &Store,
    user: &User,
    account: AccountKey,
    number: u32,
    now: i64,
) -> Result<bool, StoreError> {
    as_user(user, api_keys::insert(store, account, &new_key(number, now))).await
}

/// As many changes as one user may make, from the number `first` on; the next is refused.
async fn use_up(fixture: &Fixture, user: &User, first: u32) {
    let (store, account) = (&fixture.store, fixture.account);
    for number in first..first + CHANGES_OF_ONE_A_DAY_MAX {
        assert!(change(store, user, account, number, START + 1).await.expect("a key"));
    }
    let refused = change(store, user, account, 9_001, START + 2).await;
    let of_one = StoreError::TooManyChanges(CHANGES_OF_ONE_A_DAY_MAX).to_string();
    assert_eq!(refused.map_err(|error| error.to_string()), Err(of_one));
}

on_both!(a_tenant_who_changes_things_in_a_loop_is_stopped_and_nobody_else_is);
async fn a_tenant_who_changes_things_in_a_loop_is_stopped_and_nobody_else_is(fixture: &mut Fixture) {
    let store = &fixture.store;
    let [owner, second, third, operator] = [
        make_user(fixture, 1, false).await,
        make_user(fixture, 2, false).await,
        make_user(fixture, 3, false).await,
        make_user(fixture, 4, true).await,
    ];
    let other = accounts::insert(store, &new_account(8)).await.expect("an account");
    let before = list(store, &of(fixture.account)).await;
    use_up(fixture, &owner, 0).await;
    use_up(fixture, &second, CHANGES_OF_ONE_A_DAY_MAX).await;
    let refused = change(store, &third, fixture.account, 9_001, START + 2).await;
    assert!(matches!(refused, Err(StoreError::TooManyChanges(CHANGES_A_DAY_MAX))), "{refused:?}");
    assert!(api_keys::find_holder(store, &new_key(9_001, 0).sha256).await.expect("a read").is_none());
    assert!(
        change(store, &operator, fixture.account, 9_002, START + 2).await.expect("a key of the operator")
    );
    assert!(change(store, &second, other.key, 9_003, START + 2).await.expect("a key of another account"));
    let later = START + 2 + DAY_MS;
    assert!(change(store, &owner, fixture.account, 9_004, later).await.expect("a key of the next day"));
    let entries = list(store, &of(fixture.account)).await;
    assert_eq!(entries.len(), before.len() + CHANGES_A_DAY_MAX as usize + 2);
    assert!(entries.ends_with(&before), "it pushes nothing out");
}

on_both!(rights_are_taken_away_in_an_account_however_much_was_changed);
async fn rights_are_taken_away_in_an_account_however_much_was_changed(fixture: &mut Fixture) {
    let (store, account) = (&fixture.store, fixture.account);
    let [owner, developer, second] = [
        make_user(fixture, 1, false).await,
        make_user(fixture, 2, false).await,
        make_user(fixture, 3, false).await,
    ];
    for user in [&owner, &developer, &second] {
        members::insert(store, account, user.key, Role::Owner, START).await.expect("a member");
    }
    assert!(invite(fixture, "mallory@example.org", 1).await);
    let rotate = async |user: &User, number: u8| {
        let secret = SigningSecret::new([number; 32]);
        as_user(user, webhook_secrets::rotate(store, account, &secret, START, 0)).await
    };
    for number in 0..CHANGES_A_DAY_MAX {
        let user = if number % 2 == 0 { &developer } else { &second };
        let made = as_user(user, api_keys::insert(store, account, &new_key(number, START))).await;
        assert!(made.expect("a key"));
    }
    for number in 0..REPLACEMENTS_A_DAY_MAX {
        rotate(&developer, u8::try_from(number).expect("a number")).await.expect("a secret");
    }
    let refused = rotate(&developer, 99).await;
    assert!(matches!(refused, Err(StoreError::TooManyChanges(REPLACEMENTS_A_DAY_MAX))), "{refused:?}");

    rotate(&owner, 100).await.expect("the owner replaces the secret");
    as_user(&owner, async {
        for number in 0..CHANGES_A_DAY_MAX {
            let id = KeyId::from_bits(number.into());
            let revoked = api_keys::revoke(store, Some(account), id, START).await.expect("a revocation");
            assert!(revoked.is_some_and(|key| key.revoked_at.is_some()));
        }
        let withdrawn = invitations::remove(store, account, "mallory@example.org", START).await;
        withdrawn.expect("a withdrawal");
        for role in [Some(Role::Developer), Some(Role::Viewer), None] {
            members::change(store, account, developer.id, role, START).await.expect("less than before");
        }
        let more = members::change(store, account, second.id, Some(Role::Viewer), START).await;
        more.expect("less than before");
        let more = members::change(store, account, second.id, Some(Role::Developer), START).await;
        assert!(matches!(more, Err(StoreError::TooManyChanges(CHANGES_A_DAY_MAX))), "{more:?}");
    })
    .await;
    let next_day = START + 1 + DAY_MS;
    let made = as_user(&owner, api_keys::insert(store, account, &new_key(9_001, next_day))).await;
    assert!(made.expect("a key of the next day"));
}

on_both!(taking_rights_away_does_not_count);
async fn taking_rights_away_does_not_count(fixture: &mut Fixture) {
    let (store, account) = (&fixture.store, fixture.account);
    let owner = make_user(fixture, 1, false).await;
    for number in 0..CHANGES_A_DAY_MAX {
        api_keys::insert(store, account, &new_key(number, START)).await.expect("a key of the service");
    }
    as_user(&owner, async {
        for number in 0..CHANGES_A_DAY_MAX {
            let id = KeyId::from_bits(number.into());
            api_keys::revoke(store, Some(account), id, START).await.expect("a revocation");
        }
        assert!(api_keys::insert(store, account, &new_key(9_001, START)).await.expect("a key"));
    })
    .await;
}

on_both!(a_user_who_signs_in_in_a_loop_is_stopped_and_can_throw_everybody_out);
async fn a_user_who_signs_in_in_a_loop_is_stopped_and_can_throw_everybody_out(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = make_user(fixture, 1, false).await;
    sessions::insert(store, user.key, &session(9, START)).await.expect("a session");
    for _ in 1..SIGN_INS_A_DAY_MAX {
        sessions::insert(store, user.key, &session(1, START)).await.expect("a session");
        sessions::remove(store, &[1; 32]).await.expect("an end");
    }
    let refused = sessions::insert(store, user.key, &session(2, START)).await;
    assert!(matches!(refused, Err(StoreError::TooManyChanges(SIGN_INS_A_DAY_MAX))), "{refused:?}");
    let change = async |hash: u32| {
        let new = Credentials { email: None, password: Some(hash.to_string()) };
        as_user(&user, users::set_credentials(store, user.key, &new, Some(&[9; 32]), START)).await
    };
    for hash in 0..REPLACEMENTS_A_DAY_MAX {
        assert!(change(hash).await.expect("a change"));
    }
    let refused = change(99).await;
    assert!(matches!(refused, Err(StoreError::TooManyChanges(REPLACEMENTS_A_DAY_MAX))), "{refused:?}");
    let ended = as_user(&user, sessions::remove_others(store, user.key, None, START)).await;
    assert_eq!(ended.expect("an end"), 1);

    sessions::replace_link(store, user.key, new_link(3)).await.expect("a link of the operator");
    let by_link = Session { is_by_link: true, ..session(4, START) };
    assert!(sessions::use_link(store, &[3; 32], &by_link).await.expect("a session by the link"));
    assert!(change(99).await.expect("a password, where the link took the one before"));
    let next_day = session(2, START + 1 + DAY_MS);
    sessions::insert(store, user.key, &next_day).await.expect("a session of the next day");
}

on_both!(each_action_is_counted_where_it_belongs);
async fn each_action_is_counted_where_it_belongs(fixture: &mut Fixture) {
    let store = &fixture.store;
    for (number, action) in (0..).zip(AuditAction::ALL) {
        let user = make_user(fixture, number, false).await;
        let counts = store.transaction(async move |tx| {
            tx.act_as_user(user.key);
            audit_log::note_in(Change::of_user(action, user.id, START), tx).await?;
            let mut counts = Vec::new();
            for kind in Kind::ALL {
                let count = bounds::COUNT_OF_ACTOR.bind(user.id.to_string()).bind(0i64).bind(0i64);
                let rows = tx.fetch(count.bind(kind.code()).bind(9i64)).await?;
                counts.push((kind, rows[0].get::<i64>("count")?));
            }
            Ok(counts)
        });
        let expected = Kind::ALL.map(|kind| (kind, i64::from(kind == Kind::of(action))));
        assert_eq!(counts.await.expect("counts"), expected, "{action:?}");
    }
    let account = fixture.account;
    for (number, action) in (100..).zip(AuditAction::ALL) {
        let user = make_user(fixture, number, false).await;
        let counts = store.transaction(async move |tx| {
            tx.act_as_user(user.key);
            let count = bounds::COUNT_OF_ACCOUNT.bind(account).bind(0i64).bind(999i64);
            let before: i64 = tx.fetch(count.clone()).await?[0].get("count")?;
            audit_log::note_in(Change::of_user(action, user.id, START).in_account(account), tx).await?;
            Ok(tx.fetch(count).await?[0].get::<i64>("count")? - before)
        });
        let expected = i64::from(Kind::of(action) == Kind::Ordinary);
        assert_eq!(counts.await.expect("a count"), expected, "{action:?}");
    }
}
