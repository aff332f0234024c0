//! PostgreSQL URLs as libpq reads them, as parameters for the driver. The driver's own parser refuses the URL of a socket that names a
//! user, ends the URL at a `#` in a password, and ignores unknown parameters, even if they ask for more security.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use crate::percent;
use crate::spelling::nearest;

/// Parameters by their names in libpq, without empty ones. It may contain a password, so `Debug` shows none.
#[derive(Clone, Default)]
pub struct PostgresUrl(BTreeMap<String, String>);

const DONE: [&str; 16] = [
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
];

/// Allowed values of some parameters. Most of them ask for the only supported behaviour.
const VALUES: [(&str, &[&str]); 17] = [
    ("channel_binding", &["disable", "prefer"]),
    ("client_encoding", &["utf8", "utf-8", "unicode"]),
    ("gssencmode", &["disable", "prefer"]),
    ("load_balance_hosts", &["disable"]),
    ("max_protocol_version", &["3.0", "latest"]),
    ("min_protocol_version", &["3.0"]),
    ("replication", &["0", "false", "off", "no"]),
    ("requiressl", &["0"]),
    ("ssl", &["true"]),
    ("ssl_max_protocol_version", &["tlsv1.3"]),
    ("ssl_min_protocol_version", &["tlsv1", "tlsv1.1", "tlsv1.2"]),
    ("sslcertmode", &["allow"]),
    ("sslcompression", &["0"]),
    ("sslmode", &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]),
    ("sslnegotiation", &["postgres"]),
    ("sslsni", &["1"]),
    ("target_session_attrs", &["any"]),
];

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PostgresUrl")
    }
}

impl PostgresUrl {
    /// Errors name the parameter, without its value: it may be a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or("must begin with postgres://")?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (user, server) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        check("host", server)?;
        let (host, port) = match server.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or("`host`: the `]` of an address is missing")?,
            None => server.split_at(server.find(':').unwrap_or(server.len())),
        };
        let port = port.strip_prefix(':').unwrap_or(port);
        let parts =
            [("user", user), ("password", password), ("host", host), ("port", port), ("dbname", database)];
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let mut url = Self::default();
        for (name, value) in parts.into_iter().chain(pairs) {
            let name = decode("the name of a parameter", name)?;
            url.set(&name, &decode(&format!("`{name}`"), value)?)?;
        }
        let is_unnamed = url.get("hostaddr").is_some() && url.get("sslmode") == Some("verify-full");
        let fault = "`hostaddr` goes with no `sslmode=verify-full`, which checks the name: leave it out";
        if is_unnamed { Err(fault.to_owned()) } else { Ok(url) }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Replaces an earlier value; an empty value removes it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        check(name, value)?;
        let (name, value) = if name == "ssl" { ("sslmode", "require") } else { (name, value) };
        self.0.remove(name);
        if !value.is_empty() {
            self.0.insert(name.to_owned(), value.to_owned());
        }
        Ok(())
    }
}

fn decode<'a>(part: &str, text: &'a str) -> Result<Cow<'a, str>, String> {
    let fault = || format!("{part} is not percent-encoded UTF-8 without %00: a `%` is written %25");
    percent::decode(text).filter(|text| !text.contains('\0')).ok_or_else(fault)
}

/// Whether a parameter is supported and may have this value.
fn check(name: &str, value: &str) -> Result<(), String> {
    let Some((_, values)) = VALUES.iter().find(|(known, _)| *known == name) else {
        return if DONE.contains(&name) { check_form(name, value) } else { Err(refusal(name)) };
    };
    let is_one = value.is_empty() || values.contains(&&*value.to_lowercase());
    match name {
        _ if is_one => Ok(()),
        "channel_binding" | "target_session_attrs" => Err(refusal(name)),
        _ => Err(format!("the parameter `{name}` may only be {}", values.join(" or "))),
    }
}

fn check_form(name: &str, value: &str) -> Result<(), String> {
    let fault = match name {
        _ if value.is_empty() => return Ok(()),
        "host" if value.contains(',') => {
            "must be one, and several are named: name a proxy or pooler before them"
        }
        "hostaddr" if value.parse::<IpAddr>().is_err() => "must be one IP address, without brackets",
        "port" if !value.parse().is_ok_and(|port: u16| port > 0) => {
            "must be a number from 1 to 65535; percent-encode `:`, `/`, `?` and `@` in passwords, and write IPv6 in brackets, [::1]"
        }
        "connect_timeout" | "statement-cache-capacity" if value.parse::<u32>().is_err() => {
            "must be a whole number"
        }
        _ => return Ok(()),
    };
    Err(format!("`{name}` {fault}"))
}

/// Why a parameter is refused, with a workaround.
fn refusal(name: &str) -> String {
    let advice = match name {
        "channel_binding" => "`sslrootcert=system` or `sslmode=verify-full` proves who the server is",
        "passfile" => "set the variable PGPASSFILE",
        "service" | "servicefile" => "write its parameters into the URL",
        "sslcrl" | "sslcrldir" => "revocations are not checked",
        "sslpassword" => "take the password off the key: openssl pkey -in KEY -out KEY_WITHOUT",
        "target_session_attrs" => "one host is named: name the one that takes writes",
        _ => match nearest(name, &DONE) {
            Some(meant) => return format!("the parameter `{name}` is not taken: did you mean `{meant}`?"),
            None => "it is unknown",
        },
    };
    format!("the parameter `{name}` is not taken: {advice}")
}
