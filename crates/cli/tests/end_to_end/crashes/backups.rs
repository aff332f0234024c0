//! The folder is lost under load, and a backup taken under load replaces it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use overnight_base::clock::{Clock, SystemClock};
use overnight_domain::ids::RequestId;
use overnight_testkit::engine::{SimConfig, SimEngine};
use overnight_wire::native::requests::{RequestFilter, RequestStatus};
use serde_json::Value;

use super::posting::{Acknowledged, Poster};
use super::process::{Service, pause, settings_of_engine};
use super::{CONNECTIONS, kills_count, requests_count, wait_for_ends};

/// The number of acknowledged requests at many times.
type Samples = Arc<Mutex<Vec<(i64, usize)>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_before_the_stamp_is_in_the_backup() {
    let (count, backups) = (requests_count(10_000), kills_count());
    let engine = SimEngine::start(SimConfig::default()).expect("an engine");
    engine.tune(|tunables| tunables.base_latency_ms = 5);
    let mut service = Service::start(&settings_of_engine(&engine.base_url(), "sim-model")).await;
    let (client, folder) = (service.client(), tempfile::tempdir().expect("a folder"));
    let repository = folder.path().join("backups").display().to_string();
    let (poster, acknowledged) = Poster::new(service.client(), count, "sim");
    let samples = sample(&acknowledged);
    let posting = tokio::spawn(poster.post(CONNECTIONS));
    let mut taken = Vec::new();
    for backup in 1..=backups {
        acknowledged.wait_for(count * backup / (backups + 1)).await;
        taken.push(service.json(&["backup", &repository, "--json"]).await);
    }
    posting.await.expect("everything was posted");
    let ids = acknowledged.ids();
    let mut restored = HashSet::new();
    for (place, backup) in taken.iter().enumerate() {
        let acknowledged = &ids[..acknowledged_before(&samples, backup)];
        assert!(acknowledged.len() > count / (2 * backups), "{} before {backup}", acknowledged.len());
        let data = folder.path().join(format!("restored-{place}")).display().to_string();
        let id = backup["id"].as_str().expect("a name");
        let told =
            service.json(&["restore", &repository, "--backup", id, "--data-dir", &data, "--json"]).await;
        assert_eq!((&told["is_sound"], &told["backup"]["id"]), (&true.into(), &backup["id"]), "{told}");
        restored = stored(Path::new(&data));
        assert_eq!(told["requests"], restored.len());
        let missing: Vec<_> = acknowledged.iter().filter(|id| !restored.contains(&bits_of(id))).collect();
        assert!(
            missing.is_empty(),
            "{} of {} are missing: {:?}",
            missing.len(),
            acknowledged.len(),
            missing.first()
        );
    }
    // The folder is lost.
    service.kill().await;
    std::fs::remove_dir_all(service.data()).expect("a folder to lose");
    service.json(&["restore", &repository, "--json"]).await;
    service.restart().await;
    wait_for_ends(&client, restored.len()).await;
    let filter = RequestFilter { status: Some(RequestStatus::Completed), ..RequestFilter::default() };
    let mut lines = client.list_requests(&filter).await.expect("a list");
    while let Some(line) = lines.next().await {
        assert!(restored.remove(&bits_of(&line.expect("a line").id)), "a request that was not in the backup");
    }
    assert!(restored.is_empty(), "{} did not complete", restored.len());
    service.assert_audited().await;
}

/// Samples the number of acknowledged requests until the samples are dropped.
fn sample(acknowledged: &Arc<Acknowledged>) -> Samples {
    let (samples, acknowledged) = (Samples::default(), Arc::clone(acknowledged));
    let notes = Arc::downgrade(&samples);
    tokio::spawn(async move {
        while let Some(notes) = notes.upgrade() {
            let count = acknowledged.count();
            // The time is read after the count, so all counted requests were acknowledged by then.
            notes.lock().expect("the notes").push((SystemClock.now(), count));
            drop(notes);
            pause(1).await;
        }
    });
    samples
}

/// The number of requests that were certainly acknowledged before a backup's time.
fn acknowledged_before(samples: &Samples, backup: &Value) -> usize {
    let stamp = backup["taken_at_ms"].as_i64().expect("a stamp");
    let samples = samples.lock().expect("the notes");
    let before = samples.iter().rev().find(|(at, _)| *at < stamp);
    before.map_or(0, |(_, count)| *count)
}

fn stored(data: &Path) -> HashSet<u128> {
    let database = rusqlite::Connection::open(data.join("overnight.db")).expect("a database");
    let mut statement = database.prepare("SELECT id FROM requests").expect("a table");
    let ids = statement.query_map([], |row| row.get::<_, [u8; 16]>(0)).expect("rows");
    ids.map(|id| u128::from_be_bytes(id.expect("an identifier"))).collect()
}

fn bits_of(id: &str) -> u128 {
    RequestId::parse(id).expect("an identifier").bits()
}
