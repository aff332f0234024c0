//! The URLs of webhooks.
//!
//! An accepted URL is https and has no address outside of the public internet, and another parser agrees about its host; every spelling of
//! an address is judged equally.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use overnight_domain::webhooks::addresses::{is_public, meant};
use overnight_domain::webhooks::urls::{self, Destination};
use url::Host;

/// The input is a URL, or the bytes of an address.
pub fn check(input: &[u8]) {
    if let Ok(url) = std::str::from_utf8(input) {
        check_url(url);
    }
    if let Ok(octets) = <[u8; 4]>::try_from(input) {
        check_spellings(Ipv4Addr::from(octets));
    }
    if let Ok(octets) = <[u8; 16]>::try_from(input) {
        check_spellings_of_v6(Ipv6Addr::from(octets));
    }
}

/// Whether the service accepts a URL with the default settings.
fn is_taken(url: &str) -> bool {
    urls::check(url, false, is_public).is_ok()
}

fn check_url(url: &str) {
    let (strict, open) = (urls::check(url, false, is_public), urls::check(url, true, |_| true));
    assert!(strict.is_err() || open.is_ok(), "it is taken where less is allowed");
    for fault in [&strict, &open].into_iter().filter_map(|taken| taken.as_ref().err()) {
        assert_eq!(fault.param, "webhook");
        assert!(!fault.message.is_empty() && !fault.code.is_empty());
    }
    for (taken, allows_http) in [(strict.is_ok(), false), (open.is_ok(), true)] {
        let destination = Destination::read(url, allows_http);
        assert!(!taken || destination.is_some(), "it is taken and cannot be read");
        if let Some(destination) = destination.filter(|_| taken) {
            check_destination(url, &destination, allows_http);
        }
    }
}

fn check_destination(url: &str, destination: &Destination, allows_http: bool) {
    let Destination { is_secure, host, port, authority, path } = destination;
    assert!(*is_secure || allows_http, "http, which is not allowed");
    assert!(*port != 0 && path.starts_with('/') && authority.is_ascii() && path.is_ascii());
    if let Some(address) = address_of(host)
        && !allows_http
    {
        assert!(!is_inner(address), "{address} is inner");
    }
    if let Host::Domain(name) = host {
        assert!(is_name(name), "{name:?} is no name");
    }
    if let Some(read) = read_host(url) {
        assert_eq!(address_of(host), Some(read), "another reading leads elsewhere");
    }
    let scheme = if *is_secure { "https" } else { "http" };
    let again = format!("{scheme}://{authority}{path}");
    assert_eq!(Destination::read(&again, allows_http).as_ref(), Some(destination), "it is read as another");
    if again.len() <= urls::BYTES_MAX {
        let allows = |address| allows_http || is_public(address);
        assert!(urls::check(&again, allows_http, allows).is_ok(), "it is not taken again");
    }
}

fn address_of(host: &Host<String>) -> Option<IpAddr> {
    match host {
        Host::Ipv4(address) => Some(IpAddr::V4(*address)),
        Host::Ipv6(address) => Some(IpAddr::V6(*address)),
        Host::Domain(_) => None,
    }
}

/// Whether a name can be in a certificate and be resolved.
fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        (1..=63).contains(&label.len()) && label.bytes().all(is_part) && label.trim_matches('-') == label
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Whether an address is certainly not public, by the standard library.
fn is_inner(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_inner_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => is_inner_v4(address),
            None => {
                address.is_loopback()
                    || address.is_unspecified()
                    || address.is_multicast()
                    || address.is_unique_local()
                    || address.is_unicast_link_local()
            }
        },
    }
}

fn is_inner_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || address.is_broadcast()
        || first == 0
        || first == 100 && (64..128).contains(&second)
}

/// The address in an accepted URL, found independently: `None` for a name, or if letters beyond ASCII make it hard to tell.
fn read_host(url: &str) -> Option<IpAddr> {
    let (_, rest) = url.split_once(':')?;
    let authority = rest.trim_start_matches(['/', '\\']).split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    if let Some(inner) = host.strip_prefix('[') {
        return inner.split(']').next()?.parse().ok().map(IpAddr::V6);
    }
    let host = decode(host.split(':').next()?)?;
    let parts: Vec<&str> = host.strip_suffix('.').unwrap_or(&host).split('.').collect();
    let numbers: Option<Vec<u64>> = parts.iter().map(|part| number(part)).collect();
    let numbers = numbers.filter(|numbers| numbers.len() <= 4)?;
    let (last, first) = numbers.split_last()?;
    let head = first.iter().fold(0, |address, number| address << 8 | *number);
    let bits = head << (8 * (4 - first.len())) | *last;
    u32::try_from(bits).ok().map(|bits| IpAddr::V4(Ipv4Addr::from(bits)))
}

/// A host without its escapes; full-width digits and full stops become ASCII.
fn decode(host: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = host.as_bytes();
    while let [first, behind @ ..] = rest {
        let escaped =
            behind.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    let wide = |letter: char| match letter {
        '\u{ff10}'..='\u{ff19}' => char::from_digit(u32::from(letter) - 0xff10, 10),
        '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => Some('.'),
        letter if letter.is_ascii() => Some(letter.to_ascii_lowercase()),
        _ => None,
    };
    String::from_utf8(bytes).ok()?.chars().map(wide).collect()
}

/// A number as in C: decimal, octal after `0`, hexadecimal after `0x`.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some("") => return Some(0),
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Every spelling of an address is accepted or refused as that address.
fn check_spellings(address: Ipv4Addr) {
    let expected = is_public(IpAddr::V4(address));
    assert!(!expected || !is_inner_v4(address), "{address}");
    let ([a, b, c, d], bits) = (address.octets(), address.to_bits());
    let plain = address.to_string();
    let escaped: String = plain.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let wide = |letter: char| match letter.to_digit(10) {
        Some(digit) => char::from_u32(0xff10 + digit).expect("a wide digit"),
        None => '\u{3002}',
    };
    for host in [
        format!("{a}.{b}.{}", u32::from(c) << 8 | u32::from(d)),
        format!("{a}.{}", bits & 0xff_ffff),
        format!("{bits}"),
        format!("0x{bits:X}"),
        format!("0{bits:o}"),
        format!("0x{a:x}.0{b:o}.{c}.0x{d:X}"),
        format!("{plain}."),
        escaped,
        plain.chars().map(wide).collect(),
        format!("[::ffff:{plain}]"),
        format!("[::ffff:{:x}:{:x}]", bits >> 16, bits & 0xffff),
        plain,
    ] {
        for url in
            [format!("https://{host}/"), format!("https:\\{host}:8443\\x"), format!("HTTPS:{host}?q#f")]
        {
            assert_eq!(is_taken(&url), expected, "{url}, which is {address}");
            let destination = Destination::read(&url, false).expect("a destination");
            assert_eq!(address_of(&destination.host).map(meant), Some(IpAddr::V4(address)), "{url}");
        }
    }
}

fn check_spellings_of_v6(address: Ipv6Addr) {
    let expected = is_public(IpAddr::V6(address));
    assert!(!expected || !is_inner(IpAddr::V6(address)), "{address}");
    let long = address.segments().map(|segment| format!("{segment:04X}")).join(":");
    for host in [address.to_string(), long] {
        let url = format!("https://[{host}]:8443/a?b");
        assert_eq!(is_taken(&url), expected, "{url}");
        let destination = Destination::read(&url, false).expect("a destination");
        assert_eq!(address_of(&destination.host), Some(IpAddr::V6(address)), "{url}");
    }
}
