//! How connections to a PostgreSQL server are made.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use overnight_base::encryption::Keyring;
use overnight_base::postgres_url::{PostgresUrl, Roots, SslMode, Tls};
use overnight_base::secret_files;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, PgConnection};
use url::Url;

use crate::store::StoreError;
use crate::store::database::PostgresError;
use crate::store::error::DatabaseError;

const CONNECT_MAX: Duration = Duration::from_secs(10);
/// What `connect_timeout=0` asks for is no limit.
const CONNECT_NEVER: Duration = Duration::from_secs(86_400);
/// What PostgreSQL says where its `pg_hba.conf` takes no such connection: encrypted or not is a part of that.
const NOT_TAKEN: &str = "28000";
/// Many certificates of authorities are less.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Files that are read for each new connection to a server, so that a password that changes needs no restart.
#[derive(Debug, Clone, Default)]
pub struct ServerFiles {
    pub url: Option<PathBuf>,
    /// That of the password, which the URL does not have then.
    pub password: Option<PathBuf>,
}

/// How connections to a server are made. What files say is read for each of them.
#[derive(Debug, Clone)]
pub(in crate::store) struct Server {
    url: PostgresUrl,
    files: ServerFiles,
    /// The way by which a connection was last made.
    way: Arc<AtomicUsize>,
    keyring: Arc<Keyring>,
    /// Whether a pooler lends servers for one transaction at a time.
    pub(in crate::store) is_lent_by_transaction: bool,
}

struct Ways {
    /// One is tried after the other, as `sslmode` says.
    ways: Vec<PgConnectOptions>,
    tls: Tls,
    connect_max: Duration,
}

impl Server {
    /// The server at `url`, or at what the file of the URL names.
    pub(super) fn new(url: &str, files: ServerFiles, keyring: Arc<Keyring>) -> Result<Self, StoreError> {
        let url = PostgresUrl::parse(url).map_err(StoreError::Url)?;
        let is_lent_by_transaction = url.statement_cache_capacity == Some(0);
        // Its faults are told before anything is asked of the server.
        Ways::of(&url)?;
        Ok(Self { url, files, way: Arc::default(), keyring, is_lent_by_transaction })
    }

    /// The keys by which what is encrypted is read.
    pub(super) const fn keyring(&self) -> &Arc<Keyring> {
        &self.keyring
    }

    pub(super) fn set_keyring(&mut self, keyring: Arc<Keyring>) {
        self.keyring = keyring;
    }

    pub(super) async fn connect(&self) -> Result<PgConnection, StoreError> {
        let Ways { ways, tls, connect_max } = self.ways().await?;
        check_files(&tls)?;
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

    /// The way by which a connection was last made, for what connects by itself.
    pub(in crate::store) async fn options(&self) -> Result<PgConnectOptions, StoreError> {
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
            url.password = Some(read("database_password_file", path).await?);
        }
        Ways::of(&url)
    }
}

/// What stands in a file of a setting.
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
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let options = options(url)?;
        let is_socket = options.get_socket().is_some() || options.get_host().starts_with('/');
        let timeout = url.connect_timeout_s.or_else(|| variable("PGCONNECT_TIMEOUT")?.parse().ok());
        let connect_max = match timeout {
            None => CONNECT_MAX,
            Some(0) => CONNECT_NEVER,
            Some(seconds) => Duration::from_secs(seconds),
        };
        let tls = url.tls.clone().resolve(is_socket, variable).map_err(StoreError::Url)?;
        let ways = ways(tls.mode).iter().map(|mode| with_tls(options.clone(), &tls, *mode));
        Ok(Self { ways: ways.collect::<Result<_, _>>()?, tls, connect_max })
    }
}

/// The same, with the address of the server where the way to it is what failed.
fn at(server: &PgConnectOptions, error: StoreError) -> StoreError {
    let StoreError::Database(DatabaseError::Postgres(PostgresError::Io(error))) = error else { return error };
    let address = server.get_socket().map_or_else(
        || format!("{}:{}", server.get_host(), server.get_port()),
        |socket| socket.display().to_string(),
    );
    PostgresError::Io(io::Error::new(error.kind(), format!("{address}: {error}"))).into()
}

