//! The service under measurement: `serve` with its own settings and folder.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use overnight_app::bootstrap::KEY_FILE;
use overnight_store::DATABASE_FILE;
use serde::Deserialize;
use tempfile::TempDir;

use super::child::Process;
use super::download::Connection;
use super::peers::{Filled, MadeAccount, Peer, Stage};
use super::workload::MODEL;
use super::{Options, clock};

const START_MAX: Duration = Duration::from_secs(120);
const POLL_MS: u64 = 2;

/// A data folder and its settings; removed when dropped.
pub(super) struct Site {
    folder: TempDir,
}

/// The output of `serve --json` after the start.
#[derive(Deserialize)]
struct Served {
    url: String,
}

pub(super) struct Service {
    pub(super) process: Process,
    pub(super) address: SocketAddr,
    /// The key of its first account; empty if another node of the same database created that account.
    pub(super) key: String,
    /// From the start of the process until it reported that it is ready.
    pub(super) ready_after: Duration,
}

impl Site {
    /// An empty data folder under `options.folder`, with one engine at `engine`.
    pub(super) fn new(options: &Options, engine: SocketAddr, aggregation_period: &str) -> io::Result<Self> {
        Self::on(options, engine, aggregation_period, "sqlite")
    }

    /// Like [`Self::new`], with an empty database.
    pub(super) fn on(
        options: &Options,
        engine: SocketAddr,
        aggregation_period: &str,
        database_url: &str,
    ) -> io::Result<Self> {
        Self::with(options, engine, aggregation_period, database_url, "")
    }

    /// An empty data folder whose service has prices for everything, and charges them if `is_charged`.
    pub(super) fn priced(
        options: &Options,
        engine: SocketAddr,
        aggregation_period: &str,
        is_charged: bool,
    ) -> io::Result<Self> {
        let settings = format!(
            "input_price = \"0.1\"\noutput_price = \"0.2\"\n\
             [billing]\nenabled = {is_charged}\nbootstrap_credits = \"1000000000\"\n"
        );
        Self::with(options, engine, aggregation_period, "sqlite", &settings)
    }

    /// An empty data folder whose service may call this machine.
    pub(super) fn telling(options: &Options, engine: SocketAddr) -> io::Result<Self> {
        Self::with(options, engine, "0s", "sqlite", "[webhooks]\nallow_insecure_targets = true\n")
    }

    /// Like [`Self::on`], with more settings of the only model, followed by others.
    fn with(
        options: &Options,
        engine: SocketAddr,
        aggregation_period: &str,
        database_url: &str,
        more: &str,
    ) -> io::Result<Self> {
        let settings = format!(
            "aggregation_period = \"{aggregation_period}\"\ndatabase_url = {database_url:?}\n\
             [[models]]\nname = \"{MODEL}\"\n{more}[[engines]]\nname = \"bench\"\nkind = \"openai\"\n\
             base_url = \"http://{engine}/v1\"\nmax_concurrency = 256\n\
             [quotas]\nlive_requests = {}\n",
            u32::MAX
        );
        Self::configured(&options.folder, &settings)
    }

    /// An empty data folder under `folder`; `settings` are all settings except those that every benchmark needs.
    pub(super) fn configured(folder: &Path, settings: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(".overnight-bench-").tempdir_in(folder)?;
        let site = Self { folder };
        site.configure(settings)?;
        Ok(site)
    }

    /// Writes the settings of the next start, and the common ones.
    pub(super) fn configure(&self, settings: &str) -> io::Result<()> {
        let settings = format!(
            "listen = \"127.0.0.1:0\"\ndata_dir = {:?}\nlog = \"warn\"\n{settings}",
            self.data_folder()
        );
        fs::write(self.config(), settings)
    }

    /// Creates another account; returns its key.
    pub(super) async fn make_account(&self) -> io::Result<String> {
        let MadeAccount { key } = Process::run_peer(&Peer::Account { config: self.config() }).await?;
        Ok(key)
    }

