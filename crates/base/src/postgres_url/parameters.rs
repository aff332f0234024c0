//! The parameters behind the `?`: those that are done, those that ask for what holds anyway, and why the others are refused.

use std::path::PathBuf;

use super::tls::{Roots, SslMode};
use super::{PostgresUrl, check_host, read_port};
use crate::paths::expanded;
use crate::spelling::nearest;

/// Parameters of libpq whose values here ask for nothing but what holds anyway; the empty value always does.
const HOLDING: [(&str, &[&str]); 15] = [
    ("channel_binding", &["disable", "prefer"]),
    ("client_encoding", &["utf8", "utf-8", "unicode"]),
    ("gssencmode", &["disable", "prefer"]),
    ("load_balance_hosts", &["disable"]),
    ("max_protocol_version", &["3.0", "latest"]),
    ("min_protocol_version", &["3.0"]),
    ("replication", &["0", "false", "off", "no"]),
    ("requiressl", &["0"]),
    ("ssl_max_protocol_version", &["tlsv1.3"]),
    ("ssl_min_protocol_version", &["tlsv1", "tlsv1.1", "tlsv1.2"]),
    ("sslcertmode", &["allow"]),
    ("sslcompression", &["0"]),
    ("sslnegotiation", &["postgres"]),
    ("sslsni", &["1"]),
    ("target_session_attrs", &["any"]),
];

/// What libpq has, and this service has not.
const REFUSED: [(&str, &str); 21] = [
    (
        "channel_binding",
        "it is not there; `sslrootcert=system` or `sslmode=verify-full` proves who the server is",
    ),
    ("client_encoding", "it is UTF8"),
    ("gssdelegation", "there is no Kerberos"),
    ("gssencmode", "there is no Kerberos"),
    ("gsslib", "there is no Kerberos"),
    ("keepalives", "a connection that does not answer is given up anyway"),
    ("keepalives_count", "a connection that does not answer is given up anyway"),
    ("keepalives_idle", "a connection that does not answer is given up anyway"),
    ("keepalives_interval", "a connection that does not answer is given up anyway"),
    ("krbsrvname", "there is no Kerberos"),
    ("passfile", "set the variable PGPASSFILE"),
    (
        "require_auth",
        "how the server asks for a password is not checked; `sslmode=verify-full` proves who it is",
    ),
    ("requirepeer", "who owns a socket is not checked"),
    ("service", "write its parameters into the URL"),
    ("servicefile", "write its parameters into the URL"),
    ("sslcrl", "revocations are not checked"),
    ("sslcrldir", "revocations are not checked"),
    ("sslkeylogfile", "keys of connections are not logged"),
    ("sslpassword", "take the password off the key: openssl pkey -in KEY -out KEY_WITHOUT"),
    ("target_session_attrs", "one host is named: name the one that takes writes"),
    ("tcp_user_timeout", "a connection that does not answer is given up anyway"),
];

const DONE: [&str; 17] = [
    "application_name",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
    "channel_binding",
];

impl PostgresUrl {
    /// Takes a parameter in; a later one of the same name goes before an earlier one.
    pub(super) fn read_parameter(&mut self, name: &str, value: String) -> Result<(), String> {
        let some = |value: String| Some(value).filter(|value| !value.is_empty());
        match name {
            "host" => {
                check_host(&value)?;
                self.host = some(value);
            }
            "hostaddr" => {
                let address = some(value).map(|value| value.parse()).transpose();
                self.address = address.map_err(|_| "`hostaddr` must be one IP address, without brackets")?;
            }
            "port" => self.port = some(value).map(|value| read_port("`port`", &value)).transpose()?,
            "dbname" => self.database = some(value),
            "user" => self.user = some(value),
            "password" => self.password = some(value),
            "application_name" => self.application_name = some(value),
            "fallback_application_name" => {
                self.application_name = self.application_name.take().or_else(|| some(value));
            }
            "options" => self.options = some(value),
            "connect_timeout" => {
                self.connect_timeout_s = Some(number(name, &value)?);
            }
            "statement-cache-capacity" => {
                self.statement_cache_capacity = Some(number(name, &value)?);
            }
            "ssl" if value == "true" => self.tls.mode = Some(SslMode::Require),
            "sslmode" => self.tls.mode = some(value).map(|value| value.parse()).transpose()?,
            "sslrootcert" => self.tls.roots = path(&value)?.map(Roots::from),
            "sslcert" => self.tls.certificate = path(&value)?,
            "sslkey" => self.tls.key = path(&value)?,
            _ => return holds_anyway(name, &value),
        }
        Ok(())
    }
}

/// `None` of nothing.
fn path(value: &str) -> Result<Option<PathBuf>, String> {
    Some(value)
        .filter(|value| !value.is_empty())
        .map(expanded)
        .transpose()
        .map_err(|wanted| format!("a file is named by {wanted}"))
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, String> {
    value.parse().map_err(|_| format!("`{name}` must be a whole number"))
}

/// Whether a parameter asks for nothing that is not so; otherwise why it is refused.
fn holds_anyway(name: &str, value: &str) -> Result<(), String> {
    let values = HOLDING.iter().find(|(known, _)| *known == name).map(|(_, values)| *values);
    if values.is_some_and(|values| value.is_empty() || values.contains(&&*value.to_lowercase())) {
        return Ok(());
    }
    if let Some((_, reason)) = REFUSED.iter().find(|(known, _)| *known == name) {
        return Err(format!("the parameter `{name}` is not taken: {reason}"));
    }
    if let Some(values) = values {
        return Err(format!("the parameter `{name}` may only be {}", values.join(" or ")));
    }
    let meant = nearest(name, &DONE).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    Err(format!("the parameter `{name}` is unknown{meant}"))
}
