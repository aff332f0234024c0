//! Those who sign in, what they belong to, and where they are signed in.

use overnight_domain::ids::UserId;

use crate::identity::invitations::Invitation;
use crate::identity::members::MemberChange;
use crate::identity::sessions::NewLink;
use crate::tests::prelude::*;

pub(super) async fn role_of(fixture: &Fixture, user: &User) -> Option<Role> {
    let found =
        members::find_account(&fixture.store, new_account(7).id, user.key, true).await.expect("a read");
    let (account, role) = found.expect("an account");
    assert_eq!(account.key, fixture.account);
    role
}

pub(super) async fn insert(
    store: &Store,
    number: u8,
    email: Option<&str>,
    subject: Option<&str>,
) -> Option<User> {
    users::insert(store, &new_user(number, email, subject)).await.expect("an insert")
}

pub(super) fn new_user(number: u8, email: Option<&str>, subject: Option<&str>) -> NewUser {
    NewUser {
        id: UserId::from_bits(number.into()),
        email: email.map(str::to_owned),
        password: None,
        subject: subject.map(|subject| ("https://id".to_owned(), subject.to_owned())),
        is_operator: number == 1,
        created_at: START,
    }
}

pub(super) fn new_link(number: u8) -> NewLink {
    NewLink { sha256: [number; 32], created_at: START, expires_at: START + 9 }
}

pub(super) fn session(number: u8, created_at: i64) -> Session {
    Session {
        sha256: [number; 32],
        created_at,
        seen_at: created_at,
        expires_at: START + 1_000,
        is_by_link: false,
        agent: None,
    }
}

on_both!(an_address_and_a_subject_belong_to_one_user);
async fn an_address_and_a_subject_belong_to_one_user(fixture: &mut Fixture) {
    let store = &fixture.store;
    let operator = insert(store, 1, None, None).await.expect("a user");
    assert!(operator.is_operator && !operator.has_password && operator.email.is_none());
    let known = insert(store, 2, Some("a@b.c"), Some("s")).await.expect("a user");
    assert!(!known.is_operator && known.issuer.as_deref() == Some("https://id"));
    assert_eq!(insert(store, 3, Some("a@b.c"), None).await, None);
    assert_eq!(insert(store, 3, Some("d@e.f"), Some("s")).await, None);
    let other = insert(store, 4, Some("d@e.f"), None).await.expect("a user");
    assert_eq!(users::list(store).await.expect("users"), [operator, known.clone(), other]);
    assert_eq!(users::find(store, known.id).await.expect("a read"), Some(known.clone()));
    assert_eq!(users::find(store, UserId::from_bits(9)).await.expect("a read"), None);
    let found = users::find_by_subject(store, "https://id", "s").await.expect("a read");
    assert_eq!(found, Some(known.clone()));
    assert_eq!(users::find_by_subject(store, "https://other", "s").await.expect("a read"), None);
}

on_both!(an_e_mail_address_is_changed_only_to_one_that_nobody_has);
async fn an_e_mail_address_is_changed_only_to_one_that_nobody_has(fixture: &mut Fixture) {
    let store = &fixture.store;
    insert(store, 2, Some("a@b.c"), None).await.expect("a user");
    let other = insert(store, 4, Some("d@e.f"), None).await.expect("a user");
    let set = async |user: &User, email: Option<&str>, password: Option<&str>| {
        let new = Credentials { email: email.map(str::to_owned), password: password.map(str::to_owned) };
        users::set_credentials(store, user.key, &new, None, START).await.expect("a change")
    };
    assert!(!set(&other, Some("a@b.c"), Some("hash")).await);
    assert_eq!(users::password(store, other.key).await.expect("a read"), None);
    assert!(set(&other, None, Some("hash")).await && set(&other, Some("g@h.i"), None).await);
    let (user, hash) = users::find_by_email(store, "g@h.i").await.expect("a read").expect("a user");
    assert!(user.key == other.key && user.has_password && hash.as_deref() == Some("hash"));
    assert!(users::find_by_email(store, "d@e.f").await.expect("a read").is_none());
}

