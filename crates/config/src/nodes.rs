//! A process among others: its shared database, its role, its name.

use std::fmt;
use std::path::PathBuf;

use overnight_base::paths::expanded;
use overnight_base::postgres_url::PostgresUrl;
use overnight_base::secret_files;

use super::Read;
use super::section::Section;
use super::values::{one_of, path, text};

const PORT: u16 = 5432;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres(ServerUrl),
}

/// The URL of a PostgreSQL server. It may contain a password, and `Debug` does not show it.
#[derive(Clone)]
pub struct ServerUrl {
    text: String,
    /// The file of the URL; `None` if the URL is in the settings.
    pub file: Option<PathBuf>,
    pub password_file: Option<PathBuf>,
}

/// A file may change without a restart, so only its path counts.
impl PartialEq for ServerUrl {
    fn eq(&self, other: &Self) -> bool {
        let is_same = self.file == other.file && self.password_file == other.password_file;
        is_same && (self.file.is_some() || self.text == other.text)
    }
}

impl Eq for ServerUrl {}

impl ServerUrl {
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The host and the port of the server. Parts that the URL omits are in the `variable`s of libpq; a server behind a Unix socket is on
    /// this machine.
    pub fn address(&self, variable: impl Fn(&str) -> Option<String>) -> Option<(String, u16)> {
        let url = PostgresUrl::parse(&self.text).ok()?;
        let host = url.get("hostaddr").or_else(|| url.get("host")).map(str::to_owned);
        let host = host.or_else(|| variable("PGHOSTADDR")).or_else(|| variable("PGHOST"));
        let host = host.filter(|host| !host.starts_with('/')).unwrap_or_else(|| "localhost".to_owned());
        let port = url.get("port").map(str::to_owned).or_else(|| variable("PGPORT"));
        Some((host, port.and_then(|port| port.parse().ok()).unwrap_or(PORT)))
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
        let host = url.get("host").or_else(|| url.get("hostaddr")).unwrap_or_default();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let port = url.get("port").map(|port| format!(":{port}")).unwrap_or_default();
        let database = url.get("dbname").unwrap_or_default();
        match host.starts_with('/') {
            true => write!(formatter, "postgres://{port}/{database}?host={host}"),
            false => write!(formatter, "postgres://{host}{port}/{database}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Answers clients and drives engines.
    All,
    Api,
    /// Drives engines, and answers only health checks.
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

pub(super) fn role(root: &Section<'_>, database: &Database) -> Read<Role> {
    let role = root.get("role", one_of("all, api or scheduler", [Role::All, Role::Api, Role::Scheduler]))?;
    let is_alone = *database == Database::Sqlite && role != Role::All;
    let what = "must be all: a part of the work needs others beside it on a PostgreSQL";
    root.forbid("role", is_alone.then_some(what))?;
    Ok(role)
}

pub(super) fn name(text: &str) -> Result<String, &'static str> {
    let fits = (1..=200).contains(&text.len()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned()).ok_or("a name of 1 to 200 characters")
}

/// Errors do not repeat the value: it may contain a password.
pub(super) fn database(root: &Section<'_>) -> Read<Database> {
    const WANTED: &str =
        "must be \"sqlite\" or \"postgres://user:password@host/database\", or \"file:PATH\" with a URL in it";
    let refuse = |what: String| root.refuse("database_url", what);
    let written = root.get("database_url", text)?;
    let password_file = root.find("database_password_file", path)?;
    let (text, file) = match (written.trim(), written.trim().strip_prefix("file:")) {
        ("sqlite", _) => return Ok(Database::Sqlite),
        (_, Some(path)) => {
            let path = expanded(path).map_err(|wanted| refuse(format!("must name {wanted}")))?;
            let text = secret_files::read(&path)
                .map_err(|fault| refuse(format!("names the file {}, which {fault}", path.display())))?;
            (text, Some(path))
        }
        (text, None) => (text.to_owned(), None),
    };
    match PostgresUrl::parse(&text) {
        Ok(url) if url.get("password").is_some() && password_file.is_some() => {
            let what = "stands beside a password in `database_url`: give one of them";
            Err(root.refuse("database_password_file", what))
        }
        Ok(url) if url.get("dbname").is_some() => {
            Ok(Database::Postgres(ServerUrl { text, file, password_file }))
        }
        Err(fault) if text.starts_with("postgres") => {
            Err(refuse(format!("is no URL of a PostgreSQL: {fault}")))
        }
        _ => Err(refuse(WANTED.to_owned())),
    }
}
