//! The console's address, sign-in and sessions.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use url::Url;

use super::section::Section;
use super::values::{each, flag, is_loopback, is_plain, like, text, variable, within};
use super::{Millis, Read, webhooks};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleConfig {
    pub enabled: bool,
    /// Inactivity after which a browser is signed out.
    pub session_idle: Millis,
    /// Time after which a browser is signed out in any case.
    pub session: Millis,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    pub oidc: Option<OidcConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcConfig {
    pub name: String,
    /// Letter by letter as the provider spells it: https, or http to this machine.
    pub issuer: String,
    /// The client ID that is registered with the provider.
    pub client_id: String,
    /// The environment variable of the client's secret, if it has one.
    pub client_secret_env: Option<String>,
    /// Whether people without an invitation get an account.
    pub sign_up: bool,
    /// Whether the claim `xms_edov` of Microsoft Entra ID verifies an e-mail address.
    pub trust_xms_edov: bool,
    /// Domains, in lower case, whose addresses are verified unless this issuer denies it.
    pub verified_domains: Vec<String>,
}

/// The origin at which browsers reach the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleOrigin {
    /// The accepted values of `Host`.
    pub hosts: Vec<String>,
    /// Whether it is https.
    pub is_secure: bool,
    pub port: u16,
    /// The path of the console, as browsers see it.
    pub base: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoConsole {
    /// Disabled by the operator.
    SwitchedOff,
    /// It would be reachable over http from other machines, which would expose passwords.
    Insecure,
}

impl NoConsole {
    /// For the operator: why, and how to get a console.
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
    /// The origin at `public_url`, by default at `listen`, which is https if it has TLS.
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
        is_loopback(url).then(|| Self::here(&name, port, path, false)).ok_or(NoConsole::Insecure)
    }

    /// This machine, under each of its names.
    fn here(name: &str, port: u16, path: &str, is_secure: bool) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        let mut hosts = names.to_vec();
        if !hosts.iter().any(|known| known == name) {
            hosts.push(name.to_owned());
        }
        // Browsers omit the default port.
        let usual = if is_secure { ":443" } else { ":80" };
        let bare: Vec<String> =
            hosts.iter().filter_map(|name| name.strip_suffix(usual)).map(str::to_owned).collect();
        hosts.extend(bare);
        Self { hosts, is_secure, port, base: format!("{path}/console") }
    }
}

impl ConsoleConfig {
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted_proxies.iter().any(|network| network.contains(&address))
    }
}

pub(super) fn read(section: &Section<'_>) -> Read<ConsoleConfig> {
    let time = |key| section.get(key, within("1m to 90d"));
    let (session_idle, session) = (time("session_idle")?, time("session")?);
    let is_longer = session_idle > session;
    section.forbid("session_idle", is_longer.then_some("must not be longer than `console.session`"))?;
    Ok(ConsoleConfig {
        enabled: section.get("enabled", flag)?,
        session_idle,
        session,
        trusted_proxies: section.get("trusted_proxies", webhooks::networks)?,
        oidc: oidc(&section.section("oidc")?)?,
    })
}

/// `None` if the `[console.oidc]` section has no issuer.
fn oidc(section: &Section<'_>) -> Read<Option<OidcConfig>> {
    let Some(issuer) = section.find("issuer", like(issuer))? else { return Ok(None) };
    let domains = each("domains of e-mail addresses like \"example.com\", each one whole", domain);
    Ok(Some(OidcConfig {
        name: section.get("name", text)?,
        issuer,
        client_id: section.get("client_id", text)?,
        client_secret_env: section.find("client_secret_env", variable)?,
        sign_up: section.get("sign_up", flag)?,
        trust_xms_edov: section.get("trust_xms_edov", flag)?,
        verified_domains: section.get("verified_domains", domains)?,
    }))
}

fn issuer(text: &str) -> Result<String, &'static str> {
    let is_safe = |url: &Url| url.scheme() == "https" || url.scheme() == "http" && is_loopback(url);
    let fits = Url::parse(text).is_ok_and(|url| is_safe(&url) && is_plain(&url));
    fits.then(|| text.to_owned()).ok_or("an https address without a query, as the provider spells its issuer")
}

/// A domain in lower case. Domains outside ASCII must be in Punycode: similar letters must not match.
fn domain(text: &str) -> Option<String> {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    (text.len() <= 253 && text.split('.').all(is_label)).then(|| text.to_ascii_lowercase())
}
