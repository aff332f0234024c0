//! Engines with a daily budget, on the service's clock.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use overnight_app::requests::waiting;
use overnight_base::clock::Clock;
use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;

use super::stepped::{STEP, complete_smoothly, start_at};
use super::{Rig, pause, result_of, until};
use crate::support::{SharedSteps, SteppedClock};

const DAY_MS: i64 = 86_400_000;
const MIDNIGHT: i64 = 20_300 * DAY_MS;
const START: i64 = MIDNIGHT - 120_000;

/// A service whose only engine has these settings, with its clock two minutes before midnight UTC.
async fn start(engine_settings: &'static str) -> (Rig, Arc<SteppedClock>, SharedSteps) {
    start_at(START, engine_settings).await
}

/// The tokens used by the completed requests.
async fn used_tokens(rig: &Rig, ids: &[RequestId]) -> (usize, u64) {
    let (mut count, mut sum) = (0, 0);
    for id in ids {
        let record = rig.record(*id).await;
        if record.summary.state.status() == RequestStatus::Completed {
            let result = result_of(&record);
            let tokens = result.split("\"total_tokens\":").nth(1).expect("a usage");
            let digits: String = tokens.chars().take_while(char::is_ascii_digit).collect();
            sum += digits.parse::<u64>().expect("a number");
            count += 1;
        }
    }
    (count, sum)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_that_is_used_up_holds_until_midnight_though_the_service_is_restarted() {
    let (rig, steps, clock) = start("max_requests_per_day = 3").await;
    let ids = rig.create_all(5, "request").await;
    let waits = until("one waits for its budget", async || {
        for id in &ids {
            let (summary, prospect) = rig.summary(*id).await;
            if let Some(waiting::WaitingReason::EnginesOverBudget { until }) = prospect.waiting {
                return Some((summary.state.status(), until, prospect.completed_at));
            }
        }
        None
    });
    let (status, until, completed_at) = steps.advance_until(STEP, waits).await;
    assert_eq!((status, until), (RequestStatus::Registered, Some(MIDNIGHT)));
    assert!(completed_at.is_none_or(|at| at >= MIDNIGHT), "{completed_at:?}");
    let rig = steps.advance_until(STEP, rig.restart()).await;
    while clock.now() < MIDNIGHT - 1_000 {
        steps.advance(STEP);
        pause().await;
    }
    assert_eq!((rig.engines[0].counters().arrived, used_tokens(&rig, &ids).await.0), (3, 3));
    complete_smoothly(&rig, &steps, &ids).await;
    // The progress of the steps depends on the machine.
    assert!((0..DAY_MS).contains(&(clock.now() - MIDNIGHT)), "{}", clock.now() - MIDNIGHT);
    assert_eq!(rig.engines[0].counters().arrived, 5);
    steps.advance_until(STEP, rig.finish()).await;
}

#[tokio::test]
async fn a_day_has_no_more_tokens_than_the_budget() {
    let recorder = PrometheusBuilder::new().build_recorder();
    // The whole service runs on this thread.
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (rig, steps, clock) = start("max_tokens_per_day = 400").await;
    let ids = rig.create_all(40, "request").await;
    while clock.now() < MIDNIGHT - 1_000 {
        steps.advance(STEP);
        pause().await;
    }
    let (count, tokens) = used_tokens(&rig, &ids).await;
    assert!((300..=400).contains(&tokens) && count < 40, "{tokens} tokens of {count} requests");
    let rendered = recorder.handle().render();
    for line in [
        r#"overnight_engine_over_budget{engine="sim-0"} 1"#.to_owned(),
        format!("overnight_engine_budget_tokens_used{{engine=\"sim-0\"}} {tokens}"),
        format!("overnight_engine_budget_requests_used{{engine=\"sim-0\"}} {count}"),
    ] {
        assert!(rendered.contains(&line), "{line} is not in {rendered}");
    }
    let next_day = until("more is done", async || (used_tokens(&rig, &ids).await.0 != count).then_some(()));
    steps.advance_until(STEP, next_day).await;
    assert!(clock.now() >= MIDNIGHT, "{}", clock.now());
    steps.advance_until(STEP, rig.finish()).await;
}
