//! The account of the server: PostgreSQL refuses to run as root.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// In order of preference: Debian's package creates the first, and every system has the second.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// The account to run the server as; `None` if we are not root.
    pub(super) fn instead_of_root() -> io::Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd")?;
        let found = CANDIDATES.iter().find_map(|name| Self::named(name, &accounts));
        let missing =
            || io::Error::other("PostgreSQL does not run as root, and there is no user postgres or nobody.");
        found.ok_or_else(missing).map(Some)
    }

    fn named(name: &str, accounts: &str) -> Option<Self> {
        let fields = accounts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let mut numbers = fields.split(':').skip(1).map(str::parse);
        Some(Self { user: numbers.next()?.ok()?, group: numbers.next()?.ok()? })
    }

    /// Makes the account the owner of a file or folder.
    pub(super) fn take_over(self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.user), Some(self.group))
    }

    /// Makes the command run as this account, and in no other group.
    pub(super) fn run(self, command: &mut Command) {
        command.uid(self.user).gid(self.group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts =
            "root:x:0:0:root:/:/bin/sh\npostgres-old:x:1:2::/:\npostgres:x:101:104:,,,:/:/bin/sh\n";
        assert_eq!(Account::named("postgres", accounts), Some(Account { user: 101, group: 104 }));
        assert_eq!(Account::named("nobody", accounts), None);
    }
}