const fn ways(mode: SslMode) -> &'static [PgSslMode] {
    match mode {
        SslMode::Disable => &[PgSslMode::Disable],
        SslMode::Allow => &[PgSslMode::Disable, PgSslMode::Require],
        SslMode::Prefer => &[PgSslMode::Prefer, PgSslMode::Disable],
        SslMode::Require => &[PgSslMode::Require],
        SslMode::VerifyCa => &[PgSslMode::VerifyCa],
        SslMode::VerifyFull => &[PgSslMode::VerifyFull],
    }
}

/// Who, where and which database. The driver adds what its variables and the file of passwords say of the rest.
fn options(url: &PostgresUrl) -> Result<PgConnectOptions, StoreError> {
    // With a host of its own, the driver's reading of hosts plays no part.
    let mut plain = Url::parse("postgres:///").map_err(|error| PostgresError::Configuration(error.into()))?;
    {
        let mut pairs = plain.query_pairs_mut();
        let texts = [
            ("host", url.address.map(|address| address.to_string()).or_else(|| url.host.clone())),
            ("port", url.port.map(|port| port.to_string())),
            ("user", url.user.clone()),
            ("password", url.password.clone()),
            ("dbname", url.database.clone()),
            ("options", url.options.clone()),
            ("statement-cache-capacity", url.statement_cache_capacity.map(|count| count.to_string())),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                pairs.append_pair(name, &text);
            }
        }
    }
    let options = PgConnectOptions::from_url(&plain)?;
    let name = url.application_name.as_deref().or(options.get_application_name()).unwrap_or("overnight");
    let name = name.to_owned();
    // Poolers refuse what they do not know, and we read no floats.
    Ok(options.application_name(&name).extra_float_digits(None))
}

fn with_tls(options: PgConnectOptions, tls: &Tls, mode: PgSslMode) -> Result<PgConnectOptions, StoreError> {
    let mut options = options.ssl_mode(mode);
    options = match &tls.roots {
        Some(Roots::System) => options.ssl_root_cert_from_pem(roots_of_system()?),
        Some(Roots::File(path)) => options.ssl_root_cert(path),
        None => options,
    };
    Ok(match &tls.identity {
        Some((certificate, key)) => options.ssl_client_cert(certificate).ssl_client_key(key),
        None => options,
    })
}

/// What this machine trusts, in the form of a file.
fn roots_of_system() -> Result<Vec<u8>, StoreError> {
    let roots = rustls_native_certs::load_native_certs();
    if roots.certs.is_empty() {
        let why = roots.errors.first().map_or(String::new(), |error| format!(" ({error})"));
        return Err(StoreError::Url(format!(
            "`sslrootcert=system`: this machine trusts no authority{why}: install ca-certificates, or set SSL_CERT_FILE"
        )));
    }
    let block = |certificate: CertificateDer<'_>| {
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
    };
    Ok(roots.certs.into_iter().map(block).collect::<String>().into_bytes())
}

/// Whether the files are there and are what they should be: the driver does not say which of them is not.
fn check_files(tls: &Tls) -> Result<(), StoreError> {
    let certificates = |bytes: &[u8]| {
        let mut found = CertificateDer::pem_slice_iter(bytes).peekable();
        found.peek().is_some() && found.all(|certificate| certificate.is_ok())
    };
    if let Some(Roots::File(path)) = &tls.roots {
        check_file("sslrootcert", path, "holds no certificates in PEM form", certificates)?;
    }
    if let Some((certificate, key)) = &tls.identity {
        check_file("sslcert", certificate, "holds no certificates in PEM form", certificates)?;
        let is_key = |bytes: &[u8]| PrivateKeyDer::from_pem_slice(bytes).is_ok();
        check_file("sslkey", key, "holds no key in PEM form without a password", is_key)?;
    }
    Ok(())
}

fn check_file(
    parameter: &'static str,
    path: &Path,
    fault: &'static str,
    is_good: impl Fn(&[u8]) -> bool,
) -> Result<(), StoreError> {
    let failed = |fault| StoreError::Certificate { parameter, path: path.display().to_string(), fault };
    let read = || {
        let length = std::fs::metadata(path)?.len();
        if length > FILE_BYTES_MAX { Ok(None) } else { std::fs::read(path).map(Some) }
    };
    match read() {
        Err(error) => Err(failed(error.to_string())),
        Ok(Some(bytes)) if is_good(&bytes) => Ok(()),
        Ok(_) => Err(failed(fault.to_owned())),
    }
}

/// What the database said, or that it said nothing for too long.
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
