//! Invitations that end with the rights of the user who made them, and the entries of the audit log about ends of invitations.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;

use crate::StoreError;
use crate::audit_log::{self, Change};
use crate::database::{Tx, statements};

statements! {
    DELETE_ABOVE = "DELETE FROM invitations WHERE invited_by = ? AND account = ? AND role > ? RETURNING email";
    DELETE_ALL = "DELETE FROM invitations WHERE invited_by = ? RETURNING account, email";
}

/// Withdraws an account's pending invitations by a user to roles of a higher code than `role`.
pub(super) async fn withdraw_above_in(
    account: AccountKey,
    inviter: i64,
    role: i64,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    for row in tx.fetch(DELETE_ABOVE.bind(inviter).bind(account).bind(role)).await? {
        note_in(account, &row.get::<String>("email")?, now, tx).await?;
    }
    Ok(())
}

/// Withdraws all pending invitations by a user.
pub(super) async fn withdraw_all_in(inviter: i64, now: i64, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    for row in tx.fetch(DELETE_ALL.bind(inviter)).await? {
        note_in(row.get("account")?, &row.get::<String>("email")?, now, tx).await?;
    }
    Ok(())
}

pub(super) async fn note_in(
    account: AccountKey,
    email: &str,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    let change = Change::of_account(AuditAction::InvitationWithdraw, account, now).to("invitation", &email);
    audit_log::note_in(change, tx).await
}
