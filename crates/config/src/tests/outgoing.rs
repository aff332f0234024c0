use std::path::PathBuf;

use super::*;
use crate::{KeySource, ProxyUse, ValueSource};

#[test]
fn an_engine_adds_its_certificates_and_its_proxy_to_those_of_all() {
    let text = format!(
        "[outgoing]\nca_file = \"all.pem\"\nproxy = \"http://proxy:3128\"\n{ENGINE}ca_file = \"own.pem\"\n"
    );
    let config = load_text(&text).unwrap();
    let engine = &config.engines[0].openai().unwrap().outgoing;
    assert_eq!(config.outgoing.ca_files, [PathBuf::from("all.pem")]);
    assert_eq!(engine.ca_files, [PathBuf::from("all.pem"), PathBuf::from("own.pem")]);
    assert_eq!(engine.proxy, ProxyUse::At("http://proxy:3128".parse().unwrap()));
    let direct = load_text(&format!("{text}proxy = \"none\"\n")).unwrap();
    assert_eq!(direct.engines[0].openai().unwrap().outgoing.proxy, ProxyUse::Direct);
    assert_eq!(load_text(ENGINE).unwrap().outgoing.proxy, ProxyUse::Environment);
}

#[test]
fn headers_and_parameters_may_be_secrets_that_stand_elsewhere() {
    let settings =
        "headers = { \"API-Key\" = \"env:AZURE\", \"x-a\" = \"b\" }\nquery = { v = \"file:/run/v\" }\n";
    let extras = openai(settings).extras;
    assert_eq!(extras.headers["api-key"], ValueSource::Secret(KeySource::Variable("AZURE".into())));
    assert_eq!(extras.headers["x-a"], ValueSource::Given("b".into()));
    assert_eq!(extras.query["v"], ValueSource::Secret(KeySource::File("/run/v".into())));
}

#[test]
fn headers_and_proxies_that_http_cannot_carry_are_refused() {
    check_table(
        ENGINE,
        r#"
        headers = { "content-length" = "3" } => must not name "content-length"
        headers = { "a b" = "3" } => must not name "a b"
        headers = { a = "\n" } => must hold a header's value for "a"
        headers = { X-Key = "a", x-key = "b" } => must name "x-key" once
        query = { "" = "1" } => must give each parameter a name
        headers = { a = "env:OVERNIGHT_X" } => does not begin with OVERNIGHT_
        query = { a = "file:" } => must hold "file:" and a path for "a"
        proxy = "socks5://h" => `engines[0].proxy` must be "environment"
        proxy = "https://h" => `engines[0].proxy` must be "environment"
        "#,
    );
}
