//! Engines outside their opening hours.

use std::sync::Arc;
use std::time::Duration;

use overnight_app::engines;
use overnight_app::requests::waiting;
use overnight_base::clock::Clock;
use overnight_domain::requests::{RequestState, RequestStatus};
use overnight_testkit::engine::SimConfig;

use super::{Rig, Setup, pause};
use crate::support::{SharedSteps, SteppedClock};

const STEP: Duration = Duration::from_secs(1);
const MINUTE_MS: i64 = 60_000;
/// Midnight in Paris: 22:00 of 2025-06-15 in UTC.
const MIDNIGHT: i64 = 1_750_024_800_000;

/// The reported end of the closed period.
async fn closed_until(rig: &Rig) -> Option<i64> {
    engines::list(&rig.services).await.expect("reports").first().and_then(|report| report.engine.closed_until)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_gets_nothing_outside_its_hours_and_opens_at_the_minute() {
    let steps = SteppedClock::at(MIDNIGHT - MINUTE_MS);
    let clock = SharedSteps(Arc::clone(&steps));
    let engine_settings = "hours = [\"00:00-00:02\"]\ntimezone = \"Europe/Paris\"";
    let setup =
        Setup { engine_settings, clock: Arc::new(SharedSteps(Arc::clone(&steps))), ..Setup::default() };
    let rig = Rig::start_all(vec![SimConfig::default()], setup, async |_, _| {}).await;
    let arrived = || rig.engines[0].counters().arrived;
    let go_on_until = async |at| {
        while clock.now() < at {
            steps.advance(STEP);
            pause().await;
        }
    };

    let early = rig.create("early").await;
    go_on_until(MIDNIGHT - 1_000).await;
    assert_eq!(rig.status(early).await, RequestStatus::Registered);
    assert_eq!(arrived(), 0);
    assert_eq!(closed_until(&rig).await, Some(MIDNIGHT));
    let reason = waiting::reason(&rig.services, "sim", &RequestState::Queued).await.expect("a reason");
    assert_eq!(reason, Some(waiting::WaitingReason::EnginesClosed { until: Some(MIDNIGHT) }));

    let record = steps.advance_until(STEP, rig.ended(early)).await;
    assert_eq!((record.summary.state.status(), arrived()), (RequestStatus::Completed, 1));
    // The progress of the steps depends on the machine.
    assert!((0..24 * 60 * MINUTE_MS).contains(&(clock.now() - MIDNIGHT)), "{}", clock.now() - MIDNIGHT);

    go_on_until(MIDNIGHT + 2 * MINUTE_MS).await;
    let late = rig.create("late").await;
    go_on_until(MIDNIGHT + 3 * MINUTE_MS).await;
    assert_eq!((rig.status(late).await, arrived()), (RequestStatus::Registered, 1));
    assert_eq!(closed_until(&rig).await, Some(MIDNIGHT + 24 * 60 * MINUTE_MS));
    steps.advance_until(STEP, rig.finish()).await;
}
