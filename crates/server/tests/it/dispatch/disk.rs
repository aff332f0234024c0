//! Requests that wait for free disk space.

use overnight_domain::requests::RequestStatus;
use overnight_store::queue::releases;
use overnight_testkit::engine::SimConfig;

use super::{Rig, create_in, pause};
use crate::support::Log;

/// Single-threaded, because the log is recorded for one thread. The second request is still in its aggregation period.
#[tokio::test]
async fn what_waits_for_space_on_the_disk_runs_once_there_is_some() {
    let log = Log::keep();
    let mut ids = Vec::new();
    let rig = Rig::start_after(vec![SimConfig::default()], async |services, account| {
        ids.push(create_in(services, account, "queued").await);
        releases::release(&services.store, i64::MAX, 10).await.expect("a release");
        ids.push(create_in(services, account, "gathering").await);
        services.store.set_disk_reserve(u64::MAX).await.expect("a reserve");
    })
    .await;
    if !rig.services.store.is_shared() {
        for _ in 0..20 {
            pause().await;
        }
        for id in &ids {
            assert_eq!(rig.status(*id).await, RequestStatus::Registered);
        }
        assert_eq!(rig.engines[0].arrivals(), [""; 0]);
        assert_eq!(log.lines_with("will retry"), [""; 0], "the writer says so once");
    }
    rig.services.store.set_disk_reserve(0).await.expect("a reserve");
    rig.all_completed(&ids).await;
    rig.finish().await;
}
