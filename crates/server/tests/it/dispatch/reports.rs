//! Reports about engines for people.

use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use overnight_app as app;
use overnight_app::engines::{self, EngineRates, EngineReport, EngineState};
use overnight_app::requests::waiting::WaitingReason;
use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::SimConfig;

use super::{Rig, Setup, caches, pause, until};
use crate::support::{START, SharedSteps, SteppedClock};

const STEP: Duration = Duration::from_secs(1);

/// Waits until the reports satisfy `holds`.
async fn told(rig: &Rig, what: &str, holds: impl Fn(&[EngineState]) -> bool) {
    until(what, async || {
        let reports = engines::list(&rig.services).await.expect("reports");
        let states: Vec<_> = reports.into_iter().map(|report| report.engine).collect();
        holds(&states).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_is_shown_with_its_pause_and_the_reason() {
    let rig = Rig::start(vec![SimConfig::default(), SimConfig::default()]).await;
    told(&rig, "both are shown", |states| {
        let [first, second] = states else { return false };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("sim-0", "sim-1"));
        assert!(first.models == ["sim"] && first.is_driven && first.max_concurrency == 16);
        first.pause.is_none() && second.pause.is_none()
    })
    .await;
    let hangs = rig.create("wait [[sim:hang]]").await;
    told(&rig, "one is busy", |states| states.iter().map(|state| state.in_flight).sum::<i64>() == 1).await;
    app::requests::cancel(&rig.services, rig.account, hangs).await.expect("a cancel");
    for engine in &rig.engines {
        engine.die(4_000);
    }
    let waits = rig.create("who is there").await;
    told(&rig, "a pause with its reason", |states| {
        let mut pauses = states.iter().filter_map(|state| state.pause.as_ref());
        pauses.any(|pause| pause.until.is_some() && !pause.reason.is_empty())
    })
    .await;
    rig.completed(waits).await;
    told(&rig, "both are used again", |states| states.iter().all(|state| state.pause.is_none())).await;
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_wait_for_an_engine_that_refuses_a_name_that_it_does_not_list() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    rig.engines[0].tune(|tunables| {
        tunables.models = vec!["another".to_owned()];
        tunables.unknown_model_status = 400;
    });
    let id = rig.create("hello").await;
    told(&rig, "a pause", |states| {
        let mut pauses = states.iter().filter_map(|state| state.pause.as_ref());
        pauses.any(|pause| pause.reason.contains("not list"))
    })
    .await;
    let (summary, prospect) = rig.summary(id).await;
    assert_eq!(summary.state.status(), RequestStatus::InProgress, "it was sent once");
    let waiting = prospect.waiting.expect("a reason");
    assert!(matches!(waiting, WaitingReason::EnginesPaused { reason: None, .. }), "{waiting:?}");
    rig.engines[0].tune(|tunables| tunables.models = vec!["sim-model".to_owned()]);
    let record = rig.completed(id).await;
    assert!(record.attempts.is_empty(), "no attempt counts");
    rig.finish().await;
}

/// The report of the only engine.
async fn only(rig: &Rig) -> EngineReport {
    engines::list(&rig.services).await.expect("reports").remove(0)
}

#[tokio::test]
async fn an_engine_at_work_is_reported_with_its_rates_and_an_idle_one_not_before_a_minute() {
    let recorder = PrometheusBuilder::new().build_recorder();
    // The whole service runs on this thread.
    let _guard = metrics::set_default_local_recorder(&recorder);
    let steps = SteppedClock::at(START);
    let setup = Setup { clock: Arc::new(SharedSteps(Arc::clone(&steps))), ..Setup::default() };
    let rig = Rig::start_all(vec![caches::engine("vllm")], setup, async |_, _| {}).await;
    let step = async || {
        steps.advance(STEP);
        pause().await;
    };
    step().await;
    for _ in 0..3 {
        let id = rig.create(&"one and the same prompt, ".repeat(20)).await;
        steps.advance_until(STEP, rig.ended(id)).await;
    }
    let run = r#"overnight_run_length_requests_count{engine="sim-0"} 3"#;
    assert!(recorder.handle().render().contains(run), "each was alone");
    told_within(&rig, &step, |rates| rates.tokens_per_second > Some(0) && rates.cache_hit_percent > Some(0))
        .await;
    let idle = EngineRates { tokens_per_second: Some(0), cache_hit_percent: None };
    told_within(&rig, &step, |rates| rates == idle).await;
    let told_at = only(&rig).await.reported_at;
    for _ in 0..50 {
        step().await;
    }
    assert_eq!(only(&rig).await.reported_at, told_at, "there is no news");
    steps.advance_until(STEP, rig.finish()).await;
}

/// Steps until the rates of the only engine satisfy `holds`.
async fn told_within(rig: &Rig, step: &impl AsyncFn(), holds: impl Fn(EngineRates) -> bool) {
    for _ in 0..120 {
        if holds(only(rig).await.engine.rates) {
            return;
        }
        step().await;
    }
    panic!("never: {:?}", only(rig).await);
}
