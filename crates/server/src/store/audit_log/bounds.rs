//! How much a tenant can write into the log in a day. What takes rights away is never refused, so that nobody who got in can keep the
//! owner, or the user, from throwing them out: there is no more of it than was given before, or it has a bound that nothing else uses up.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;

use crate::store::StoreError;
use crate::store::database::{Statement, Tx, statements};

/// How many changes of an account its members make in a day together.
pub const CHANGES_A_DAY_MAX: u32 = 500;

/// How many of these one member makes, and how many of their own a user makes.
pub const CHANGES_OF_ONE_A_DAY_MAX: u32 = 250;

/// How often a user signs in in a day, but for links that work once.
pub const SIGN_INS_A_DAY_MAX: u32 = 500;

/// How often in a day one member replaces the webhook secret of an account, and a user the password.
pub const REPLACEMENTS_A_DAY_MAX: u32 = 50;

const DAY_MS: i64 = 86_400_000;

statements! {
    /// Up to so many that users made; the actions are those of [`Kind::Ordinary`].
    COUNT_OF_ACCOUNT = "SELECT count(*) AS count FROM (SELECT 1 AS one FROM audit_log
        WHERE account = ? AND created_at > ? AND actor_kind = 2 /* user */ AND is_operator = 0
            AND action NOT IN ('sign_in', 'password.change', 'webhook_secret.rotate', 'api_key.revoke', 'member.remove', 'invitation.withdraw', 'user.sign_out')
        LIMIT ?) v";
    /// Up to so many that a user made of an account, or of none, of one [`Kind`].
    COUNT_OF_ACTOR = "SELECT count(*) AS count FROM (SELECT 1 AS one FROM audit_log
        WHERE actor_id = ? AND created_at > ? AND is_operator = 0 AND coalesce(account, 0) = ?
            AND CASE WHEN action = 'sign_in' THEN 1
                     WHEN action IN ('password.change', 'webhook_secret.rotate') THEN 2
                     WHEN action IN ('api_key.revoke', 'member.remove', 'invitation.withdraw', 'user.sign_out') THEN 3
                     ELSE 0 END = ?
        LIMIT ?) v";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Kind {
    /// What gives something, or changes it.
    Ordinary,
    /// Sign-ins: whoever has a password makes many.
    SignIn,
    /// What replaces a secret, so that the one before ends.
    Replacement,
    /// What takes back something that was given: no more than that.
    Withdrawal,
}

impl Kind {
    #[cfg(test)]
    pub(in crate::store) const ALL: [Self; 4] =
        [Self::Ordinary, Self::SignIn, Self::Replacement, Self::Withdrawal];

    pub(in crate::store) const fn of(action: AuditAction) -> Self {
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
    pub(in crate::store) const fn code(self) -> i64 {
        match self {
            Self::Ordinary => 0,
            Self::SignIn => 1,
            Self::Replacement => 2,
            Self::Withdrawal => 3,
        }
    }

    /// How many a user makes in a day of an account, or of none.
    const fn most_of_one(self) -> Option<u32> {
        match self {
            Self::Ordinary => Some(CHANGES_OF_ONE_A_DAY_MAX),
            Self::SignIn => Some(SIGN_INS_A_DAY_MAX),
            Self::Replacement => Some(REPLACEMENTS_A_DAY_MAX),
            Self::Withdrawal => None,
        }
    }
}

/// Refuses a change by a user, who is no operator, beyond what one user, and all members of its account, may make in a day.
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

/// `count` wants the most that is counted.
async fn refuse_beyond(most: u32, count: Statement, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let rows = tx.fetch(count.bind(most)).await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.get("count"))?;
    if count < i64::from(most) { Ok(()) } else { Err(StoreError::TooManyChanges(most)) }
}
