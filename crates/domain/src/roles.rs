//! Permissions of an account's members.

/// A member's role; each may do what the previous ones may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads everything except keys and secrets.
    Viewer,
    /// Sends and cancels requests, creates and revokes keys, manages webhooks.
    Developer,
    /// Manages members, and pays.
    Owner,
}

/// An action in an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Look at requests, answers, money and names.
    View,
    /// Send and cancel requests, create and revoke keys, see and change the secrets of webhooks, send webhooks again.
    Work,
    /// Invite and remove members, change their roles, buy credits.
    Manage,
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Developer, Self::Owner];

    /// The name of the role.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Developer => "developer",
            Self::Owner => "owner",
        }
    }

    /// The role with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// Whether the role has this permission.
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
