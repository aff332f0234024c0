//! Lanes: events of one account that lead to the same host wait in line behind one another, and behind nobody else's. Its
//! hosts share 16 lanes, so that nobody makes lanes without end.

use sha2::{Digest, Sha256};
use url::Url;

use crate::store::sql::sql;
use crate::store::{Store, StoreError};
use overnight_domain::scheduler::AccountKey;

const LANES_OF_ACCOUNT: i64 = 16;

/// An account, and one host of its receivers or a few of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(pub i64);

impl Lane {
    /// Whose it is, by row number.
    pub const fn account(self) -> i64 {
        self.0.div_euclid(LANES_OF_ACCOUNT)
    }
}

/// The lane of an account's webhook.
pub(in crate::store) fn lane_of(account: AccountKey, webhook: Option<&str>) -> Option<i64> {
    let origin = Url::parse(webhook?).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let first = Sha256::digest(origin)[0];
    Some(account.0 * LANES_OF_ACCOUNT + i64::from(first) % LANES_OF_ACCOUNT)
}

/// Goes from lane to lane: each is one search, however many events wait in it.
pub(in crate::store) const LIST: &str = "WITH RECURSIVE lanes(lane) AS (
         SELECT min(lane) FROM events WHERE due_at IS NOT NULL
         UNION ALL
         SELECT (SELECT min(e.lane) FROM events e WHERE e.due_at IS NOT NULL AND e.lane > l.lane)
         FROM lanes l WHERE l.lane IS NOT NULL
     ) SELECT l.lane, (SELECT min(e.due_at) FROM events e WHERE e.due_at IS NOT NULL AND e.lane = l.lane)
       FROM lanes l WHERE l.lane IS NOT NULL";

/// The lanes in which events wait, each with when the next of them is due, in milliseconds.
pub async fn list_lanes(store: &Store) -> Result<Vec<(Lane, i64)>, StoreError> {
    let rows = store.readers().fetch_all(sql(LIST)).await?;
    // What another process claims between the two looks may leave a lane empty.
    let read = |row: &crate::store::sql::Row| Ok((Lane(row.get(0)?), row.get::<Option<i64>>(1)?));
    let lanes: Vec<(Lane, Option<i64>)> = rows.iter().map(read).collect::<Result<_, StoreError>>()?;
    Ok(lanes.into_iter().filter_map(|(lane, due_at)| Some((lane, due_at?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_of_its_account_and_the_same_for_the_same_host() {
        let lane = |account, webhook: &str| lane_of(AccountKey(account), Some(webhook)).map(Lane).unwrap();
        assert_eq!(lane(7, "https://a.example/1"), lane(7, "https://A.example:443/2?x"));
        assert_eq!(lane(7, "https://a.example/1").account(), 7);
        assert_ne!(lane(7, "https://a.example"), lane(8, "https://a.example"));
        assert_eq!(lane_of(AccountKey(7), None), None);
        let hosts = (0..1_000).map(|host| lane(7, &format!("https://{host}.example")).0);
        let lanes: std::collections::BTreeSet<i64> = hosts.collect();
        assert_eq!(lanes, (7 * 16..8 * 16).collect());
    }
}
