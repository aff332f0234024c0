//! A service on a clock that the test steps, for the tests of rate limits and daily budgets.

use std::sync::Arc;
use std::time::Duration;

use overnight_domain::ids::RequestId;
use overnight_testkit::engine::SimConfig;

use super::{Rig, Setup};
use crate::support::{SharedSteps, SteppedClock};

/// One step of the clock.
pub(super) const STEP: Duration = Duration::from_secs(1);

/// A service whose only engine has these settings, with its clock at `now`.
pub(super) async fn start_at(
    now: i64,
    engine_settings: &'static str,
) -> (Rig, Arc<SteppedClock>, SharedSteps) {
    let steps = SteppedClock::at(now);
    let clock = Arc::new(SharedSteps(Arc::clone(&steps)));
    let setup = Setup { engine_settings, clock, ..Setup::default() };
    let rig = Rig::start_all(vec![SimConfig::default()], setup, async |_, _| {}).await;
    let clock = SharedSteps(Arc::clone(&steps));
    (rig, steps, clock)
}

/// All requests complete, each at the first attempt that counts.
pub(super) async fn complete_smoothly(rig: &Rig, steps: &SteppedClock, ids: &[RequestId]) {
    for id in ids {
        let record = steps.advance_until(STEP, rig.completed(*id)).await;
        assert_eq!(record.attempts.len(), 0, "{record:?}");
    }
}
