//! Checks that every leased request has a live node.

use overnight_config::{Config, Database};
use overnight_store::nodes::statuses::{self, NodeStatus};
use overnight_store::{FolderLock, Store, StoreError};

use super::{Finding, open_database};
use crate::times;

const CHECK: &str = "leases";

/// Peers take back a dead node's requests within one lease after its last heartbeat; this multiple excludes chance.
const LEASES_TO_WARN: i64 = 3;

/// `None` without a database.
pub(super) async fn check(config: &Config) -> Option<Finding> {
    let is_sqlite = config.database == Database::Sqlite;
    let store = open_database(config).await?;
    let known = look(&store).await;
    store.close().await;
    let (nodes, orphaned) = known.ok()?;
    // The next start of a folder takes all requests back.
    if is_sqlite && FolderLock::holder(&config.data_dir).is_none() {
        let leased = orphaned + leased(&nodes);
        let message = match leased {
            0 => "no process serves the folder, and nothing is leased".to_owned(),
            _ => format!("no process serves the folder; the next start takes {leased} leased requests back"),
        };
        return Some(Finding::ok(CHECK, message));
    }
    Some(judge(&nodes, orphaned, config.lease.0))
}

async fn look(store: &Store) -> Result<(Vec<NodeStatus>, i64), StoreError> {
    Ok((statuses::list(store, times::now()).await?, statuses::count_orphaned(store).await?))
}

fn leased<'a>(nodes: impl IntoIterator<Item = &'a NodeStatus>) -> i64 {
    nodes.into_iter().map(|node| node.leased).sum()
}

fn judge(nodes: &[NodeStatus], orphaned: i64, lease_ms: i64) -> Finding {
    if orphaned > 0 {
        let message =
            format!("{orphaned} requests are leased to a node that is not there: nobody takes them back");
        return Finding::fail(
            CHECK,
            message,
            "keep the database as it is, run `overnight audit`, and report what it says",
        );
    }
    let (dead, alive): (Vec<_>, Vec<_>) =
        nodes.iter().partition(|node| node.silent_ms > lease_ms.saturating_mul(LEASES_TO_WARN));
    if !dead.is_empty() {
        let silent = dead.iter().map(|node| node.silent_ms).min().unwrap_or(0);
        let names: Vec<&str> = dead.iter().map(|node| node.name.as_str()).collect();
        let message = format!(
            "no sign of life for {} from {}, with {} leased requests",
            times::duration(silent),
            names.join(", "),
            leased(dead.iter().copied())
        );
        let hint = match alive.is_empty() {
            true => "no node lives: start one, or restart one that hangs; it takes the requests back",
            false => "the nodes that live should have taken them back: see their logs, and restart one",
        };
        return Finding::fail(CHECK, message, hint);
    }
    match (alive.len(), alive.iter().any(|node| node.schedules)) {
        (0, _) => Finding::ok(CHECK, "no node is registered, and nothing is leased"),
        (count, false) => {
            let message = format!("nodes that live: {count}, and none of them drives engines: requests wait");
            Finding::warn(CHECK, message, "start a node with the role \"all\" or \"scheduler\"")
        }
        (count, true) => {
            Finding::ok(CHECK, format!("nodes that live: {count}; leased requests: {}", leased(nodes)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    fn node(name: &str, silent_ms: i64, leased: i64, schedules: bool) -> NodeStatus {
        NodeStatus { name: name.to_owned(), schedules, silent_ms, leased }
    }

    #[test]
    fn nodes_that_died_and_what_they_hold_are_told() {
        for (nodes, orphaned, state, words) in [
            (
                vec![node("a", 900, 3, true), node("b", 10, 4, true)],
                0,
                State::Ok,
                "live: 2; leased requests: 7",
            ),
            (
                vec![node("a", 3_001, 3, true), node("b", 10, 4, true)],
                0,
                State::Fail,
                "for 3s from a, with 3",
            ),
            (vec![node("a", 60_000, 5, true)], 0, State::Fail, "for 1m from a, with 5 leased requests"),
            (vec![node("a", 10, 0, false)], 0, State::Warn, "none of them drives engines"),
            (vec![], 0, State::Ok, "no node is registered"),
            (
                vec![node("a", 10, 0, true)],
                2,
                State::Fail,
                "2 requests are leased to a node that is not there",
            ),
        ] {
            let finding = judge(&nodes, orphaned, 1_000);
            assert_eq!(finding.state, state, "{finding:?}");
            assert!(finding.message.contains(words), "{finding:?}");
        }
    }
}
