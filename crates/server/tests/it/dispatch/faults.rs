//! Engines that misbehave.

use overnight_app::requests::explanation;
use overnight_app::requests::waiting::WaitingReason;
use overnight_domain::records::FailedAttempt;
use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::{Fault, FaultRates, SimConfig};

use super::{Rig, Setup, result_of, until};

async fn check_refusal(content: &str) {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let id = rig.create(content).await;
    let record = rig.ended(id).await;
    assert_eq!(record.summary.state.status(), RequestStatus::Failed, "{content}");
    let result = result_of(&record);
    assert!(result.contains(r#""code":"engine_rejected""#), "{content}: {result}");
    let healthy = rig.create("afterwards").await;
    assert_eq!(rig.ended(healthy).await.summary.state.status(), RequestStatus::Completed, "after {content}");
    rig.finish().await;
}

async fn check_recovery(content: &str) {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let id = rig.create(content).await;
    let record = rig.ended(id).await;
    assert_eq!(record.summary.state.status(), RequestStatus::Completed, "{content}: {}", result_of(&record));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_its_engine_refuses_fails_at_once_with_the_message_and_pauses_no_replica() {
    for status in [400, 410, 422, 451] {
        check_refusal(&format!("[[sim:status={status}]]")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passing_faults_are_tried_again() {
    for status in [401, 402, 403, 404, 408, 409, 424, 498, 499, 500, 503, 529] {
        check_recovery(&format!("[[sim:status={status} x1]]")).await;
    }
    for fault in ["status=429/0", "reset", "truncated", "bad_json", "behaviour=deepseek-blank-lines-only"] {
        check_recovery(&format!("[[sim:{fault} x1]]")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_is_said_to_wait_for_the_time_that_its_engine_named() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let begun_at = rig.services.clock.now();
    let id = rig.create("[[sim:status=429/600 x1]]").await;
    let until = until("it waits", async || match rig.summary(id).await.1.waiting {
        Some(WaitingReason::Retry { until, reason: None }) => Some(until),
        _ => None,
    })
    .await;
    assert!(until >= begun_at + 600_000, "{until}");
    let explained = explanation::explain(&rig.services, id).await.expect("a request");
    assert!(matches!(explained.waiting, Some(WaitingReason::Retry { until: at, .. }) if at == until));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_with_line_breaks_is_kept_on_one_line() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let id = rig.create("[[sim:pretty]]").await;
    assert!(!result_of(&rig.ended(id).await).contains('\n'));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_always_fails_is_retried_and_its_neighbours_complete() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let poison = rig.create("[[sim:status=500 x99]]").await;
    let neighbours = rig.create_all(40, "neighbour").await;
    rig.all_completed(&neighbours).await;
    let record = rig.failed_times(poison, 4).await;
    assert_eq!(record.summary.state.status(), RequestStatus::InProgress);
    rig.finish().await;
}

async fn start_impatient() -> Rig {
    let setup = Setup { engine_settings: "request_timeout = \"1s\"", ..Setup::default() };
    Rig::start_all(vec![SimConfig::default()], setup, async |_, _| {}).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_takes_longer_than_it_may_fails_at_its_second_timeout() {
    let rig = start_impatient().await;
    let record = rig.ended(rig.create("[[sim:delay=60000]]").await).await;
    let result = result_of(&record);
    assert!(result.contains(r#""code":"engine_unavailable""#), "{result}");
    assert!(result.contains("had not answered after 1 s, its `request_timeout`, as once before"), "{result}");
    assert_eq!(record.attempts.len(), 2);
    assert!(record.attempts.iter().all(FailedAttempt::is_timeout));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_among_other_failures_is_one_attempt_of_several() {
    let rig = start_impatient().await;
    let content = "[[sim:status=500 x1]][[sim:hang x1]][[sim:status=500 x1]]";
    let record = rig.completed(rig.create(content).await).await;
    assert!(record.attempts.len() == 3 && record.attempts.iter().any(FailedAttempt::is_timeout));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_dies_and_returns_loses_nothing() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    rig.engines[0].tune(|tunables| tunables.base_latency_ms = 20);
    let mut ids = Vec::new();
    for number in 0..100 {
        ids.push(rig.create(&format!("number {number}")).await);
        if number == 50 {
            rig.engines[0].die(700);
        }
    }
    rig.all_completed(&ids).await;
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_third_of_all_attempts_failing_delays_and_loses_nothing() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let rates = FaultRates::none()
        .with(Fault::Status { code: 503, retry_after_s: None }, 0.2)
        .with(Fault::ResetBeforeHeaders, 0.1);
    rig.engines[0].tune(|tunables| tunables.faults = rates);
    let ids = rig.create_all(100, "number").await;
    rig.all_completed(&ids).await;
    rig.finish().await;
}
