//! Names that resolve to forbidden addresses.

use overnight_outgoing::webhooks::Failure;

use super::support::{Forbidden, Names, Receiver, Turns, allowing, insecure, outcome, send, sender, strict};

/// Answers for names, each with one or more addresses. One forbidden address suffices.
const CASES: &str = "127.0.0.1; 127.0.0.2; 127.255.255.255; 0.0.0.0; 0.1.2.3; 10.0.0.1; 10.255.255.255; 100.64.0.1; \
    100.100.100.200; 168.63.129.16; 169.254.169.254; 172.16.0.1; 192.0.0.192; 192.0.2.1; 192.88.99.1; \
    192.168.1.1; 198.18.0.1; 198.51.100.1; 203.0.113.1; 224.0.0.1; 240.0.0.1; 255.255.255.255; ::; ::1; \
    ::127.0.0.1; ::8.8.8.8; ::ffff:127.0.0.1; ::ffff:10.0.0.1; ::ffff:169.254.169.254; 64:ff9b::127.0.0.1; \
    64:ff9b::169.254.169.254; 64:ff9b:1::8.8.8.8; 100::1; 2001::1; 2001:db8::1; 2002:7f00:1::; \
    2002:808:808::1; fc00::1; fd00:ec2::254; fe80::1; fec0::1; ff02::1; 127.0.0.1, ::1; \
    8.8.8.8, 127.0.0.1; 127.0.0.1, 8.8.8.8; 2606:4700::1111, 127.0.0.1; 8.8.8.8, ::1; \
    8.8.8.8, 2606:4700::1111, 10.0.0.1; \
    8.8.8.8, 8.8.4.4, 1.1.1.1, 9.9.9.9, 1.0.0.1, 8.8.8.8, 8.8.4.4, 192.168.0.1; 8.8.8.8, ::ffff:127.0.0.1; \
    64:ff9b::8.8.8.8, 64:ff9b::10.0.0.1; 8.8.8.8, 0.0.0.0";

pub(super) fn cases() -> impl Iterator<Item = Vec<&'static str>> {
    CASES.split("; ").map(|addresses| addresses.split(", ").collect())
}

#[tokio::test]
async fn a_name_that_leads_to_an_inner_address_is_refused_whatever_else_it_leads_to() {
    let forbidden = Forbidden::everywhere();
    for addresses in cases() {
        // Allowing another network changes nothing.
        for config in [strict(), allowing("172.20.0.0/16")] {
            for host in ["hook.example", "hook.example.", "HOOK.example", "hook。example"] {
                let resolver = Turns::new(&[&addresses]);
                let sender = sender(&config, resolver.clone());
                let tried = send(&sender, &format!("https://{host}:{}/", forbidden.port())).await;
                assert_eq!(outcome(&tried), Err(Failure::Refused), "{addresses:?}");
                assert_eq!(resolver.count(), 1, "{addresses:?}");
                forbidden.assert_untouched(&format!("{addresses:?}"));
            }
        }
    }
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_not_called() {
    for names in [Names::none(), Names::one("hook.example", &[])] {
        let tried = send(&sender(&strict(), names), "https://hook.example/").await;
        assert_eq!(outcome(&tried), Err(Failure::Unresolved));
    }
}

#[tokio::test]
async fn a_name_with_more_addresses_than_anybody_judges_is_not_called() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    let url = format!("http://hook.example:{}/", receiver.address.port());
    for (count, expected) in [(64, Ok(200)), (65, Err(Failure::Refused))] {
        let names = Names::one("hook.example", &vec!["127.0.0.2"; count]);
        let tried = send(&sender(&insecure(), names), &url).await;
        assert_eq!(outcome(&tried), expected, "{count} addresses");
    }
}

#[tokio::test]
async fn names_are_resolved_as_the_url_has_them() {
    for (host, asked) in [
        ("Hook.Example", "hook.example"),
        ("hook.example.", "hook.example."),
        ("bücher.example", "xn--bcher-kva.example"),
        ("hook%2Eexample", "hook.example"),
        ("good.example\\@hook.example", "good.example"),
    ] {
        let tried =
            send(&sender(&strict(), Names::one(asked, &["127.0.0.1"])), &format!("https://{host}/")).await;
        assert_eq!(tried.failure, Some(Failure::Refused), "{host}");
    }
}
