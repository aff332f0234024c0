//! Limits on how much a tenant can write into the log in a day. Changes that take rights away are never refused, so that an intruder cannot
//! stop the owner or the user from removing them: earlier grants, or a limit that only they use up, bound their number.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;

use crate::StoreError;
use crate::database::{Statement, Tx, statements};

/// Changes of an account by all its members together, in a day.
pub const CHANGES_A_DAY_MAX: u32 = 500;

/// Changes of an account by one member, or of their own by a user, in a day.
pub const CHANGES_OF_ONE_A_DAY_MAX: u32 = 250;

/// Sign-ins of a user in a day, except by links that work once.
pub const SIGN_INS_A_DAY_MAX: u32 = 500;

/// Replacements in a day: of an account's webhook secret by one member, or of a user's password.
pub const REPLACEMENTS_A_DAY_MAX: u32 = 50;

const DAY_MS: i64 = 86_400_000;

statements! {
    /// Counts changes by users up to a limit; the actions are those of [`Kind::Ordinary`].
    COUNT_OF_ACCOUNT = "SELECT count(*) AS count FROM (SELECT 1 AS one FROM audit_log
        WHERE account = ? AND created_at > ? AND actor_kind = 2 /* user */ AND is_operator = 0
            AND action NOT IN ('sign_in', 'password.change', 'webhook_secret.rotate', 'api_key.revoke', 'member.remove', 'invitation.withdraw', 'user.sign_out')
        LIMIT ?) v";
    /// Counts a user's changes of one [`Kind`] up to a limit, in an account or in none.
    COUNT_OF_ACTOR = "SELECT count(*) AS count FROM (SELECT 1 AS one FROM audit_log
        WHERE actor_id = ? AND created_at > ? AND is_operator = 0 AND coalesce(account, 0) = ?
            AND CASE WHEN action = 'sign_in' THEN 1
                     WHEN action IN ('password.change', 'webhook_secret.rotate') THEN 2
                     WHEN action IN ('api_key.revoke', 'member.remove', 'invitation.withdraw', 'user.sign_out') THEN 3
                     ELSE 0 END = ?
        LIMIT ?) v";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Gives or changes something.
    Ordinary,
    /// Sign-ins: a user with a password makes many.
    SignIn,
    /// Replaces a secret, so that the previous one ends.
    Replacement,
    /// Takes back something that was given, and is bounded by that.
    Withdrawal,
}

impl Kind {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 4] = [Self::Ordinary, Self::SignIn, Self::Replacement, Self::Withdrawal];

    pub(crate) const fn of(action: AuditAction) -> Self {
        match action {
            AuditAction::SignIn => Self::SignIn,
            AuditAction::PasswordChange | AuditAction::WebhookSecretRotate => Self::Replacement,
            AuditAction::ApiKeyRevoke
            | AuditAction::MemberRemove
            | AuditAction::InvitationWithdraw
            | AuditAction::UserSignOut => Self::Withdrawal,
            _ => Self::Ordinary,
        }
    }

    /// The number in [`COUNT_OF_ACTOR`].
    pub(crate) const fn code(self) -> i64 {
        match self {
            Self::Ordinary => 0,
            Self::SignIn => 1,
            Self::Replacement => 2,
            Self::Withdrawal => 3,
        }
    }

    /// The daily limit of one user, in an account or in none.
    const fn most_of_one(self) -> Option<u32> {
        match self {
            Self::Ordinary => Some(CHANGES_OF_ONE_A_DAY_MAX),
            Self::SignIn => Some(SIGN_INS_A_DAY_MAX),
            Self::Replacement => Some(REPLACEMENTS_A_DAY_MAX),
            Self::Withdrawal => None,
        }
    }
}

/// Refuses a change by a user who is not an operator beyond the daily limits of one user and of all members of its account.
pub(super) async fn check_in(
    action: AuditAction,
    account: Option<AccountKey>,
    actor: Option<&str>,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    let kind = Kind::of(action);
    let Some(most) = kind.most_of_one() else { return Ok(()) };
    let since = now.saturating_sub(DAY_MS);
    let of_actor = COUNT_OF_ACTOR.bind(actor.map(str::to_owned)).bind(since);
    let of_actor = of_actor.bind(account.map_or(0, |account| account.0)).bind(kind.code());
    refuse_beyond(most, of_actor, tx).await?;
    match (account, kind) {
        (Some(account), Kind::Ordinary) => {
            refuse_beyond(CHANGES_A_DAY_MAX, COUNT_OF_ACCOUNT.bind(account).bind(since), tx).await
        }
        _ => Ok(()),
    }
}

/// `count` still needs its limit bound.
async fn refuse_beyond(most: u32, count: Statement, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let rows = tx.fetch(count.bind(most)).await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.get("count"))?;
    if count < i64::from(most) { Ok(()) } else { Err(StoreError::TooManyChanges(most)) }
}
