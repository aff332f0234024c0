//! What a process is among others: the database that it shares, its part of the work, its name.

use std::fmt;
use std::str::FromStr;

use super::section::Section;
use super::{ConfigError, Millis};
use crate::postgres_url::PostgresUrl;

/// Where a PostgreSQL listens unless it is told otherwise.
const PORT: u16 = 5432;

/// Where requests and results are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// A file in the data folder.
    Sqlite,
    /// A PostgreSQL server, which nodes share.
    Postgres(ServerUrl),
}

/// The URL of a PostgreSQL server. It may hold a password, and is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// The URL, with its password.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The host and the port of the server. What the URL leaves out stands in the `variable`s that libpq knows, and behind
    /// a socket of the file system is a server of this machine.
    pub fn address(&self, variable: impl Fn(&str) -> Option<String>) -> Option<(String, u16)> {
        let url = PostgresUrl::parse(&self.0).ok()?;
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
        let Ok(url) = PostgresUrl::parse(&self.0) else { return formatter.write_str("postgres://…") };
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
    /// It answers clients.
    Api,
    /// It drives engines, and answers only how it is.
    Scheduler,
}

impl Role {
    /// Whether it answers clients.
    pub const fn serves_api(self) -> bool {
        matches!(self, Self::All | Self::Api)
    }

    /// Whether it drives engines.
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
    const WANTED: &str = "must be \"sqlite\" or \"postgres://user:password@host/database\"";
    let text = root.required("database_url", root.string("database_url")?)?;
    if text == "sqlite" {
        return Ok(Database::Sqlite);
    }
    match PostgresUrl::parse(text) {
        Ok(PostgresUrl { database: Some(_), .. }) => Ok(Database::Postgres(ServerUrl(text.to_owned()))),
        Err(fault) if text.starts_with("postgres") => {
            Err(root.refuse("database_url", format!("is no URL of a PostgreSQL: {fault}")))
        }
        _ => Err(root.refuse("database_url", WANTED)),
    }
}
