//! What the tests of rate limits and of daily budgets share: a service whose clock the test steps.

use std::sync::Arc;
use std::time::Duration;

use overnight_domain::ids::RequestId;
use overnight_testkit::engine::SimConfig;

use super::{Rig, Setup};
use crate::support::{SharedSteps, SteppedClock};

/// How far the clock is stepped at once.
pub(super) const STEP: Duration = Duration::from_secs(1);

/// A service whose one engine has this setting, and its clock, which shows `now`.
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

/// So many requests, each of its own content.
pub(super) async fn create(rig: &Rig, count: usize) -> Vec<RequestId> {
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(rig.create(&format!("request {number}")).await);
    }
    ids
}
