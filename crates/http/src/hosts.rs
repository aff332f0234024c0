//! Names by which calls reach the service. A foreign name that resolves to its address would let pages of that name read its answers.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use overnight_config::Config;

/// The host, and the port if there is one, that a call names: in its target or as `Host`. Empty if it names none, as no browser does.
pub fn named<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> &'a str {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    uri.authority().map(Authority::as_str).or(host).unwrap_or_default()
}

/// Whether no other site can have this name: an IP address, `localhost`, the host of `public_url`, the name of this `node`, or
/// none.
pub(super) fn is_own(named: &str, config: &Config) -> bool {
    let Ok(authority) = named.parse::<Authority>() else { return named.is_empty() };
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let public = config.public_url.as_ref().and_then(|url| url.host_str());
    let mut names = ["localhost"].into_iter().chain(public).chain(config.node.as_deref());
    address.parse::<IpAddr>().is_ok() || names.any(|own| own.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use overnight_config::Sources;

    use super::*;

    #[test]
    fn only_names_that_no_other_site_can_have_are_own_ones() {
        let flags = [("public_url", "https://night.example.com"), ("node", "night-1")];
        let flags = flags.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = Config::load(&Sources { flags: flags.into(), ..Sources::default() }).expect("settings");
        for (named, expected) in [
            ("", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("10.0.0.7", true),
            ("LocalHost:9464", true),
            ("night.example.com", true),
            ("night-1:9464", true),
            ("night-2:9464", false),
            ("evil.example.com", false),
            ("127.0.0.1.evil.example.com:8080", false),
            ("localhost.evil.example.com", false),
            ("localhost@evil.example.com", false),
            ("no name", false),
        ] {
            assert_eq!(is_own(named, &config), expected, "{named}");
        }
    }
}