on_both!(a_link_to_a_provider_is_made_once_and_takes_the_password);
async fn a_link_to_a_provider_is_made_once_and_takes_the_password(fixture: &mut Fixture) {
    let store = &fixture.store;
    let one = insert(store, 1, Some("a@b.c"), None).await.expect("a user");
    let other = insert(store, 2, Some("d@e.f"), None).await.expect("a user");
    let new = Credentials { password: Some("hash".to_owned()), ..Credentials::default() };
    assert!(users::set_credentials(store, one.key, &new, None, START).await.expect("a change"));
    let link = async |user: &User, subject| {
        users::link(store, user.key, "https://id", subject, START).await.expect("a change")
    };
    assert!(link(&one, "s").await);
    assert_eq!(users::password(store, one.key).await.expect("a read"), None);
    assert!(!link(&one, "t").await, "the provider knows the user by another name");
    assert!(!link(&other, "s").await, "the name is another user's");
    assert!(link(&other, "t").await);
}

on_both!(who_is_removed_belongs_to_nothing_and_is_signed_in_nowhere);
async fn who_is_removed_belongs_to_nothing_and_is_signed_in_nowhere(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = insert(store, 2, Some("a@b.c"), None).await.expect("a user");
    members::insert(store, fixture.account, user.key, Role::Owner, START).await.expect("a member");
    sessions::insert(store, user.key, &session(1, START)).await.expect("a session");
    sessions::replace_link(store, user.key, new_link(2)).await.expect("a link");
    assert_eq!(users::remove(store, user.id, START).await.expect("a removal"), Removal::Done);
    assert_eq!(users::remove(store, user.id, START).await.expect("a removal"), Removal::Unknown);
    assert!(members::list(store, fixture.account).await.expect("members").is_empty());
    assert!(sessions::find(store, &[1; 32]).await.expect("a read").is_none());
    assert!(sessions::find_link(store, &[2; 32], START).await.expect("a read").is_none());
    sessions::insert(store, user.key, &session(3, START)).await.expect("nothing");
    members::insert(store, fixture.account, user.key, Role::Owner, START).await.expect("nothing");
    assert!(sessions::list(store, user.key).await.expect("sessions").is_empty());
    assert_eq!(role_of(fixture, &user).await, None);
}

on_both!(of_two_operators_who_remove_each_other_one_stays);
async fn of_two_operators_who_remove_each_other_one_stays(fixture: &mut Fixture) {
    let store = &fixture.store;
    let operator = async |number: u8| {
        let user = NewUser { is_operator: true, ..new_user(number, None, None) };
        users::insert(store, &user).await.expect("an insert").expect("a user")
    };
    let remove = async |user: &User| users::remove(store, user.id, START).await.expect("a removal");
    let other = insert(store, 2, None, None).await.expect("a user");
    let mut last = operator(3).await;
    assert_eq!(remove(&last).await, Removal::LastOperator);
    assert_eq!(remove(&other).await, Removal::Done, "who is no operator is not counted as one");
    for number in 4..24 {
        let next = operator(number).await;
        let (one, two) = tokio::join!(remove(&last), remove(&next));
        let mut both = [one, two];
        both.sort_by_key(|removal| *removal == Removal::LastOperator);
        assert_eq!(both, [Removal::Done, Removal::LastOperator]);
        let mut left = users::list(store).await.expect("users");
        last = left.pop().expect("an operator");
        assert!(left.is_empty() && last.is_operator);
    }
}

on_both!(an_account_is_found_with_what_a_user_is_in_it);
async fn an_account_is_found_with_what_a_user_is_in_it(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = insert(store, 1, Some("a@b.c"), None).await.expect("a user");
    assert_eq!(role_of(fixture, &user).await, None);
    let find = async |account| members::find_account(store, account, user.key, false).await.expect("a read");
    assert_eq!(find(new_account(7).id).await, None, "of a foreign account nothing is read");
    members::insert(store, fixture.account, user.key, Role::Viewer, START).await.expect("a member");
    assert_eq!(role_of(fixture, &user).await, Some(Role::Viewer));
    assert!(find(new_account(7).id).await.is_some());
    assert_eq!(find(AccountId::from_bits(1)).await, None);
}

