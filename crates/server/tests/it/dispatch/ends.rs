//! Completed and cancelled requests.

use overnight_app as app;
use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::{SimConfig, echo_of};

use super::{Rig, eventually, result_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_gets_its_own_answer() {
    let rig = Rig::start(vec![SimConfig::default(), SimConfig::default()]).await;
    let contents: Vec<String> = (0..300).map(|number| format!("question {number}")).collect();
    let ids = rig.create_all(300, "question").await;
    for (id, content) in ids.iter().zip(&contents) {
        let record = rig.completed(*id).await;
        assert!(result_of(&record).contains(&echo_of(content)), "{content}: {}", result_of(&record));
        assert!(result_of(&record).contains(r#""model":"sim""#));
    }
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_aborts_the_work_under_way() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let id = rig.create("wait [[sim:hang]]").await;
    let engine = &rig.engines[0];
    eventually("the engine has it", || engine.attempts_of("wait [[sim:hang]]") == 1).await;
    assert_eq!(rig.status(id).await, RequestStatus::InProgress);
    app::requests::cancel(&rig.services, rig.account, id).await.expect("a cancel");
    eventually("the connection was dropped", || engine.counters().aborted == 1).await;
    assert_eq!(rig.status(id).await, RequestStatus::Cancelled);
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_cancelled_while_it_gathers_never_reaches_an_engine() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    let cancelled = rig.create("never mind").await;
    app::requests::cancel(&rig.services, rig.account, cancelled).await.expect("a cancel");
    let other = rig.create("but this").await;
    rig.ended(other).await;
    assert_eq!(rig.engines[0].attempts_of("never mind"), 0);
    rig.finish().await;
}
