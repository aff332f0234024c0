//! Estimated completion times of requests and batches.

use overnight_app::{batches, forecasts};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_testkit::engine::{SimConfig, Tunables};

use super::{Rig, eventually, until};

const DAY_MS: i64 = 86_400_000;

/// The current estimates for the first of these requests that has not ended, for the batch and for the account.
async fn forecasts_of(rig: &Rig, requests: &[RequestId], batch: BatchId) -> [Option<i64>; 3] {
    let record = batches::get_record(&rig.services, rig.account, batch).await.expect("the batch");
    [
        of_first_live(rig, requests).await,
        forecasts::of_batch(&rig.services, rig.account, &record).await.expect("a forecast"),
        forecasts::of_account(&rig.services, rig.account).await.expect("a forecast"),
    ]
}

async fn of_first_live(rig: &Rig, requests: &[RequestId]) -> Option<i64> {
    for id in requests {
        let (summary, prospect) = rig.summary(*id).await;
        if !summary.state.is_terminal() {
            return prospect.completed_at;
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_are_forecast_once_it_is_known_what_requests_take_and_until_they_have_come() {
    let tunables = Tunables { base_latency_ms: 400, ..Tunables::default() };
    let rig = Rig::start(vec![SimConfig { tunables, ..SimConfig::default() }]).await;
    let mut ids = Vec::new();
    // Once durations are known, requests never end, so that a slow machine has time for the estimates.
    let stands_still = || {
        let is_known = rig.engines[0].counters().arrived > 100;
        if is_known {
            rig.engines[0].tune(|tunables| tunables.base_latency_ms = 3_600_000);
        }
        is_known
    };
    for number in 0..400 {
        ids.push(rig.create(&format!("request {number}")).await);
        if number == 0 {
            assert_eq!(of_first_live(&rig, &ids).await, None, "nobody knows yet what they take");
        }
        stands_still();
    }
    let list: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
    let body = format!("{{\"requests_ids\":[{}]}}", list.join(","));
    let created = batches::create(&rig.services, rig.account, body.into(), None).await.expect("a batch");
    let batch = created.into_new().expect("a call without a key").id;
    eventually("some have been completed", stands_still).await;
    let known = until("they are forecast", async || match forecasts_of(&rig, &ids, batch).await {
        [Some(request), Some(batch), Some(account)] => Some([request, batch, account]),
        _ => None,
    })
    .await;
    let now = rig.services.clock.now();
    assert!(known.iter().all(|at| (now - DAY_MS..now + DAY_MS).contains(at)), "{known:?} at {now}");
    batches::cancel(&rig.services, rig.account, batch).await.expect("a cancel");
    let record = until("it is cancelled", async || {
        let record = batches::get_record(&rig.services, rig.account, batch).await.expect("the batch");
        (record.counters.live() == 0).then_some(record)
    })
    .await;
    let forecast = forecasts::of_batch(&rig.services, rig.account, &record).await.expect("a forecast");
    assert_eq!(forecast, None, "it has ended");
    rig.finish().await;
}
