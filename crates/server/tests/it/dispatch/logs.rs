//! Log lines about attempts at engines.

use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::SimConfig;

use super::Rig;
use crate::support::Log;

/// Single-threaded, because the log is recorded for one thread.
#[tokio::test]
async fn what_is_logged_of_an_attempt_names_its_model_its_replica_its_request_and_its_account() {
    let log = Log::keep();
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let id = rig.create("[[sim:status=400]]").await;
    assert_eq!(rig.ended(id).await.summary.state.status(), RequestStatus::Failed);
    let span = format!("attempt{{model=\"sim\" replica=\"sim-0\" request={id} account=acct_");
    let lines = log.lines_with("attempt failed");
    assert!(lines.len() == 1 && lines[0].contains(&span), "{span}: {lines:?}");
    rig.finish().await;
}
