//! A disk that fills up, slowly and suddenly, under load.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use overnight_testkit::engine::{SimConfig, SimEngine};
use overnight_testkit::postgres::{Cluster, ClusterOptions};
use overnight_testkit::proof;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::posting::{Acknowledged, Poster};
use super::process::{self, Service, pause};
use super::{PATIENCE, assert_own_answer, ends_of, every_end, wait_for_ends};

const CONNECTIONS: usize = 16;
const MIB: usize = 1 << 20;
/// Requests between two events.
const REQUESTS: usize = 500;
/// The space that creates leave free.
const RESERVE: &str = "32 MiB";

/// A small disk in memory, mounted until dropped.
struct Disk {
    // Unmounted before it is removed.
    folder: TempDir,
}

impl Disk {
    /// Fails with the reason if it cannot mount, which needs root.
    fn mount(mebibytes: usize) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("mount");
        command
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=755"), "overnight"])
            .arg(folder.path());
        let mounted = command.output().map_err(|error| format!("mount: {error}"))?;
        let said = String::from_utf8_lossy(&mounted.stderr);
        mounted
            .status
            .success()
            .then(|| Self { folder })
            .ok_or_else(|| format!("no disk was mounted: {}", said.trim()))
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    fn free_mebibytes(&self) -> u64 {
        let said = Command::new("df")
            .args(["--output=avail", "-B1048576"])
            .arg(self.path())
            .output()
            .unwrap()
            .stdout;
        String::from_utf8(said).unwrap().lines().nth(1).unwrap().trim().parse().unwrap()
    }

    /// Uses 1 MiB; false if there is less.
    fn take(&self) -> bool {
        let ballast = File::options().create(true).append(true).open(self.ballast());
        ballast.and_then(|mut file| file.write_all(&vec![1; MIB])).is_ok()
    }

    /// Uses all free space.
    fn fill(&self) {
        while self.take() {}
    }

    /// Frees the used space.
    fn empty(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a failed test still has files open.
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// A disk; `None` if this machine cannot mount one, which the report says.
fn disk(attack: &str, mebibytes: usize) -> Option<Disk> {
    let disk = Disk::mount(mebibytes);
    disk.inspect_err(|reason| {
        eprintln!("skipped: {reason}");
        proof::record(attack, &format!("skipped: {reason}"));
    })
    .ok()
}

fn engine() -> SimEngine {
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    engine.tune(|tunables| tunables.base_latency_ms = 10);
    engine
}

/// Posts until it is stopped.
struct Load {
    poster: Arc<Poster>,
    acknowledged: Arc<Acknowledged>,
    posting: JoinHandle<()>,
}

impl Load {
    fn start(service: &Service) -> Self {
        let (poster, acknowledged) = Poster::new(service.client(), usize::MAX, "sim");
        let posting = tokio::spawn(Arc::clone(&poster).post(CONNECTIONS));
        Self { poster, acknowledged, posting }
    }

    /// Waits until `count` more requests are acknowledged.
    async fn goes_on(&self) {
        let all = self.acknowledged.ids().len() + REQUESTS;
        tokio::time::timeout(PATIENCE, self.acknowledged.wait_for(all)).await.expect("creates are taken");
    }

    /// Waits until creates are refused because of the disk.
    async fn is_refused(&self) {
        let before = self.acknowledged.unknown();
        let refused = async {
            while self.acknowledged.unknown() < before + CONNECTIONS {
                pause(20).await;
            }
        };
        tokio::time::timeout(PATIENCE, refused).await.expect("creates are refused");
    }

    /// Stops, waits until all requests have ended, and returns a summary.
    async fn ends(self, service: &Service) -> String {
        self.poster.stop();
        self.posting.await.expect("the posters end");
        let records = every_end(&service.client(), &self.acknowledged).await;
        let ends = ends_of(&records, &self.acknowledged, assert_own_answer);
        service.assert_audited().await;
        ends
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fills_up_loses_nothing_that_was_acknowledged() {
    let Some(disk) = disk("full-disk-sqlite", 256) else { return };
    let engine = engine();
    let settings = process::settings_of_engine(&engine.base_url(), "sim-model");
    let service = Service::start_in(disk.path(), &format!("disk_reserve = \"{RESERVE}\"\n{settings}")).await;
    let load = Load::start(&service);
    load.goes_on().await;
    // Slowly: the reserve is for the results of running requests.
    while disk.free_mebibytes() > 24 {
        assert!(disk.take());
        pause(5).await;
    }
    load.is_refused().await;
    let landed = load.acknowledged.ids().len();
    wait_for_ends(&service.client(), landed).await;
    disk.empty();
    load.goes_on().await;
    // Suddenly, and to the last byte.
    disk.fill();
    load.is_refused().await;
    disk.empty();
    load.goes_on().await;
    let ends = load.ends(&service).await;
    let figure = format!(
        "all {landed} results landed in the reserve while creates were refused; then no byte was left; {ends}"
    );
    eprintln!("{figure}");
    proof::record("full-disk-sqlite", &figure);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_of_postgresql_that_fills_up_loses_nothing_that_was_acknowledged() {
    let Some(disk) = disk("full-disk-postgresql", 320) else { return };
    let engine = engine();
    let options = ClusterOptions { folder: disk.path().to_owned(), ..ClusterOptions::default() };
    let mut cluster = Cluster::start(&options).unwrap();
    let url = cluster.database("overnight").unwrap();
    let settings = process::settings_of_engine(&engine.base_url(), "sim-model");
    let service = Service::start(&format!("database_url = \"{url}\"\nlease = \"3s\"\n{settings}")).await;
    let load = Load::start(&service);
    for is_slow in [true, false] {
        load.goes_on().await;
        while is_slow && disk.free_mebibytes() > 2 && disk.take() {
            pause(5).await;
        }
        disk.fill();
        load.is_refused().await;
        disk.empty();
        // The server stops if its log does not fit; its operator restarts it.
        cluster.restart_immediate().unwrap();
        load.goes_on().await;
    }
    let ends = load.ends(&service).await;
    eprintln!("{ends}");
    proof::record(
        "full-disk-postgresql",
        &format!("filled to the last byte twice, slowly and at once; {ends}"),
    );
}
