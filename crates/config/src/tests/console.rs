use super::*;

/// The origin of the console, or why there is none, in words.
fn origin(text: &str) -> String {
    match load_text(text).unwrap().console_origin() {
        Ok(ConsoleOrigin { hosts, is_secure, base, .. }) => {
            format!("{} {base} at {}", if is_secure { "https" } else { "http" }, hosts.join(" "))
        }
        Err(reason) => format!("{reason:?}"),
    }
}

#[test]
fn the_console_is_where_no_password_is_sent_in_the_open() {
    let table = r#"
        log = "info" => http /console at HERE:8080
        listen = "[::1]:81" => http /console at HERE:81
        public_url = "http://night.localhost:9000" => http /console at HERE:9000 night.localhost:9000
        listen = "127.0.0.2:81" => http /console at HERE:81 127.0.0.2:81
        listen = "0.0.0.0:8080" => Insecure
        listen = "10.0.0.1:8080" => Insecure
        public_url = "http://night.example.com" => Insecure
        public_url = "http://localhost.example.com" => Insecure
        public_url = "http://localhost:9000" ; listen = "0.0.0.0:8080" => http /console at HERE:9000
        public_url = "https://night.example.com/on" => https /on/console at night.example.com night.example.com:443
        public_url = "https://night.example.com:8443" => https /console at night.example.com:8443
        [tls] ; cert = "c" ; key = "k" => https /console at HERE:8080
        listen = "127.0.0.1:443" ; [tls] ; cert = "c" ; key = "k" => https /console at HERE:443 127.0.0.1 localhost [::1]
        listen = "0.0.0.0:443" ; [tls] ; cert = "c" ; key = "k" => Insecure
        [console] ; enabled = false => SwitchedOff"#;
    for line in table.lines().skip(1) {
        let (settings, expected) = line.trim().split_once(" => ").unwrap();
        let expected = ["8080", "9000", "443", "81"].iter().fold(expected.to_owned(), |expected, port| {
            let here = format!("127.0.0.1:{port} localhost:{port} [::1]:{port}");
            expected.replace(&format!("HERE:{port}"), &here)
        });
        assert_eq!(origin(&settings.replace(" ; ", "\n")), expected, "{line}");
    }
}

#[test]
fn a_session_ends_when_idle_before_it_ends_in_any_case() {
    check_table(
        "[console]\n",
        r#"
        session_idle = "13h" => `console.session_idle` must not be longer | line 2
        session = "91d" => `console.session` must be 1m to 90d
        "#,
    );
}

#[test]
fn an_issuer_is_reached_safely_and_knows_a_client() {
    let section = |lines: &str| format!("[console.oidc]\n{lines}");
    assert_eq!(load_text("").unwrap().console.oidc, None);
    let oidc = |issuer: &str| load_text(&section(&format!("issuer = \"{issuer}\"\nclient_id = \"c\"")));
    assert_eq!(oidc("https://id.example.com/a").unwrap().console.oidc.unwrap().name, "single sign-on");
    for issuer in ["http://127.0.0.1:9", "https://id.example.com", "https://id.example.com/"] {
        assert_eq!(oidc(issuer).unwrap().console.oidc.unwrap().issuer, issuer);
    }
    for wrong in ["http://id.example.com", "https://id.example.com?a=b", "ftp://127.0.0.1", "id"] {
        let refused = oidc(wrong).unwrap_err().to_string();
        assert!(refused.contains("`console.oidc.issuer` must be an https address"), "{refused}");
    }
    check_refused(&section("issuer = \"https://id.example.com\""), &["`console.oidc.client_id` is missing"]);
}

#[test]
fn a_domain_whose_addresses_are_verified_is_named_whole() {
    let oidc = |line: &str| {
        let text = format!("[console.oidc]\nissuer = \"https://id.example.com\"\nclient_id = \"c\"\n{line}");
        load_text(&text).map(|config| config.console.oidc.unwrap())
    };
    let default = oidc("").unwrap();
    assert!(!default.trust_xms_edov && default.verified_domains.is_empty());
    assert!(oidc("trust_xms_edov = true").unwrap().trust_xms_edov);
    let read = oidc("verified_domains = [\"Example.COM\", \"xn--bcher-kva.example\", \"intern\"]").unwrap();
    assert_eq!(read.verified_domains, ["example.com", "xn--bcher-kva.example", "intern"]);
    let wrong =
        ["", "@example.com", "a@example.com", "*.example.com", ".example.com", "example.com.", "-a.b"];
    for wrong in wrong.into_iter().chain(["example.com ", "https://example.com", "bücher.example", "a,b"]) {
        let refused = oidc(&format!("verified_domains = [{wrong:?}]")).unwrap_err().to_string();
        assert!(refused.contains("`console.oidc.verified_domains` must be domains"), "{refused}");
    }
}

#[test]
fn a_proxy_is_believed_by_its_address() {
    let console = load_text("[console]\ntrusted_proxies = [\"10.1.0.0/16\"]").unwrap().console;
    for (address, expected) in [("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("10.2.0.1", false)] {
        assert_eq!(console.trusts(address.parse().unwrap()), expected, "{address}");
    }
    assert!(load_text("").unwrap().console.trusts("127.0.0.1".parse().unwrap()));
}
