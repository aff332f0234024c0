//! Invitations that end with the rights of the user who made them.

use crate::identity::invitations::Invitation;
use crate::identity::members::MemberChange;
use crate::tests::prelude::*;
use crate::tests::users::insert;

impl Fixture {
    async fn owner(&self, number: u8, email: &str) -> User {
        let user = insert(&self.store, number, Some(email), None).await.expect("a user");
        let joined = members::insert(&self.store, self.account, user.key, Role::Owner, START);
        joined.await.expect("a member");
        user
    }

    async fn invite_as(&self, by: &User, email: &str, number: u8, role: Role) {
        let invitation = Invitation { email: email.to_owned(), role, expires_at: START + 9 };
        let (actor, sha256) = (Actor { id: ActorId::User(by.key), address: None }, [number; 32]);
        let insert = invitations::insert(&self.store, self.account, &invitation, &sha256, START, 9);
        assert!(actor.scope(insert).await.expect("an invitation"));
    }

    async fn pending_invitations(&self) -> Vec<String> {
        let listed = invitations::list(&self.store, self.account, START).await.expect("a list");
        listed.into_iter().map(|invitation| invitation.email).collect()
    }

    async fn withdrawals_noted(&self) -> usize {
        let (account, action) = (Some(self.account), Some(AuditAction::InvitationWithdraw));
        let filter = Filter { account, action, since: 0, before: Place::END };
        audit_log::list(&self.store, &filter, 99).await.expect("the log").entries.len()
    }
}

on_both!(invitations_of_a_member_end_with_the_role_that_they_give);
async fn invitations_of_a_member_end_with_the_role_that_they_give(fixture: &mut Fixture) {
    let owner = fixture.owner(1, "a@b.c").await;
    let other = fixture.owner(2, "d@e.f").await;
    fixture.invite_as(&owner, "kept@x.y", 1, Role::Owner).await;
    fixture.invite_as(&other, "high@x.y", 2, Role::Owner).await;
    fixture.invite_as(&other, "equal@x.y", 3, Role::Developer).await;
    fixture.invite_as(&other, "low@x.y", 4, Role::Viewer).await;
    let change = async |role| {
        let changed = members::change(&fixture.store, fixture.account, other.id, role, START).await;
        assert_eq!(changed.expect("a change"), MemberChange::Done);
    };
    change(Some(Role::Developer)).await;
    assert_eq!(fixture.pending_invitations().await, ["equal@x.y", "kept@x.y", "low@x.y"]);
    change(None).await;
    assert_eq!(fixture.pending_invitations().await, ["kept@x.y"]);
    let joined = invitations::accept(&fixture.store, &[2; 32], other.key, START).await;
    assert!(!joined.expect("a change"));
    assert_eq!(fixture.withdrawals_noted().await, 3);
}

on_both!(invitations_of_a_removed_user_are_withdrawn);
async fn invitations_of_a_removed_user_are_withdrawn(fixture: &mut Fixture) {
    let owner = fixture.owner(1, "a@b.c").await;
    let other = fixture.owner(2, "d@e.f").await;
    fixture.invite_as(&other, "low@x.y", 1, Role::Viewer).await;
    // Another owner's invitation of the same address takes the place of the first.
    fixture.invite_as(&other, "moved@x.y", 2, Role::Owner).await;
    fixture.invite_as(&owner, "moved@x.y", 3, Role::Owner).await;
    let removed = users::remove(&fixture.store, other.id, START).await;
    assert_eq!(removed.expect("a removal"), Removal::Done);
    assert_eq!(fixture.pending_invitations().await, ["moved@x.y"]);
    assert_eq!(fixture.withdrawals_noted().await, 1);
}