on_both!(an_account_keeps_an_owner);
async fn an_account_keeps_an_owner(fixture: &mut Fixture) {
    let (store, account) = (&fixture.store, fixture.account);
    let one = insert(store, 1, Some("a@b.c"), None).await.expect("a user");
    let two = insert(store, 2, Some("d@e.f"), None).await.expect("a user");
    let change = async |user: &User, role| {
        members::change(store, account, user.id, role, START).await.expect("a change")
    };
    assert_eq!(change(&one, Some(Role::Owner)).await, MemberChange::Unknown);
    members::insert(store, account, one.key, Role::Owner, START).await.expect("a member");
    members::insert(store, account, one.key, Role::Viewer, START + 1).await.expect("no change");
    members::insert(store, account, two.key, Role::Viewer, START + 2).await.expect("a member");
    assert_eq!(change(&one, Some(Role::Viewer)).await, MemberChange::LastOwner);
    assert_eq!(change(&one, None).await, MemberChange::LastOwner);
    assert_eq!(change(&two, Some(Role::Owner)).await, MemberChange::Done);
    let listed = members::list(store, account).await.expect("members");
    let listed: Vec<_> = listed.iter().map(|it| (it.user.key, it.role, it.created_at - START)).collect();
    assert_eq!(listed, [(one.key, Role::Owner, 0), (two.key, Role::Owner, 2)]);
    let (left, dismissed) = tokio::join!(change(&one, None), change(&two, None));
    let mut both = [left, dismissed];
    both.sort_by_key(|change| *change == MemberChange::LastOwner);
    assert_eq!(both, [MemberChange::Done, MemberChange::LastOwner], "of two who leave at once one stays");
    assert_eq!(members::list(store, account).await.expect("members").len(), 1);
    let stayed = members::list(store, account).await.expect("members")[0].user.key;
    let accounts = members::accounts_of(store, stayed).await.expect("accounts");
    assert_eq!(
        accounts.iter().map(|(it, role)| (it.key, *role)).collect::<Vec<_>>(),
        [(account, Role::Owner)]
    );
}

on_both!(a_session_is_found_by_its_hash_until_it_is_ended);
async fn a_session_is_found_by_its_hash_until_it_is_ended(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = insert(store, 1, Some("a@b.c"), None).await.expect("a user");
    let other = insert(store, 2, Some("d@e.f"), None).await.expect("a user");
    for number in 1..=3 {
        sessions::insert(store, user.key, &session(number, START + i64::from(number)))
            .await
            .expect("a session");
    }
    sessions::insert(store, other.key, &session(4, START)).await.expect("a session");
    let (found, whose) = sessions::find(store, &[1; 32]).await.expect("a read").expect("a session");
    assert_eq!((found, whose.key, whose.signed_in_at), (session(1, START + 1), user.key, Some(START + 3)));
    sessions::touch(store, &[1; 32], START + 9).await.expect("a note");
    let (found, _) = sessions::find(store, &[1; 32]).await.expect("a read").expect("a session");
    assert_eq!((found.seen_at, found.created_at), (START + 9, START + 1));
    let list = async || {
        let listed = sessions::list(store, user.key).await.expect("sessions");
        listed.iter().map(|session| session.sha256[0]).collect::<Vec<_>>()
    };
    assert_eq!(list().await, [3, 2, 1]);
    sessions::remove(store, &[2; 32]).await.expect("a removal");
    assert_eq!(sessions::remove_others(store, user.key, Some(&[1; 32]), START).await.expect("a removal"), 1);
    assert_eq!(list().await, [1]);
    assert_eq!(sessions::remove_others(store, user.key, None, START).await.expect("a removal"), 1);
    assert!(sessions::find(store, &[4; 32]).await.expect("a read").is_some(), "nobody else is signed out");
    let later = Session { expires_at: START + 9_999, ..session(5, START + 1_000) };
    sessions::insert(store, user.key, &later).await.expect("a session");
    assert!(sessions::find(store, &[4; 32]).await.expect("a read").is_none(), "what has ended is removed");
}

