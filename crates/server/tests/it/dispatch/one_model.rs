//! Engines that hold one model at a time and load another when a request names it.

use std::sync::Arc;
use std::time::Duration;

use overnight_app::accounts;
use overnight_app::requests::waiting::{self, WaitingReason};
use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;
use overnight_testkit::engine::{Loads, SimConfig, Tunables};

use super::stepped::{STEP, complete_smoothly};
use super::{Rig, Setup, create_for_model, eventually, feed, until};
use crate::support::{SharedSteps, SteppedClock};

const START: i64 = 1_750_000_000_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// An engine with three models, with a loading time and a time for each request.
fn swapping(load_ms: u64, base_latency_ms: u64) -> SimConfig {
    let models = ["sim-model", "other", "third"].map(str::to_owned).into();
    let tunables = Tunables { models, load_ms: Some(load_ms), base_latency_ms, ..Tunables::default() };
    SimConfig { tunables, ..SimConfig::default() }
}

/// A service for two models of such an engine, on a clock under the test's control.
fn setup(engine_settings: &'static str) -> (Setup, Arc<SteppedClock>) {
    let steps = SteppedClock::at(START);
    let clock = Arc::new(SharedSteps(Arc::clone(&steps)));
    (Setup { other_models: &["other"], engine_settings, clock, ..Setup::default() }, steps)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mixed_requests_of_two_models_are_gathered_by_model() {
    let (setup, steps) = setup("one_model_at_a_time = true\ntime_slice = \"24h\"");
    let mut ids: Vec<(AccountKey, RequestId)> = Vec::new();
    let rig = Rig::start_all(vec![swapping(20, 5)], setup, async |services, account| {
        let second = accounts::create(services, "second").await.expect("an account").key;
        for number in 0..10 {
            for account in [account, second] {
                for model in ["sim", "other"] {
                    let content = format!("{model} {number}");
                    ids.push((account, create_for_model(services, account, model, &content).await));
                }
            }
        }
    });
    let rig = rig.await;
    for (account, id) in ids {
        let record = steps.advance_until(STEP, rig.ended_of(account, id)).await;
        assert_eq!((record.summary.state.status(), record.attempts.len()), (RequestStatus::Completed, 0));
    }
    let loads = rig.engines[0].loads();
    // No deadline is near and no slice ends, so one model's requests all run before the other's.
    assert_eq!((loads.loaded.len(), loads.mixed), (2, 0), "{loads:?}");
    steps.advance_until(STEP, rig.finish()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_is_not_known_to_hold_one_model_swaps() {
    let (setup, steps) = setup("");
    let rig = Rig::start_all(vec![swapping(20, 5)], setup, async |_, _| {}).await;
    let mut ids = Vec::new();
    let more = feed(&rig, &mut ids, async |number| {
        let model = ["sim", "other"][number % 2];
        create_for_model(&rig.services, rig.account, model, &format!("{model} {number}")).await
    });
    let has_swapped = || {
        let loads = rig.engines[0].loads();
        loads.loaded.len() > 2 && loads.mixed > 0
    };
    let swaps = async {
        tokio::select! {
            () = eventually("it swaps", has_swapped) => {}
            never = more => never,
        }
    };
    steps.advance_until(STEP, swaps).await;
    complete_smoothly(&rig, &steps, &ids).await;
    steps.advance_until(STEP, rig.finish()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_in_danger_swaps_to_its_model_and_the_other_goes_on_afterwards() {
    let (setup, steps) = setup("one_model_at_a_time = true\ntime_slice = \"24h\"\nrequest_timeout = \"24h\"");
    let rig = Rig::start_all(vec![swapping(20, 100)], setup, async |_, _| {}).await;
    let create = async |content: &str| create_for_model(&rig.services, rig.account, "other", content).await;
    // One request keeps the model in use for hours, after which the other deadlines are later than the urgent request's.
    let mut others = vec![create("[[sim:delay=1000]]").await];
    let arrives = eventually("it is sent", || rig.engines[0].attempts_of("[[sim:delay=1000]]") == 1);
    steps.advance_until(STEP, arrives).await;
    let urgent = rig.create("urgent").await;
    steps.advance(20 * HOUR);
    for number in 0..200 {
        others.push(create(&format!("other {number}")).await);
    }
    let runs = eventually("the rest is worked on", || rig.engines[0].counters().answered > 20);
    steps.advance_until(STEP, runs).await;
    assert_eq!(rig.engines[0].loads().loaded, ["other"]);

    steps.advance(3 * HOUR);
    // However long the swap takes.
    let more = feed(&rig, &mut others, async |number| create(&format!("other {number}")).await);
    let ended = async {
        tokio::select! {
            record = rig.ended(urgent) => record,
            never = more => never,
        }
    };
    let record = steps.advance_until(STEP, ended).await;
    assert_eq!(record.summary.state.status(), RequestStatus::Completed);
    complete_smoothly(&rig, &steps, &others).await;
    let expected = Loads { loaded: ["other", "sim-model", "other"].map(str::to_owned).into(), mixed: 0 };
    assert_eq!(rig.engines[0].loads(), expected);
    steps.advance_until(STEP, rig.finish()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_is_away_is_paused_with_the_reason_and_no_attempt_counts() {
    let (setup, steps) = setup("one_model_at_a_time = true");
    let rig = Rig::start_all(vec![swapping(20, 5)], setup, async |_, _| {}).await;
    rig.engines[0].die(2_000);
    let (one, other) =
        (rig.create("one").await, create_for_model(&rig.services, rig.account, "other", "other").await);
    let waits = until("it waits", async || {
        let state = rig.record(one).await.summary.state;
        match waiting::reason_for_operators(&rig.services, "sim", &state).await {
            Ok(Some(WaitingReason::EnginesPaused { reason, .. })) => reason,
            _ => None,
        }
    });
    let reason = steps.advance_until(STEP, waits).await;
    assert!(reason.starts_with("it could not be loaded: "), "{reason}");
    complete_smoothly(&rig, &steps, &[one, other]).await;
    steps.advance_until(STEP, rig.finish()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_added_and_one_that_is_removed_leave_the_others_alone() {
    let (setup, steps) = setup("one_model_at_a_time = true");
    let rig = Rig::start_all(vec![swapping(20, 50)], setup, async |_, _| {}).await;
    let mut ids = rig.create_all(60, "one").await;
    let runs = eventually("the model works", || rig.engines[0].counters().answered > 5);
    steps.advance_until(STEP, runs).await;
    let changed = rig.reload(|config| {
        let third = overnight_config::ModelConfig { name: "third".to_owned(), ..config.models[0].clone() };
        config.models.push(third);
        config.models.retain(|model| model.name != "other");
        let served = &mut config.engines[0].models;
        served.insert("third".to_owned(), "third".to_owned());
        served.remove("other");
    });
    changed.await.expect("a reload");
    ids.push(create_for_model(&rig.services, rig.account, "third", "third").await);
    complete_smoothly(&rig, &steps, &ids).await;
    let names: Vec<_> = rig.clients.list().iter().map(|client| client.config().name.clone()).collect();
    assert_eq!(names, ["sim-0/sim", "sim-0/third"]);
    let loads = rig.engines[0].loads();
    assert_eq!(loads, Loads { loaded: ["sim-model", "third"].map(str::to_owned).into(), mixed: 0 });
    steps.advance_until(STEP, rig.finish()).await;
}
