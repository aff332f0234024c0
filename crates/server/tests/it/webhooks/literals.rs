//! Addresses in the URL itself, in every spelling that a parser reads.

use std::sync::Arc;

use overnight_base::clock::ManualClock;
use overnight_outgoing::webhooks::{Failure, Policy, Sender};

use super::support::{Forbidden, Names, always, insecure, nobody, outcome, send, sender, strict};

/// Hosts that are this machine, separated by spaces.
const THIS_MACHINE: &str = "127.0.0.1 127.1 127.0.1 127.0.0.2 127.255.255.254 2130706433 0x7f000001 0X7F000001 0x7f.1 \
    0x7f.0x0.0x0.0x1 0x7F.0.0.01 0177.1 0177.0.0.01 017700000001 0000000177.0.0.1 127.000.000.001 \
    127.0.0.0x1 127.0.0x1 127.0.0.1. 0x7f.1. 2130706433. 0 0.0.0.0 0x0 0x 00.0 127。0。0。1 127.0。0.1 \
    127．0．0．1 127｡0｡0｡1 １２７.０.０.１ ①②⑦.⓪.⓪.① 𝟏𝟐𝟕.𝟎.𝟎.𝟏 %31%32%37.0.0.1 127%2e0%2E0%2e1 127.0.0.%31 \
    %30%78%37%66.1 1\u{ad}27.0.0.1 [::1] [0:0:0:0:0:0:0:1] [0000::0001] [::] [::ffff:127.0.0.1] \
    [::FFFF:7F00:1] [64:ff9b::127.0.0.1]";

/// Hosts that are not on the public internet, separated by spaces.
const INNER: &str = "[::127.0.0.1] [0:0:0:0:0:ffff:10.0.0.1] [64:ff9b::7f00:1] [64:ff9b::10.0.0.1] [64:ff9b::a9fe:a9fe] \
    [64:ff9b:1::127.0.0.1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2002:c0a8:101::1] \
    [2001:0:4136:e378:8000:63bf:80ff:fffe] [2001::1] [fe80::1] [febf::1] [fec0::1] [fc00::1] \
    [fd00:ec2::254] [fd20:ce::254] [ff02::1] [ff0e::1] [100::1] [2001:db8::1] [3fff::1] [5f00::1] \
    [4000::1] 10.0.0.1 10.1 0xa.1 012.0.0.1 100.64.0.1 100.100.100.200 168.63.129.16 169.254.169.254 \
    2852039166 0xA9FEA9FE 0251.0376.0251.0376 [::ffff:169.254.169.254] 172.16.0.1 172.31.255.255 \
    192.0.0.192 192.168.0.1 3232235521 198.18.0.1 224.0.0.1 255.255.255.255";

/// URLs around the scheme `{s}` and the port `{p}`, separated by bars, with their failures.
const TRICKS: [(Failure, &str); 4] = [
    // The host is what stands before, whatever follows.
    (
        Failure::Refused,
        "{s}://127.0.0.1:{p}#@good.example/|{s}://127.0.0.1:{p}?@good.example/|\
         {s}://127.0.0.1:{p}/@good.example/|{s}://127.0.0.1:{p}\\@good.example/|\
         {s}://127.0.0.1:{p}/../../good.example|{s}:127.0.0.1:{p}|{s}:/127.0.0.1:{p}|\
         {s}:///127.0.0.1:{p}|{s}://///127.0.0.1:{p}|{s}:\\\\127.0.0.1:{p}|{s}:/\\127.0.0.1:{p}|\
         {s}:\\/[::1]:{p}|  {s}://127.0.0.1:{p}  |\u{0}{s}://127.0.0.1:{p}|{s}:\t//127.0.0.1:{p}|\
         {s}://127.\n0.0.1:{p}|{s}://12\r7.0.0.1:\t{p}/|{s}://127.0.0.1:0000{p}/|{s}://@127.0.0.1:{p}/|\
         {s}://:@127.0.0.1:{p}/|{s}://localhost:{p}/|{s}://LOCALHOST:{p}/|{s}://localhost.:{p}/|\
         {s}://ｌｏｃａｌｈｏｓｔ:{p}/|{s}://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{p}/|{s}://loc%61lhost:{p}/",
    ),
    // Somebody else is meant, whom nobody knows.
    (
        Failure::Unresolved,
        "{s}://good.example\\@127.0.0.1:{p}/|{s}://good.example/@127.0.0.1:{p}/|\
         {s}://good.example#@127.0.0.1:{p}/|{s}://127.0.0.1.good.example:{p}/|{s}://127-0-0-1:{p}/",
    ),
    // Users are not for webhooks.
    (
        Failure::Url,
        "{s}://good@127.0.0.1:{p}/|{s}://good.example@127.0.0.1:{p}/|\
         {s}://good.example:443@127.0.0.1:{p}/|{s}://:secret@127.0.0.1:{p}/|\
         {s}://good.example%2f@127.0.0.1:{p}/|{s}://a@b@127.0.0.1:{p}/",
    ),
    // What cannot be read is not called.
    (
        Failure::Url,
        "{s}://good.example%40127.0.0.1:{p}/|{s}://127.0.0.1%00.good.example:{p}/|\
         {s}://127.0.0.1 .good.example:{p}/|{s}://127.0.0.1%20:{p}/|{s}://127.0.0.256:{p}/|\
         {s}://127.0.0.1.1:{p}/|{s}://127.0.0.08:{p}/|{s}://0x17f000001:{p}/|{s}://[127.0.0.1]:{p}/|\
         {s}://[::1%25lo]:{p}/|{s}://[fe80::1%eth0]:{p}/|{s}://[::1:{p}/|{s}://::1:{p}/|\
         {s}://127.0.0.1:{p}:{p}/|{s}://127.0.0.1:6{p}0/|file://127.0.0.1:{p}/|gopher://127.0.0.1:{p}/",
    ),
];

