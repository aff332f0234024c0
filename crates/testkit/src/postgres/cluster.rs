//! A throw-away server.

use std::env;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::USER;
use super::account::Account;
use super::binaries::Binaries;
use super::folder::{Folder, PORT};
use super::network::Network;
use super::server::Server;
use super::session::Session;
use crate::schema;

/// The database for sessions that need none of their own; every cluster has it.
const MAINTENANCE: &str = "postgres";
/// PostgreSQL truncates longer names.
const NAME_BYTES_MAX: usize = 63;
/// The database that databases with a schema are copied from.
const TEMPLATE: &str = "template_with_schema";
/// The time limit of our statements.
const ANSWER_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A crash of the server, but not of the machine: no commit waits for a disk. For tests of behaviour.
    #[default]
    Server,
    /// A power cut, as with PostgreSQL's own settings. For measurements.
    Disk,
}

#[derive(Debug, Clone)]
pub struct ClusterOptions {
    pub durability: Durability,
    /// The parent of the cluster's folder. Needs a short path that the server's account can reach.
    pub folder: PathBuf,
    /// Listening on the network of this machine; `None` for the socket only.
    pub network: Option<Network>,
}

impl Default for ClusterOptions {
    /// For tests: commits survive a crash of the server; the folder is in the system's folder for temporary files.
    fn default() -> Self {
        Self { durability: Durability::default(), folder: env::temp_dir(), network: None }
    }
}

/// A PostgreSQL server for tests, reached over a socket in its folder and, by default, over no network.
///
/// Dropping it stops the server and removes its folder. Both also happen when the process ends in another way, including a kill. Calls
/// block until they are done (a start takes a second); tests may make them within a runtime.
#[derive(Debug)]
pub struct Cluster {
    // The order of drops: first the server, then its folder.
    server: Option<Server>,
    folder: Folder,
    binaries: Binaries,
    account: Option<Account>,
    durability: Durability,
    network: Option<Network>,
    has_template: Mutex<bool>,
}

impl Cluster {
    /// Creates an empty cluster and starts its server. Under root it runs as `postgres` or `nobody`. Fails if PostgreSQL is not installed
    /// or does not start; the message contains its output.
    pub fn start(options: &ClusterOptions) -> io::Result<Self> {
        let (binaries, account) = (Binaries::find()?, Account::instead_of_root()?);
        let port = if options.network.is_some() { Network::free_port()? } else { PORT };
        let folder = Folder::create(&options.folder, account, port)?;
        let (durability, network) = (options.durability, options.network.clone());
        let has_template = Mutex::default();
        let mut cluster = Self { server: None, folder, binaries, account, durability, network, has_template };
        cluster.init()?;
        cluster.start_again()?;
        Ok(cluster)
    }

    /// The cluster that the tests of this process share, each with its own database. The first call starts it, and panics if that fails.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::start(&ClusterOptions::default()).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Creates a database with the schema that `migrate` creates in the database at a URL, and returns its URL. The schema is created once
    /// and then copied, in a fifth of the time. `migrate` runs in its own thread and runtime; a panic of it is passed on.
    pub fn database_with_schema<F: Future<Output = ()>>(
        &self,
        name: &str,
        migrate: impl FnOnce(String) -> F + Send,
    ) -> io::Result<String> {
        let mut has_template = self.has_template.lock().unwrap_or_else(PoisonError::into_inner);
        if !*has_template {
            let url = self.database(TEMPLATE)?;
            schema::make(|| migrate(url));
            *has_template = true;
        }
        drop(has_template);
        self.create(name, &format!("TEMPLATE {TEMPLATE}"))
    }

    /// Creates an empty database and returns its URL. A name has 1 to 63 lowercase letters, digits and underscores.
    pub fn database(&self, name: &str) -> io::Result<String> {
        self.create(name, "")
    }

    fn create(&self, name: &str, options: &str) -> io::Result<String> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(is_plain) {
            let message =
                format!("{name:?} is no name of 1 to {NAME_BYTES_MAX} small letters, digits and underscores");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.session(MAINTENANCE)?.run(&format!("CREATE DATABASE \"{name}\" {options}"))?;
        Ok(url(self.folder.path(), self.folder.port(), name))
    }

    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// The port in the name of the socket and on the network.
    pub const fn port(&self) -> u16 {
        self.folder.port()
    }

    /// Runs statements as superuser.
    pub fn execute(&self, database: &str, statements: &str) -> io::Result<()> {
        self.session(database)?.run(statements).map(drop)
    }

    /// The server's process ID, whose children serve the sessions; `None` while it does not run.
    pub fn process_id(&self) -> Option<u32> {
        self.server.as_ref().map(Server::process_id)
    }

    /// Stops the server and every session immediately. Committed data stay in the folder.
    pub fn stop_immediate(&mut self) {
        self.server = None;
    }

    /// Starts a stopped server, and waits for its recovery. Does nothing while it runs. On failure, the message contains the server's
    /// output.
    pub fn start_again(&mut self) -> io::Result<()> {
        if self.server.is_none() {
            let mut program = self.binaries.server();
            program.arg("-D").arg(self.folder.data()).arg("-k").arg(self.folder.path());
            program.args(self.settings()?);
            let accepts = || self.session(MAINTENANCE).is_ok();
            self.server = Some(Server::start(program, &self.folder, self.account, accepts)?);
        }
        Ok(())
    }

    /// A crash of the server and its recovery: every session ends; committed data remain.
    pub fn restart_immediate(&mut self) -> io::Result<()> {
        self.stop_immediate();
        self.start_again()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.socket()
    }

    /// Begins a session of the superuser.
    pub(super) fn session(&self, database: &str) -> io::Result<Session<UnixStream>> {
        let stream = UnixStream::connect(self.socket())?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        Session::begin(stream, database)
    }

    fn init(&self) -> io::Result<()> {
        let mut program = self.binaries.init();
        program.current_dir(self.folder.path()).arg("-D").arg(self.folder.data());
        program.args(["--username", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        if let Some(account) = self.account {
            account.run(&mut program);
        }
        let output = program.output().map_err(|error| {
            let parent = self.folder.path().display();
            io::Error::other(format!(
                "initdb cannot be run in {parent}: {error}. Its user must be able to reach that; TMPDIR chooses another."
            ))
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("initdb ended with {}. It said:\n{said}", output.status)))
    }

    fn settings(&self) -> io::Result<Vec<String>> {
        let mut settings = vec![
            format!("port={}", self.folder.port()),
            "listen_addresses=".to_owned(),
            "max_connections=200".to_owned(),
            "shared_buffers=128MB".to_owned(),
        ];
        if self.durability == Durability::Server {
            settings.extend(["fsync=off", "full_page_writes=off"].map(str::to_owned));
        }
        if let Some(network) = &self.network {
            settings.extend(network.write(&self.folder, self.account)?);
        }
        Ok(settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect())
    }
}

/// A URL with the folder of the socket after the `?`, as libpq and sqlx accept it.
fn url(folder: &Path, port: u16, database: &str) -> String {
    let folder: String = folder.as_os_str().as_encoded_bytes().iter().map(|byte| escaped(*byte)).collect();
    format!("postgres://{USER}@localhost:{port}/{database}?host={folder}")
}

/// Escapes a byte of a path for a URL.
fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

#[cfg(test)]
mod tests;
