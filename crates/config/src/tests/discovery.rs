use super::*;

#[test]
fn engines_that_dns_names_are_called_by_plain_http_and_have_no_limits() {
    check_table(
        ENGINE,
        r#"
        api_key_env = "K" ; api_key_file = "k" => stands beside `api_key_env`
        discovery = "srv" => `engines[0].discovery` must be "dns"
        discovery = "dns" => begins with http:// and a name of DNS
        "#,
    );
    let safe = ENGINE.replace("http://127.0.0.1", "https://pool");
    check_table(&safe, "discovery = \"dns\" => begins with http:// and a name of DNS");
    let limited = "discovery = \"dns\" ; max_tokens_per_day = 9 => `max_tokens_per_day` is a limit of one";
    check_table(&ENGINE.replace("127.0.0.1", "pool"), limited);
}

#[test]
fn a_replica_has_the_settings_of_its_section_an_address_and_a_name_of_its_own() {
    let text = format!("{}discovery = \"dns\"\nmax_concurrency = 7\n", ENGINE.replace("127.0.0.1", "pool"));
    let config = load_text(&text).unwrap();
    let engine = &config.engines[0];
    assert!(engine.is_discovered() && engine.openai().unwrap().is_shared);
    for (address, name, url) in [
        ("10.0.0.1", "e/10.0.0.1", "http://10.0.0.1:8000/v1"),
        ("fd00::1", "e/fd00::1", "http://[fd00::1]:8000/v1"),
    ] {
        let replica = engine.at(address.parse().unwrap());
        assert_eq!((&*replica.name, replica.shared_name()), (name, Some(url)));
        assert_eq!((replica.max_concurrency, replica.is_discovered()), (7, false));
        assert_eq!(replica.models, engine.models);
    }
}
