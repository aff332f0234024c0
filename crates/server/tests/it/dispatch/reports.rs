//! What people are told of the engines.

use overnight_domain::requests::RequestStatus;
use overnight_server::app;
use overnight_server::app::engines::{self, EngineState};
use overnight_testkit::engine::SimConfig;

use super::{PATIENCE, Rig, pause};

/// Waits until the engines are told so.
async fn told(rig: &Rig, what: &str, holds: impl Fn(&[EngineState]) -> bool) {
    let wait = async {
        loop {
            let reports = engines::list(&rig.services).await.expect("reports");
            let states: Vec<_> = reports.into_iter().map(|report| report.engine).collect();
            if holds(&states) {
                return;
            }
            pause().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("never: {what}"));
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
    assert_eq!(rig.ended(waits).await.summary.state.status(), RequestStatus::Completed);
    told(&rig, "both are used again", |states| states.iter().all(|state| state.pause.is_none())).await;
    rig.finish().await;
}
