//! Invitations that end with the rights of the user who made them.

use crate::identity::invitations::Invitation;
use crate::identity::members::MemberChange;
use crate::tests::prelude::*;
use crate::tests::users::insert;

on_both!(invitations_of_a_member_end_with_the_role_that_they_give);
async fn invitations_of_a_member_end_with_the_role_that_they_give(fixture: &mut Fixture) {
    let (store, account) = (&fixture.store, fixture.account);
    let owner = insert(store, 1, Some("a@b.c"), None).await.expect("a user");
    let other = insert(store, 2, Some("d@e.f"), None).await.expect("a user");
    for user in [&owner, &other] {
        members::insert(store, account, user.key, Role::Owner, START).await.expect("a member");
    }
    let invite = async |by: &User, email: &str, number: u8, role| {
        let invitation = Invitation { email: email.to_owned(), role, expires_at: START + 9 };
        let actor = Actor { id: ActorId::User(by.key), address: None };
        let sha256 = [number; 32];
        let insert = invitations::insert(store, account, &invitation, &sha256, START, 9);
        assert!(actor.scope(insert).await.expect("an invitation"));
    };
    let pending = async || {
        let listed = invitations::list(store, account, START).await.expect("a list");
        listed.into_iter().map(|invitation| invitation.email).collect::<Vec<_>>()
    };
    invite(&owner, "kept@x.y", 1, Role::Owner).await;
    invite(&other, "high@x.y", 2, Role::Owner).await;
    invite(&other, "equal@x.y", 3, Role::Developer).await;
    invite(&other, "low@x.y", 4, Role::Viewer).await;
    let change = async |user: &User, role| {
        let changed = members::change(store, account, user.id, role, START).await;
        assert_eq!(changed.expect("a change"), MemberChange::Done);
    };
    change(&other, Some(Role::Developer)).await;
    assert_eq!(pending().await, ["equal@x.y", "kept@x.y", "low@x.y"]);
    change(&other, None).await;
    assert_eq!(pending().await, ["kept@x.y"]);
    assert!(!invitations::accept(store, &[2; 32], other.key, START).await.expect("a change"));
    invite(&other, "again@x.y", 5, Role::Viewer).await;
    // Another owner's invitation of the same address takes the place of the first.
    invite(&other, "moved@x.y", 6, Role::Owner).await;
    invite(&owner, "moved@x.y", 7, Role::Owner).await;
    assert_eq!(users::remove(store, other.id, START).await.expect("a removal"), Removal::Done);
    assert_eq!(pending().await, ["kept@x.y", "moved@x.y"]);
    let filter = Filter {
        account: Some(account),
        action: Some(AuditAction::InvitationWithdraw),
        since: 0,
        before: Place::END,
    };
    let noted = audit_log::list(store, &filter, 99).await.expect("the log").entries;
    assert_eq!(noted.len(), 4, "{noted:?}");
}
