//! The URL of a PostgreSQL server, as libpq reads it. It knows no driver.

mod parameters;
mod tls;

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;

pub use self::tls::{Roots, SslMode, Tls, TlsSettings};

/// What a URL says. What it leaves out is `None`. It may hold a password, and is not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PostgresUrl {
    /// A name, an address without brackets, or the folder of a Unix socket, which begins with a slash.
    pub host: Option<String>,
    /// Where to connect to, without looking up the host.
    pub address: Option<IpAddr>,
    /// The port, never 0.
    pub port: Option<u16>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    /// What the server calls the connection.
    pub application_name: Option<String>,
    pub options: Option<String>,
    /// Within how many seconds a connection must be made; 0 for no limit.
    pub connect_timeout_s: Option<u64>,
    /// How many statements the driver keeps for a connection: 0 where a pooler lends servers by transaction.
    pub statement_cache_capacity: Option<usize>,
    /// How the connection is encrypted, and what is verified.
    pub tls: TlsSettings,
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PostgresUrl")
    }
}

impl PostgresUrl {
    /// Reads a URL. A fault names the part or the parameter, and repeats nothing that may be a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or("must begin with postgres://")?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let mut url = Self { database: decode_some("the database", database)?, ..Self::default() };
        let (user, server) = authority.rsplit_once('@').unwrap_or(("", authority));
        url.read_user(user)?;
        url.read_server(server)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode("the name of a parameter", name)?;
            let value = decode(&format!("`{name}`"), value)?;
            url.read_parameter(&name, value)?;
        }
        match url {
            Self { address: Some(_), tls: TlsSettings { mode: Some(SslMode::VerifyFull), .. }, .. } => {
                Err("`hostaddr` goes with no `sslmode=verify-full`, which checks the name: leave it out"
                    .to_owned())
            }
            url => Ok(url),
        }
    }

    fn read_user(&mut self, text: &str) -> Result<(), String> {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        self.user = decode_some("the user", user)?;
        self.password = decode_some("the password", password)?;
        Ok(())
    }

    fn read_server(&mut self, text: &str) -> Result<(), String> {
        check_host(text)?;
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, behind) = rest.split_once(']').ok_or("the host: `]` is missing")?;
                let behind = if behind.is_empty() { ":" } else { behind };
                (address, behind.strip_prefix(':').ok_or("the host: only a port stands behind `]`")?)
            }
            None => text.split_once(':').unwrap_or((text, "")),
        };
        if port.contains(':') {
            return Err("the host: an IPv6 address stands in brackets, [::1]".to_owned());
        }
        self.host = decode_some("the host", host)?;
        self.host.as_deref().map(check_host).transpose()?;
        self.port = (!port.is_empty()).then(|| read_port("the port", port)).transpose()?;
        Ok(())
    }
}

/// One host that libpq would take too.
fn check_host(host: &str) -> Result<(), String> {
    if host.contains(',') {
        return Err(
            "the host: several are named, and one is taken: name a proxy or pooler before them".to_owned()
        );
    }
    let is_abstract = host.starts_with('@');
    if is_abstract { Err("the host: abstract sockets are not used".to_owned()) } else { Ok(()) }
}

fn read_port(part: &str, text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| {
        format!("{part} must be a number from 1 to 65535 (percent-encode `:`, `/`, `?` and `@` in passwords)")
    })
}

/// `None` of nothing.
fn decode_some(part: &str, text: &str) -> Result<Option<String>, String> {
    let decoded = decode(part, text)?;
    Ok(Some(decoded).filter(|decoded| !decoded.is_empty()))
}

/// A part with its percent signs resolved. A plus is a plus.
fn decode(part: &str, text: &str) -> Result<String, String> {
    let fault = || format!("{part}: a `%` that no two hexadecimal digits follow is written %25");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = if byte == b'%' {
            let digits = rest.next().zip(rest.next()).ok_or_else(fault)?;
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (high, low) = digit(digits.0).zip(digit(digits.1)).ok_or_else(fault)?;
            u8::try_from(16 * high + low).unwrap_or_default()
        } else {
            byte
        };
        bytes.push(byte);
    }
    let decoded = String::from_utf8(bytes).map_err(|_| format!("{part}: is no UTF-8"))?;
    if decoded.contains('\0') { Err(format!("{part}: holds %00")) } else { Ok(decoded) }
}
