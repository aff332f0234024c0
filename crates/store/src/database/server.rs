//! How connections to a PostgreSQL server are made.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use overnight_base::encryption::Keyring;
use overnight_base::postgres_url::PostgresUrl;
use overnight_base::secret_files;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, PgConnection};
use url::Url;

use crate::StoreError;
use crate::database::PostgresError;
use crate::database::tls::Tls;
use crate::error::DatabaseError;

const CONNECT_MAX: Duration = Duration::from_secs(10);
/// `connect_timeout=0` asks for no limit.
const CONNECT_NEVER: Duration = Duration::from_secs(86_400);
/// PostgreSQL's error if its `pg_hba.conf` accepts no such connection; whether it is encrypted is part of the rule.
const NOT_TAKEN: &str = "28000";

/// Files that are read for each new connection, so that a changed password needs no restart.
#[derive(Debug, Clone, Default)]
pub struct ServerFiles {
    pub url: Option<PathBuf>,
    /// The password, if the URL has none.
    pub password: Option<PathBuf>,
}

/// How connections to a server are made. Its files are read for each of them.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    url: PostgresUrl,
    files: ServerFiles,
    /// The way of the last connection.
    way: Arc<AtomicUsize>,
    keyring: Arc<Keyring>,
    /// Whether a pooler lends servers for one transaction at a time.
    pub(crate) is_lent_by_transaction: bool,
}

struct Ways {
    /// Tried in order, as `sslmode` says.
    ways: Vec<PgConnectOptions>,
    tls: Tls,
    connect_max: Duration,
}

impl Server {
    /// The server at `url`, or in the URL's file.
    pub(super) fn new(url: &str, files: ServerFiles, keyring: Arc<Keyring>) -> Result<Self, StoreError> {
        let url = PostgresUrl::parse(url).map_err(StoreError::Url)?;
        let is_lent_by_transaction =
            url.get("statement-cache-capacity").is_some_and(|count| count.parse() == Ok(0));
        // Faults of the URL are reported before the server is asked.
        Ways::of(&url)?;
        Ok(Self { url, files, way: Arc::default(), keyring, is_lent_by_transaction })
    }

    pub(super) const fn keyring(&self) -> &Arc<Keyring> {
        &self.keyring
    }

    pub(super) fn set_keyring(&mut self, keyring: Arc<Keyring>) {
        self.keyring = keyring;
    }

    pub(super) async fn connect(&self) -> Result<PgConnection, StoreError> {
        let Ways { ways, tls, connect_max } = self.ways().await?;
        tls.check_files()?;
        let mut refused = None;
        for (place, way) in ways.iter().enumerate() {
            match within(connect_max, way.connect()).await.map_err(|error| at(way, error)) {
                Ok(connection) => {
                    self.way.store(place, Ordering::Relaxed);
                    return Ok(connection);
                }
                Err(error) if error.is_of_tls() || error.sqlstate() == Some(NOT_TAKEN) => {
                    refused.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(refused.unwrap_or(StoreError::Stopped))
    }

    /// The way of the last connection, for code that connects by itself.
    pub(crate) async fn options(&self) -> Result<PgConnectOptions, StoreError> {
        let way = self.ways().await?.ways.into_iter().nth(self.way.load(Ordering::Relaxed));
        way.ok_or(StoreError::Stopped)
    }

    async fn ways(&self) -> Result<Ways, StoreError> {
        let mut url = self.url.clone();
        if let Some(path) = &self.files.url {
            let text = read("database_url", path).await?;
            let unusable =
                |fault| secret("database_url", path, format!("holds no URL of a PostgreSQL: {fault}"));
            url = PostgresUrl::parse(&text).map_err(unusable)?;
        }
        if let Some(path) = &self.files.password {
            url.set("password", &read("database_password_file", path).await?).map_err(StoreError::Url)?;
        }
        Ways::of(&url)
    }
}

async fn read(setting: &'static str, path: &Path) -> Result<String, StoreError> {
    let named = path.to_owned();
    let reading = tokio::task::spawn_blocking(move || secret_files::read(&named));
    // A mount may have stopped answering.
    let read = match tokio::time::timeout(CONNECT_MAX, reading).await {
        Ok(read) => read.unwrap_or_else(|_| Err("cannot be read".to_owned())),
        Err(_) => Err(format!("was not read within {} s", CONNECT_MAX.as_secs())),
    };
    read.map_err(|fault| secret(setting, path, fault))
}

fn secret(setting: &'static str, path: &Path, fault: String) -> StoreError {
    StoreError::Secret { setting, path: path.display().to_string(), fault }
}

impl Ways {
    fn of(url: &PostgresUrl) -> Result<Self, StoreError> {
        let options = options(url)?;
        let is_socket = options.get_socket().is_some() || options.get_host().starts_with('/');
        let said = |name: &str, variable: &str| {
            let variable = || env::var(variable).ok().filter(|value| !value.is_empty());
            url.get(name).map(str::to_owned).or_else(variable)
        };
        let timeout = said("connect_timeout", "PGCONNECT_TIMEOUT").and_then(|seconds| seconds.parse().ok());
        let connect_max = match timeout {
            None => CONNECT_MAX,
            Some(0) => CONNECT_NEVER,
            Some(seconds) => Duration::from_secs(seconds),
        };
        let tls = if is_socket { Tls::none() } else { Tls::new(said)? };
        let ways = tls.ways().iter().map(|mode| tls.add_to(options.clone(), *mode));
        Ok(Self { ways: ways.collect::<Result<_, _>>()?, tls, connect_max })
    }
}

/// Adds the server's address if the connection to it failed.
fn at(server: &PgConnectOptions, error: StoreError) -> StoreError {
    let StoreError::Database(DatabaseError::Postgres(PostgresError::Io(error))) = error else { return error };
    let address = server.get_socket().map_or_else(
        || format!("{}:{}", server.get_host(), server.get_port()),
        |socket| socket.display().to_string(),
    );
    PostgresError::Io(io::Error::new(error.kind(), format!("{address}: {error}"))).into()
}

/// Host, user and database. The driver adds the rest from its variables and password file.
fn options(url: &PostgresUrl) -> Result<PgConnectOptions, StoreError> {
    const NAMES: [&str; 7] =
        ["port", "user", "password", "dbname", "application_name", "options", "statement-cache-capacity"];
    let host = url.get("hostaddr").or_else(|| url.get("host")).map(|host| ("host", host));
    let rest = NAMES.iter().filter_map(|name| Some((*name, url.get(name)?)));
    // With a host given, the driver's reading of hosts does not matter.
    let plain = Url::parse_with_params("postgres:///", host.into_iter().chain(rest));
    let options =
        PgConnectOptions::from_url(&plain.map_err(|error| PostgresError::Configuration(error.into()))?)?;
    let name = options.get_application_name().or_else(|| url.get("fallback_application_name"));
    let name = name.unwrap_or("overnight").to_owned();
    // Poolers refuse unknown parameters, and we read no floats.
    Ok(options.application_name(&name).extra_float_digits(None))
}

/// The database's answer, or an error after `limit`.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    let silence =
        |_| sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "the database does not answer"));
    Ok(tokio::time::timeout(limit, work).await.map_err(silence)??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_cannot_be_reached_is_named_without_the_password() {
        // Nobody listens on the first port.
        let server =
            Server::new("postgres://night:s3cret@127.0.0.1:1/night", ServerFiles::default(), Arc::default());
        let refused = server.expect("a URL").connect().await.expect_err("no server").to_string();
        assert!(refused.contains("127.0.0.1:1: ") && !refused.contains("s3cret"), "{refused}");
    }
}