on_both!(a_sign_in_link_is_one_and_is_used_once);
async fn a_sign_in_link_is_one_and_is_used_once(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = insert(store, 1, Some("a@b.c"), None).await.expect("a user");
    for number in [1, 2] {
        sessions::replace_link(store, user.key, new_link(number)).await.expect("a link");
    }
    let find = async |number, now| sessions::find_link(store, &[number; 32], now).await.expect("a read");
    assert_eq!(find(1, START).await, None);
    assert_eq!(find(2, START + 8).await.map(|user| user.key), Some(user.key));
    assert_eq!(find(2, START + 9).await, None);
    let used =
        async |number, now| sessions::use_link(store, &[2; 32], &session(number, now)).await.expect("a use");
    assert!(!used(7, START + 9).await);
    let (one, other) = tokio::join!(used(8, START), used(9, START));
    assert!(one != other, "of two clicks one signs in");
    assert_eq!(sessions::list(store, user.key).await.expect("sessions").len(), 1);
    sessions::replace_link(store, user.key, new_link(3)).await.expect("a link");
    sessions::remove_others(store, user.key, None, START).await.expect("a removal");
    assert_eq!(find(3, START).await, None);
}

on_both!(a_sign_in_link_replaces_the_password_and_every_session);
async fn a_sign_in_link_replaces_the_password_and_every_session(fixture: &mut Fixture) {
    let store = &fixture.store;
    let user = insert(store, 1, Some("a@b.c"), None).await.expect("a user");
    let credentials = Credentials { email: None, password: Some("hash".to_owned()) };
    assert!(users::set_credentials(store, user.key, &credentials, None, START).await.expect("a change"));
    sessions::insert(store, user.key, &session(1, START)).await.expect("a session");
    sessions::replace_link(store, user.key, new_link(2)).await.expect("a link");
    assert!(sessions::use_link(store, &[2; 32], &session(3, START)).await.expect("a use"));
    assert_eq!(users::password(store, user.key).await.expect("a read"), None);
    assert_eq!(sessions::list(store, user.key).await.expect("sessions"), [session(3, START)]);
}

on_both!(many_tries_at_once_are_all_counted);
async fn many_tries_at_once_are_all_counted(fixture: &mut Fixture) {
    let store = &fixture.store;
    let (name, place) = ([1; 32], [2; 32]);
    let count = async |subjects: &[[u8; 32]], now, max| {
        let must_wait =
            move |known: &[Failures]| known.iter().any(|failures| failures.count >= max).then_some(7);
        let counting = sign_in_failures::count(store, subjects, now, now - 100, must_wait).await;
        counting.expect("a count") != Counting::MustWait(7)
    };
    let both = [name, place];
    let tries = (0..8).map(|_| count(&both, START, 5));
    let done = join_all(tries).await;
    assert_eq!(done.iter().filter(|is_counted| **is_counted).count(), 5);
    assert!(!count(&[place], START, 5).await);
    assert!(!count(&[[3; 32], place], START, 5).await);
    assert!(count(&[[3; 32]], START, 1).await, "what was refused is not counted in part");
    let all = both.map(|subject| Forgiveness { subject, only: None });
    sign_in_failures::forgive(store, &all).await.expect("a removal");
    assert!(count(&[name, place], START, 1).await);
    assert!(!count(&[name], START + 100, 1).await);
    assert!(count(&[name], START + 201, 1).await, "what is long ago is forgotten");
    let known = sign_in_failures::find(store, &[name, [9; 32]]).await.expect("the counts");
    assert_eq!(
        known.iter().map(|failures| (failures.count, failures.last_at)).collect::<Vec<_>>(),
        [(1, START + 201), (0, 0)]
    );
}

/// A network from which somebody tries.
const PLACE: [u8; 32] = [2; 32];

/// Counts a try from [`PLACE`]; what its success takes back.
async fn try_at(store: &Store, at: i64) -> Forgiveness {
    let counting = sign_in_failures::count(store, &[PLACE], at, at - 100, |_| None).await;
    let Counting::Counted(before) = counting.expect("a count") else { panic!("nobody waits") };
    Forgiveness { subject: PLACE, only: Some(Try { at, before: before[0] }) }
}

/// Has a try succeed; how many failures are known of [`PLACE`] then, and since when.
async fn succeed(store: &Store, own: Forgiveness) -> (i64, i64) {
    sign_in_failures::forgive(store, &[own]).await.expect("a change");
    let known = sign_in_failures::find(store, &[PLACE]).await.expect("the counts")[0];
    (known.count, known.last_at)
}

