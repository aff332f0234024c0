use super::*;

/// The base and the hosts of the console, or why there is none.
fn origin(text: &str) -> Result<(String, Vec<String>, bool), NoConsole> {
    let origin = load_text(text).unwrap().console_origin()?;
    Ok((origin.base, origin.hosts, origin.is_secure))
}

#[test]
fn the_console_is_where_no_password_is_sent_in_the_open() {
    let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let here = |port| ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).to_vec();
    let base = "/console".to_owned();
    for (text, expected) in [
        ("", Ok((base.clone(), here(8080), false))),
        ("listen = \"[::1]:81\"", Ok((base.clone(), here(81), false))),
        (
            "public_url = \"http://night.localhost:9000\"",
            Ok((base.clone(), [here(9000), hosts(&["night.localhost:9000"])].concat(), false)),
        ),
        (
            "listen = \"127.0.0.2:81\"",
            Ok((base.clone(), [here(81), hosts(&["127.0.0.2:81"])].concat(), false)),
        ),
        ("listen = \"0.0.0.0:8080\"", Err(NoConsole::Insecure)),
        ("listen = \"10.0.0.1:8080\"", Err(NoConsole::Insecure)),
        ("public_url = \"http://night.example.com\"", Err(NoConsole::Insecure)),
        ("public_url = \"http://localhost.example.com\"", Err(NoConsole::Insecure)),
        (
            "public_url = \"http://localhost:9000\"\nlisten = \"0.0.0.0:8080\"",
            Ok((base.clone(), here(9000), false)),
        ),
        (
            "public_url = \"https://night.example.com/on\"",
            Ok(("/on/console".to_owned(), hosts(&["night.example.com", "night.example.com:443"]), true)),
        ),
        (
            "public_url = \"https://night.example.com:8443\"",
            Ok((base.clone(), hosts(&["night.example.com:8443"]), true)),
        ),
        ("[tls]\ncert = \"c\"\nkey = \"k\"", Ok((base.clone(), here(8080), true))),
        (
            "listen = \"127.0.0.1:443\"\n[tls]\ncert = \"c\"\nkey = \"k\"",
            Ok((base.clone(), [here(443), hosts(&["127.0.0.1", "localhost", "[::1]"])].concat(), true)),
        ),
        ("listen = \"0.0.0.0:443\"\n[tls]\ncert = \"c\"\nkey = \"k\"", Err(NoConsole::Insecure)),
        ("[console]\nenabled = false", Err(NoConsole::SwitchedOff)),
    ] {
        assert_eq!(origin(text), expected, "{text}");
    }
}

#[test]
fn a_session_ends_when_idle_before_it_ends_in_any_case() {
    check_refused(
        "[console]\nsession_idle = \"13h\"",
        &["`console.session_idle` must not be longer", "line 2"],
    );
    check_refused("[console]\nsession = \"91d\"", &["`console.session` must be 1m to 90d"]);
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
