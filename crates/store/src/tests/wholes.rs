//! What one step of a user writes is written as a whole: wherever it dies, nothing of it is there.

use crate::database::LIVES_FOR;
use crate::identity::sign_ups::Joining;
use crate::tests::audit_log::new_key;
use crate::tests::prelude::*;
use crate::tests::users::{insert, invite, new_link, new_user, role_of, session};

/// All that a step of a user may write.
async fn everything(store: &Store) -> Result<Vec<String>, StoreError> {
    let mut seen = vec![format!("{:?}", sign_in_failures::find(store, &[[1; 32], [2; 32]]).await?)];
    for user in users::list(store).await? {
        seen.push(format!("{user:?} {:?}", users::password(store, user.key).await?));
        seen.push(format!("{:?}", sessions::list(store, user.key).await?));
    }
    for account in accounts::list(store).await? {
        seen.push(format!("{account:?} {:?}", members::list(store, account.key).await?));
        seen.push(format!("{:?}", invitations::list(store, account.key, START).await?));
        seen.push(format!("{:?}", api_keys::list(store, account.key, START).await?));
        seen.push(format!("{:?}", ledger::list(store, account.key, None, None, 99).await?));
    }
    let all = Filter { account: None, action: None, since: 0, before: Place::END };
    seen.push(format!("{:?}", audit_log::list(store, &all, 999).await?));
    for number in 0..9 {
        seen.push(format!("{:?}", sessions::find_link(store, &[number; 32], START).await?));
    }
    Ok(seen)
}

/// Runs `step`, letting it fail before each of its statements and its commit, then runs it to the end; returns its answer. It must write at
/// least `halves` times.
async fn done_as_a_whole<T>(store: &Store, halves: u32, step: impl AsyncFn() -> Result<T, StoreError>) -> T {
    let before = everything(store).await.expect("a read");
    for lives_for in 0..99 {
        LIVES_FOR.set(Some(lives_for));
        let answer = step().await;
        LIVES_FOR.set(None);
        let after = everything(store).await.expect("a read");
        match answer {
            Err(StoreError::Refused(_)) => assert_eq!(after, before, "killed after {lives_for} statements"),
            Err(error) => panic!("killed after {lives_for} statements: {error}"),
            Ok(answer) => {
                assert!(lives_for > halves, "it was never killed between two writes");
                assert_ne!(after, before);
                return answer;
            }
        }
    }
    panic!("it never ends");
}

/// A user with a password, who is signed in twice, and has a link.
async fn signed_in(store: &Store) -> User {
    let user = NewUser { password: Some("hash".to_owned()), ..new_user(1, Some("a@b.c"), None) };
    let user = users::insert(store, &user).await.expect("an insert").expect("a user");
    for number in 1..=2 {
        sessions::insert(store, user.key, &session(number, START)).await.expect("a session");
    }
    sessions::replace_link(store, user.key, new_link(3)).await.expect("a link");
    user
}

on_both!(a_new_password_ends_the_other_sessions_or_is_none);
async fn a_new_password_ends_the_other_sessions_or_is_none(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = signed_in(store).await;
    let new = Credentials { email: Some("d@e.f".to_owned()), password: Some("new".to_owned()) };
    let change = async || users::set_credentials(store, user.key, &new, Some(&[2; 32]), START).await;
    assert!(done_as_a_whole(store, 3, change).await);
    let left = sessions::list(store, user.key).await.expect("sessions");
    assert_eq!(left.iter().map(|session| session.sha256[0]).collect::<Vec<_>>(), [2]);
    assert!(sessions::find_link(store, &[3; 32], START).await.expect("a read").is_none());
    let unchanged = Credentials { email: Some("g@h.i".to_owned()), password: None };
    assert!(users::set_credentials(store, user.key, &unchanged, None, START).await.expect("a change"));
    assert_eq!(sessions::list(store, user.key).await.expect("sessions"), left);
}

on_both!(who_is_linked_to_a_provider_is_signed_out_or_not_linked);
async fn who_is_linked_to_a_provider_is_signed_out_or_not_linked(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = signed_in(store).await;
    let link = async || users::link(store, user.key, "https://id", "s", START).await;
    assert!(done_as_a_whole(store, 3, link).await);
    assert!(sessions::list(store, user.key).await.expect("sessions").is_empty());
    assert!(sessions::find_link(store, &[3; 32], START).await.expect("a read").is_none());
}

