//! Parsed URLs of webhooks.

use std::net::IpAddr;

use hyper::Uri;
use hyper::header::HeaderValue;
use overnight_domain::webhooks::urls::Destination;
use rustls::pki_types::ServerName;
use url::Host;

/// The host, port and path of a URL.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) host: Host<String>,
    pub(super) port: u16,
    /// The name that the certificate must have; `None` over http.
    pub(super) certified: Option<ServerName<'static>>,
    pub(super) authority: HeaderValue,
    pub(super) path: Uri,
}

impl Target {
    /// Parses a URL as browsers do, so that every spelling of an address is that address. `None` if it is malformed, contains a user, or is
    /// neither https nor allowed http.
    pub(super) fn read(url: &str, allows_http: bool) -> Option<Self> {
        let Destination { is_secure, host, port, authority, path } = Destination::read(url, allows_http)?;
        let certified = match &host {
            Host::Domain(name) => ServerName::try_from(name.clone()).ok()?,
            Host::Ipv4(address) => ServerName::from(IpAddr::from(*address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::from(*address)),
        };
        Some(Self {
            host,
            port,
            certified: is_secure.then_some(certified),
            authority: HeaderValue::try_from(authority).ok()?,
            path: Uri::try_from(path).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use overnight_domain::webhooks::urls;

    use super::*;

    /// Host, port, `Host` header and path of an http URL.
    fn read(url: &str) -> Option<(String, u16, String, String)> {
        let target = Target::read(url, true)?;
        let authority = target.authority.to_str().unwrap().to_owned();
        Some((target.host.to_string(), target.port, authority, target.path.to_string()))
    }

    fn is(host: &str, port: u16, authority: &str, path: &str) -> Option<(String, u16, String, String)> {
        Some((host.to_owned(), port, authority.to_owned(), path.to_owned()))
    }

    #[test]
    fn an_address_is_taken_apart() {
        assert_eq!(read("https://Example.com"), is("example.com", 443, "example.com", "/"));
        assert_eq!(read("https://h.example:443/a?b#c"), is("h.example", 443, "h.example", "/a?b"));
        assert_eq!(read("http://h:8080//x/?"), is("h", 8080, "h:8080", "//x/?"));
        assert_eq!(read("http://[::1]:81/"), is("[::1]", 81, "[::1]:81", "/"));
        assert_eq!(read("http://0x7f.1/"), is("127.0.0.1", 80, "127.0.0.1", "/"));
        assert_eq!(read("https://a.example./"), is("a.example.", 443, "a.example.", "/"));
        assert_eq!(
            read("https://bücher.example/ü"),
            is("xn--bcher-kva.example", 443, "xn--bcher-kva.example", "/%C3%BC")
        );
    }

    #[test]
    fn whatever_stands_in_a_path_can_be_sent() {
        for byte in 0_u8..=255 {
            let path = format!("http://h/a{0}b?c{0}d", char::from(byte));
            assert!(read(&path).is_some(), "{path:?}");
        }
    }

    #[test]
    fn whatever_name_is_taken_can_stand_in_a_certificate() {
        let (label, name) = ("a".repeat(63), "a.".repeat(127));
        let mut taken = 0;
        for name in [
            "example.com",
            "a_b.c",
            "-a.b",
            "a-.b",
            "a--b",
            "a..b",
            ".a",
            "a.",
            "a..",
            "*.a",
            "{a}",
            "a'b",
            "a~b",
            "a!b",
            "a&b",
            "7.a",
            "a.7b",
            "_",
            "-",
            &label,
            &format!("{label}a"),
            &name,
            &format!("{name}aa"),
            "bücher.example",
            "ß",
            "\u{ad}",
        ] {
            let url = format!("https://{name}/");
            if urls::check(&url, false, |_| false).is_ok() {
                assert!(Target::read(&url, false).is_some(), "{url}");
                taken += 1;
            }
        }
        assert_eq!(taken, 10);
    }

    #[test]
    fn http_is_for_those_who_are_allowed_it() {
        assert!(Target::read("http://h", false).is_none());
        assert!(Target::read("https://h", false).is_some_and(|target| target.certified.is_some()));
        assert!(Target::read("http://h", true).is_some_and(|target| target.certified.is_none()));
        for url in ["ftp://h", "ws://h", "file:///h", "h", "", "https://", "https://a@h", "https://:b@h"] {
            assert!(Target::read(url, true).is_none(), "{url}");
        }
    }
}
