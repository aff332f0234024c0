//! Where the console is, who may sign in to it, and for how long.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use url::Url;

use super::section::Section;
use super::{ConfigError, Millis, engines, webhooks};

const DAY: Millis = Millis(86_400_000);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleConfig {
    pub enabled: bool,
    /// A browser that is not used for so long is signed out.
    pub session_idle: Millis,
    /// A browser is signed out after so long, however it is used.
    pub session: Millis,
    /// Whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    pub oidc: Option<OidcConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcConfig {
    pub name: String,
    /// Its issuer, letter by letter as it spells it: https, or http to this machine.
    pub issuer: String,
    /// As which client Overnight is registered there.
    pub client_id: String,
    /// The environment variable that holds the client's secret, if it has one.
    pub client_secret_env: Option<String>,
    /// Whether somebody whom nobody invited gets an account.
    pub sign_up: bool,
    /// Whether an e-mail address is verified where the claim `xms_edov` says so, as Microsoft Entra ID has it.
    pub trust_xms_edov: bool,
    /// The domains whose addresses are verified when this issuer names one and does not say that it is not; in small letters.
    pub verified_domains: Vec<String>,
}

/// Where browsers reach the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleOrigin {
    /// The names and ports that browsers may call it by, as they stand in `Host`.
    pub hosts: Vec<String>,
    /// Whether it is reached by https.
    pub is_secure: bool,
    pub port: u16,
    /// The path that it is under, as browsers see it.
    pub base: String,
}

/// Why there is no console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoConsole {
    /// The operator does not want it.
    SwitchedOff,
    /// It would be reached over http from other machines, and passwords with it.
    Insecure,
}

impl NoConsole {
    /// Why there is none, and how an operator gets one.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::SwitchedOff => "The operator has switched the console off (console.enabled).",
            Self::Insecure => {
                "Passwords would be sent in the open. The console is served where public_url is https, or http to this machine \
                 (loopback). Set public_url to the https address of a proxy in front of the service, or of the service itself with a \
                 certificate under [tls]. Or, for browsers on your own \
                 machine only, set it to http://127.0.0.1:8080 and run there: ssh -N -L 8080:127.0.0.1:PORT SERVER, where PORT is \
                 the port of `listen`."
            }
        }
    }
}

impl ConsoleOrigin {
    /// The origin of a console that browsers reach at `public_url`, or else at `listen`, by https where that has TLS.
    pub(super) fn new(
        public_url: Option<&Url>,
        listen: SocketAddr,
        has_tls: bool,
    ) -> Result<Self, NoConsole> {
        let Some(url) = public_url else {
            let is_here = listen.ip().is_loopback();
            let port = listen.port();
            let name = SocketAddr::new(listen.ip(), port).to_string();
            let here = || Self::here(&name, port, "", has_tls);
            return is_here.then(here).ok_or(NoConsole::Insecure);
        };
        let port = url.port_or_known_default().unwrap_or(80);
        let path = url.path().trim_end_matches('/');
        if url.scheme() == "https" {
            let host = url.host_str().unwrap_or_default();
            let hosts = match url.port() {
                Some(port) => vec![format!("{host}:{port}")],
                None => vec![host.to_owned(), format!("{host}:443")],
            };
            return Ok(Self { hosts, is_secure: true, port, base: format!("{path}/console") });
        }
        let name = format!("{}:{port}", url.host_str().unwrap_or_default());
        engines::is_loopback(url).then(|| Self::here(&name, port, path, false)).ok_or(NoConsole::Insecure)
    }

    /// Of this machine, which has more names than the one that the operator wrote.
    fn here(name: &str, port: u16, path: &str, is_secure: bool) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        let mut hosts = names.to_vec();
        if !hosts.iter().any(|known| known == name) {
            hosts.push(name.to_owned());
        }
        // Browsers leave the usual port out.
        let usual = if is_secure { ":443" } else { ":80" };
        let bare: Vec<String> =
            hosts.iter().filter_map(|name| name.strip_suffix(usual)).map(str::to_owned).collect();
        hosts.extend(bare);
        Self { hosts, is_secure, port, base: format!("{path}/console") }
    }
}

impl ConsoleConfig {
    /// Whether the address is that of a proxy that is believed.
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted_proxies.iter().any(|network| network.contains(&address))
    }
}

/// The `[console]` section.
pub(super) fn read(section: &Section<'_>) -> Result<ConsoleConfig, ConfigError> {
    let time = |key| -> Result<Millis, ConfigError> {
        let range = Millis(60_000)..=Millis(90 * DAY.0);
        section.required(key, section.bounded(key, range, "1m to 90d")?)
    };
    let (session_idle, session) = (time("session_idle")?, time("session")?);
    if session_idle > session {
        return Err(section.refuse("session_idle", "must not be longer than `console.session`"));
    }
    Ok(ConsoleConfig {
        enabled: section.required("enabled", section.boolean("enabled")?)?,
        session_idle,
        session,
        trusted_proxies: webhooks::networks(section, "trusted_proxies")?,
        oidc: if section.has("oidc") { oidc(&section.section("oidc")?)? } else { None },
    })
}

/// The `[console.oidc]` section; nobody is asked where it names no issuer.
fn oidc(section: &Section<'_>) -> Result<Option<OidcConfig>, ConfigError> {
    let Some(text) = section.string("issuer")? else { return Ok(None) };
    let wanted = "an https address without a query, as the provider spells its issuer";
    let refuse = || section.refuse("issuer", format!("must be {wanted}, and is {text:?}"));
    let issuer = Url::parse(text).map_err(|_| refuse())?;
    let is_safe = issuer.scheme() == "https" || (issuer.scheme() == "http" && engines::is_loopback(&issuer));
    if !is_safe || issuer.query().is_some() || issuer.fragment().is_some() || !issuer.username().is_empty() {
        return Err(refuse());
    }
    let client_id = section.required("client_id", section.string("client_id")?)?.to_owned();
    Ok(Some(OidcConfig {
        name: section.required("name", section.string("name")?)?.to_owned(),
        issuer: text.to_owned(),
        client_id,
        client_secret_env: section.read("client_secret_env", engines::variable_name)?,
        sign_up: section.required("sign_up", section.boolean("sign_up")?)?,
        trust_xms_edov: section.required("trust_xms_edov", section.boolean("trust_xms_edov")?)?,
        verified_domains: domains(section, "verified_domains")?,
    }))
}

fn domains(section: &Section<'_>, key: &str) -> Result<Vec<String>, ConfigError> {
    let wanted = "domains of e-mail addresses like \"example.com\", each one whole";
    let refuse = |text: &String| section.refuse(key, format!("must be {wanted}, and has {text:?}"));
    let domains = section.required(key, section.strings(key)?)?;
    domains.iter().map(|text| domain(text).ok_or_else(|| refuse(text))).collect()
}

/// A domain in small letters. One with other letters than ASCII is written as it is registered, in Punycode: letters that look
/// alike are no match.
fn domain(text: &str) -> Option<String> {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    (text.len() <= 253 && text.split('.').all(is_label)).then(|| text.to_ascii_lowercase())
}
