//! The URLs of webhooks: which are accepted, and their destinations.

use std::net::IpAddr;

use url::{Host, Position, Url};

use crate::faults::{Fault, codes};

/// The longest URL, in bytes.
pub const BYTES_MAX: usize = 2_048;

/// The longest label of a name, and the longest name, in bytes (RFC 1035).
const LABEL_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 253;

/// The destination of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Whether it is called over https.
    pub is_secure: bool,
    /// The name or the address, of which all spellings are equal.
    pub host: Host<String>,
    /// The port, explicit or not.
    pub port: u16,
    /// Host and port for the `Host` header.
    pub authority: String,
    /// Path and query.
    pub path: String,
}

impl Destination {
    /// Reads a URL as browsers do. `None` if it is invalid, names a user, or is neither https nor (if `allows_http`) http.
    pub fn read(url: &str, allows_http: bool) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let is_secure = url.scheme() == "https";
        if names_user(&url) || !(is_secure || allows_http && url.scheme() == "http") {
            return None;
        }
        Some(Self {
            is_secure,
            host: url.host()?.to_owned(),
            port: url.port_or_known_default()?,
            authority: url[Position::BeforeHost..Position::AfterPort].to_owned(),
            path: url[Position::BeforePath..Position::AfterQuery].to_owned(),
        })
    }
}

/// Whether a name can be looked up and be in a certificate. Browsers read others, such as `a..b` and `{host}`, which cannot be reached.
fn is_name(name: &str) -> bool {
    let is_letter =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| {
        let is_tied = !label.starts_with('-') && !label.ends_with('-');
        (1..=LABEL_BYTES_MAX).contains(&label.len()) && label.bytes().all(is_letter) && is_tied
    };
    name.len() <= NAME_BYTES_MAX && name.strip_suffix('.').unwrap_or(name).split('.').all(is_label)
}

fn names_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Refuses a URL that cannot be a webhook, with the fault of the field `webhook`. The addresses of a name are checked on connection; here,
/// an address in the URL must be one that `allows` accepts.
pub fn check(text: &str, allows_http: bool, allows: impl Fn(IpAddr) -> bool) -> Result<(), Fault> {
    let refuse = |code, message: &str| Fault { param: "webhook".into(), code, message: message.into() };
    if text.len() > BYTES_MAX {
        let message = format!("must be at most {BYTES_MAX} bytes");
        return Err(refuse(codes::OUT_OF_RANGE, &message));
    }
    let is_plain = !text.contains(|character: char| character.is_whitespace() || character.is_control());
    let Some(url) = Url::parse(text).ok().filter(|_| is_plain) else {
        return Err(refuse(codes::UNKNOWN_VALUE, "must be an absolute URL such as https://example.com/hook"));
    };
    match url.scheme() {
        "https" => {}
        "http" if allows_http => {}
        "http" => {
            return Err(refuse(
                codes::NOT_ALLOWED,
                "must be an https URL: this service is not set up to call http",
            ));
        }
        _ if allows_http => return Err(refuse(codes::UNKNOWN_VALUE, "must be an https or http URL")),
        _ => return Err(refuse(codes::UNKNOWN_VALUE, "must be an https URL")),
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refuse(codes::MISSING, "must name a host"));
    }
    if url.domain().is_some_and(|name| !is_name(name)) {
        return Err(refuse(codes::UNKNOWN_VALUE, "must name a host that a name server can know"));
    }
    if names_user(&url) {
        return Err(refuse(codes::NOT_ALLOWED, "must carry no user name or password"));
    }
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) | None => None,
    };
    if url.port() == Some(0) || address.is_some_and(|address| !allows(address)) {
        let message =
            "must lead to an address of the public internet, or to one that this service is set up to call";
        return Err(refuse(codes::NOT_ALLOWED, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(url: &str, allows_http: bool) -> Result<(), &'static str> {
        check(url, allows_http, |address| address.to_string() == "192.0.2.1").map_err(|fault| fault.code)
    }

    #[test]
    fn http_may_be_called_where_that_is_allowed_and_anything_else_never() {
        let is_read = |url, allows_http| Destination::read(url, allows_http).map(|it| it.is_secure);
        for (url, without, with) in [
            ("https://example.com/hook", Some(true), Some(true)),
            ("http://example.com/hook", None, Some(false)),
            ("ftp://example.com/hook", None, None),
            ("https://user@example.com/hook", None, None),
            ("http://:word@example.com/hook", None, None),
            ("example.com/hook", None, None),
        ] {
            assert_eq!((is_read(url, false), is_read(url, true)), (without, with), "{url}");
            assert_eq!(
                (checked(url, false).is_ok(), checked(url, true).is_ok()),
                (without.is_some(), with.is_some())
            );
        }
    }

    #[test]
    fn where_a_url_leads_is_read_in_one_way() {
        let read = |url| Destination::read(url, true).expect("a place");
        let Destination { host, port, authority, path, .. } = read("https://0x7f.1:8443/a/../b?c=%20#d");
        assert_eq!(
            (host.to_string().as_str(), port, authority.as_str()),
            ("127.0.0.1", 8_443, "127.0.0.1:8443")
        );
        assert_eq!(path, "/b?c=%20");
        assert_eq!([read("https://e.example").port, read("http://e.example").port], [443, 80]);
        assert_eq!(read("https://E.example:443/").authority, "e.example");
    }

    #[test]
    fn what_is_wrong_with_a_url_is_told() {
        let label = "a".repeat(LABEL_BYTES_MAX);
        let long = |bytes: usize| format!("https://e.example/{}", "a".repeat(bytes - 18));
        for (url, expected) in [
            (long(BYTES_MAX), Ok(())),
            (long(BYTES_MAX + 1), Err(codes::OUT_OF_RANGE)),
            ("https://e.example/a b".to_owned(), Err(codes::UNKNOWN_VALUE)),
            ("https://e.example/\u{7}".to_owned(), Err(codes::UNKNOWN_VALUE)),
            ("nothing".to_owned(), Err(codes::UNKNOWN_VALUE)),
            ("http://e.example".to_owned(), Err(codes::NOT_ALLOWED)),
            ("ftp://e.example".to_owned(), Err(codes::UNKNOWN_VALUE)),
            (format!("https://{label}.example"), Ok(())),
            (format!("https://a{label}.example"), Err(codes::UNKNOWN_VALUE)),
            ("https://a..example".to_owned(), Err(codes::UNKNOWN_VALUE)),
            ("https://-a.example".to_owned(), Err(codes::UNKNOWN_VALUE)),
            ("https://a-.example".to_owned(), Err(codes::UNKNOWN_VALUE)),
            ("https://a_b.example.".to_owned(), Ok(())),
            ("https://user@e.example".to_owned(), Err(codes::NOT_ALLOWED)),
            ("https://e.example:0".to_owned(), Err(codes::NOT_ALLOWED)),
            ("https://192.0.2.1".to_owned(), Ok(())),
            ("https://192.0.2.2".to_owned(), Err(codes::NOT_ALLOWED)),
            ("https://[2001:db8::1]".to_owned(), Err(codes::NOT_ALLOWED)),
        ] {
            assert_eq!(checked(&url, false), expected, "{url}");
        }
    }
}
