//! Engines with a daily budget, by the clock of the service.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use overnight_base::clock::Clock;
use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;
use overnight_server::app::{requests, waiting};

use super::stepped::{STEP, create, start_at};
use super::{Rig, pause, result_of};
use crate::support::{SharedSteps, SteppedClock};

const DAY_MS: i64 = 86_400_000;
const MIDNIGHT: i64 = 20_300 * DAY_MS;
const START: i64 = MIDNIGHT - 120_000;

/// A service whose one engine has this setting, two minutes before midnight in UTC, and its clock.
async fn start(engine_settings: &'static str) -> (Rig, Arc<SteppedClock>, SharedSteps) {
    start_at(START, engine_settings).await
}

/// What those used that have been completed.
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
    let ids = create(&rig, 5).await;
    let waits = async {
        loop {
            for id in &ids {
                let (summary, prospect) =
                    requests::get_summary(&rig.services, rig.account, *id).await.expect("a request");
                if let Some(waiting::WaitingReason::EnginesOverBudget { until }) = prospect.waiting {
                    return (summary.state.status(), until, prospect.completed_at);
                }
            }
            pause().await;
        }
    };
    let (status, until, completed_at) = steps.advance_until(STEP, waits).await;
    assert_eq!((status, until), (RequestStatus::Registered, Some(MIDNIGHT)));
    assert!(completed_at.is_none_or(|at| at >= MIDNIGHT), "{completed_at:?}");
    let rig = steps.advance_until(STEP, rig.restart()).await;
    while clock.now() < MIDNIGHT - 1_000 {
        steps.advance(STEP);
        pause().await;
    }
    assert_eq!((rig.engines[0].counters().arrived, used_tokens(&rig, &ids).await.0), (3, 3));
    for id in &ids {
        let record = steps.advance_until(STEP, rig.ended(*id)).await;
        assert_eq!((record.summary.state.status(), record.attempts.len()), (RequestStatus::Completed, 0));
    }
    // How far the steps went meanwhile depends on the machine.
    assert!((0..DAY_MS).contains(&(clock.now() - MIDNIGHT)), "{}", clock.now() - MIDNIGHT);
    assert_eq!(rig.engines[0].counters().arrived, 5);
    steps.advance_until(STEP, rig.finish()).await;
}

#[tokio::test]
async fn a_day_has_no_more_tokens_than_the_budget() {
    let recorder = PrometheusBuilder::new().build_recorder();
    // All of the service runs on this thread.
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (rig, steps, clock) = start("max_tokens_per_day = 400").await;
    let ids = create(&rig, 40).await;
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
    let next_day = async {
        while used_tokens(&rig, &ids).await.0 == count {
            pause().await;
        }
    };
    steps.advance_until(STEP, next_day).await;
    assert!(clock.now() >= MIDNIGHT, "{}", clock.now());
    steps.advance_until(STEP, rig.finish()).await;
}
