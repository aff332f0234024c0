//! An account with requests that the engine cannot answer, beside an account without.

use overnight_app as app;
use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::SimConfig;

use super::{Rig, result_of};
use crate::support::Log;

/// Six requests of one account always get this fault; another account's complete meanwhile, and nothing is paused. Returns the error, empty
/// if the requests are still retried after `attempts` failures, and the statuses of the attempts. Single-threaded, because the log is
/// recorded for one thread.
async fn check(fault: &str, attempts: usize) -> (String, Vec<Option<u16>>) {
    let log = Log::keep();
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let honest = app::accounts::create(&rig.services, "honest").await.expect("an account").key;
    let mut poisons = Vec::new();
    for number in 0..6 {
        poisons.push(rig.create(&format!("poison {number} [[sim:{fault}]]")).await);
    }
    for number in 0..20 {
        let id = rig.create_for(honest, &format!("question {number}")).await;
        let record = rig.ended_of(honest, id).await;
        assert_eq!(record.summary.state.status(), RequestStatus::Completed, "beside {fault}");
        assert!(record.attempts.is_empty(), "beside {fault}");
    }
    let mut last = None;
    for id in poisons {
        let record = rig.failed_times(id, attempts).await;
        let result = record.result.as_ref().map_or_else(String::new, |_| result_of(&record));
        last = Some((result, record.attempts.iter().take(attempts).map(|it| it.status).collect()));
    }
    assert_eq!(log.lines_with("engine replica paused"), [""; 0], "{fault}");
    rig.finish().await;
    last.expect("a failure")
}

#[tokio::test]
async fn statuses_that_may_be_the_engines_fault_are_retried_and_pause_nothing() {
    for status in [404, 500, 502] {
        let (error, statuses) = check(&format!("status={status}"), 4).await;
        assert_eq!((error, statuses), (String::new(), vec![Some(status); 4]));
    }
}

#[tokio::test]
async fn connections_that_break_are_retried_and_pause_nothing() {
    let (error, statuses) = check("reset", 4).await;
    assert_eq!((error, statuses), (String::new(), vec![None; 4]));
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_its_request_at_once() {
    let (error, statuses) = check("huge", 1).await;
    assert!(error.contains("engine_invalid_response") && error.contains("16 MiB"), "{error}");
    assert_eq!(statuses, [None]);
}
