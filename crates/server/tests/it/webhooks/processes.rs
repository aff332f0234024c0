//! Variables in the environment of a process: this test binary, started again with others.

use std::process::Stdio;

use overnight_base::clock::ManualClock;
use tokio::process::Command;

use super::support::{Authority, Forbidden, Names, Receiver, insecure, outcome, send, sender_at, soon};

/// The addresses to call. Without the variable, the "test" below does nothing.
const TARGETS_VARIABLE: &str = "OVERNIGHT_TEST_TARGETS";

/// Calls each of the addresses with the authorities of its environment.
#[tokio::test]
async fn process() {
    let Ok(targets) = std::env::var(TARGETS_VARIABLE) else { return };
    let names = Names::one("hook.example", &["127.0.0.2"]);
    let sender = sender_at(&insecure(), names, ManualClock::at(0));
    for target in targets.split(' ') {
        let tried = send(&sender, target).await;
        assert_eq!(outcome(&tried), Ok(200), "{target}");
    }
}

#[tokio::test]
async fn proxies_are_not_asked_and_the_authorities_of_the_environment_are_trusted() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let proxy = Forbidden::everywhere();
    let plain = Receiver::well("127.0.0.2:0").await;
    let secure = Receiver::start_tls("127.0.0.2:0", authority.certify("hook.example")).await;
    let targets = format!(
        "{} http://hook.example:{}/ https://hook.example:{}/",
        plain.url("/"),
        plain.address.port(),
        secure.address.port()
    );
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "webhooks::processes::process"]).env(TARGETS_VARIABLE, targets);
    command.env("SSL_CERT_FILE", &file).env_remove("SSL_CERT_DIR");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        for name in [name.to_owned(), name.to_lowercase()] {
            command.env(name, format!("http://127.0.0.1:{}", proxy.port()));
        }
    }
    command.env_remove("NO_PROXY").env_remove("no_proxy").stdin(Stdio::null()).kill_on_drop(true);
    let output = soon(command.output(), "the process ends").await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((plain.calls().len(), secure.calls().len()), (2, 1));
    proxy.assert_untouched("a proxy");
}