    pub(super) fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(super) fn config(&self) -> PathBuf {
        self.folder.path().join("overnight.toml")
    }

    /// A path for a file of the benchmark.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Adds requests that have this webhook to the store.
    pub(super) async fn fill(
        &self,
        requests: usize,
        stage: Stage,
        webhook: Option<String>,
    ) -> io::Result<()> {
        let config = self.config();
        Process::run_peer(&Peer::Fill { config, requests, stage, webhook, is_batch: false, age_ms: 0 })
            .await
            .map(|Filled { .. }| ())
    }

    /// Adds requests that completed so long ago to the store; returns identifiers of some.
    pub(super) async fn fill_old(&self, requests: usize, age_ms: i64) -> io::Result<Vec<String>> {
        let (config, stage) = (self.config(), Stage::Completed);
        let fill = Peer::Fill { config, requests, stage, webhook: None, is_batch: false, age_ms };
        Process::run_peer(&fill).await.map(|Filled { sample, .. }| sample)
    }

    /// Adds one batch of queued requests to the store.
    pub(super) async fn fill_batch(&self, requests: usize) -> io::Result<()> {
        let (config, stage) = (self.config(), Stage::Queued);
        let fill = Peer::Fill { config, requests, stage, webhook: None, is_batch: true, age_ms: 0 };
        Process::run_peer::<Filled>(&fill).await.map(drop)
    }

    /// Makes the data folder a copy of another one, whose service has stopped.
    pub(super) fn copy_data_of(&self, other: &Self) -> io::Result<()> {
        let (from, to) = (other.data_folder(), self.data_folder());
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        Ok(())
    }

    /// The size of the database without its write-ahead log, which is bounded.
    pub(super) fn database_bytes(&self) -> io::Result<u64> {
        Ok(fs::metadata(self.data_folder().join(DATABASE_FILE))?.len())
    }

    /// Starts the service and waits until it is ready.
    pub(super) async fn serve(&self) -> io::Result<Service> {
        let began_at = clock::now();
        let config = self.config();
        let arguments = [Path::new("serve"), Path::new("--json"), Path::new("--config"), &config];
        let (process, Served { url }) = Process::start_service(arguments).await?;
        let address = url.trim_start_matches("http://").parse().map_err(io::Error::other)?;
        while !is_ready(address).await {
            if began_at.elapsed() > START_MAX {
                return Err(io::Error::other("the service did not become ready"));
            }
            clock::sleep_ms(POLL_MS).await;
        }
        let ready_after = began_at.elapsed();
        let key = read_key(&self.data_folder().join(KEY_FILE))?;
        Ok(Service { process, address, key, ready_after })
    }
}

impl Service {
    /// The counter `name` of `/metrics`; 0 if it is absent.
    pub(super) async fn counter(&self, connection: &mut Connection, name: &str) -> io::Result<usize> {
        let figures = self.figures(connection).await?;
        let count = figures.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        Ok(count.unwrap_or(0))
    }

    /// The sum of a gauge over its labels.
    pub(super) async fn gauge(&self, connection: &mut Connection, name: &str) -> io::Result<f64> {
        let figures = self.figures(connection).await?;
        let samples = figures.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
        Ok(samples.filter_map(|sample| sample.rsplit_once(' ')?.1.parse::<f64>().ok()).sum())
    }

    pub(super) async fn figures(&self, connection: &mut Connection) -> io::Result<String> {
        String::from_utf8(connection.get("/metrics").await?.to_vec()).map_err(io::Error::other)
    }
}

fn read_key(file: &Path) -> io::Result<String> {
    match fs::read_to_string(file) {
        Ok(key) => Ok(key.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

async fn is_ready(address: SocketAddr) -> bool {
    match Connection::open(address, "").await {
        Ok(mut connection) => connection.get("/readyz").await.is_ok(),
        Err(_) => false,
    }
}