on_both!(who_is_removed_is_removed_everywhere_or_nowhere);
async fn who_is_removed_is_removed_everywhere_or_nowhere(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = signed_in(store).await;
    members::insert(store, fixture.account, user.key, Role::Owner, START).await.expect("a member");
    let other = NewUser { is_operator: true, ..new_user(2, None, None) };
    users::insert(store, &other).await.expect("an insert").expect("another operator");
    let removed = done_as_a_whole(store, 5, async || users::remove(store, user.id, START).await).await;
    assert_eq!(removed, Removal::Done);
}

on_both!(a_sign_in_link_is_used_up_with_the_session_that_it_begins);
async fn a_sign_in_link_is_used_up_with_the_session_that_it_begins(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = signed_in(store).await;
    let follow = async || sessions::use_link(store, &[3; 32], &session(4, START)).await;
    assert!(done_as_a_whole(store, 6, follow).await);
    assert_eq!(sessions::list(store, user.key).await.expect("sessions"), [session(4, START)]);
    let again = sessions::replace_link(store, user.key, new_link(5));
    again.await.expect("a link");
    let replace = async || sessions::replace_link(store, user.key, new_link(6)).await;
    done_as_a_whole(store, 2, replace).await;
}

on_both!(a_sign_in_forgets_the_failures_before_it_or_does_not_begin);
async fn a_sign_in_forgets_the_failures_before_it_or_does_not_begin(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = signed_in(store).await;
    let tried = [[2; 32], [1; 32]];
    let try_it = async || sign_in_failures::count(store, &tried, START, START - 9, |_| None).await;
    let before = Failures::default();
    assert_eq!(done_as_a_whole(store, 4, try_it).await, Counting::Counted(vec![before; 2]));
    let own = Try { at: START, before };
    let forgiven =
        [Forgiveness { subject: tried[0], only: None }, Forgiveness { subject: tried[1], only: Some(own) }];
    let sign_in = async |password| {
        sessions::insert_by_password(store, user.key, &session(4, START + 1), password, &forgiven).await
    };
    let before = everything(store).await.expect("a read");
    assert!(!sign_in("changed meanwhile").await.expect("a refusal"));
    assert_eq!(everything(store).await.expect("a read"), before);
    assert!(done_as_a_whole(store, 4, async || sign_in("hash").await).await);
    let known = sign_in_failures::find(store, &tried).await.expect("the counts");
    assert!(known.iter().all(|failures| failures.count == 0));
}

on_both!(who_joins_by_an_invitation_is_a_signed_in_member_or_nobody);
async fn who_joins_by_an_invitation_is_a_signed_in_member_or_nobody(fixture: &mut Fixture) {
    let store = &fixture.store;
    assert!(invite(fixture, "x@y.z", 1).await && invite(fixture, "v@y.z", 2).await);
    let join = async |number, email, invitation: u8| {
        let user = NewUser { password: Some("hash".to_owned()), ..new_user(number, Some(email), None) };
        sign_ups::join(store, &user, &[invitation; 32], &session(number, START)).await
    };
    let joined = done_as_a_whole(store, 4, async || join(2, "a@b.c", 1).await).await;
    let Joining::Joined(user) = joined else { panic!("nobody joined: {joined:?}") };
    assert!(user.has_password);
    assert_eq!(role_of(fixture, &user).await, Some(Role::Developer));
    assert_eq!(sessions::list(store, user.key).await.expect("sessions").len(), 1);
    let before = everything(store).await.expect("a read");
    assert_eq!(join(3, "d@e.f", 1).await.expect("a refusal"), Joining::Ended);
    assert_eq!(join(3, "a@b.c", 2).await.expect("a refusal"), Joining::Taken);
    assert_eq!(everything(store).await.expect("a read"), before, "who does not join is nobody");
    let other = insert(store, 4, Some("g@h.i"), None).await.expect("a user");
    let accept = async || invitations::accept(store, &[2; 32], other.key, START).await;
    assert!(done_as_a_whole(store, 2, accept).await);
}