on_both!(a_success_takes_its_own_try_off_a_count_and_no_failure);
async fn a_success_takes_its_own_try_off_a_count_and_no_failure(fixture: &mut Fixture) {
    let store = &fixture.store;
    let own = try_at(store, START).await;
    assert_eq!(succeed(store, own).await, (0, 0));
    assert_eq!(succeed(store, own).await, (0, 0), "it is never below none");
    try_at(store, START + 1).await;
    let own = try_at(store, START + 2).await;
    assert_eq!(succeed(store, own).await, (1, START + 1), "the failure counts since when it was");
}

on_both!(a_success_leaves_the_time_of_a_try_that_was_counted_since);
async fn a_success_leaves_the_time_of_a_try_that_was_counted_since(fixture: &mut Fixture) {
    let store = &fixture.store;
    let (first, second) = (try_at(store, START + 3).await, try_at(store, START + 3).await);
    assert_eq!(succeed(store, second).await, (1, START + 3));
    try_at(store, START + 3).await;
    assert_eq!(succeed(store, first).await, (1, START + 3), "that one may have failed");
    let all = Forgiveness { subject: PLACE, only: None };
    sign_in_failures::forgive(store, &[all]).await.expect("a removal");
    assert_eq!(succeed(store, second).await, (0, 0), "what was forgotten meanwhile stays so");
}

pub(super) async fn invite(fixture: &Fixture, email: &str, number: u8) -> bool {
    let invitation = Invitation { email: email.to_owned(), role: Role::Developer, expires_at: START + 9 };
    let (store, sha256) = (&fixture.store, [number; 32]);
    let inserted = invitations::insert(store, fixture.account, &invitation, &sha256, START, 2).await;
    inserted.expect("an invitation")
}

on_both!(an_invitation_makes_one_member_once);
async fn an_invitation_makes_one_member_once(fixture: &mut Fixture) {
    let store = &fixture.store;
    let one = insert(store, 1, Some("a@b.c"), None).await.expect("a user");
    let other = insert(store, 2, Some("d@e.f"), None).await.expect("a user");
    let invite = async |email, number| invite(fixture, email, number).await;
    assert!(invite("x@y.z", 1).await && invite("x@y.z", 2).await && invite("v@y.z", 3).await);
    assert!(!invite("w@y.z", 4).await, "so many wait at most");
    let find = async |number: u8, now| invitations::find(store, &[number; 32], now).await.expect("a read");
    assert!(find(1, START).await.is_none(), "a second invitation takes the place of the first");
    assert!(find(2, START + 9).await.is_none(), "it has ended");
    assert_eq!(find(2, START).await.expect("an invitation").1.role, Role::Developer);
    let accept = async |number: u8, user: &User| {
        invitations::accept(store, &[number; 32], user.key, START).await.expect("a change")
    };
    let (first, second) = tokio::join!(accept(2, &one), accept(2, &other));
    assert!(first != second, "one of two joins");
    let members = members::list(store, fixture.account).await.expect("members");
    assert_eq!(members.iter().map(|member| member.role).collect::<Vec<_>>(), [Role::Developer]);
}

on_both!(an_address_that_a_provider_has_verified_accepts_all_that_invite_it);
async fn an_address_that_a_provider_has_verified_accepts_all_that_invite_it(fixture: &mut Fixture) {
    let store = &fixture.store;
    assert!(invite(fixture, "v@y.z", 3).await && invite(fixture, "d@e.f", 5).await);
    let is_invited = async || invitations::is_invited(store, "d@e.f", START).await.expect("a read");
    assert!(is_invited().await);
    let sign_up = async |number, email| {
        let user = new_user(number, Some(email), Some(email));
        sign_ups::sign_up(store, &user, &new_account(number.into())).await.expect("a sign-up")
    };
    let (user, own) = sign_up(2, "d@e.f").await.expect("a user");
    assert!(own.is_none() && !is_invited().await);
    assert_eq!(sign_up(3, "d@e.f").await, None);
    let (stranger, own) = sign_up(8, "g@h.i").await.expect("a user");
    let own = own.expect("an account");
    let found = members::find_account(store, own.id, stranger.key, false).await.expect("a read");
    assert_eq!(found, Some((own, Some(Role::Owner))));
    assert_eq!(role_of(fixture, &user).await, Some(Role::Developer));
    invitations::remove(store, fixture.account, "v@y.z", START).await.expect("a removal");
    assert!(invitations::list(store, fixture.account, START).await.expect("a list").is_empty());
}
