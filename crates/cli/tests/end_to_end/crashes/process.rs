//! The real program as a process that can be killed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use overnight_app::{Services, store_options};
use overnight_base::clock::SystemClock;
use overnight_base::ids::Ids;
use overnight_client::Client;
use overnight_config::{Config, Sources};
use overnight_store::Store;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::support::program;

const PROGRAM: &str = env!("CARGO_BIN_EXE_overnight");
const PATIENCE: Duration = Duration::from_secs(60);

/// Settings with one model, `sim`, whose only engine calls it `engine_model`.
pub(super) fn settings_of_engine(base_url: &str, engine_model: &str) -> String {
    format!(
        "aggregation_period = \"50ms\"\n[[models]]\nname = \"sim\"\n[[engines]]\nname = \"sim\"\nkind = \"openai\"\n\
         base_url = \"{base_url}\"\nmodels = {{ \"sim\" = \"{engine_model}\" }}\nmax_concurrency = 64\n"
    )
}

/// Whether the embedded engine's program is beside ours.
pub(super) fn has_embedded_engine() -> bool {
    Path::new(PROGRAM).with_file_name("overnight-engine").exists()
}

/// `overnight serve` with its own folder.
pub(super) struct Service {
    folder: TempDir,
    settings: PathBuf,
    address: String,
    child: Child,
}

impl Service {
    /// Starts it with these settings and waits until it is ready.
    pub(super) async fn start(settings: &str) -> Self {
        Self::start_in(&std::env::temp_dir(), settings).await
    }

    pub(super) async fn start_in(parent: &Path, settings: &str) -> Self {
        let folder = tempfile::tempdir_in(parent).expect("a folder");
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let path = folder.path().join("overnight.toml");
        let data = folder.path().join("data");
        let text = format!("listen = \"{address}\"\ndata_dir = \"{}\"\n{settings}", data.display());
        std::fs::write(&path, text).expect("a settings file");
        let child = spawn(&path);
        let service = Self { folder, settings: path, address, child };
        service.wait_until_ready().await;
        service
    }

    pub(super) async fn kill_and_restart(&mut self) {
        self.kill().await;
        self.restart().await;
    }

    /// Kills the engine that it started; it restarts the engine itself.
    pub(super) async fn kill_engine(&self) {
        let killing = async {
            while !self.kill_child_of_service() {
                pause(20).await;
            }
        };
        tokio::time::timeout(PATIENCE, killing).await.expect("an engine to kill");
    }

    fn kill_child_of_service(&self) -> bool {
        let pid = self.child.id().expect("a running service");
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
        let children =
            threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
        let children: Vec<String> = children
            .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let killed = children.iter().filter(|child| {
            let outcome = std::process::Command::new("kill").args(["-9", child]).status();
            outcome.is_ok_and(|status| status.success())
        });
        killed.count() > 0
    }

    /// Sends SIGKILL.
    pub(super) async fn kill(&mut self) {
        self.child.kill().await.expect("a kill");
    }

    pub(super) async fn restart(&mut self) {
        self.child = spawn(&self.settings);
        self.wait_until_ready().await;
    }

    /// Sends it a signal, such as `STOP`, `CONT` or `TERM`.
    pub(super) fn signal(&self, name: &str) {
        let pid = self.child.id().expect("a running service").to_string();
        let sent = std::process::Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{name} was not sent");
    }

    /// Waits until it has ended by itself.
    pub(super) async fn ended(&mut self) {
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends");
        assert!(status.expect("its status").success());
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The key from the first start.
    pub(super) fn key(&self) -> String {
        let key = std::fs::read_to_string(self.folder.path().join("data/api-key")).expect("the first key");
        key.trim().to_owned()
    }

    /// A client without retries.
    pub(super) fn client(&self) -> Client {
        self.client_with(&self.key())
    }

    pub(super) fn client_with(&self, key: &str) -> Client {
        Client::new(&format!("http://{}", self.address), key).expect("a client").with_retries(0)
    }

    /// The services for the operator's commands, beside the running service.
    pub(super) async fn operator(&self) -> Services {
        let sources = Sources { file: Some(self.settings.clone()), ..Sources::default() };
        let config = Config::load(&sources).expect("the settings");
        let store = Store::open_beside(&store_options(&config)).await.expect("a store");
        let (clock, ids) = (Arc::new(SystemClock), Arc::new(Ids::from_system()));
        Services::new(store, clock, ids, Arc::new(config)).await.expect("services")
    }

    /// The current sum of a metric over its labels.
    pub(super) async fn figure(&self, name: &str) -> f64 {
        let text = get(&self.address, "/metrics").await.expect("the figures");
        let lines = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Checks that `overnight audit` finds no fault.
    pub(super) async fn assert_audited(&self) {
        let settings = self.settings.to_string_lossy().into_owned();
        let audit = command().args(["audit", "--config", &settings]).output().await.expect("an audit");
        let said = String::from_utf8_lossy(&audit.stdout);
        assert!(audit.status.success(), "{said}{}", String::from_utf8_lossy(&audit.stderr));
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs a command with its settings, which must succeed; returns its JSON.
    pub(super) async fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let ran =
            command().arg("--config").arg(&self.settings).args(arguments).output().await.expect("a command");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_slice(&ran.stdout).expect("JSON")
    }

    async fn wait_until_ready(&self) {
        let ready = async {
            while !is_ready(&self.address).await.unwrap_or(false) {
                pause(10).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.expect("the service is ready");
    }
}

pub(super) async fn is_ready(address: &str) -> std::io::Result<bool> {
    Ok(get(address, "/readyz").await?.starts_with("HTTP/1.1 200"))
}

pub(super) async fn get(address: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let call = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(call.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// The program without the settings of the test's environment, which holds the length of a soak.
fn command() -> Command {
    program().into()
}

fn spawn(settings: &Path) -> Child {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(settings.with_extension("log"));
    command()
        .arg("serve")
        .arg("--config")
        .arg(settings)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.expect("a log file"))
        .kill_on_drop(true)
        .spawn()
        .expect("the service starts")
}

#[expect(clippy::disallowed_methods, reason = "these tests live in real time")]
pub(super) async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
