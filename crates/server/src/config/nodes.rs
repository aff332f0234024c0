//! What a process is among others: the database that it shares, its part of the work, its name.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use overnight_base::paths::expanded;
use overnight_base::postgres_url::PostgresUrl;
use overnight_base::secret_files;

use super::section::Section;
use super::{ConfigError, Millis, engines};

/// Where a PostgreSQL listens unless it is told otherwise.
const PORT: u16 = 5432;

/// Where requests and results are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    /// A PostgreSQL server, which nodes share.
    Postgres(ServerUrl),
}

/// The URL of a PostgreSQL server. It may hold a password, and is not shown.
#[derive(Clone)]
pub struct ServerUrl {
    text: String,
    /// The file that the URL was read from; `None` where it stands in the settings.
    pub file: Option<PathBuf>,
    /// The file that holds the password.
    pub password_file: Option<PathBuf>,
}

/// What stands in a file may change without a restart, so its path alone counts.
impl PartialEq for ServerUrl {
    fn eq(&self, other: &Self) -> bool {
        let is_same = self.file == other.file && self.password_file == other.password_file;
        is_same && (self.file.is_some() || self.text == other.text)
    }
}

impl Eq for ServerUrl {}

impl ServerUrl {
    /// The URL, with its password if that is a part of it.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The host and the port of the server. What the URL leaves out stands in the `variable`s that libpq knows, and behind
    /// a socket of the file system is a server of this machine.
    pub fn address(&self, variable: impl Fn(&str) -> Option<String>) -> Option<(String, u16)> {
        let url = PostgresUrl::parse(&self.text).ok()?;
        let host = url.address.map(|address| address.to_string()).or(url.host);
        let host = host.or_else(|| variable("PGHOSTADDR")).or_else(|| variable("PGHOST"));
        let host = host.filter(|host| !host.starts_with('/')).unwrap_or_else(|| "localhost".to_owned());
        let port = url.port.or_else(|| variable("PGPORT")?.parse().ok());
        Some((host, port.unwrap_or(PORT)))
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.to_string())
    }
}

/// Without the user, the password and the options.
impl fmt::Display for ServerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(url) = PostgresUrl::parse(&self.text) else { return formatter.write_str("postgres://…") };
        let host = url.host.or_else(|| url.address.map(|address| address.to_string())).unwrap_or_default();
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let port = url.port.map(|port| format!(":{port}")).unwrap_or_default();
        let database = url.database.unwrap_or_default();
        match host.starts_with('/') {
            true => write!(formatter, "postgres://{port}/{database}?host={host}"),
            false => write!(formatter, "postgres://{host}{port}/{database}"),
        }
    }
}

/// Which part of the work a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It answers clients and drives engines.
    All,
    Api,
    /// It drives engines, and answers only how it is.
    Scheduler,
}

impl Role {
    pub const fn serves_api(self) -> bool {
        matches!(self, Self::All | Self::Api)
    }

    pub const fn schedules(self) -> bool {
        matches!(self, Self::All | Self::Scheduler)
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "api" => Ok(Self::Api),
            "scheduler" => Ok(Self::Scheduler),
            _ => Err("all, api or scheduler".to_owned()),
        }
    }
}

/// The settings of a process among others.
pub(super) struct Nodes {
    pub(super) database: Database,
    pub(super) role: Role,
    pub(super) node: Option<String>,
    pub(super) drain: Millis,
    pub(super) linger: Millis,
}

pub(super) fn read(root: &Section<'_>) -> Result<Nodes, ConfigError> {
    let database = database(root)?;
    let role = root.required("role", root.parsed("role")?)?;
    if database == Database::Sqlite && role != Role::All {
        return Err(
            root.refuse("role", "must be all: a part of the work needs others beside it on a PostgreSQL")
        );
    }
    let drain = root.bounded("drain", Millis(0)..=Millis(3_600_000), "0s to 1h")?;
    let linger = root.bounded("linger", Millis(0)..=Millis(600_000), "0s to 10m")?;
    let node = root.read("node", |name| match name.len() {
        1..=200 if !name.contains(char::is_control) => Ok(name.to_owned()),
        _ => Err("a name of 1 to 200 characters".to_owned()),
    })?;
    let (drain, linger) = (root.required("drain", drain)?, root.required("linger", linger)?);
    Ok(Nodes { database, role, node, drain, linger })
}

/// A refusal does not repeat what was written: it may hold a password.
fn database(root: &Section<'_>) -> Result<Database, ConfigError> {
    const WANTED: &str =
        "must be \"sqlite\" or \"postgres://user:password@host/database\", or \"file:PATH\" with a URL in it";
    let refuse = |what: String| root.refuse("database_url", what);
    let text = root.required("database_url", root.string("database_url")?)?.trim();
    let password_file = engines::path(root, "database_password_file")?;
    if text == "sqlite" {
        return Ok(Database::Sqlite);
    }
    let (text, file) = match text.strip_prefix("file:") {
        Some(path) => {
            let path = expanded(path).map_err(|wanted| refuse(format!("must name {wanted}")))?;
            let read = secret_files::read(&path);
            (
                read.map_err(|fault| refuse(format!("names the file {}, which {fault}", path.display())))?,
                Some(path),
            )
        }
        None => (text.to_owned(), None),
    };
    match PostgresUrl::parse(&text) {
        Ok(PostgresUrl { database: Some(_), password: Some(_), .. }) if password_file.is_some() => {
            let what = "stands beside a password in `database_url`: give one of them";
            Err(root.refuse("database_password_file", what))
        }
        Ok(PostgresUrl { database: Some(_), .. }) => {
            Ok(Database::Postgres(ServerUrl { text, file, password_file }))
        }
        Err(fault) if text.starts_with("postgres") => {
            Err(refuse(format!("is no URL of a PostgreSQL: {fault}")))
        }
        _ => Err(refuse(WANTED.to_owned())),
    }
}
