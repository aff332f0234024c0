//! What the members of an account may do.

/// What somebody is in an account; each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads everything but keys and secrets.
    Viewer,
    /// Works: sends and cancels requests, makes and revokes keys, sees to webhooks.
    Developer,
    /// Decides who belongs to the account, and pays.
    Owner,
}

/// What somebody wants to do in an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Look at requests, answers, money and names.
    View,
    /// Send and cancel requests, make and revoke keys, see and change what webhooks are signed with, send them again.
    Work,
    /// Invite and dismiss members, change their roles, buy credits.
    Manage,
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Developer, Self::Owner];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Developer => "developer",
            Self::Owner => "owner",
        }
    }

    /// Reads the name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// Whether somebody in this role may do that.
    pub const fn may(self, permission: Permission) -> bool {
        match permission {
            Permission::View => true,
            Permission::Work => matches!(self, Self::Developer | Self::Owner),
            Permission::Manage => matches!(self, Self::Owner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_those_before_it_may() {
        let all = [Permission::View, Permission::Work, Permission::Manage];
        let allowed = Role::ALL.map(|role| all.into_iter().filter(|it| role.may(*it)).count());
        assert_eq!(allowed, [1, 2, 3]);
    }

    #[test]
    fn every_role_reads_back_from_its_name() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
    }
}
