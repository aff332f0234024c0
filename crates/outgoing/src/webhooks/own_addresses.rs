//! Addresses that no webhook may reach, whatever is allowed: this service, its database and its engines.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, OnceLock};

use overnight_config::{Config, Database};
use overnight_domain::webhooks::addresses::{is_public, meant};
use url::Host;

use super::resolve::{Hold, Resolve};

/// Returns the addresses of the engines that this process drives, also of replicas that leave or left a few minutes ago; they change.
pub type EngineAddresses = Arc<dyn Fn() -> Vec<SocketAddr> + Send + Sync>;

/// Returns the settings as last loaded.
pub(super) type CurrentConfig = Arc<dyn Fn() -> Arc<Config> + Send + Sync>;

/// Addresses of the service, its database and its engines.
pub(super) struct OwnAddresses {
    /// Of this process.
    listening: Vec<SocketAddr>,
    engine_addresses: EngineAddresses,
    database: Option<Named>,
    config: CurrentConfig,
}

/// A database or engine in the settings.
#[derive(Clone)]
struct Named {
    host: Host<String>,
    port: u16,
    /// A shared proxy may be at its public addresses.
    may_share: bool,
}

impl OwnAddresses {
    pub(super) fn new(
        config: CurrentConfig,
        listening: Vec<SocketAddr>,
        engine_addresses: EngineAddresses,
    ) -> Self {
        let database = match &config().database {
            Database::Sqlite => None,
            Database::Postgres(url) => url
                .address(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
                .and_then(|(host, port)| Some(Named { host: read_host(&host)?, port, may_share: false })),
        };
        Self { listening, engine_addresses, database, config }
    }

    fn named(&self) -> Vec<Named> {
        let config = (self.config)();
        let engines = config.engines.iter().filter_map(|engine| {
            let url = &engine.openai()?.base_url;
            Some(Named { host: url.host()?.to_owned(), port: url.port_or_known_default()?, may_share: true })
        });
        self.database.iter().cloned().chain(engines).collect()
    }

    /// Whether a URL's host and port are those of the database or an engine.
    pub(super) fn are_named(&self, host: &Host<String>, port: u16) -> bool {
        self.named().iter().any(|named| named.port == port && is_same(&named.host, host))
    }

    /// Whether one of these addresses belongs to the installation, or is a private one that may. The names of database and engines are
    /// resolved only if one of them may match.
    pub(super) async fn are_at(
        &self,
        addresses: &[IpAddr],
        port: u16,
        resolver: &dyn Resolve,
        hold: &Hold,
    ) -> bool {
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| reached(*address)).collect();
        let is_at_port = |place: &&SocketAddr| place.port() == port;
        let mut listening = self.listening.iter().filter(is_at_port).map(|place| meant(place.ip()));
        // DNS may name a replica no longer that still runs.
        let engines = (self.engine_addresses)();
        let mut engines = engines.iter().filter(is_at_port).map(|place| reached(place.ip()));
        if listening.any(|ip| addresses.iter().any(|address| listens_at(ip, *address)))
            || engines.any(|ip| is_reached(ip, &addresses))
        {
            return true;
        }
        let named: Vec<Named> = self.named().into_iter().filter(|named| named.port == port).collect();
        if named.is_empty() {
            return false;
        }
        let inner: Vec<IpAddr> = addresses.iter().copied().filter(|address| is_inner(*address)).collect();
        for named in named {
            if named.is_at(&addresses, &inner, resolver, hold).await {
                return true;
            }
        }
        false
    }
}

impl Named {
    /// Whether it is reached at one of these addresses; `inner` are the private ones.
    async fn is_at(&self, all: &[IpAddr], inner: &[IpAddr], resolver: &dyn Resolve, hold: &Hold) -> bool {
        let name = match &self.host {
            Host::Ipv4(address) => return is_reached(reached(IpAddr::V4(*address)), all),
            Host::Ipv6(address) => return is_reached(reached(IpAddr::V6(*address)), all),
            Host::Domain(name) => name,
        };
        let compared = if self.may_share { inner } else { all };
        if compared.is_empty() {
            return false;
        }
        match resolver.resolve(name, Arc::clone(hold)).await {
            Ok(found) => found.into_iter().map(reached).any(|ip| is_reached(ip, compared)),
            Err(_) => !inner.is_empty(),
        }
    }
}

