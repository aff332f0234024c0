//! Actions and actors in the audit log.

macro_rules! actions {
    ($($(#[$doc:meta])* $action:ident = $name:literal;)+) => {
        /// A change of permissions, of money, or of an account's settings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AuditAction {
            $($(#[$doc])* $action,)+
        }

        impl AuditAction {
            /// Every action, sorted by noun.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$action),+];

            /// The name in the log: the noun and the verb.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)+
                }
            }
        }
    };
}

actions! {
    /// An account was created.
    AccountCreate = "account.create";
    /// An account's payments were activated.
    AccountActivate = "account.activate";
    /// An account was suspended.
    AccountSuspend = "account.suspend";
    /// A suspended account was resumed.
    AccountResume = "account.resume";
    /// An account was closed permanently.
    AccountClose = "account.close";
    /// A closed account is to be erased.
    AccountErase = "account.erase";
    /// An account's retention was changed.
    AccountRetention = "account.retention";
    /// An account's quotas were changed.
    AccountLimits = "account.limits";
    /// An API key was created.
    ApiKeyCreate = "api_key.create";
    /// An API key was revoked.
    ApiKeyRevoke = "api_key.revoke";
    /// Credits were granted, or taken back.
    CreditsGrant = "credits.grant";
    /// An account's monthly grant was changed.
    CreditsMonthly = "credits.monthly";
    /// The threshold or the receiver of an account's notice of low credits was changed.
    CreditsLow = "credits.low";
    /// Credits were ordered at the payment provider.
    PaymentCreate = "payment.create";
    /// A user was created.
    UserCreate = "user.create";
    /// A user was linked to a subject of the OpenID provider.
    UserLink = "user.link";
    /// A user was removed.
    UserRemove = "user.remove";
    /// All sessions of a user were ended.
    UserSignOut = "user.sign_out";
    /// A link was created that signs a user in once.
    SignInLinkCreate = "sign_in_link.create";
    /// A user signed in.
    SignIn = "sign_in";
    /// A user changed the password.
    PasswordChange = "password.change";
    /// A user's e-mail address was changed.
    EmailChange = "email.change";
    /// A user became a member of an account.
    MemberAdd = "member.add";
    /// A member's role was changed.
    MemberRole = "member.role";
    /// A member was removed.
    MemberRemove = "member.remove";
    /// Somebody was invited to an account.
    InvitationCreate = "invitation.create";
    /// An invitation was withdrawn.
    InvitationWithdraw = "invitation.withdraw";
    /// The secret that signs webhooks was replaced.
    WebhookSecretRotate = "webhook_secret.rotate";
    /// All stored data was exported.
    Export = "export";
    /// All stored data was imported.
    Import = "import";
}

impl AuditAction {
    /// The action with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == name)
    }
}

/// The kind of actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorKind {
    /// The service itself, at its first start or for a user who is not signed in yet.
    Service,
    /// An operator at the command line.
    Operator,
    /// A user of the console.
    User,
    /// An API key.
    ApiKey,
}

impl ActorKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Service, Self::Operator, Self::User, Self::ApiKey];

    /// The name in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Operator => "operator",
            Self::User => "user",
            Self::ApiKey => "api_key",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_read_by_its_name_and_no_other() {
        for action in AuditAction::ALL {
            assert_eq!(AuditAction::parse(action.as_str()), Some(action));
        }
        assert_eq!(AuditAction::parse("account"), None);
        let mut names = AuditAction::ALL.map(AuditAction::as_str);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn every_kind_of_actor_has_a_name_of_its_own() {
        assert_eq!(ActorKind::ALL.map(ActorKind::as_str), ["service", "operator", "user", "api_key"]);
    }
}
