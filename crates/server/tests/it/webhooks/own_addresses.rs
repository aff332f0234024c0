//! This service, its database and its engines: no allowed network opens them to webhooks.

use std::net::SocketAddr;
use std::sync::Arc;

use overnight_base::clock::ManualClock;
use overnight_config::Config;
use overnight_domain::webhooks::Answer;
use overnight_outgoing::webhooks::{EngineAddresses, Failure, Policy, Sender, Tried};

use super::support::{
    Forbidden, Names, Receiver, Turns, always, config, insecure, nobody, outcome, send, sender, two_addresses,
};

/// Settings that allow every address, with this database or engine.
fn beside(variable: &str, value: &str) -> Config {
    let mut variables = vec![
        ("WEBHOOKS__ALLOW_INSECURE_TARGETS", "true"),
        ("MODELS", r#"[{ name = "m" }]"#),
        (variable, value),
    ];
    if variable != "ENGINES" {
        variables.push(("ENGINES", r#"[{ name = "e", kind = "openai", base_url = "http://none.example" }]"#));
    }
    config(&variables)
}

fn engine(base_url: &str) -> Config {
    beside("ENGINES", &format!(r#"[{{ name = "e", kind = "openai", base_url = "{base_url}" }}]"#))
}

fn database(url: &str) -> Config {
    beside("DATABASE_URL", url)
}

fn names() -> Names {
    Names(vec![
        ("inner.example", vec!["127.0.0.1"]),
        ("inner.example.", vec!["127.0.0.1"]),
        ("alias.example", vec!["127.0.0.1"]),
        ("beside.example", vec!["127.0.0.2"]),
        ("behind.example", vec!["64:ff9b::127.0.0.1"]),
    ])
}

async fn assert_refused(sender: &Sender, url: &str) {
    let tried = send(sender, url).await;
    assert_eq!(outcome(&tried), Err(Failure::Refused), "{url}");
}

fn is_well(tried: &Tried) -> bool {
    (tried.answer, tried.failure) == (Answer::Status(200), None)
}

#[tokio::test]
async fn the_database_and_the_engines_are_never_called() {
    let forbidden = Forbidden::everywhere();
    let port = forbidden.port();
    let configs = ["127.0.0.1", "localhost.example", "inner.example", "INNER.example.", "[::1]", "0.0.0.0"];
    for host in configs {
        let other = host.replace("localhost.example", "alias.example");
        for config in [
            engine(&format!("http://{other}:{port}/v1")),
            database(&format!("postgres://me:secret@{other}:{port}/night")),
            database(&format!(
                "postgres://ignored/night?host={}&port={port}",
                other.trim_matches(['[', ']'])
            )),
        ] {
            let sender = sender(&config, names());
            // It may listen at each address of its machine.
            let targets = "127.0.0.1 2130706433 127.0.0.9 [::1] [::ffff:127.0.0.1] 0.0.0.0 [::] inner.example \
                inner.example. alias.example beside.example behind.example";
            for target in targets.split(' ') {
                for scheme in ["http", "https"] {
                    assert_refused(&sender, &format!("{scheme}://{target}:{port}/")).await;
                }
            }
            forbidden.assert_untouched(host);
        }
    }
}

#[tokio::test]
async fn an_own_address_is_refused_by_name_before_it_is_looked_up() {
    for (config, url) in [
        (engine("https://api.example/v1"), "https://API.example/hook"),
        (engine("https://api.example/v1"), "https://api.example.:443/hook"),
        (engine("http://api.example"), "http://api.example/"),
        (database("postgres://db.example/night"), "https://db.example:5432/"),
        (database("postgres://127.0.0.1/night"), "http://0x7f.1:5432/"),
        (database("postgres:///night?host=/run/postgresql"), "http://localhost:5432/"),
    ] {
        let resolver = Turns::new(&[&["127.0.0.1"]]);
        assert_refused(&sender(&config, resolver.clone()), url).await;
        assert_eq!(resolver.count(), 0, "{url}");
    }
}

#[tokio::test]
async fn others_on_the_machine_of_an_own_address_may_be_called() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    for config in [
        engine("http://127.0.0.2:1/v1"),
        engine("http://unknown.example/v1"),
        database("postgres://127.0.0.2/night"),
    ] {
        let tried = send(&sender(&config, names()), &receiver.url("/")).await;
        assert!(is_well(&tried), "{tried:?}");
    }
}

#[tokio::test]
async fn an_inner_address_that_may_be_our_own_is_not_called() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    let unknown = engine(&format!("http://unknown.example:{}/v1", receiver.address.port()));
    assert_refused(&sender(&unknown, names()), &receiver.url("/")).await;
}

/// A sender that allows everything, in a process that listens at these addresses.
fn listening(at: Vec<SocketAddr>, engine_addresses: EngineAddresses) -> Sender {
    Sender::new(Policy::new(always(&insecure()), at, engine_addresses), Arc::new(names()), ManualClock::at(0))
}

#[tokio::test]
async fn the_service_does_not_call_itself() {
    let (own, other) = two_addresses();
    let receiver = Receiver::well(&other.to_string()).await;
    let forbidden = Forbidden::at(own);
    let metrics = Forbidden::at("127.0.0.3:0".parse().unwrap());
    let sender = listening(vec![own, metrics.address()], nobody());
    for host in ["127.0.0.1", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "inner.example", "behind.example"] {
        assert_refused(&sender, &format!("http://{host}:{}/", own.port())).await;
    }
    assert_refused(&sender, &format!("http://{}/", metrics.address())).await;
    forbidden.assert_untouched("listen");
    metrics.assert_untouched("metrics_listen");
    // Another program has the same port at another address.
    assert!(is_well(&send(&sender, &receiver.url("/")).await));
}

#[tokio::test]
async fn what_comes_and_goes_is_refused_while_it_is_there() {
    let receiver = Receiver::well("127.0.0.1:0").await;
    let address = receiver.address;
    let sender = listening(Vec::new(), Arc::new(move || vec![address]));
    assert_refused(&sender, &receiver.url("/")).await;
    assert_refused(&sender, &format!("http://inner.example:{}/", address.port())).await;
    assert!(receiver.calls().is_empty());
    assert!(is_well(&send(&listening(Vec::new(), nobody()), &receiver.url("/")).await));
}
