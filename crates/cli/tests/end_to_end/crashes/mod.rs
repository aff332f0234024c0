//! Acknowledged requests survive: the service, and then its engine, are killed under load.
//!
//! `OVERNIGHT_SOAK_REQUESTS` sets how many requests each test posts, and `OVERNIGHT_SOAK_KILLS` how often it kills.

mod backups;
#[cfg(target_os = "linux")]
mod fail_over;
#[cfg(target_os = "linux")]
mod full_disk;
mod money;
mod nodes;
mod posting;
mod process;
mod webhooks;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use overnight_client::{Client, Error};
use overnight_testkit::engine::{SimConfig, SimEngine, echo_of};
use overnight_testkit::proof;
use overnight_wire::native::requests::{FullRequest, RequestFilter, RequestStatus};
use tokio::sync::Mutex;

use self::posting::{Acknowledged, Poster, content_of};
use self::process::Service;

const CONNECTIONS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(300);

fn requests_count(default: usize) -> usize {
    count_in("OVERNIGHT_SOAK_REQUESTS").unwrap_or(default)
}

fn kills_count() -> usize {
    count_in("OVERNIGHT_SOAK_KILLS").unwrap_or(3)
}

fn count_in(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_ends_once_though_the_service_is_killed() {
    let count = requests_count(10_000);
    let engine = SimEngine::start(SimConfig::default()).expect("an engine");
    engine.tune(|tunables| tunables.base_latency_ms = 5);
    let service = Service::start(&process::settings_of_engine(&engine.base_url(), "sim-model")).await;
    let service = Arc::new(Mutex::new(service));
    let (poster, acknowledged) = Poster::new(service.lock().await.client(), count, "sim");
    let posting = tokio::spawn(poster.post(CONNECTIONS));
    let kills = kills_count();
    for kill in 1..=kills {
        acknowledged.wait_for(count * kill / (kills + 1)).await;
        service.lock().await.kill_and_restart().await;
    }
    posting.await.expect("everything was posted");
    let client = service.lock().await.client();
    let records = every_end(&client, &acknowledged).await;
    check_ends("killed-service", &records, &acknowledged, assert_own_answer);
    proof::add("killed-service", &[("requests", acknowledged.ids().len()), ("kills", kills)]);
    service.lock().await.assert_audited().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_ends_once_though_the_engine_is_killed() {
    if !process::has_embedded_engine() {
        eprintln!("skipped: overnight-engine is not built beside overnight");
        return;
    }
    let count = requests_count(1_000);
    let service = Service::start("aggregation_period = \"50ms\"\n").await;
    let (poster, acknowledged) = Poster::new(service.client(), count, "overnight-tiny");
    let posting = tokio::spawn(poster.post(CONNECTIONS));
    let client = service.client();
    let kills = kills_count();
    for kill in 1..=kills {
        wait_for_ends(&client, count * kill / (kills + 2)).await;
        service.kill_engine().await;
    }
    posting.await.expect("everything was posted");
    let records = every_end(&client, &acknowledged).await;
    check_ends("killed-engine", &records, &acknowledged, |_| {});
    service.assert_audited().await;
}

async fn wait_for_ends(client: &Client, count: usize) {
    wait_for_ends_despite(client, count, |_| false).await;
}

/// As [`wait_for_ends`]; a list may fail with an error of `is_expected`.
async fn wait_for_ends_despite(client: &Client, count: usize, is_expected: impl Fn(&Error) -> bool) {
    let reached = async {
        loop {
            match count_completed(client).await {
                Ok(completed) if completed >= count => return,
                Ok(_) => {}
                Err(error) => assert!(is_expected(&error), "{error}"),
            }
            process::pause(50).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.expect("enough requests end");
}

async fn count_completed(client: &Client) -> Result<usize, Error> {
    let filter = RequestFilter { status: Some(RequestStatus::Completed), ..RequestFilter::default() };
    let mut lines = client.list_requests(&filter).await?;
    let mut completed = 0;
    while let Some(line) = lines.next().await {
        line?;
        completed += 1;
    }
    Ok(completed)
}

/// Waits until every request has ended; returns all by id.
async fn every_end(client: &Client, acknowledged: &Acknowledged) -> HashMap<String, FullRequest> {
    wait_for_ends(client, acknowledged.ids().len()).await;
    let mut records = HashMap::new();
    let mut lines = client.list_full_requests(&RequestFilter::default()).await.expect("a list");
    while let Some(line) = lines.next().await {
        let record = line.expect("a line");
        assert!(records.insert(record.id.clone(), record).is_none(), "a request is listed twice");
    }
    records
}

/// The simulated engine repeats its prompt.
fn assert_own_answer(record: &FullRequest) {
    let result = record.result_body.as_ref().map(|body| body.get().to_owned()).unwrap_or_default();
    assert!(result.contains(&echo_of(&content_of(record))), "{} got another's answer: {result}", record.id);
}

/// Checks that every acknowledged request completed once, and records that as the attack's figure.
fn check_ends(
    attack: &str,
    records: &HashMap<String, FullRequest>,
    acknowledged: &Acknowledged,
    check: impl Fn(&FullRequest),
) {
    let ends = ends_of(records, acknowledged, check);
    eprintln!("{ends}");
    proof::record(attack, &ends);
}

/// Checks that every acknowledged id exists once and completed, and that unacknowledged requests exist at most once for each try. Returns
/// their number.
fn ends_of(
    records: &HashMap<String, FullRequest>,
    acknowledged: &Acknowledged,
    check: impl Fn(&FullRequest),
) -> String {
    let ids = acknowledged.ids();
    for id in &ids {
        let record = records.get(id).unwrap_or_else(|| panic!("{id} was acknowledged and is lost"));
        assert_eq!(record.status, RequestStatus::Completed, "{id}");
        check(record);
    }
    let unknown = records.len() - ids.len();
    assert!(unknown <= acknowledged.unknown(), "{unknown} requests that nobody sent");
    format!(
        "{} requests acknowledged, each completed once; {unknown} more stored whose answer was lost",
        ids.len()
    )
}
