//! Engines with a rate limit, on the service's clock.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use overnight_base::clock::Clock;
use serde_json::json;

use super::stepped::{STEP, complete_smoothly, start_at};
use super::{Rig, create_of, eventually, pause};
use crate::support::{SharedSteps, SteppedClock};

const START: i64 = 1_750_000_020_000;

/// A service whose only engine has these settings, and its clock.
async fn start(engine_settings: &'static str) -> (Rig, Arc<SteppedClock>, SharedSteps) {
    start_at(START, engine_settings).await
}

#[tokio::test]
async fn an_engine_is_sent_no_more_requests_in_a_minute_than_it_may() {
    let recorder = PrometheusBuilder::new().build_recorder();
    // The whole service runs on this thread.
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (rig, steps, clock) = start("max_requests_per_minute = 3").await;
    let arrived = || rig.engines[0].counters().arrived;
    let ids = rig.create_all(7, "request").await;
    let holds_back = r#"overnight_engine_rate_limited{engine="sim-0"} 1"#;
    let is_told = eventually("it is told", || recorder.handle().render().contains(holds_back));
    steps.advance_until(STEP, is_told).await;
    while clock.now() < START + 180_000 {
        steps.advance(STEP);
        pause().await;
        // A second counts until all of it is a minute old.
        let most = 3 * (1 + (clock.now() - START) / 61_000).unsigned_abs();
        assert!(arrived() <= most, "{} of {most}", arrived());
    }
    complete_smoothly(&rig, &steps, &ids).await;
    assert_eq!(arrived(), 7);
    assert!(clock.now() - START >= 120_000);
    steps.advance_until(STEP, rig.finish()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_refused_for_a_limit_of_ours_is_sent_again_as_soon_as_that_is_allowed() {
    let (rig, steps, clock) = start("max_requests_per_minute = 1").await;
    let content = "[[sim:status=422 x1]]";
    let body = json!({"request_body": {"model": "sim", "messages": [{"role": "user", "content": content}]}});
    let id = create_of(&rig.services, rig.account, body.to_string()).await.id;
    complete_smoothly(&rig, &steps, &[id]).await;
    assert_eq!(rig.engines[0].attempts_of(content), 2);
    assert!(clock.now() - START >= 60_000, "both count");
    steps.advance_until(STEP, rig.finish()).await;
}