/// A host in the settings.
fn read_host(text: &str) -> Option<Host<String>> {
    match text.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(address)) => Some(Host::Ipv4(address)),
        Ok(IpAddr::V6(address)) => Some(Host::Ipv6(address)),
        Err(_) => Host::parse(text).ok(),
    }
}

/// Ignores the dot at the end of a name.
fn is_same(one: &Host<String>, other: &Host<String>) -> bool {
    match (one, other) {
        (Host::Domain(one), Host::Domain(other)) => {
            one.trim_end_matches('.').eq_ignore_ascii_case(other.trim_end_matches('.'))
        }
        _ => one == other,
    }
}

/// The final address: behind a NAT64 (RFC 6052), the embedded IPv4 address.
fn reached(address: IpAddr) -> IpAddr {
    match meant(address) {
        IpAddr::V6(address) if address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            let [.., a, b, c, d] = address.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        other => other,
    }
}

/// Whether a socket that listens at `listening` is reached at `address`.
fn listens_at(listening: IpAddr, address: IpAddr) -> bool {
    address == listening || listening.is_unspecified() && is_of_this_machine(address)
}

/// Whether a server at `server` is reached at one of `addresses`. Which addresses of its machine it listens at is unknown, so a server on
/// this machine may be at any of its addresses.
fn is_reached(server: IpAddr, addresses: &[IpAddr]) -> bool {
    let is_here = is_of_this_machine(server);
    addresses.iter().any(|address| *address == server || is_here && is_of_this_machine(*address))
}

fn is_inner(address: IpAddr) -> bool {
    !is_public(address) || is_of_this_machine(address)
}

/// Whether it is an address of this machine, or the unspecified one: only those can be bound.
fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || !binds_anywhere() && binds(address)
}

