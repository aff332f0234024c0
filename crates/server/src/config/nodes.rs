//! What a process is among others: the database that it shares, its part of the work, its name.

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::section::Section;
use super::{ConfigError, Millis};

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
        let url = Url::parse(&self.0).ok()?;
        let parameter = |names: &[&str]| {
            let pairs = url.query_pairs().filter(|(key, _)| names.contains(&key.as_ref()));
            pairs.last().map(|(_, value)| value.into_owned())
        };
        let host = parameter(&["host", "hostaddr"])
            .or_else(|| url.host_str().filter(|host| !host.is_empty()).map(str::to_owned))
            .or_else(|| variable("PGHOSTADDR"))
            .or_else(|| variable("PGHOST"))
            .filter(|host| !host.starts_with('/') && !host.to_ascii_lowercase().starts_with("%2f"))
            .unwrap_or_else(|| "localhost".to_owned());
        let port = parameter(&["port"])
            .and_then(|text| text.parse().ok())
            .or_else(|| url.port())
            .or_else(|| variable("PGPORT")?.parse().ok());
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
        let Ok(url) = Url::parse(&self.0) else { return formatter.write_str("postgres://…") };
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        write!(formatter, "postgres://{}{port}{}", url.host_str().unwrap_or_default(), url.path())
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
    let url = Url::parse(text).ok().filter(|url| ["postgres", "postgresql"].contains(&url.scheme()));
    let names_database = |url: &Url| {
        url.path().len() > 1 || url.query_pairs().any(|(key, value)| key == "dbname" && !value.is_empty())
    };
    match url {
        Some(url) if names_database(&url) => Ok(Database::Postgres(ServerUrl(text.to_owned()))),
        _ => Err(root.refuse("database_url", WANTED)),
    }
}