on_both!(who_signs_up_belongs_to_an_account_or_is_nobody);
async fn who_signs_up_belongs_to_an_account_or_is_nobody(fixture: &mut Fixture) {
    let store = &fixture.store;
    assert!(invite(fixture, "a@b.c", 1).await);
    let sign_up = async |number: u8, email| {
        let user = new_user(number, Some(email), Some(email));
        sign_ups::sign_up(store, &user, &new_account(number.into())).await
    };
    let invited = done_as_a_whole(store, 3, async || sign_up(2, "a@b.c").await).await;
    assert!(invited.is_some_and(|(_, own)| own.is_none()));
    let stranger = done_as_a_whole(store, 6, async || sign_up(3, "d@e.f").await).await;
    assert!(stranger.is_some_and(|(_, own)| own.is_some()));
}

on_both!(who_is_made_with_a_link_has_it_and_belongs_to_the_account);
async fn who_is_made_with_a_link_has_it_and_belongs_to_the_account(fixture: &mut Fixture) {
    let store = &fixture.store;
    let membership = Some((fixture.account, Role::Owner));
    let make = async || sign_ups::make(store, &new_user(1, None, None), membership, new_link(1)).await;
    let made = done_as_a_whole(store, 4, make).await.expect("a user");
    assert_eq!(sessions::find_link(store, &[1; 32], START).await.expect("a read"), Some(made));
    let other = insert(store, 2, Some("a@b.c"), None).await.expect("a user");
    let welcome = async || sign_ups::welcome(store, other.key, membership, new_link(2)).await;
    done_as_a_whole(store, 3, welcome).await;
    assert_eq!(members::list(store, fixture.account).await.expect("members").len(), 2);
}

on_both!(an_account_with_a_key_is_made_with_it_or_not_at_all);
async fn an_account_with_a_key_is_made_with_it_or_not_at_all(fixture: &mut Fixture) {
    let key = new_key(1, START);
    let make = async || accounts::insert_with_key(&fixture.store, &new_account(8), &key).await;
    let made = done_as_a_whole(&fixture.store, 5, make).await;
    assert_eq!(api_keys::list(&fixture.store, made.key, START).await.expect("keys").keys.len(), 1);
}

on_both!(what_was_taken_back_and_undone_is_posted_both_ways_or_not_at_all);
async fn what_was_taken_back_and_undone_is_posted_both_ways_or_not_at_all(fixture: &mut Fixture) {
    let (store, account) = (&fixture.store, fixture.account);
    let entry = |source: &str, amount: &str| NewEntry {
        account,
        kind: EntryKind::Dispute,
        amount: amount.parse().expect("credits"),
        source: source.to_owned(),
        now: START,
    };
    let (one, other) = (entry("dp_1", "-25"), entry("dp_2", "-999999999"));
    let post =
        async |entry: &NewEntry| ledger::post_undone(store, entry, &format!("{} undone", entry.source)).await;
    assert_eq!(done_as_a_whole(store, 4, async || post(&one).await).await, Posting::Posted);
    assert_eq!(post(&one).await.expect("a posting"), Posting::PostedBefore);
    assert_eq!(ledger::post(store, &other).await.expect("a posting"), Posting::Posted);
    let before = everything(store).await.expect("a read");
    assert_eq!(post(&entry("dp_3", "-999999999")).await.expect("a refusal"), Posting::Refused);
    assert_eq!(everything(store).await.expect("a read"), before, "what is not taken is not given back");
}

on_both!(a_transaction_with_a_statement_that_failed_is_not_done_though_its_work_goes_on);
async fn a_transaction_with_a_statement_that_failed_is_not_done_though_its_work_goes_on(
    fixture: &mut Fixture,
) {
    let rename = |place| {
        let last = if place == 1 { "UPDATE accounts SET name = 'c'" } else { "SELECT 1" };
        ["UPDATE accounts SET name = 'b'", "SELECT nothing FROM nowhere", last]
    };
    for place in 0..2 {
        let work = async move |tx: &mut Tx<'_>| {
            let mut failed = 0;
            for text in rename(place) {
                failed += i32::from(tx.execute(sql(text)).await.is_err());
            }
            Ok(failed)
        };
        let refused = fixture.store.transaction(work).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        let account = accounts::get(&fixture.store, fixture.account).await.expect("an account");
        assert_eq!(account.name, "account 7");
    }
}