fn binds(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Whether this machine binds foreign addresses (`net.ipv4.ip_nonlocal_bind`): tested with an address reserved for documentation.
fn binds_anywhere() -> bool {
    static ANYWHERE: OnceLock<bool> = OnceLock::new();
    *ANYWHERE.get_or_init(|| binds(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))))
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use overnight_config::Sources;

    use super::*;

    struct Always(&'static [&'static str]);

    impl Resolve for Always {
        fn resolve(&self, _: &str, _: Hold) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
            Box::pin(std::future::ready(Ok(addresses(self.0))))
        }
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn settings(variables: &[(&str, &str)]) -> CurrentConfig {
        let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let config = Config::load(&Sources { environment, ..Sources::default() }).unwrap();
        let config = Arc::new(config);
        Arc::new(move || Arc::clone(&config))
    }

    #[tokio::test]
    async fn a_public_address_may_be_shared_with_an_engine_and_nothing_else() {
        let named = |host: &str, may_share| OwnAddresses {
            listening: Vec::new(),
            engine_addresses: Arc::new(Vec::new),
            database: Some(Named { host: read_host(host).unwrap(), port: 443, may_share }),
            config: settings(&[]),
        };
        let hold: Hold = Arc::new(());
        let database = named("db.example", false);
        assert!(database.are_at(&addresses(&["1.2.3.4"]), 443, &Always(&["1.2.3.4"]), &hold).await);
        assert!(!database.are_at(&addresses(&["1.2.3.5"]), 443, &Always(&["1.2.3.4"]), &hold).await);
        for (host, resolved, called, port, expected) in [
            ("api.example", &["1.2.3.4"][..], &["1.2.3.4"][..], 443, false),
            ("api.example", &["10.0.0.5"], &["10.0.0.5"], 443, true),
            ("api.example", &["10.0.0.4", "10.0.0.5"], &["1.2.3.4", "10.0.0.5"], 443, true),
            ("api.example", &["1.2.3.4"], &["1.2.3.4", "10.0.0.5"], 443, false),
            ("api.example", &["10.0.0.5"], &["64:ff9b::10.0.0.5"], 443, true),
            ("api.example", &["10.0.0.5"], &["10.0.0.6"], 443, false),
            ("api.example", &["10.0.0.5"], &["10.0.0.5"], 444, false),
            ("1.2.3.4", &[], &["1.2.3.4"], 443, true),
            ("1.2.3.4", &[], &["1.2.3.5"], 443, false),
        ] {
            let found = named(host, true).are_at(&addresses(called), port, &Always(resolved), &hold).await;
            assert_eq!(found, expected, "{host} at {resolved:?}, called {called:?}");
        }
    }

    #[tokio::test]
    async fn replicas_that_dns_names_no_longer_are_own_ones_while_they_are_known() {
        let known = Arc::new(|| vec!["10.0.0.5:9000".parse().unwrap()]);
        let url = "http://pool.example:9000/v1";
        let engine = format!(r#"[{{ name = "e", kind = "openai", discovery = "dns", base_url = "{url}" }}]"#);
        let config = settings(&[("OVERNIGHT_MODELS", r#"[{ name = "m" }]"#), ("OVERNIGHT_ENGINES", &engine)]);
        let own = OwnAddresses::new(config, Vec::new(), known);
        let hold: Hold = Arc::new(());
        for (called, port, expected) in [
            ("10.0.0.6", 9000, true),
            ("10.0.0.5", 9000, true),
            ("64:ff9b::10.0.0.5", 9000, true),
            ("10.0.0.7", 9000, false),
            ("10.0.0.5", 9001, false),
        ] {
            let found = own.are_at(&addresses(&[called]), port, &Always(&["10.0.0.6"]), &hold).await;
            assert_eq!(found, expected, "{called}:{port}");
        }
    }

    #[test]
    fn an_engine_that_the_service_starts_is_one_of_its_own() {
        let engines =
            r#"[{ name = "e", kind = "command", command = ["c"], base_url = "http://127.0.0.1:8001/v1" }]"#;
        let variables = [("OVERNIGHT_MODELS", r#"[{ name = "m" }]"#), ("OVERNIGHT_ENGINES", engines)];
        let own = OwnAddresses::new(settings(&variables), Vec::new(), Arc::new(Vec::new));
        let here = Host::parse("127.0.0.1").unwrap();
        assert_eq!([own.are_named(&here, 8001), own.are_named(&here, 8002)], [true, false]);
    }

    #[test]
    fn hosts_are_compared_as_what_they_mean() {
        let same = |one: &str, other: &str| is_same(&read_host(one).unwrap(), &Host::parse(other).unwrap());
        assert!(same("DB.example", "db.example.") && same("db.example.", "db.EXAMPLE"));
        assert!(same("127.0.0.1", "0x7f.1") && same("[::1]", "[0:0::1]") && same("::1", "[::1]"));
        assert!(same("bücher.example", "xn--bcher-kva.example"));
        assert!(!same("db.example", "a.db.example") && !same("10.0.0.1", "10.0.0.2"));
        assert_eq!(read_host("a b"), None);
    }

    #[test]
    fn addresses_of_this_machine_are_told_from_others() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("127.255.0.3", true),
            ("::1", true),
            ("0.0.0.0", true),
            ("192.0.2.1", false),
            ("8.8.8.8", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_of_this_machine(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn a_server_of_this_machine_is_reached_at_each_address_of_this_machine_and_at_no_other() {
        for (server, called, expected) in [
            ("127.0.0.1", "127.0.0.9", true),
            ("127.0.0.1", "::1", true),
            ("127.0.0.1", "8.8.8.8", false),
            ("8.8.8.8", "127.0.0.1", false),
            ("8.8.8.8", "8.8.8.8", true),
        ] {
            let found = is_reached(server.parse().unwrap(), &addresses(&[called]));
            assert_eq!(found, expected, "{server}, called at {called}");
        }
    }

    #[test]
    fn behind_a_nat64_is_an_ipv4_address() {
        for (address, expected) in [
            ("64:ff9b::10.0.0.5", "10.0.0.5"),
            ("::ffff:10.0.0.5", "10.0.0.5"),
            ("10.0.0.5", "10.0.0.5"),
            ("64:ff9b:1::10.0.0.5", "64:ff9b:1::10.0.0.5"),
        ] {
            assert_eq!(reached(address.parse().unwrap()), expected.parse::<IpAddr>().unwrap());
        }
    }
}
