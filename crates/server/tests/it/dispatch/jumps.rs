//! The machine's clock jumps forward and back, or the machine sleeps, while requests are aggregated, run and created.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use overnight_base::clock::{CORRECTION_MS_MAX, Clock, FollowingClock, Sleep};
use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::SimConfig;
use overnight_testkit::proof;

use super::{Rig, Setup, eventually};
use crate::support::{START, SharedSteps, SteppedClock};

/// Small steps, so that the disk's time is a small part of a request's time limit.
const STEP: Duration = Duration::from_millis(20);
const SECOND: Duration = Duration::from_secs(1);
const SECOND_MS: i64 = 1_000;
const HOUR_MS: i64 = 3_600 * SECOND_MS;
/// Far less than a jump that would delay a request.
const SOON_MS: i64 = 15 * SECOND_MS;

/// A machine's clock that is ahead of the elapsed time.
struct MachineClock {
    steps: Arc<SteppedClock>,
    ahead_ms: AtomicI64,
}

impl MachineClock {
    fn jump(&self, by_ms: i64) {
        self.ahead_ms.fetch_add(by_ms, Ordering::Relaxed);
    }

    fn passed(&self) -> i64 {
        SharedSteps(Arc::clone(&self.steps)).now()
    }
}

impl Clock for MachineClock {
    fn now(&self) -> i64 {
        self.passed() + self.ahead_ms.load(Ordering::Relaxed)
    }

    fn sleep_until(&self, _at: i64) -> Sleep {
        panic!("nobody waits by the machine's clock")
    }
}

/// A service on the production clock, its machine's clock, and the elapsed time under the test's control.
async fn start(engine_settings: &'static str) -> (Rig, Arc<MachineClock>, Arc<SteppedClock>) {
    let steps = SteppedClock::at(START);
    let machine = Arc::new(MachineClock { steps: Arc::clone(&steps), ahead_ms: AtomicI64::new(0) });
    let monotonic = Arc::new(SharedSteps(Arc::clone(&steps)));
    let clock = Arc::new(FollowingClock::new(Arc::clone(&machine) as Arc<dyn Clock>, monotonic));
    let setup = Setup { engine_settings, clock, ..Setup::default() };
    let rig = Rig::start_all(vec![SimConfig::default()], setup, async |_, _| {}).await;
    (rig, machine, steps)
}

/// A request that the engine has received.
async fn sent(rig: &Rig, steps: &SteppedClock, content: &str) -> RequestId {
    let id = rig.create(content).await;
    let arrives = eventually("it is sent", || rig.engines[0].attempts_of(content) == 1);
    steps.advance_until(STEP, arrives).await;
    id
}

/// All requests complete soon in elapsed time; returns the elapsed milliseconds.
async fn complete_soon(rig: &Rig, machine: &MachineClock, ids: &[RequestId], case: &str) -> i64 {
    let began = machine.passed();
    for id in ids {
        let ended = machine.steps.advance_until(STEP, rig.ended(*id)).await;
        assert_eq!(ended.summary.state.status(), RequestStatus::Completed, "{case}: {ended:?}");
    }
    let took_ms = machine.passed() - began;
    assert!(took_ms <= SOON_MS, "{case}: {took_ms} ms");
    took_ms
}

/// Waits until the service's time is the machine's.
async fn followed(rig: &Rig, machine: &MachineClock) {
    let clock = &rig.services.clock;
    let is_followed = || (clock.now() - machine.now()).abs() <= CORRECTION_MS_MAX && !clock.is_apart();
    machine.steps.advance_until(SECOND, eventually("the clock is followed", is_followed)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_jump_of_any_size_requests_are_sent_at_once_and_nothing_is_lost() {
    let (rig, machine, _steps) = start("").await;
    let sizes_ms = [SECOND_MS, 20 * SECOND_MS, HOUR_MS, 25 * HOUR_MS];
    // Back and forth, back twice, and forth twice.
    let jumps = sizes_ms.into_iter().flat_map(|ms| [ms, -ms, -ms, ms, ms, -ms]);
    let (mut count, mut longest_ms) = (0, 0);
    for (number, by_ms) in jumps.enumerate() {
        let case = format!("jump {number}, {by_ms} ms");
        let before = rig.create_all(12, "before").await;
        machine.jump(by_ms);
        let after = rig.create_all(4, "after").await;
        let soon_ms = complete_soon(&rig, &machine, &[before, after].concat(), &case).await;
        followed(&rig, &machine).await;
        let later = rig.create_all(4, "later").await;
        let later_ms = complete_soon(&rig, &machine, &later, &case).await;
        (count, longest_ms) = (count + 1, longest_ms.max(soon_ms).max(later_ms));
    }
    let database = if rig.services.store.is_shared() { "postgresql" } else { "sqlite" };
    let figure = format!(
        "{count} jumps: each of {} requests completed, at most {longest_ms} ms after the jump by the clock of the test",
        20 * count
    );
    proof::record(&format!("clock-jumps-{database}"), &figure);
    machine.steps.advance_until(SECOND, rig.finish()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_waits_no_longer_because_the_clock_is_set_back() {
    let (rig, machine, steps) = start("").await;
    // It fails until its backoff is half a minute, and is aggregated by the wrong time.
    let id = rig.create("[[sim:status=500 x5]]").await;
    steps.advance_until(STEP, rig.failed_times(id, 1)).await;
    machine.jump(-25 * HOUR_MS);
    followed(&rig, &machine).await;
    let began = machine.passed();
    let ended = steps.advance_until(SECOND, rig.ended(id)).await;
    assert_eq!(ended.summary.state.status(), RequestStatus::Completed, "{ended:?}");
    assert!(machine.passed() - began < HOUR_MS);
    steps.advance_until(SECOND, rig.finish()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_slept_goes_on_at_once_and_expires_nothing_in_the_first_minute() {
    let (rig, machine, steps) = start("request_timeout = \"24h\"").await;
    let running = sent(&rig, &steps, "[[sim:delay=500]]").await;
    let hopeless = sent(&rig, &steps, "[[sim:hang]]").await;
    machine.jump(25 * HOUR_MS);
    let fresh = rig.create_all(3, "fresh").await;
    complete_soon(&rig, &machine, &[vec![running], fresh].concat(), "asleep for 25 h").await;
    assert_eq!(rig.status(hopeless).await, RequestStatus::InProgress, "not yet");
    followed(&rig, &machine).await;
    let expired = steps.advance_until(SECOND, rig.ended(hopeless)).await;
    assert_eq!(expired.summary.state.status(), RequestStatus::Failed, "{expired:?}");
    steps.advance_until(SECOND, rig.finish()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_wrong_for_less_than_a_minute_expires_nothing() {
    let (rig, machine, steps) = start("request_timeout = \"24h\"").await;
    let hopeless = sent(&rig, &steps, "[[sim:hang]]").await;
    machine.jump(25 * HOUR_MS);
    let is_apart = || rig.services.clock.is_apart();
    steps.advance_until(STEP, eventually("the jump is seen", is_apart)).await;
    machine.jump(-25 * HOUR_MS);
    followed(&rig, &machine).await;
    let until = machine.passed() + 120 * SECOND_MS;
    steps.advance_until(SECOND, eventually("two minutes pass", || machine.passed() >= until)).await;
    assert_eq!(rig.status(hopeless).await, RequestStatus::InProgress);
    steps.advance_until(SECOND, rig.finish()).await;
}