pub(super) fn count() -> usize {
    let hosts = |list: &str| list.split(' ').count();
    hosts(THIS_MACHINE) + hosts(INNER) + tricks("http", 0).count()
}

fn names() -> Names {
    let here = vec!["127.0.0.1", "::1"];
    Names(vec![("localhost", here.clone()), ("localhost.", here)])
}

async fn check(sender: &Sender, forbidden: &Forbidden, urls: impl Iterator<Item = (String, Failure)>) {
    for (url, expected) in urls {
        let tried = send(sender, &url).await;
        assert_eq!(outcome(&tried), Err(expected), "{url:?}");
        forbidden.assert_untouched(&url);
    }
}

fn of_hosts(hosts: &str, scheme: &str, port: u16) -> Vec<(String, Failure)> {
    hosts.split(' ').map(|host| (format!("{scheme}://{host}:{port}/hook"), Failure::Refused)).collect()
}

fn tricks(scheme: &str, port: u16) -> impl Iterator<Item = (String, Failure)> {
    let fill = move |url: &str| url.replace("{s}", scheme).replace("{p}", &port.to_string());
    let urls = |(expected, urls): (Failure, &'static str)| urls.split('|').map(move |url| (url, expected));
    TRICKS.into_iter().flat_map(urls).map(move |(url, expected)| (fill(url), expected))
}

#[tokio::test]
async fn an_inner_address_is_refused_however_it_is_spelled() {
    let forbidden = Forbidden::everywhere();
    let sender = sender(&strict(), names());
    for hosts in [THIS_MACHINE, INNER] {
        check(&sender, &forbidden, of_hosts(hosts, "https", forbidden.port()).into_iter()).await;
    }
    check(&sender, &forbidden, tricks("https", forbidden.port())).await;
}

#[tokio::test]
async fn http_is_refused_unless_it_is_allowed() {
    let forbidden = Forbidden::everywhere();
    let sender = sender(&strict(), names());
    let hosts = of_hosts(THIS_MACHINE, "http", forbidden.port());
    check(&sender, &forbidden, hosts.into_iter().map(|(url, _)| (url, Failure::Url))).await;
}

#[tokio::test]
async fn the_service_itself_is_refused_however_it_is_spelled_and_whatever_is_allowed() {
    let forbidden = Forbidden::everywhere();
    let policy = Policy::new(always(&insecure()), vec![forbidden.address()], nobody());
    let sender = Sender::new(policy, Arc::new(names()), ManualClock::at(0));
    for scheme in ["http", "https"] {
        check(&sender, &forbidden, of_hosts(THIS_MACHINE, scheme, forbidden.port()).into_iter()).await;
        check(&sender, &forbidden, tricks(scheme, forbidden.port())).await;
    }
}
