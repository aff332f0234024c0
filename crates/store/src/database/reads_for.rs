//! For whom the current task reads the database.

use std::cell::Cell;
use std::net::IpAddr;

use overnight_domain::scheduler::AccountKey;

/// Whose turns the reads of a task take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReadsFor {
    /// The service itself, which waits for no turn. Also reads whose callers hold a turn already: a long read, or a transaction.
    Service,
    Account(AccountKey),
    /// An address or network that calls without a key.
    Network(IpAddr),
    /// A caller through a proxy that does not name its client.
    Unknown,
}

tokio::task_local! {
    static READS_FOR: Cell<ReadsFor>;
}

impl ReadsFor {
    /// Runs `work`, whose reads take their turns as this caller's. Pass [`ReadsFor::current`] to tasks it spawns.
    pub fn scope<T>(self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        READS_FOR.scope(Cell::new(self), work)
    }

    /// For whom the current task reads.
    pub fn current() -> Self {
        READS_FOR.try_with(Cell::get).unwrap_or(Self::Service)
    }

    /// The caller without a key has turned out to be a member of this account: it takes the account's turns from now on.
    pub fn continue_as(account: AccountKey) {
        if matches!(Self::current(), Self::Network(_) | Self::Unknown) {
            // Without a scope the service itself reads.
            let _ = READS_FOR.try_with(|it| it.set(Self::Account(account)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_caller_that_turns_out_to_be_a_member_takes_the_account_s_turns() {
        let told = || async {
            ReadsFor::continue_as(AccountKey(3));
            ReadsFor::current()
        };
        assert_eq!(ReadsFor::Unknown.scope(told()).await, ReadsFor::Account(AccountKey(3)));
        assert_eq!(ReadsFor::Service.scope(told()).await, ReadsFor::Service);
        let other = ReadsFor::Account(AccountKey(2));
        assert_eq!(other.scope(told()).await, other);
    }
}
