//! Lanes of waiting events.

use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::DeliveryLane;
use sha2::{Digest, Sha256};
use url::Url;

use crate::database::{Row, statements};
use crate::{Store, StoreError};

pub(crate) fn lane_of(account: AccountKey, webhook: Option<&str>) -> Option<i64> {
    let origin = Url::parse(webhook?).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    Some(DeliveryLane::of(account.0, Sha256::digest(origin)[0]).0)
}

statements! {
    /// From lane to lane: each is one search, however many events wait in it.
    LIST = "WITH RECURSIVE lanes(lane) AS (
            SELECT CAST(-1 AS BIGINT)
            UNION ALL
            SELECT (SELECT min(e.lane) FROM events e WHERE e.due_at IS NOT NULL AND e.lane > v.lane)
            FROM lanes v WHERE v.lane IS NOT NULL
        ) SELECT v.lane,
                 (SELECT min(e.due_at) FROM events e WHERE e.due_at IS NOT NULL AND e.lane = v.lane) AS due_at
          FROM lanes v WHERE v.lane >= 0";
}

/// Lanes with waiting events, each with the next due time in milliseconds.
pub async fn list_lanes(store: &Store) -> Result<Vec<(DeliveryLane, i64)>, StoreError> {
    let rows = store.readers().fetch_all(LIST.unbound()).await?;
    // Claims by other processes between the two reads may leave a lane empty.
    let read = |row: &Row| Ok((DeliveryLane(row.get("lane")?), row.get::<Option<i64>>("due_at")?));
    let lanes: Vec<(DeliveryLane, Option<i64>)> = rows.iter().map(read).collect::<Result<_, StoreError>>()?;
    Ok(lanes.into_iter().filter_map(|(lane, due_at)| Some((lane, due_at?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_of_its_account_and_the_same_for_the_same_host() {
        let lane =
            |account, webhook: &str| lane_of(AccountKey(account), Some(webhook)).map(DeliveryLane).unwrap();
        assert_eq!(lane(7, "https://a.example/1"), lane(7, "https://A.example:443/2?x"));
        assert_eq!(lane(7, "https://a.example/1").account(), 7);
        assert_ne!(lane(7, "https://a.example"), lane(8, "https://a.example"));
        assert_eq!(lane_of(AccountKey(7), None), None);
        let hosts = (0..10_000).map(|host| lane(7, &format!("https://{host}.example")).0);
        let lanes: std::collections::BTreeSet<i64> = hosts.collect();
        assert_eq!(lanes, (7 * 256..8 * 256).collect());
    }
}
