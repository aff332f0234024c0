//! Which addresses belong to the public internet. Everything else may be a private network, which no tenant's webhook may reach.
//!
//! After the IANA special-purpose address registries (RFC 6890 and later additions), and the addresses at which cloud providers answer
//! their own machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv4 networks that are not public, each with the length of its prefix.
const INNER_V4: [([u8; 4], u32); 18] = [
    ([0, 0, 0, 0], 8),        // this network
    ([10, 0, 0, 0], 8),       // private
    ([100, 64, 0, 0], 10),    // behind a carrier's NAT; 100.100.100.200 is a metadata service
    ([127, 0, 0, 0], 8),      // loopback
    ([168, 63, 129, 16], 32), // Azure's wire server, in an otherwise public network
    ([169, 254, 0, 0], 16),   // link-local; 169.254.169.254 is a metadata service
    ([172, 16, 0, 0], 12),    // private
    ([192, 0, 0, 0], 24),     // protocol assignments; 192.0.0.192 is a metadata service
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 31, 196, 0], 24),  // AS112
    ([192, 52, 193, 0], 24),  // multicast tunnels
    ([192, 88, 99, 0], 24),   // 6to4 relays
    ([192, 168, 0, 0], 16),   // private
    ([192, 175, 48, 0], 24),  // AS112
    ([198, 18, 0, 0], 15),    // benchmarks
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 3),      // multicast, reserved, broadcast
];

/// Exceptions in 2000::/3, outside of which no address is public.
const INNER_V6: [(Ipv6Addr, u32); 5] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments: Teredo, benchmarks, ORCHID
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, which carries an IPv4 address
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // AS112
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The well-known prefix of NAT64 (RFC 6052): the address is as public as the IPv4 address in it.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Resolves an IPv4 address written as IPv6 (`::ffff:a.b.c.d`) to that IPv4 address.
pub const fn meant(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// Whether an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match meant(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) if is_in_v6(address, NAT64) => {
            let [.., a, b, c, d] = address.octets();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V6(address) => {
            is_in_v6(address, PUBLIC_V6) && !INNER_V6.iter().any(|network| is_in_v6(address, *network))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !INNER_V4.iter().any(|(network, length)| {
        (address.to_bits() ^ Ipv4Addr::from(*network).to_bits()).leading_zeros() >= *length
    })
}

fn is_in_v6(address: Ipv6Addr, (network, length): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: bool, addresses: &[&str]) {
        for text in addresses {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(is_public(address), expected, "{text}");
        }
    }

    #[test]
    fn the_first_and_the_last_of_every_inner_network_are_inner() {
        check(
            false,
            &[
                "0.0.0.0",
                "0.255.255.255",
                "10.0.0.0",
                "10.255.255.255",
                "100.64.0.0",
                "100.127.255.255",
                "100.100.100.200",
                "127.0.0.1",
                "127.255.255.255",
                "168.63.129.16",
                "169.254.0.0",
                "169.254.169.254",
                "169.254.255.255",
                "172.16.0.0",
                "172.31.255.255",
                "192.0.0.0",
                "192.0.0.192",
                "192.0.0.255",
                "192.0.2.0",
                "192.0.2.255",
                "192.88.99.1",
                "192.168.0.0",
                "192.168.255.255",
                "198.18.0.0",
                "198.19.255.255",
                "198.51.100.0",
                "203.0.113.255",
                "224.0.0.1",
                "239.255.255.255",
                "240.0.0.1",
                "255.255.255.255",
            ],
        );
    }

    #[test]
    fn their_neighbours_are_public() {
        check(
            true,
            &[
                "1.0.0.0",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "168.63.129.15",
                "168.63.129.17",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.0.3.0",
                "192.88.98.255",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "203.0.112.255",
                "203.0.114.0",
                "223.255.255.255",
                "8.8.8.8",
            ],
        );
    }

    #[test]
    fn of_ipv6_only_global_unicast_is_public() {
        check(true, &["2001:200::1", "2606:4700::1111", "2a00:1450::1", "2003::1", "3ffe::1", "3fff:1000::"]);
        check(
            false,
            &[
                "::",
                "::1",
                "::7f00:1",
                "::8.8.8.8",
                "100::1",
                "1fff::1",
                "4000::",
                "5f00::1",
                "fc00::1",
                "fd00:ec2::254",
                "fd20:ce::254",
                "fe80::1",
                "febf::1",
                "fec0::1",
                "ff02::1",
                "ff0e::1",
                "2001::1",
                "2001:0:4136:e378::1",
                "2001:2::1",
                "2001:10::1",
                "2001:20::1",
                "2001:1ff:ffff::",
                "2001:db8::1",
                "2002:7f00:1::",
                "2002:808:808::1",
                "3fff::1",
                "3fff:fff::1",
                "2620:4f:8000::1",
            ],
        );
    }

    #[test]
    fn an_ipv4_address_within_is_judged_by_itself() {
        check(true, &["::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]);
        check(
            false,
            &[
                "::ffff:127.0.0.1",
                "::ffff:10.1.2.3",
                "::ffff:169.254.169.254",
                "64:ff9b::127.0.0.1",
                "64:ff9b::10.0.0.1",
                "64:ff9b::169.254.169.254",
                "64:ff9b:1::8.8.8.8",
                "64:ff9b:1::127.0.0.1",
            ],
        );
        assert_eq!(meant("::ffff:10.1.2.3".parse().unwrap()), "10.1.2.3".parse::<IpAddr>().unwrap());
    }
}
